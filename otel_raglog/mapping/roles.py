"""Span roles and names to the roles that count, where kinds are missing or wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from otel_raglog.conventions.documents import chunks_in
from otel_raglog.mapping.chunks import is_part
from otel_raglog.mapping.judging import holds_score
from otel_raglog.mapping.names import NamePattern
from otel_raglog.mapping.texts import holds, squeezed
from otel_raglog.mapping.tools import Prompts, finds_passages, is_cache
from otel_raglog.mapping.tree import Node, Tree
from otel_raglog.model import FieldStatus, Role, Span, SpanFacts

RERANKER_NAME = NamePattern(
    r"rerank|ranker|compress|cross.?encoder|post.?process|colbert|cohere\.rerank"
)
CERTAIN_RERANKER_NAME = NamePattern(r"re.?rank|(?<![a-z])ranker|cross.?encoder")
FILTER_NAME = NamePattern(r"grade|filter|select|prune|top_?[kn]")
SEARCH_TOOL_NAME = NamePattern(
    r"search|retriev|lookup|look_up|query|(?<![a-z])kb(?![a-z])|docs|documents|knowledge|"
    r"(?<![a-z])rag(?![a-z])|faq|wiki",
)
ACTION_TOOL_NAME = NamePattern(
    r"calculat|arithmetic|multipl|(?<![a-z])(?:add|sum|subtract|divide|eval|math|time|date|now|clock|"
    r"python|repl|shell|bash|terminal|sleep|convert|currency|final_answer)(?![a-z])|"
    r"weather|forecast|(?:run|exec\w*)_?code|code.?interpreter|transfer.?to|hand.?off|delegate|"
    r"ask_?(?:human|user)|human_?(?:input|in_the_loop)|"
    r"(?<![a-z])(?:send|email|notify|book|create|update|delete|cancel|write|schedule|translate)"
    r"(?![a-z])",
)
"""Names of tools that compute or act: what they give back is no retrieved context."""

RETRIEVER_NAME = NamePattern(r"retriev|search|lookup|get_context|fetch_(?:docs|context)")
LEXICAL_NAME = NamePattern(
    r"bm25|okapi|tf.?idf|keyword|lexical|full.?text|fts|elastic.?search.?bm25|"
    r"wikipedia|arxiv|pubmed|tavily|duckduckgo|(?:web|google|bing).?search",
)
FUSION_NAME = NamePattern(r"fusion|ensemble|multi.?query|hybrid|merger|joiner|router")
JOINER_NAME = NamePattern(r"joiner|fusion|merge")
EMBEDDER_NAME = NamePattern(
    r"text.?embedder|query_embedding|embed_(?:query|text|question)|encode_query"
)
PROMPT_NAME = NamePattern(r"prompt.?(?:builder|template|node)|build_prompt|format_prompt")
SYNTHESIS_NAME = NamePattern(r"synthesi|get_response|stuff.?documents|combine_docs")
GENERATOR_NAME = NamePattern(r"generat|(?<![a-z])llm|chat|answer|synthesi|complet|respond")
EVALUATOR_NAME = re.compile(r"(?<=[a-z])Evaluator(?![a-z])")
"""Names of classes that evaluate; a step that is named ``evaluate`` may as well select chunks."""

REWRITER_NAME = re.compile(
    r"rewrit|rewrote|condens|rephras|reformulat|contextuali[sz]e|standalone|step.?back|"
    r"multi.?query|query.?(?:gen|transform|expan|fusion|plan)|expand.?query|decompos|"
    r"sub.?question|hyde|hypothetical|history.?aware|question.?gen",
    re.IGNORECASE,
)

_SEARCHES = frozenset({Role.RETRIEVER, Role.RERANKER, Role.TOOL})
_CALLS = frozenset({Role.LLM})
_EMBEDDINGS = frozenset({Role.EMBEDDER})
_STAGES = _SEARCHES | {Role.LLM, Role.EMBEDDER}
_CHAINS = {Role.CHAIN, Role.UNKNOWN, Role.AGENT}
_LOST = {FieldStatus.REDACTED, FieldStatus.TRUNCATED, FieldStatus.EVICTED}
_MOST = 0.5
"""A prompt builder's output makes up at least this share of the prompt that follows."""


def called(node: Node) -> str:
    """Return what a span is called: its name, and what did the work where that is told apart."""
    component = node.facts.component if node.facts else None
    return f"{node.span.name} {component}" if component else node.span.name


def name_of(node: Node) -> str:
    """Return what a span is called and, for a tool, the tool's name."""
    tool = node.facts.tool_name if node.facts else None
    return f"{called(node)} {tool}" if tool else called(node)


def evaluates(span: Span, facts: SpanFacts) -> bool:
    """Tell whether a span is an evaluator's: of its kind, or named as one and says scores.

    Scores of documents that it hands on are those of a search.
    """
    if facts.role is Role.EVALUATOR or facts.settled or facts.role not in _CHAINS:
        return facts.role is Role.EVALUATOR
    named = EVALUATOR_NAME.search(f"{span.name} {facts.component or ''}") is not None
    return named and not facts.documents.usable and holds_score(facts.output_data)


def settle_roles(tree: Tree, indices: Sequence[int], top: int) -> dict[int, Role]:
    """Return the role of each span of a run, by index.

    Kinds are trusted but for what is known to be labelled wrongly: prompt builders with kind
    LLM, post-processors and rerankers with kind CHAIN, searches in TOOL spans, nodes named by
    developers. What a user said stays.
    """
    roles = {index: tree.nodes[index].role for index in indices}
    _settle_prompt_builders(tree, indices, roles)
    inside = _Inside(tree, dict(roles))
    prompts = Prompts(tree, roles)
    for index in indices:
        node = tree.nodes[index]
        if node.facts is None or node.facts.settled or index == top:
            continue
        if roles[index] is Role.TOOL and _is_search_tool(node, inside, prompts):
            roles[index] = Role.RETRIEVER
        elif roles[index] in _CHAINS:
            roles[index] = _role_by_name(node, roles[index], inside)
    if Role.RETRIEVER not in roles.values():
        inside = _Inside(tree, dict(roles))
        for index in indices:
            node = tree.nodes[index]
            if index != top and roles[index] in _CHAINS and _is_search_chain(node, inside, prompts):
                roles[index] = Role.RETRIEVER
    return roles


def has_llm_evidence(facts: SpanFacts) -> bool:
    """Tell whether a span of kind LLM names a model, tokens or messages of their own keys."""
    messages, text = facts.messages.source, facts.input.source
    own_messages = messages is not None and (text is None or messages.key != text.key)
    tokens = facts.tokens
    return bool(
        facts.model
        or own_messages
        or any(count is not None for count in (tokens.prompt, tokens.completion, tokens.total))
    )


def is_lexical(nodes: Iterable[Node]) -> bool:
    """Tell whether one of the spans of a retrieval says that it searches by words."""
    for node in nodes:
        hint = node.span.attributes.get("metadata")
        described = hint if isinstance(hint, str) and "ls_retriever_name" in hint else ""
        if LEXICAL_NAME.search(f"{name_of(node)} {described}"):
            return True
    return False


def _settle_prompt_builders(tree: Tree, indices: Sequence[int], roles: dict[int, Role]) -> None:
    """Give prompt builders of kind LLM their role: the output is the prompt that follows."""
    llms = [index for index in indices if roles[index] is Role.LLM]
    bare = [i for i in llms if (f := tree.nodes[i].facts) is not None and not has_llm_evidence(f)]
    bare = [index for index in bare if not _is_settled(tree.nodes[index])]
    for index in bare:
        node = tree.nodes[index]
        if PROMPT_NAME.search(called(node)) or any(
            other != index and _becomes_prompt(node, tree.nodes[other]) for other in llms
        ):
            roles[index] = Role.PROMPT


def _is_settled(node: Node) -> bool:
    return node.facts is not None and node.facts.settled


def _becomes_prompt(builder: Node, call: Node) -> bool:
    if builder.facts is None or call.facts is None or not builder.facts.output.value:
        return False
    if call.span.start_unix_nano < builder.span.end_unix_nano:
        return False
    prompt = squeezed("\n".join(m.content for m in call.facts.messages.value or ()))
    data = builder.facts.output_data
    texts = [builder.facts.output.value]
    if isinstance(data, dict):
        texts = [text for text in data.values() if isinstance(text, str)]
    return any(
        len(squeezed(text)) >= _MOST * len(prompt) > 0 and holds(prompt, text) for text in texts
    )


class _Inside:
    """Answers whether a span encloses one of some roles, in constant time however deep it is."""

    def __init__(self, tree: Tree, roles: Mapping[int, Role]) -> None:
        self._tree = tree
        self._roles = roles
        self._counts: dict[frozenset[Role], list[int]] = {}

    def has(self, node: Node, wanted: frozenset[Role]) -> bool:
        counts = self._counts.get(wanted)
        if counts is None:
            found = (self._roles.get(index) in wanted for index in self._tree.order)
            counts = [0, *accumulate(found)]
            self._counts[wanted] = counts
        return counts[node.leave] > counts[node.enter + 1]


def _is_search_tool(node: Node, inside: _Inside, prompts: Prompts) -> bool:
    """Tell whether a tool searches: by its name, or by what it was given and handed on."""
    if node.facts is None or inside.has(node, _SEARCHES | _CALLS):
        return False
    name = name_of(node)
    if is_cache(node, name, prompts):
        return False
    if SEARCH_TOOL_NAME.search(name):
        return True
    asked, embeds = len((node.facts.query.value or "").split()) > 1, inside.has(node, _EMBEDDINGS)
    if _found_documents(node.facts) and (asked or embeds):
        return True
    return not ACTION_TOOL_NAME.search(name) and finds_passages(node, prompts, embeds=embeds)


def _found_documents(facts: SpanFacts) -> bool:
    """Tell whether an output is a list of texts, each with an id, a score or metadata."""
    return bool(facts.documents.value) and all(
        chunk.text_status is not FieldStatus.NOT_CAPTURED
        and (chunk.id is not None or chunk.score is not None or chunk.metadata)
        for chunk in facts.documents.value or ()
    )


def _role_by_name(node: Node, role: Role, inside: _Inside) -> Role:
    facts, name = node.facts, called(node)
    if facts is None:
        return role
    if RERANKER_NAME.search(name) and not inside.has(node, _SEARCHES):
        certain = bool(CERTAIN_RERANKER_NAME.search(name))
        bare = not inside.has(node, _CALLS)
        if facts.documents.usable or (certain and bare) or _hides_documents(facts, certain=certain):
            return Role.RERANKER
    if JOINER_NAME.search(name) and _joins(node, inside):
        return Role.RETRIEVER
    if _selects(facts) and (FILTER_NAME.search(name) or _is_asked(node, inside)):
        return Role.RERANKER
    named = EMBEDDER_NAME.search(name) or PROMPT_NAME.search(name)
    if named and not inside.has(node, _STAGES):
        return Role.EMBEDDER if EMBEDDER_NAME.search(name) else Role.PROMPT
    return role


def _hides_documents(facts: SpanFacts, *, certain: bool) -> bool:
    """Tell whether a span handed on what was hidden or lost on its way, given documents."""
    lost = facts.documents.status in _LOST or facts.output.status in _LOST
    return lost and (certain or facts.input_documents.value is not None)


def _joins(node: Node, inside: _Inside) -> bool:
    """Tell whether a span hands on documents, and no search within it gave them."""
    documents = node.facts is not None and node.facts.documents.usable
    return documents and not inside.has(node, _SEARCHES | _CALLS)


def _selects(facts: SpanFacts) -> bool:
    """Tell whether a span hands on a part of the documents that it was given."""
    given, kept = facts.input_documents.value, facts.documents.value
    return (
        given is not None and kept is not None and len(kept) < len(given) and is_part(kept, given)
    )


def _is_asked(node: Node, inside: _Inside) -> bool:
    """Tell whether a span that selects documents was given a query for that, and no search."""
    asked = node.facts is not None and bool(node.facts.query.value)
    return asked and not inside.has(node, _SEARCHES | _CALLS)


def _is_search_chain(node: Node, inside: _Inside, prompts: Prompts) -> bool:
    if node.facts is None or node.facts.settled or inside.has(node, _SEARCHES | _CALLS):
        return False
    if is_cache(node, called(node), prompts):
        return False
    if not RETRIEVER_NAME.search(called(node)):
        return inside.has(node, _EMBEDDINGS) and _found_documents(node.facts)
    if node.facts.documents.usable:
        return True
    if chunks_in(node.facts.output_data, bare_strings=True) is not None:
        return True
    return node.facts.output.status is FieldStatus.PRESENT and node.facts.output_data is None
