"""What of a prompt is context."""

import pytest

from otel_raglog.mapping.context import context_in, shows_any, shows_context
from otel_raglog.model import Chunk, Message

Q = "When does it leave?"
CHUNK = Chunk("The night ferry leaves Ellery at 22:15 from May to September.", "a")
OTHER = Chunk("Dogs are welcome on deck 4 of the Aurelia, on a short lead.", "b")


@pytest.mark.parametrize(
    "text",
    [
        f"Context:\n{CHUNK.text}\n\nQuestion: {Q}\nAnswer:",
        f"Context information is below.\n------\n{CHUNK.text}\n------\nAnswer the query.\nQuery: {Q}",
        f"Use this.\n<context>\n{CHUNK.text}\n</context>\n{Q}",
        f"Answer from these passages:\n{CHUNK.text}",
    ],
)
def test_context_between_marks(text):
    """Marks cut the context out."""
    assert context_in([Message("user", text)], {}, [CHUNK], Q) == CHUNK.text


def test_marks_that_would_cut_chunks_are_not_trusted():
    """When a chunk is outside the marks, the whole message without the question is context."""
    text = f"{OTHER.text}\nContext:\n{CHUNK.text}\nQuestion: {Q}"
    found = context_in([Message("user", text)], {}, [CHUNK, OTHER], Q)
    assert CHUNK.text in found
    assert OTHER.text in found
    assert Q not in found


def test_context_by_variable():
    """A context variable of the template is the context, if the prompt holds it."""
    messages = [Message("user", f"Answer.\n{CHUNK.text}\n{Q}")]
    assert context_in(messages, {"context_str": CHUNK.text}, [], Q) == CHUNK.text
    assert context_in(messages, {"context": " "}, [], Q) == ""


def test_context_of_tools():
    """Tool results are the context of an agent."""
    messages = [Message("user", Q), Message("tool", CHUNK.text), Message("tool", "x")]
    assert context_in(messages, {}, [], Q) == f"{CHUNK.text}\n\nx"


def test_context_that_cannot_be_told():
    """A lone message without marks is not split."""
    assert context_in([Message("user", "x y z")], {}, [], Q) is None
    assert context_in([Message("system", "facts"), Message("user", Q)], {}, [], Q) == "facts"


def test_signs_of_context():
    """Marks, numbered sources, tool results and variables show context."""
    assert shows_context([Message("system", "Answer.\n[1] a fact")], {})
    assert shows_context([Message("tool", CHUNK.text)], {})
    assert shows_context([], {"documents": "x"})
    assert not shows_context([Message("user", "Tell me a joke.")], {})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Use the documents below.\n```\n{CHUNK.text}\n```\n{Q}", True),
        (f"Answer in this form.\n```json\n{{}}\n```\n{Q}", False),
        (f"Answer in this form.\n```\n{{}}\n```\n{Q}", False),
        (f"Some choices are below.\n-----\n(1) ferries\n-----\n{Q}", False),
        (f"Here is the initial question:\n-----\n{Q}\n-----\nImprove it.", False),
        ("<< Example >>\nData Source:\n{}\n<< Structured Request >>", False),
        ("1. `context` (str):\n2. `question` (str):", False),
        ("[[ ## context ## ]]\n{context}\n\n[[ ## question ## ]]\n{question}", False),
        (f"[[ ## context ## ]]\n{CHUNK.text}\n\n[[ ## question ## ]]\n{Q}", True),
    ],
)
def test_marks_of_other_things(text, shown):
    """Fences and rules around code, schemas, choices and questions are no marks of context."""
    assert shows_context([Message("user", text)], {}) is shown


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (f"At 07:00, see: retrieved information{'x' * 40}: none\n{Q}", None),
        (f"Use {'the pier ' * 9}. RETRIEVED INFORMATION {'y' * 39}:\t{CHUNK.text}", CHUNK.text),
        (f"Note: the data source: {CHUNK.text}", None),
        (f"The \u017fource\u017f of it: {CHUNK.text}", CHUNK.text),
        (f"`documents`: {CHUNK.text}", None),
    ],
)
def test_a_label_ends_with_a_colon_nearby(text, context):
    """A label's colon stands within 40 characters; names in code and of data are no labels."""
    assert shows_context([Message("user", text)], {}) is (context is not None)
    if context is not None:
        assert context_in([Message("user", text)], {}, [], Q) == context


def test_a_fence_that_holds_a_chunk():
    """A code fence with a known chunk in it is a mark of context, however it is introduced."""
    text = f"Here:\n```json\n{CHUNK.text}\n```\n{Q}"
    assert context_in([Message("user", text)], {}, [CHUNK], Q) == CHUNK.text


def test_chunks_are_known_in_any_case_and_white_space():
    """A prompt shows a chunk as written, or but for case and white space; edges are no chunk."""
    shouted = f"Rules.\n{CHUNK.text.upper()}\n\n{Q}".replace(" ", "  ")
    assert shows_any(f"Rules. {CHUNK.text}", [Chunk("..."), CHUNK])
    assert shows_any(shouted, [CHUNK])
    assert not shows_any("Well ...", [Chunk("..."), Chunk(""), CHUNK])
    assert not shows_any("Rules.", [])


def test_context_of_earlier_turns():
    """What tools found in earlier turns is no sign of retrieval in this one."""
    talk = [Message("user", Q), Message("tool", CHUNK.text), Message("assistant", "At 22:15.")]
    assert shows_context(talk[:2], {})
    assert not shows_context([*talk, Message("user", "Thank you!")], {})


def test_observations_are_tool_results():
    """Agents without tool messages hand results back as the user's."""
    talk = [
        Message("user", Q),
        Message("assistant", "Thought: x\nAction: search"),
        Message("user", f"Observation: {CHUNK.text}"),
    ]
    assert context_in(talk, {}, [CHUNK], Q) == CHUNK.text
    assert shows_context(talk, {})


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("391", False),
        ('{"city": "Oslo", "temp_c": 12, "sky": "overcast"}', False),
        ('{"assistant": "Handbook agent"}', False),
        (CHUNK.text, True),
        ('[{"id": "a", "text": "The night ferry leaves Ellery at 22:15."}]', True),
        ("夜間渡輪於二十二時十五分從埃勒里出發。", True),
    ],
)
def test_results_of_tools(result, shown):
    """A tool's result is context when there is a passage in it, not only a value."""
    assert shows_context([Message("user", Q), Message("tool", result)], {}) is shown


def test_results_of_tools_that_act():
    """What a tool gave that acts instead of searching is no context."""
    talk = [Message("user", Q), Message("tool", CHUNK.text)]
    assert not shows_context(talk, {}, [CHUNK.text])
    assert shows_context(talk, {}, ["another result"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Summarise the document in one sentence:\n\n{CHUNK.text}", False),
        (f"Please translate the text into French.\nDocument: {CHUNK.text}", False),
        (f"Summarise the context for the user.\nContext: {CHUNK.text}\nQuestion: {Q}", True),
        (f"Which of these sources helps?\nSources: {CHUNK.text}", True),
    ],
)
def test_texts_to_work_on(text, shown):
    """A text to summarise or to translate is no context, unless a question goes with it."""
    assert shows_context([Message("user", text)], {}) is shown
