"""What is said of traces that leave together."""

from concurrent.futures import Future

from samples import make_report, span_message, wire_span

from otel_raglog.analysis import Assessed
from otel_raglog.judged import Judged
from otel_raglog.llm_tier import Asked
from otel_raglog.model import Completion, HeldTrace, Tier


class FakeTier:
    """Makes a final report of a local one."""

    def final(self, local, future):
        return future.result()


def judged(*assessed):
    span = wire_span(span_message())
    trace = HeldTrace(span.trace_id, (span,), Completion.ROOT_QUIET, 0.0)
    return Judged((trace,), assessed, {})


def test_without_an_llm_everything_is_said():
    """The local reports are the final ones."""
    local = make_report()
    assert judged(Assessed(local)).answered
    assert judged(Assessed(local)).reports() == [local]


def test_what_is_not_answered_yet_is_said_by_the_local_tier():
    """Of two runs, the one that was answered has its final report already."""
    local, final = make_report(), make_report(tier=Tier.LLM)
    done, open_ = Future(), Future()
    done.set_result(final)
    subject = judged(
        Assessed(local, Asked(FakeTier(), done)), Assessed(local, Asked(FakeTier(), open_))
    )
    assert not subject.answered
    assert subject.reports() == [final, local]
    open_.set_result(final)
    assert subject.answered
    assert subject.reports() == [final, final]


def test_its_size_is_that_of_its_spans():
    """So that what waits counts against the memory budget."""
    subject = judged()
    assert subject.size_bytes == subject.traces[0].size_bytes > 0


def test_what_it_has_left_with_is_final():
    """Of two runs, the one that was answered is said for good; of the other the answer follows."""
    local, final = make_report(), make_report(tier=Tier.LLM)
    done, open_ = Future(), Future()
    done.set_result(final)
    subject = judged(
        Assessed(local, Asked(FakeTier(), done)), Assessed(local, Asked(FakeTier(), open_))
    )
    assert subject.settle() == [final, local]
    open_.set_result(final)
    assert subject.pending  # although it is answered by now: it has left without
    assert [each.asked is None for each in subject.assessed] == [True, False]
    assert judged(Assessed(local, Asked(FakeTier(), done))).settle() == [final]
