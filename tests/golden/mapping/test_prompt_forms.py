"""Prompts with marks of their own: DSPy's fields, and code fences that hold no context."""

from __future__ import annotations

from span_trees import embedding, llm, oi, retriever, span, summary, trace_of

from otel_raglog.checks.rules.assembly import AssemblyRules
from otel_raglog.mapping.mapping import map_trace

Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
FERRY = "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."
SYSTEM = (
    "Your input fields are:\n1. `context` (str): \n2. `question` (str):\nYour output fields are:\n"
    "1. `answer` (str):\nAll interactions will be structured in the following way.\n\n"
    "[[ ## context ## ]]\n{context}\n\n[[ ## question ## ]]\n{question}\n\n"
    "[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]\nIn adhering to this structure, your "
    "objective is: Given the fields `context`, `question`, produce the fields `answer`."
)
PROMPT = f"[[ ## context ## ]]\n[1] {FERRY}\n\n[[ ## question ## ]]\n{Q}\n\nRespond with `answer`."
REPLY = f"[[ ## answer ## ]]\n{A}\n\n[[ ## completed ## ]]"
ANSWERING = llm("LM.__call__", [("system", SYSTEM), ("user", PROMPT)], REPLY)


def only(*parts):
    """Return the one run of a DSPy program around ``parts``."""
    (run,) = map_trace(
        trace_of(oi("CHAIN", "RAG.forward", *parts, given={"question": Q}, said={"answer": A}))
    )
    return run


def test_dspy_context():
    """The context is the field of the user's message, not the description of the fields."""
    run = only(ANSWERING)
    assert run.assemblies[0].context.value == f"[1] {FERRY}"
    assert run.generators[0].answer.value == A
    assert summary(run)["rewriter"] == "absent"
    assert summary(run)["retriever"] == "unknown: not_captured"


def test_dspy_placeholders_are_no_blank_slots():
    """The form of the fields names them in braces: nothing was left unfilled."""
    run = only(retriever("search", Q, ("a", FERRY)), ANSWERING)
    (blank,) = [m for m in AssemblyRules().measure(run) if m.name == "assembly.blank_slots"]
    assert blank.value == 0


def test_dspy_demonstrations_are_not_the_context():
    """Worked examples before the question are other questions' context."""
    demo = [("user", PROMPT.replace(FERRY, "Dogs stay on deck 4.")), ("assistant", REPLY)]
    run = only(llm("LM.__call__", [("system", SYSTEM), *demo, ("user", PROMPT)], REPLY))
    assert run.assemblies[0].context.value == f"[1] {FERRY}"


def test_a_search_that_left_no_span():
    """An LLM call before the answer may have written what was searched for: not absent."""
    run = only(
        llm(
            "LM.__call__",
            f"[[ ## question ## ]]\n{Q}",
            "[[ ## search_query ## ]]\nnight ferry departure",
        ),
        ANSWERING,
    )
    assert summary(run)["rewriter"] == "unknown: not_captured"


def test_code_fences_are_no_context():
    """A prompt that shows schemas in code fences, in a trace of its own, is no RAG run."""
    prompt = (
        "Structure the query to match the schema.\n\n<< Example >>\nData Source:\n```json\n{}\n```"
        '\n\nStructured Request:\n```json\n{"query": "songs"}\n```\n\n<< Example >>\nUser Query:\n'
        f"{Q}\n\nStructured Request:"
    )
    (run,) = map_trace(trace_of(llm("ChatCompletion", prompt, '```json\n{"query": "ferry"}\n```')))
    assert run.skip_reason == "no_retrieval"


def test_context_in_a_code_fence():
    """Documents that are introduced as such are context, in a fence too."""
    prompt = f"Answer from the documents below.\n```\n{FERRY}\n```\nQuestion: {Q}"
    (run,) = map_trace(trace_of(llm("ChatCompletion", prompt, A)))
    assert run.skip_reason is None
    assert run.assemblies[0].context.value == FERRY


def test_an_instruction_in_front_of_the_question_is_no_part_of_it():
    """What was embedded, behind a colon in the message, is the question."""
    asked = [("system", FERRY), ("user", f"Based on the above, answer: {Q}")]
    request = span("POST /ask", embedding("CreateEmbeddings", Q), llm("ChatCompletion", asked, A))
    (run,) = map_trace(trace_of(request))
    assert run.question.value == Q
