"""mitmproxy's flows to captured calls: the one file that knows mitmproxy (``mitmdump -s``)."""

from __future__ import annotations

import functools
import importlib.util
import logging
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Concatenate, ParamSpec

from mitmproxy import ctx, exceptions, http
from mitmproxy.addonmanager import Loader
from mitmproxy.log import ALERT
from mitmproxy.proxy.mode_specs import ReverseMode


def _load_package() -> None:
    """Make this file's package importable where it is not installed."""
    name = "otel_raglog_proxy_bridge"
    folder = Path(__file__).resolve().parent
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"no package in {folder}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    # mitmproxy leaves a script's folder on the path, where our files' short names would hide
    # modules of others.
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != folder]


_load_package()

# ruff: noqa: E402 - what follows can only be imported now
from otel_raglog_proxy_bridge.addon_options import OPTIONS, BadOption, Settings, read_settings
from otel_raglog_proxy_bridge.capturing import Capturing
from otel_raglog_proxy_bridge.handover import Handover
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.own_telemetry import is_telemetry
from otel_raglog_proxy_bridge.safety import RawCall
from otel_raglog_proxy_bridge.streams import OpenCall, PassingBody, cut_to, passes_by
from otel_raglog_proxy_bridge.typed_options import check_name, is_own, typed_values
from otel_raglog_proxy_bridge.worker import place_of

_LOG = logging.getLogger(__name__)
_LARGEST_BUFFERED = 256 * 1024
"""Bodies of a known length up to this are left to mitmproxy, as other add-ons expect them."""
_MOST_OPEN = 10_000
_SWITCHING_PROTOCOLS = 101
_CLOSE_SECONDS = 10.0
_LOSS = re.compile(r"dropped|rejected|lost|errors")
"""What counts of things that did not arrive are called."""

Arguments = ParamSpec("Arguments")


def _guarded(
    hook: Callable[Concatenate[RaglogCapture, Arguments], None],
) -> Callable[Concatenate[RaglogCapture, Arguments], None]:
    """Keep what goes wrong in a hook from mitmproxy: the traffic passes on."""

    @functools.wraps(hook)
    def guarded(self: RaglogCapture, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            hook(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the pipeline is never broken
            self.failed(hook.__name__, error)

    return guarded


class RaglogCapture:
    """Captures the calls of a pipeline, and never delays or breaks them.

    Requests and answers pass on as they come. What is captured goes to a worker's queue; nothing
    here reads a body, waits, or raises.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.settings = Settings()
        self.worker: Capturing | Handover | None = None
        self._values: Mapping[str, object] = {}
        self._wrong = False
        self._open: dict[str, OpenCall] = {}

    # ------------------------------------------------------------- mitmproxy's life

    def load(self, loader: Loader) -> None:
        """Declare the options, and look at what was typed for them.

        mitmproxy would pass a value that it cannot convert over in silence, and the add-on with it.
        """
        for option in OPTIONS:
            loader.add_option(option.name, option.typespec, option.default, option.help)
        waiting = getattr(loader.master.options, "deferred", {})
        given = {name: value for name, value in waiting.items() if is_own(name)}
        try:
            for name in given:
                check_name(name)
            typed_values({name: each.val for name, each in given.items() if hasattr(each, "val")})
        except BadOption as bad:
            self._refuse(bad)
            for name in given:
                del waiting[name]

    def configure(self, updated: set[str]) -> None:
        """Read the options; the first one that is wrong is named.

        Raises:
            OptionsError: An option was changed to a wrong value, while the proxy runs.
        """
        names = {option.name for option in OPTIONS}
        if not updated & names:
            return
        values = {name: getattr(ctx.options, name) for name in names}
        try:
            settings = read_settings(values)
        except BadOption as bad:
            if self.worker is None:
                self._refuse(bad)
                return
            raise exceptions.OptionsError(str(bad)) from None  # type: ignore[no-untyped-call]
        self._values, self.settings = values, settings
        if self.worker is not None:
            _LOG.warning("raglog: changed options take effect at the next start")

    def _refuse(self, bad: BadOption) -> None:
        """Say what is wrong; an error before the start ends mitmproxy."""
        self._wrong = True
        _LOG.error("raglog: %s", bad)

    @_guarded
    def running(self) -> None:
        """Start the threads, and say that calls are captured from now on."""
        if self.worker is not None or self._wrong:
            return
        if getattr(ctx.options, "flow_detail", None) == 1:
            # One line per flow is what mitmdump prints by itself, and it has the URL, keys included.
            ctx.options.flow_detail = 0
        # Python takes turns between threads: masking in this process would hold up the proxy. A
        # binary of mitmproxy has no Python to run another process with.
        frozen = getattr(sys, "frozen", False) and not ctx.options.raglog_python
        self.worker = Capturing(self.settings) if frozen else Handover(self._values)
        self.worker.start()
        _LOG.log(ALERT, "raglog: capturing: %s", ", ".join(ctx.options.mode))

    @_guarded
    def done(self) -> None:
        """Write the runs that are open and send what waits, within a few seconds."""
        if self.worker is None:
            return
        self.worker.close(_CLOSE_SECONDS)
        told = {**self.counts, **self.worker.counts}
        is_loss = any(count and _LOSS.search(name) for name, count in told.items())
        counts = ", ".join(f"{name} {told[name]}" for name in sorted(told))
        _LOG.log(logging.WARNING if is_loss else ALERT, "raglog: %s", counts or "no calls")

    # ------------------------------------------------------------------- the flows

    @_guarded
    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Begin a call, before its body is there."""
        worker = self.worker
        if worker is None or flow.request.method == "CONNECT" or self._is_ignored(flow):
            return
        side = Side.FRONT if isinstance(flow.client_conn.proxy_mode, ReverseMode) else Side.OUTBOUND
        headers = flow.request.headers
        if side is Side.FRONT and self.settings.inject_traceparent and "traceparent" not in headers:
            headers["traceparent"] = f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
        if len(self._open) >= _MOST_OPEN:
            self._forget(next(iter(self._open)))
        call = OpenCall(int(flow.request.timestamp_start * 1e9), side)
        self._open[flow.id] = call
        worker.begin(flow.id, call.started_ns, side, headers.get("traceparent", ""))
        if flow.response is None and passes_by(
            headers.get("content-type", ""), headers.get("content-length"), _LARGEST_BUFFERED
        ):
            call.request = PassingBody(self.settings.rules.max_body_bytes)
            flow.request.stream = call.request

    @_guarded
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Let the answer pass on as it comes."""
        call = self._open.get(flow.id)
        if call is None or flow.response is None:
            return
        headers = flow.response.headers
        if passes_by(
            headers.get("content-type", ""), headers.get("content-length"), _LARGEST_BUFFERED
        ):
            call.response = PassingBody(self.settings.rules.max_body_bytes)
            flow.response.stream = call.response

    @_guarded
    def response(self, flow: http.HTTPFlow) -> None:
        """End a call."""
        if flow.response is not None and flow.response.status_code == _SWITCHING_PROTOCOLS:
            self._forget(flow.id)
        else:
            self._end(flow)

    @_guarded
    def error(self, flow: http.HTTPFlow) -> None:
        """End a call whose connection broke."""
        self._end(flow, flow.error.msg if flow.error is not None else "unknown")

    # ---------------------------------------------------------------------- inside

    def failed(self, where: str, error: Exception) -> None:
        """Count what went wrong, and log the first of its kind: where, and nothing of the call."""
        kind = f"hook_errors_{type(error).__name__}"
        self.counts[kind] += 1
        if self.counts[kind] == 1:
            _LOG.warning(
                "raglog: %s failed: %s at %s", where, type(error).__name__, place_of(error)
            )

    def _is_ignored(self, flow: http.HTTPFlow) -> bool:
        if any(pattern.search(flow.request.pretty_host) for pattern in self.settings.ignore_hosts):
            return True
        headers = {_text(name).lower(): _text(value) for name, value in flow.request.headers.fields}
        if is_telemetry(
            flow.request.method, flow.request.url, headers, (self.settings.endpoint,)
        ) or is_telemetry(flow.request.method, flow.request.pretty_url, headers):
            self.counts["telemetry"] += 1
            return True
        return False

    def _forget(self, flow_id: str) -> None:
        if self._open.pop(flow_id, None) is not None and self.worker is not None:
            self.worker.forget(flow_id)

    def _end(self, flow: http.HTTPFlow, error: str = "") -> None:
        call = self._open.pop(flow.id, None)
        if call is None or self.worker is None:
            return
        try:
            raw = self._raw_call(flow, call, error)
        except Exception:
            self.worker.forget(flow.id)
            raise
        self.worker.put(raw)

    def _raw_call(self, flow: http.HTTPFlow, call: OpenCall, error: str) -> RawCall:
        limit = self.settings.rules.max_body_bytes
        response = flow.response
        cut = set()
        if call.request is not None:
            request_body, is_cut = call.request.content, call.request.cut
        else:
            request_body, is_cut = cut_to(flow.request.raw_content, limit)
        if is_cut:
            cut.add("request")
        if call.response is not None:
            response_body, is_cut = call.response.content, call.response.cut
        else:
            response_body, is_cut = cut_to(response.raw_content if response else None, limit)
        if is_cut or (error and response is not None):
            cut.add("response")
        ended = response.timestamp_end if response is not None else None
        return RawCall(
            id=flow.id,
            method=flow.request.method,
            url=flow.request.pretty_url,
            status=response.status_code if response is not None else None,
            request_headers=_fields(flow.request.headers),
            response_headers=_fields(response.headers) if response is not None else (),
            request_body=request_body,
            response_body=response_body,
            started_ns=call.started_ns,
            ended_ns=max(call.started_ns, int(ended * 1e9) if ended else time.time_ns()),
            side=call.side,
            client=_client(flow),
            error=error,
            cut=frozenset(cut),
        )


def _fields(headers: http.Headers) -> tuple[tuple[str, str], ...]:
    return tuple((_text(name), _text(value)) for name, value in headers.fields)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _client(flow: http.HTTPFlow) -> str:
    return ":".join(str(part) for part in flow.client_conn.peername[:2])


addons = [RaglogCapture()]
