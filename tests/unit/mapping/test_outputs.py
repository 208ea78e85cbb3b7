"""What a recorded text tells a person."""

import pytest

from otel_raglog.mapping.outputs import final_answer, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("At 22:15.", "At 22:15."),
        ("AIMessage(content='At 22:15.')", "At 22:15."),
        ("<async_generator object at 0x7f00>", None),
        ("StopEvent(result=Out(a='b)'))", None),
        ("StopEvent(result='cut he...", None),
        ("Out(a=1) and Out(a=2)", "Out(a=1) and Out(a=2)"),
        ("print(end='')", "print(end='')"),
        (" ", None),
    ],
)
def test_plain_text(text, plain):
    """A message's repr says what the message says; other objects say nothing."""
    assert plain_text(text) == plain


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Thought: I can answer.\nAnswer: At 22:15.", "At 22:15."),
        ("I now know it.\nFinal Answer: At 22:15.\nAnd again.", "At 22:15.\nAnd again."),
        ("Thought: I search.\nAction: search\nAnswer: none", None),
        ("The answer: at 22:15.", None),
        ("Answer: at 22:15.", None),
        ("Thought: x\nAnswer:", None),
        ("<scratchpad>It is early.</scratchpad>\n<answer>\nAt 22:15.\n</answer>\n", "At 22:15."),
        ("Write it as <answer>x</answer>, please.", None),
    ],
)
def test_final_answer(text, part):
    """Only what follows a reasoned output's conclusion is told to the user."""
    assert final_answer(text) == (part or text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<think>Hm.</think>At 22:15.", "At 22:15."),
        ("At 22:15.\n<thinking>\nHm.\n</thinking>\nFrom Ellery.", "At 22:15.\nFrom Ellery."),
        ("Hm, a < b.\n</think>\n\nAt 22:15.", "At 22:15."),
        ("<think>Thought: x</think>\nThought: I know.\nAnswer: At 22:15.", "At 22:15."),
        ("<think>Hm.</think>", None),
        ("<think>Hm, cut off", None),
        ("Write <think>Hm.</think> into the template.", None),
        ("Close it with </think> and go on.", None),
    ],
)
def test_reasoning(text, told):
    """Blocks of reasoning are not told; what only mentions the tags, or is nothing else, stays."""
    assert final_answer(text) == (told or text)


def test_an_answer_in_code():
    """An agent that writes code tells what it gives to `final_answer`."""
    text = "Thought: I know.\n<code>\nfinal_answer(\"It costs '4 euro'.\")\n</code>"
    assert final_answer(text) == "It costs '4 euro'."
    assert final_answer("final_answer(total * 2)") == "final_answer(total * 2)"
