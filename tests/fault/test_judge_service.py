"""The service with an LLM that fails in every way: spans leave on time, budgets hold, runs count once."""

import random
import time

import pytest
from judge_behaviours import (
    after,
    breaks_json,
    breaks_schema,
    drips,
    fails,
    floods,
    resets,
)
from judge_server import JudgeServer
from rag_traces import rag_trace
from services import collect, running_sink, serving, wait_until

from otel_raglog.receive.span import decode_span

HOLD = {"quiet_seconds": 0.3, "orphan_quiet_seconds": 0.6, "escalated_seconds": 1.0}


def judge(server, **options):
    """Return the options that ask ``server`` about every run."""
    return {
        "when": "always",
        "endpoint": server.url_anthropic,
        "timeout_seconds": 2,
        "tries": 2,
        **options,
    }


def top_of(spans):
    """Return the attributes of the trace's topmost span."""
    return next(decode_span(span) for span in spans if not span.parent_id).attributes


def test_a_run_is_judged_with_the_answers_of_an_llm(tmp_path):
    """Five checks at once; tier, calls and cost are on the span, and the metrics count them."""
    trace = rag_trace(random.Random(1), 0)
    with (
        JudgeServer() as server,
        running_sink() as sink,
        serving(tmp_path, {"sink": sink.endpoint}, judge=judge(server), hold=HOLD) as served,
    ):
        served.send(trace)
        top = top_of(collect(sink, len(trace)))
        assert top["raglog.detector.tier"] == "llm"
        assert top["raglog.judge.calls"] == 5
        assert top["raglog.judge.model"] == "claude-haiku-5-5"
        assert top["raglog.analysis.cost_usd"] > 0
        assert server.count() == 5
        wait_until(lambda: served.metric("raglog_runs_total") == 1)
        assert served.metric("raglog_llm_calls_total") == 5
        assert served.metric("raglog_llm_cost_usd_total") > 0
        assert served.metric("raglog_spans_pending") == 0


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (lambda: fails(429, retry_after="60"), "rate_limited"),
        (lambda: fails(500), "unavailable"),
        (resets, "unavailable"),
        (lambda: drips(0.5), "timeout"),
        (floods, "too_large"),
        (breaks_json, "malformed"),
        (breaks_schema, "malformed"),
    ],
    ids=["429", "500", "reset", "slow drip", "10 MB", "malformed JSON", "wrong schema"],
)
def test_whatever_the_llm_does_spans_leave_on_time_with_a_verdict(tmp_path, behaviour, reason):
    """The local one; each check abstains for the documented reason, and no span waits longer."""
    trace = rag_trace(random.Random(2), 0)
    with (
        JudgeServer() as server,
        running_sink() as sink,
        serving(tmp_path, {"sink": sink.endpoint}, judge=judge(server), hold=HOLD) as served,
    ):
        server.answer = lambda _: behaviour()
        started = time.monotonic()
        served.send(trace)
        spans = collect(sink, len(trace))
        waited = time.monotonic() - started
        assert top_of(spans)["raglog.detector.tier"] == "local"
        assert top_of(spans)["raglog.run.verdict"] in {"ok", "faulty", "unknown"}
        # Quiet time and hold make 1.3 s; what is above it is for slow machines.
        assert waited < 1.3 + 5
        wait_until(lambda: served.metric("raglog_runs_total") == 1)
        abstained = served.metric("raglog_judge_abstained_total", reason=reason)
        others = served.metric("raglog_judge_abstained_total") - abstained
        assert abstained >= 1
        assert others <= served.metric("raglog_judge_abstained_total", reason="breaker_open")


def test_an_answer_that_comes_after_the_hold_follows_on_spans_of_its_own(tmp_path):
    """Each is linked to its target, says what it supersedes, and is balanced like any span."""
    trace = rag_trace(random.Random(3), 0)
    with (
        JudgeServer() as server,
        running_sink() as sink,
        serving(
            tmp_path,
            {"sink": sink.endpoint},
            judge=judge(server, timeout_seconds=20),
            hold={**HOLD, "escalated_seconds": 0.2},
        ) as served,
    ):
        server.answer = lambda _: after(2.5)
        served.send(trace)
        first = list(collect(sink, len(trace)))
        assert top_of(first)["raglog.detector.tier"] == "local"
        assert served.metric("raglog_runs_total") == 0
        wait_until(lambda: served.metric("raglog_late_verdicts_total") == 1)
        targets = {span.span_id for span in trace}
        wait_until(lambda: served.metric("raglog_spans_pending") == 0)
        received = served.metric("raglog_spans_received_total")
        own = [decode_span(s) for s in collect(sink, int(received))[len(trace) :]]
        assert own
        for span in own:
            (link,) = span.links
            assert link.trace_id == trace[0].trace_id
            assert link.span_id in targets
            assert span.attributes["raglog.supersedes"].startswith("local-")
        assert any(span.attributes.get("raglog.detector.tier") == "llm" for span in own)
        assert served.metric("raglog_runs_total") == 1
        assert served.metric("raglog_spans_forwarded_total") == received


def test_an_exhausted_budget_asks_nobody_and_a_restart_does_not_forget(tmp_path):
    """The report says why; the counter moves; the next process knows what was spent."""
    source = random.Random(4)
    traces = [rag_trace(source, number) for number in range(3)]
    with JudgeServer() as server, running_sink() as sink:
        # A run costs a fraction of a cent at the price of the default model; two cost too much.
        budget = {"usd_per_hour": 0.003, "usd_per_day": 0.003}
        options = {"judge": judge(server, budget=budget), "hold": HOLD}
        with serving(tmp_path, {"sink": sink.endpoint}, **options) as served:
            served.send(traces[0])
            wait_until(lambda: served.metric("raglog_runs_total") == 1)
            assert server.count() == 5
            served.send(traces[1])
            wait_until(lambda: served.metric("raglog_runs_total") == 2)
            assert served.metric("raglog_judge_skipped_total", reason="budget") == 1
            assert served.stop() == 0
        with serving(tmp_path, {"sink": sink.endpoint}, **options) as served:
            served.send(traces[2])
            wait_until(lambda: served.metric("raglog_runs_total") == 1)
            assert served.metric("raglog_judge_skipped_total", reason="budget") == 1
            spans = collect(sink, sum(map(len, traces)))
        assert server.count() == 5
        tops = [decode_span(span).attributes for span in spans if not span.parent_id]
        assert [top.get("raglog.judge.skipped") for top in tops] == [None, "budget", "budget"]


def test_a_run_that_its_user_dislikes_is_asked_about_whatever_is_certain(tmp_path):
    """Thumbs down on a span of the trace: not even an empty band keeps it from the LLM."""
    bands = {stage: [0.0, 0.0] for stage in ("rewriter", "embedder", "retriever", "generator")}
    bands["reranker"] = [0.0, 0.0]
    with (
        JudgeServer() as server,
        running_sink() as sink,
        serving(
            tmp_path,
            {"sink": sink.endpoint},
            judge=judge(server, when="escalate", bands=bands),
            hold=HOLD,
        ) as served,
    ):
        plain = rag_trace(random.Random(5), 0)
        served.send(plain)
        wait_until(lambda: served.metric("raglog_runs_total") == 1)
        assert server.count() == 0
        assert served.metric("raglog_judge_skipped_total", reason="not_uncertain") == 1
        disliked = rag_trace(random.Random(6), 1, feedback="thumbs_down")
        served.send(disliked)
        wait_until(lambda: served.metric("raglog_runs_total") == 2)
        assert server.count() == 5
