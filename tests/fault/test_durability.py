"""T32 to T34, T36: what was acknowledged arrives, whatever happens to the process or its disk."""

import contextlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import httpx2
import pytest
from chaos import run_chaos
from delivery import FAST, assert_conserved, keys, offer, post
from fault_answers import after, hang
from fault_backends import fault_backend
from ports import free_port
from rag_traces import OTHER_SPANS, RAG_SPANS, rag_trace
from services import serving, wait_until

from otel_raglog_exporters.grouping import encode_request

RULES = {"checks": ["rules"]}
KILLS, SEED = 50, 20261130


def traces(count, seed=1):
    """Return traces of a RAG application among other spans."""
    random_source = random.Random(seed)
    return [rag_trace(random_source, number) for number in range(count)]


def kill(served):
    """End the process as a crash does."""
    served.process.kill()
    served.process.wait()


@pytest.mark.timeout(900)
def test_t32_killed_again_and_again_it_loses_nothing_and_decides_nothing_twice(tmp_path):
    """Every acknowledged span arrives at both destinations, with the verdict it first got.

    ``make chaos`` does the same with 200 kills; ``make chaos CHAOS_SEED=7`` at other moments.
    """
    outcome = run_chaos(tmp_path, KILLS, SEED)
    print(outcome)
    assert outcome.acknowledged > 20 * KILLS
    assert outcome.kept_its_promises
    assert outcome.missing == {"steady": 0, "moody": 0}
    assert outcome.conflicts == {"steady": 0, "moody": 0}
    assert outcome.disagreeing_traces == {"steady": 0, "moody": 0}
    assert outcome.imbalance == {}


def test_t32_what_was_held_is_judged_after_a_kill(tmp_path):
    """A trace that was half there when the process died becomes one run, with one verdict."""
    (first, second, *rest) = trace = traces(1)[0]
    hold = {"quiet_seconds": 30, "orphan_quiet_seconds": 30}
    with fault_backend("grpc") as backend:
        exporters = {"b": backend.endpoint}
        with serving(tmp_path, exporters, hold=hold, sending=FAST, analysis=RULES) as served:
            served.send([first, second])
            kill(served)
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            assert served.metric("raglog_held_spans") > 0
            served.send(rest)
            backend.wait_for(len(trace))
            assert served.metric("raglog_runs_total") == 1
            assert served.metric("raglog_late_spans_total") == 0
            assert_conserved(served, "b")
        assert backend.span_keys() == keys(trace)


def test_t32_a_late_span_inherits_the_verdict_of_before_the_kill(tmp_path):
    """It never becomes a run of its own."""
    *most, late = traces(1, seed=4)[0]
    early = [late, *most[1:]]
    with fault_backend("grpc") as backend:
        exporters = {"b": backend.endpoint}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(early)
            backend.wait_for(len(early))
            kill(served)
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(most[:1])
            backend.wait_for(len(early) + 1)
            assert served.metric("raglog_late_spans_total") == 1
            assert served.metric("raglog_runs_total") == 0
        (raw,) = backend.deliveries()[next(iter(keys(most[:1])))]
        assert b"raglog.run.verdict" in raw


def test_t32_narrower_limits_after_a_restart_decide_nothing_differently(tmp_path):
    """What was accepted under the old ones is judged as it would have been."""
    trace = traces(1, seed=5)[0]
    hold = {"quiet_seconds": 30, "orphan_quiet_seconds": 30}
    with fault_backend("grpc") as backend:
        exporters = {"b": backend.endpoint}
        with serving(tmp_path, exporters, hold=hold, sending=FAST, analysis=RULES) as served:
            served.send(trace)
            kill(served)
        receive = {"grpc": {"port": 0}, "http": {"port": 0}, "max_spans_per_request": 2}
        with serving(tmp_path, exporters, receive=receive, sending=FAST, analysis=RULES) as served:
            backend.wait_for(len(trace))
            assert served.metric("raglog_runs_total") == 1
        assert backend.span_keys() == keys(trace)


def test_t36_a_signal_during_recovery_ends_it_without_harm(tmp_path):
    """Nothing was accepted yet, and what the journal holds stays there.

    On a machine that is quick enough the start is over by then: the end is the same.
    """
    with fault_backend("grpc") as backend:
        spans = backlog(tmp_path, backend, per_request=1)
        exporters = {"b": backend.endpoint}
        port = free_port()
        with serving(
            tmp_path, exporters, wait=False, health={"port": port}, sending=FAST, analysis=RULES
        ) as served:
            wait_until(lambda: listens(port))  # it does so before it reads the journal
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(30) == 0, served.log.read_text()
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            backend.wait_for(len(spans))
            assert_conserved(served, "b")
        assert backend.span_keys() == keys(spans)


def listens(port):
    """Tell whether somebody listens on a port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def backlog(tmp_path, backend, count=60, per_request=30):
    """Leave a killed service with an undelivered journal; return the spans in it."""
    backend.down()
    spans = [span for trace in traces(count) for span in trace]
    with serving(tmp_path, {"b": backend.endpoint}, sending=FAST, analysis=RULES) as served:
        for start in range(0, len(spans), per_request):
            served.send(spans[start : start + per_request])
        wait_until(lambda: served.metric("raglog_runs_total") == count)
        kill(served)
    backend.up()
    return spans


def newest(folder):
    """Return the file of a log that was written last."""
    return max(folder.glob("*.*"), key=lambda path: path.stat().st_mtime_ns)


@pytest.mark.parametrize("log", ["requests", "decisions"])
def test_t33_a_torn_tail_costs_at_most_what_was_never_acknowledged(tmp_path, log):
    """Half a record at the end is what a kill in the middle of a write leaves."""
    with fault_backend("grpc") as backend:
        spans = backlog(tmp_path, backend)
        file = newest(tmp_path / "journal" / log)
        whole = file.read_bytes()
        file.write_bytes(whole + whole[-200:-20])
        with serving(tmp_path, {"b": backend.endpoint}, sending=FAST, analysis=RULES) as served:
            backend.wait_for(len(spans))
            assert_conserved(served, "b")
        assert backend.span_keys() == keys(spans)


def test_t33_a_flipped_byte_costs_its_own_request(tmp_path):
    """It is skipped and counted; all others arrive."""
    with fault_backend("grpc") as backend:
        spans = backlog(tmp_path, backend)
        file = newest(tmp_path / "journal" / "requests")
        data = bytearray(file.read_bytes())
        at = data.index(spans[45].raw)  # in the second request of 30
        data[at + 3] ^= 0x40
        file.write_bytes(data)
        with serving(tmp_path, {"b": backend.endpoint}, sending=FAST, analysis=RULES) as served:
            backend.wait_for(len(spans) - 30)
            wait_until(lambda: not served.metric("raglog_spans_pending"))
            assert served.metric("raglog_journal_damaged_records_total") >= 1
            assert_conserved(served, "b")
        assert keys(spans) - backend.span_keys() == keys(spans[30:60])


def test_t33_a_flipped_byte_in_a_decision_costs_nothing(tmp_path):
    """What it decided is undecided again: its spans are judged anew and arrive."""
    with fault_backend("grpc") as backend:
        spans = backlog(tmp_path, backend)
        file = newest(tmp_path / "journal" / "decisions")
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0x01
        file.write_bytes(data)
        with serving(tmp_path, {"b": backend.endpoint}, sending=FAST, analysis=RULES) as served:
            backend.wait_for(len(spans))
            assert served.metric("raglog_journal_damaged_records_total") == 1
            wait_until(lambda: not served.metric("raglog_spans_pending"))
            assert_conserved(served, "b")
        assert backend.span_keys() == keys(spans)


@pytest.mark.parametrize("log", ["requests", "decisions", "cursors", "."])
def test_t33_deleted_files_cost_their_content_and_it_starts_anyway(tmp_path, log):
    """Whatever is missing, new data is accepted and delivered."""
    with fault_backend("grpc") as backend:
        spans = backlog(tmp_path, backend)
        shutil.rmtree(tmp_path / "journal" / log)
        fresh = traces(3, seed=8)
        with serving(tmp_path, {"b": backend.endpoint}, sending=FAST, analysis=RULES) as served:
            for trace in fresh:
                served.send(trace)
            wanted = keys(span for trace in fresh for span in trace)
            wait_until(lambda: wanted <= backend.span_keys())
            wait_until(lambda: not served.metric("raglog_spans_pending"))
            assert_conserved(served, "b")
        if log in {"decisions", "cursors"}:
            assert keys(spans) <= backend.span_keys()


def fill(path):
    """Write zeros until the disk is full."""
    with path.open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while ballast.write(bytes(64 * 1024)):
            pass


@contextmanager
def small_disk(folder, mib):
    """Mount a tmpfs of so many MiB, where that is allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if done.returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_t34_a_full_disk_refuses_and_recovers(tmp_path):
    """Somebody else fills it: requests are refused, nothing acknowledged is lost, space heals."""
    with small_disk(tmp_path / "disk", 16) as disk, fault_backend("grpc") as backend:
        journal = {"path": str(disk / "journal")}
        exporters = {"b": backend.endpoint}
        with serving(tmp_path, exporters, journal=journal, sending=FAST, analysis=RULES) as served:
            accepted = [span for trace in traces(20) for span in trace]
            served.send(accepted)
            fill(disk / "ballast")
            refused = [not offer(served, trace) for trace in traces(10, seed=2)]
            assert any(refused)
            assert httpx2.get(f"http://{served.addresses['health']}/live").status_code == 200
            ready = httpx2.get(f"http://{served.addresses['health']}/ready")
            assert ready.status_code == 503
            backend.wait_for(len(accepted))
            (disk / "ballast").unlink()
            late = [span for trace in traces(5, seed=3) for span in trace]
            wait_until(lambda: offer(served, late))
            wait_until(lambda: keys(late) <= backend.span_keys())
            assert_conserved(served, "b")
        assert keys(accepted) <= backend.span_keys()


def test_t34_a_disk_that_the_journal_itself_fills_is_drained_again(tmp_path):
    """Its own data must not keep it from delivering, and so from freeing, that data."""
    with small_disk(tmp_path / "disk", 8) as disk, fault_backend("grpc") as backend:
        backend.down()
        journal = {"path": str(disk / "journal")}
        exporters = {"b": backend.endpoint}
        random_source = random.Random(6)
        with serving(tmp_path, exporters, journal=journal, sending=FAST, analysis=RULES) as served:
            accepted, refusals = [], 0
            while refusals < 20:
                trace = rag_trace(random_source, len(accepted))
                if offer(served, trace):
                    accepted += trace
                else:
                    refusals += 1
            backend.up()
            wait_until(lambda: keys(accepted) <= backend.span_keys())
            wait_until(lambda: offer(served, rag_trace(random_source, 1)))
            assert_conserved(served, "b")


def test_t34_while_every_write_fails_it_refuses_and_then_recovers(tmp_path):
    """As on a disk that has become read-only: its log file fails as well, and it stays alive."""
    with fault_backend("grpc") as backend:
        exporters = {"b": backend.endpoint}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            accepted = [span for trace in traces(3) for span in trace]
            served.send(accepted)
            limit = served.process.pid, resource.RLIMIT_FSIZE
            before = resource.prlimit(*limit, (0, resource.RLIM_INFINITY))
            assert not offer(served, traces(1, seed=5)[0])
            assert not offer(served, traces(1, seed=6)[0])
            resource.prlimit(*limit, before)
            late = traces(1, seed=7)[0]
            wait_until(lambda: offer(served, late))
            wait_until(lambda: keys([*accepted, *late]) <= backend.span_keys())
            assert_conserved(served, "b")


def test_t34_a_folder_that_cannot_be_written_is_named_at_the_start(tmp_path):
    """A sidecar that cannot keep its promise does not start."""
    (tmp_path / "file").write_text("no folder")
    journal = {"path": str(tmp_path / "file" / "journal")}
    with (
        pytest.raises(AssertionError, match=r"journal\.path"),
        serving(tmp_path, {"c": {"kind": "console"}}, journal=journal),
    ):
        pass


def test_two_services_never_share_a_journal(tmp_path):
    """The second one says whose folder that is, and does not start."""
    with serving(tmp_path, {"c": {"kind": "console"}}):
        other = tmp_path / "other"
        other.mkdir()
        journal = {"path": str(tmp_path / "journal")}
        with (
            pytest.raises(AssertionError, match=r"journal\.path"),
            serving(other, {"c": {"kind": "console"}}, journal=journal),
        ):
            pass


def test_the_journal_is_private(tmp_path):
    """It holds questions, documents and answers."""
    with serving(tmp_path, {"c": {"kind": "console"}}, analysis=RULES) as served:
        served.send(traces(1)[0])
        for path in [tmp_path / "journal", *(tmp_path / "journal").rglob("*")]:
            assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("answer", [after(0), hang()])
def test_t36_sigterm_under_load_loses_nothing_that_was_acknowledged(tmp_path, answer):
    """It ends within its grace; what a destination did not take arrives after the next start."""
    random_source = random.Random(11)
    accepted = []
    with fault_backend("http") as backend:
        backend.answer = answer
        exporters = {"b": {"kind": "otlp_http", "endpoint": backend.endpoint}}
        options = {"sending": FAST, "analysis": RULES, "shutdown_grace_seconds": 3}
        with serving(tmp_path, exporters, **options) as served:
            stop = threading.Event()

            def load():
                while not stop.is_set():
                    trace = rag_trace(random_source, len(accepted))
                    try:
                        if post(served, encode_request(trace)).status_code == 200:
                            accepted.extend(trace)
                    except httpx2.HTTPError:
                        return

            thread = threading.Thread(target=load)
            thread.start()
            wait_until(lambda: len(accepted) > 300)
            began = time.monotonic()
            assert served.stop() == 0
            assert time.monotonic() - began < 12
            stop.set()
            thread.join()
            stopped = served.log.read_text()
            assert '"dropped_items": 0' in stopped
        backend.answer = after(0)
        with serving(tmp_path, exporters, **options) as served:
            wait_until(lambda: keys(accepted) <= backend.span_keys())
            assert_conserved(served, "b")
        assert backend.conflicts() == []


def test_t36_a_second_signal_leaves_the_rest_in_the_journal_at_once(tmp_path):
    """Held spans included: they are judged after the next start."""
    spans = [span for trace in traces(5) for span in trace]
    hold = {"quiet_seconds": 60, "orphan_quiet_seconds": 60}
    with fault_backend("grpc") as backend:
        backend.down()
        exporters = {"b": backend.endpoint}
        options = {"sending": FAST, "analysis": RULES, "shutdown_grace_seconds": 60}
        with serving(tmp_path, exporters, hold=hold, **options) as served:
            served.send(spans)
            began = time.monotonic()
            served.process.send_signal(signal.SIGTERM)
            wait_until(lambda: "stopping" in served.log.read_text())
            served.process.send_signal(signal.SIGTERM)
            assert served.process.wait(20) == 0
            assert time.monotonic() - began < 10
            assert f'"kept_items": {len(spans)}' in served.log.read_text()
        backend.up()
        with serving(tmp_path, exporters, **options) as served:
            backend.wait_for(5 * (RAG_SPANS + OTHER_SPANS))
            assert_conserved(served, "b")
        assert backend.span_keys() == keys(spans)


def test_without_a_journal_what_is_undelivered_is_counted_as_dropped(tmp_path):
    """Memory mode promises less, and says so."""
    spans = [span for trace in traces(5) for span in trace]
    with fault_backend("grpc") as backend:
        backend.down()
        options = {"sending": FAST, "analysis": RULES, "shutdown_grace_seconds": 1}
        with serving(
            tmp_path, {"b": backend.endpoint}, journal={"enabled": False}, **options
        ) as served:
            served.send(spans)
            assert_conserved(served, "b")
            assert served.stop() == 0
            assert f'"dropped_items": {len(spans)}' in served.log.read_text()
        assert not (tmp_path / "journal").exists()
