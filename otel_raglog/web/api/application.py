"""The paths of the JSON API to answers about recent runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from otel_raglog.explaining.setup_json import setup_json
from otel_raglog.receive.auth import Tokens
from otel_raglog.web.api.answers import answer, error_answer
from otel_raglog.web.api.guard import Guard
from otel_raglog.web.api.paging import Pages
from otel_raglog.web.api.parameters import (
    BadParameter,
    NoParameters,
    RunsQuery,
    SessionQuery,
    Window,
    parse,
)
from otel_raglog.web.api.sessions import timeline
from otel_raglog.web.api.views import is_in, matches, row, stage_counts
from otel_raglog.web.recent.runs import RecentRuns
from otel_raglog.web.recent.setups import RecentSetups

_TRACE_ID = re.compile(r"[0-9a-fA-F]{32}")
_GZIP_BYTES = 1_024
_PATHS = (
    "/api/runs",
    "/api/runs/{trace_id}",
    "/api/stages",
    "/api/setup",
    "/api/sessions/{id}",
)
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Api:
    runs: RecentRuns
    setups: RecentSetups
    pages: Pages

    def list_runs(self, request: Request) -> Response:
        query = parse(RunsQuery, request.query_params.multi_items())
        found = self.runs.newest_first(lambda run: matches(run, query))
        shown, cursor = self.pages.page(found, query.cursor, query.limit)
        return answer({"runs": [row(run) for run in shown], "next_cursor": cursor})

    def trace(self, request: Request) -> Response:
        parse(NoParameters, request.query_params.multi_items())
        trace_id = request.path_params["trace_id"]
        if not _TRACE_ID.fullmatch(trace_id):
            raise BadParameter("trace_id", "must be 32 hexadecimal digits")
        trace_id = trace_id.lower()
        found = self.runs.newest_first(lambda run: trace_id in run.trace_ids)
        if not found:
            raise HTTPException(404, "no report of this trace is kept")
        reports = [run.report() for run in reversed(found)]
        return answer({"trace_id": trace_id, "reports": reports})

    def stages(self, request: Request) -> Response:
        window = parse(Window, request.query_params.multi_items())
        found = self.runs.newest_first(lambda run: is_in(run, window))
        return answer({"services": stage_counts(found)})

    def setup(self, request: Request) -> Response:
        parse(NoParameters, request.query_params.multi_items())
        return answer({"services": setup_json(self.setups.services())})

    def session(self, request: Request) -> Response:
        query = parse(SessionQuery, request.query_params.multi_items())
        session_id = request.path_params["id"]
        found = self.runs.newest_first(
            lambda run: (
                run.session_id == session_id
                and (query.service is None or run.service == query.service)
            )
        )
        if not found:
            raise HTTPException(404, "no run of this session is kept")
        return answer(timeline(session_id, found))


def api_app(runs: RecentRuns, setups: RecentSetups, tokens: Tokens, epoch: str) -> Starlette:
    """Return the JSON API.

    Errors are ``{"error": sentence}``: 400 (with ``parameter``) for what is wrong with a
    parameter, 401 and 403 as :class:`Guard` says, 404 for what is not kept and for other paths, 405
    for other methods than GET. ``epoch`` (hex) tells this process from earlier ones.
    """
    api = _Api(runs, setups, Pages(epoch))
    handlers: dict[str, Callable[[Request], Response]] = {
        "/api/runs": api.list_runs,
        "/api/runs/{trace_id}": api.trace,
        "/api/stages": api.stages,
        "/api/setup": api.setup,
        "/api/sessions/{id:path}": api.session,
    }
    app = Starlette(
        routes=[Route(path, handler, methods=["GET"]) for path, handler in handlers.items()],
        middleware=[
            Middleware(GZipMiddleware, minimum_size=_GZIP_BYTES),
            Middleware(Guard, tokens=tokens),
        ],
        exception_handlers={
            BadParameter: _bad_parameter,
            HTTPException: _http_error,
            Exception: _failed,
        },
    )
    app.router.redirect_slashes = False
    return app


async def _bad_parameter(_: Request, error: Exception) -> Response:
    parameter = error.parameter if isinstance(error, BadParameter) else ""
    return error_answer(400, str(error), parameter=parameter)


async def _http_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    sentence = str(error.detail)
    if sentence == "Not Found":
        sentence = f"there is no such path; there are {', '.join(_PATHS)}"
    elif sentence == "Method Not Allowed":
        sentence = "this path is for GET alone"
    return error_answer(error.status_code, sentence, headers=error.headers)


async def _failed(_: Request, error: Exception) -> Response:
    _log.error("a request to the JSON API failed", error=type(error).__name__)
    return error_answer(500, "this request could not be answered; the service's log tells more")
