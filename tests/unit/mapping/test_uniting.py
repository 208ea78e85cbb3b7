"""What the run of several traces looks like."""

from dataclasses import replace

from fragment_traces import ANSWER, CHUNKS, QUESTION, Call
from span_trees import llm, oi, retriever

from otel_raglog.mapping.joining import Together
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.uniting import unite, united
from otel_raglog.mapping.views import with_views
from otel_raglog.model import Completion, Stage


def run_of(*traces):
    """Return the run of traces, of which the last one answers."""
    together = Together(traces[-1].trace_id, tuple(trace.trace_id for trace in traces))
    runs = {trace.trace_id: map_trace(trace)[0] for trace in traces}
    whole = united(traces, runs[together.generator])
    return unite(traces, runs, together, map_trace(whole))


def test_the_steps_of_all_traces_are_the_steps_of_the_run():
    """Under the id of the trace that answers; a note names all of them."""
    call = Call()
    traces = [call.embed(), call.search(None), call.answer()]
    run = run_of(*traces)
    assert (run.run_id, run.trace_id) == (traces[2].trace_id.hex(), traces[2].trace_id)
    assert run.top_span_id == traces[2].spans[0].span_id
    assert (run.question.value, run.answer.value) == (QUESTION, ANSWER)
    assert run.retrievers[0].query.value == QUESTION
    assert {stage: state.steps for stage, state in run.stages.items() if state.steps} == {
        Stage.EMBEDDER: 1,
        Stage.RETRIEVER: 1,
        Stage.ASSEMBLY: 1,
        Stage.GENERATOR: 1,
    }
    assert run.joined_traces == tuple(trace.trace_id for trace in traces)
    assert all(trace.trace_id.hex() in run.notes[0] for trace in traces)
    assert run.skip_reason is None
    assert run.session_id == "s1"


def test_each_step_stays_on_the_span_of_its_own_trace():
    """That is where its verdict is written."""
    call = Call()
    traces = [call.embed(), call.search(), call.answer()]
    run = run_of(*traces)
    assert run.embedders[0].origin.span_id == traces[0].spans[0].span_id
    assert run.retrievers[0].origin.span_id == traces[1].spans[0].span_id
    assert run.generators[0].origin.span_id == traces[2].spans[0].span_id


def test_a_search_whose_context_was_lost_in_a_thread_belongs_below_the_span_around_it():
    """The run is then the one that it would be with the context."""
    call = Call()
    chat = llm("chat", f"Context:\n{CHUNKS[0][1]}\n\nQuestion: {QUESTION}", ANSWER, start=401)
    ask = oi("CHAIN", "ask", chat, given="So when does it leave?", said=ANSWER, start=1, end=990)
    whole = oi(
        "CHAIN",
        "ask",
        retriever("search", QUESTION, *CHUNKS, start=201, end=300),
        llm("chat", f"Context:\n{CHUNKS[0][1]}\n\nQuestion: {QUESTION}", ANSWER, start=401),
        given="So when does it leave?",
        said=ANSWER,
        start=1,
        end=990,
    )
    run = run_of(call.search(), call.trace(ask))
    (expected,) = map_trace(call.trace(whole))
    assert run.question.value == expected.question.value == "So when does it leave?"
    assert run.answer.value == expected.answer.value
    assert {s: state.steps for s, state in run.stages.items()} == {
        s: state.steps for s, state in expected.stages.items()
    }


def test_a_run_is_as_whole_as_the_least_of_its_traces():
    """What one of them may lack the run may lack."""
    call = Call()
    search = replace(call.search(), completion=Completion.MAX_WAIT)
    assert run_of(search, call.answer()).completion is Completion.MAX_WAIT


def test_two_pipelines_make_no_run():
    """Traces that hold more than one question are judged one by one."""
    call = Call()
    whole = [
        oi(
            "CHAIN",
            "ask",
            retriever("search", question, *CHUNKS),
            llm("chat", f"Context: {CHUNKS[0][1]}\nQuestion: {question}", ANSWER),
            given=question,
            said=ANSWER,
            start=start,
        )
        for start, question in ((1, QUESTION), (5_000, "Where may dogs stay?"))
    ]
    assert run_of(call.trace(whole[0]), call.trace(whole[1])) is None


def test_what_is_shown_of_a_joined_run_is_joined_too():
    """From the redacted spans of all of its traces, under the same names."""
    call = Call()
    traces = [
        replace(trace, shown=tuple(hidden(each) for each in trace.spans))
        for trace in (call.embed(), call.search(None), call.answer())
    ]
    together = Together(traces[-1].trace_id, tuple(trace.trace_id for trace in traces))
    runs = {trace.trace_id: map_trace(trace)[0] for trace in traces}
    whole = united(traces, runs[together.generator])
    assert [each.span_id for each in whole.shown] == [each.span_id for each in whole.spans]
    found = with_views(map_trace(whole), map_trace(replace(whole, spans=whole.shown)))
    run = unite(traces, runs, together, tuple(found))
    assert run.question.value == QUESTION
    assert run.shown.question.value == QUESTION.replace("ferry", "[redacted]")
    assert (run.shown.run_id, run.shown.joined_traces) == (run.run_id, run.joined_traces)


def hidden(span):
    """Return a span that speaks of no ferry."""
    told = {
        key: value.replace("ferry", "[redacted]") if isinstance(value, str) else value
        for key, value in span.attributes.items()
    }
    return replace(span, attributes=told)
