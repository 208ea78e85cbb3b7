"""What each framework's shape of trace becomes, stage by stage, as a person would read it."""

from __future__ import annotations

from span_trees import (
    documents,
    embedding,
    llm,
    oi,
    retriever,
    span,
    summary,
    trace_of,
)

from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import RewriteKind, Stage

Q = "When does the night ferry leave?"
A = "The night ferry leaves at 22:15."
FERRY = "The night ferry to Sandmouth leaves Ellery at 22:15 from May to September."
DOGS = "Dogs are welcome on deck 4 of the Aurelia, on a short lead."
FARES = "A foot passenger pays 18 euros one way and 31 euros for a return ticket."
LOST = "Lost property is kept for 90 days at the terminal office in Ellery."


def only(*roots, **options):
    """Return the one run of a trace."""
    runs = map_trace(trace_of(*roots, **options))
    assert len(runs) == 1
    return runs[0]


def prompt_of(*chunks, question=Q):
    return "Context:\n" + "\n\n".join(chunks) + f"\n\nQuestion: {question}\nAnswer:"


def llama_index(*parts, query=Q, answer=A):
    """Return the query engine of LlamaIndex around ``parts``."""
    bundle = {"query_bundle": {"query_str": query, "custom_embedding_strs": None}}
    return oi(
        "CHAIN",
        "RetrieverQueryEngine.query",
        oi("CHAIN", "RetrieverQueryEngine._query", *parts, given=bundle, said={"response": answer}),
        given=query,
        said=answer,
    )


def vector_retriever(query, *chunks):
    reprs = [f"<NodeWithScore(node=TextNode(id_={c[0]}), score={c[2]})>" for c in chunks]
    return retriever(
        "VectorIndexRetriever.retrieve",
        query,
        *chunks,
        children=[
            oi(
                "RETRIEVER",
                "VectorIndexRetriever._retrieve",
                embedding(
                    "OpenAIEmbedding.get_query_embedding",
                    query,
                    oi("EMBEDDING", "OpenAIEmbedding._get_query_embedding", given={"query": query}),
                ),
                given={"query_bundle": {"query_str": query}},
                said=reprs,
            )
        ],
        said=reprs,
    )


def synthesis(answer=A, *chunks, question=Q, usage=(100, 9)):
    prompt = (
        "Context information is below.\n---------------------\n"
        + "\n\n".join(chunks)
        + "\n---------------------\nGiven the context information and not prior knowledge, "
        f"answer the query.\nQuery: {question}\nAnswer: "
    )
    tokens = {"llm.token_count.prompt": usage[0], "llm.token_count.completion": usage[1]}
    return oi(
        "CHAIN",
        "CompactAndRefine.synthesize",
        oi(
            "CHAIN",
            "CompactAndRefine.get_response",
            oi(
                "LLM",
                "OpenAI.predict",
                llm(
                    "OpenAI.chat",
                    [("system", "You are an expert."), ("user", prompt)],
                    answer,
                    attributes={**tokens, "llm.finish_reason": "stop"},
                ),
                given={"prompt": "SelectorPromptTemplate(metadata={})"},
                said=answer,
                attributes={
                    "llm.prompt_template.variables": '{"context_str": "%s", "query_str": "%s"}'
                    % ("\\n\\n".join(chunks), question)
                },
            ),
            given={"query_str": question, "text_chunks": list(chunks)},
            said=answer,
        ),
        given=question,
        said=answer,
    )


def test_llama_index_with_reranker():
    """Wrappers collapse: one embedding, one retrieval, one reranking, one answer; tokens once."""
    ranked = {
        **documents(("a", FERRY, 0.4), ("b", DOGS, 0.3), prefix="reranker.input_documents"),
        **documents(("a", FERRY, 0.9), prefix="reranker.output_documents"),
        "reranker.query": Q,
        "reranker.top_k": 1,
    }
    run = only(
        llama_index(
            vector_retriever(Q, ("a", FERRY, 0.4), ("b", DOGS, 0.3)),
            oi("reranker", "CohereRerank._postprocess_nodes", given=Q, attributes=ranked),
            synthesis(A, FERRY),
        )
    )
    assert summary(run) == {
        "question": Q,
        "answer": A,
        "rewriter": "absent",
        "embedder": 1,
        "retriever": 1,
        "reranker": 1,
        "assembly": 1,
        "generator": 1,
    }
    assert run.tokens.prompt == 100
    assert run.generators[0].finish_reason == "stop"
    assert [chunk.id for chunk in run.rerankers[0].selected.value] == ["a"]
    assert run.assemblies[0].context.value == FERRY
    assert run.assemblies[0].origin.name == "CompactAndRefine.synthesize"


def test_llama_index_custom_post_processor():
    """A post-processor of kind CHAIN that names nodes by id selects: a reranker, texts resolved."""
    nodes = [
        f"<NodeWithScore(node=TextNode(id_={i}), score=0.{s})>" for i, s in (("a", 4), ("b", 3))
    ]
    run = only(
        llama_index(
            vector_retriever(Q, ("a", FERRY, 0.4), ("b", DOGS, 0.3)),
            oi(
                "CHAIN",
                "Keep._postprocess_nodes",
                given={"nodes": nodes, "query_bundle": {"query_str": Q}},
                said=nodes[:1],
            ),
            synthesis(A, FERRY),
        )
    )
    assert summary(run)["reranker"] == 1
    assert run.rerankers[0].selected.value[0].text == FERRY
    assert len(run.rerankers[0].candidates.value) == 2


def test_llama_index_hyde():
    """A passage that was embedded but not searched for is HyDE; its embedding is a passage."""
    passage = "The night ferry departs in the late evening from the main quay of the town."
    run = only(
        oi(
            "CHAIN",
            "TransformQueryEngine.query",
            oi(
                "CHAIN",
                "HyDEQueryTransform._run",
                llm(
                    "OpenAI.complete",
                    "Please write a passage to answer the question\n" + Q,
                    passage,
                ),
                given={"query_bundle": {"query_str": Q}},
                said={"query_str": Q, "custom_embedding_strs": [passage, Q]},
            ),
            oi(
                "CHAIN",
                "RetrieverQueryEngine.query",
                retriever(
                    "VectorIndexRetriever.retrieve",
                    None,
                    ("a", FERRY),
                    attributes={
                        "input.value": '{"query_str": "%s", "custom_embedding_strs": ["p"]}' % Q
                    },
                    children=[embedding("E.get", passage), embedding("E.get", Q)],
                ),
                synthesis(A, FERRY),
                given={"query_str": Q, "custom_embedding_strs": [passage, Q]},
                said=A,
            ),
            given=Q,
            said=A,
        )
    )
    assert summary(run)["rewriter"] == 1
    assert run.rewriters[0].kind is RewriteKind.HYDE
    assert run.rewriters[0].rewrites.value == (passage,)
    assert [step.passage for step in run.embedders] == [True, False]
    assert run.retrievers[0].query.value == Q


def test_llama_index_condense_chat_engine():
    """The condensing call is the rewriter; the talk in its prompt is the history."""
    follow_up, condensed = "And on Sundays?", "When does the night ferry leave on Sundays?"
    talk = f"user: {Q}\nassistant: {A}"
    prompt = (
        "Given a conversation (between Human and Assistant) and a follow up message, rewrite the "
        f"message to be a standalone question.\n\n<Chat History>\n{talk}\n\n<Follow Up Message>\n"
        f"{follow_up}\n\n<Standalone question>\n"
    )
    run = only(
        oi(
            "CHAIN",
            "CondenseQuestionChatEngine.chat",
            llm("OpenAI.predict", prompt, condensed),
            llama_index(
                vector_retriever(condensed, ("a", FERRY, 0.5)),
                synthesis(A, FERRY, question=condensed),
                query=condensed,
            ),
            given={"message": follow_up, "chat_history": None},
            said=A,
        )
    )
    assert run.question.value == follow_up
    assert run.rewriters[0].kind is RewriteKind.CONDENSE
    assert run.rewriters[0].rewrites.value == (condensed,)
    assert [m.role for m in run.history.value] == ["user", "assistant"]
    assert run.turn == 2


def langchain(*parts, question=Q, answer=A, chunks=(FERRY,)):
    """Return an LCEL chain whose context branch is ``parts``."""
    context = "\n\n".join(chunks)
    return oi(
        "CHAIN",
        "RunnableSequence",
        oi(
            "CHAIN",
            "RunnableParallel<context,question>",
            oi("CHAIN", "RunnableSequence", *parts, given=question, said=context),
            oi("CHAIN", "RunnablePassthrough", given=question, said=question),
            given=question,
            said={"context": context, "question": question},
        ),
        oi(
            "PROMPT",
            "ChatPromptTemplate",
            given={"context": context, "question": question},
            said={"messages": []},
            attributes={"llm.prompt_template.template": "Answer from:\n{context}"},
        ),
        llm("ChatOpenAI", [("system", "Answer from:\n" + context), ("user", question)], answer),
        oi("CHAIN", "StrOutputParser", given={"type": "ai"}, said=answer),
        given=question,
        said=answer,
    )


def langchain_retriever(name, query, *chunks, children=()):
    found = [
        {
            "id": c[0],
            "metadata": dict(c[2]) if len(c) > 2 else {},
            "page_content": c[1],
            "type": "Document",
        }
        for c in chunks
    ]
    flat = documents(*[c[1] for c in chunks])
    return oi("RETRIEVER", name, *children, given=query, said={"documents": found}, attributes=flat)


def test_langchain_plain():
    """Ids come from the output's JSON, no score is invented, the embedder was not captured."""
    run = only(langchain(langchain_retriever("VectorStoreRetriever", Q, ("1", FERRY))))
    assert summary(run) == {
        "question": Q,
        "answer": A,
        "rewriter": "absent",
        "embedder": "unknown: not_captured",
        "retriever": 1,
        "reranker": "absent",
        "assembly": 1,
        "generator": 1,
    }
    chunk = run.retrievers[0].chunks.value[0]
    assert (chunk.id, chunk.score) == ("1", None)
    assert run.assemblies[0].origin.name == "ChatPromptTemplate"
    assert run.assemblies[0].context.value == FERRY


def test_langchain_contextual_compression():
    """A retriever around a retriever that hands on a part is the reranker, with recorded scores."""
    inner = langchain_retriever("VectorStoreRetriever", Q, ("1", DOGS), ("2", FERRY))
    outer = langchain_retriever(
        "ContextualCompressionRetriever",
        Q,
        ("2", FERRY, {"relevance_score": 0.8}),
        children=[inner],
    )
    run = only(langchain(outer))
    assert summary(run)["reranker"] == 1
    assert summary(run)["retriever"] == 1
    assert run.rerankers[0].selected.value[0].score == 0.8
    assert all(chunk.score is None for chunk in run.rerankers[0].candidates.value)


def test_langchain_retriever_that_changes_the_order():
    """The same chunks in another order are a reranking too."""
    inner = langchain_retriever("VectorStoreRetriever", Q, ("1", DOGS), ("2", FERRY))
    outer = langchain_retriever("MyRetriever", Q, ("2", FERRY), ("1", DOGS), children=[inner])
    run = only(langchain(outer, chunks=(FERRY, DOGS)))
    assert summary(run)["reranker"] == 1


def test_langchain_retriever_that_hands_on_the_same():
    """The same chunks in the same order are a wrapper: one retrieval."""
    inner = langchain_retriever("VectorStoreRetriever", Q, ("1", DOGS), ("2", FERRY))
    outer = langchain_retriever("LoggingRetriever", Q, ("1", DOGS), ("2", FERRY), children=[inner])
    run = only(langchain(outer, chunks=(DOGS, FERRY)))
    assert summary(run)["reranker"] == "absent"
    assert summary(run)["retriever"] == 1
    assert len(run.retrievers[0].origin.span_ids) == 2


def test_langchain_multi_query():
    """The LLM inside the retriever is the rewriter, the outer retriever the union of its queries."""
    queries = ["departure time of the night ferry", "night ferry timetable"]
    outer = langchain_retriever(
        "MultiQueryRetriever",
        Q,
        ("1", FERRY),
        ("2", DOGS),
        children=[
            oi(
                "CHAIN",
                "RunnableSequence",
                oi("PROMPT", "PromptTemplate", given={"question": Q}),
                llm(
                    "ChatOpenAI",
                    f"Generate different versions of the question. {Q}",
                    "1. " + "\n2. ".join(queries),
                ),
                oi("CHAIN", "LineListOutputParser", said=queries),
                given={"question": Q},
                said=queries,
            ),
            langchain_retriever("VectorStoreRetriever", queries[0], ("1", FERRY)),
            langchain_retriever("VectorStoreRetriever", queries[1], ("1", FERRY), ("2", DOGS)),
        ],
    )
    run = only(langchain(outer, chunks=(FERRY, DOGS)))
    assert run.rewriters[0].kind is RewriteKind.MULTI_QUERY
    assert run.rewriters[0].rewrites.value == tuple(queries)
    assert [step.fused for step in run.retrievers] == [True, False, False]
    assert summary(run)["reranker"] == "absent"
    assert [chunk.id for chunk in run.assemblies[0].selected.value] == ["1", "2"]


def test_queries_that_differ_in_a_detail_are_all_kept():
    """Two years of the same fares are two queries, not one said twice."""
    queries = ["night ferry fares of 2024", "night ferry fares of 2023"]
    question = "What did the night ferry cost in 2024, and what in 2023?"
    run = only(
        langchain(
            oi(
                "CHAIN",
                "split",
                llm("ChatOpenAI", f"Split into search queries: {question}", "\n".join(queries)),
                given=question,
            ),
            langchain_retriever("VectorStoreRetriever", queries[0], ("1", FERRY)),
            langchain_retriever("VectorStoreRetriever", queries[1], ("2", DOGS)),
            question=question,
            chunks=(FERRY, DOGS),
        )
    )
    assert run.rewriters[0].kind is RewriteKind.MULTI_QUERY
    assert run.rewriters[0].rewrites.value == tuple(queries)


def test_langchain_ensemble_of_words_and_vectors():
    """A fusion may cut: it is still a fusion, and one lexical part does not make the embedder absent."""
    outer = langchain_retriever(
        "EnsembleRetriever",
        Q,
        ("1", FERRY),
        ("3", FARES),
        children=[
            langchain_retriever("BM25Retriever", Q, ("1", FERRY), ("2", DOGS)),
            langchain_retriever("VectorStoreRetriever", Q, ("3", FARES), ("1", FERRY)),
        ],
    )
    run = only(langchain(outer, chunks=(FERRY, FARES)))
    assert [step.fused for step in run.retrievers] == [True, False, False]
    assert summary(run)["reranker"] == "absent"
    assert summary(run)["embedder"] == "unknown: not_captured"
    assert [chunk.id for chunk in run.assemblies[0].selected.value] == ["1", "3"]


def test_lexical_retriever_needs_no_embedder():
    """A retriever named BM25 has no embedder: absent, not unknown."""
    run = only(langchain(langchain_retriever("BM25Retriever", Q, ("1", FERRY))))
    assert summary(run)["embedder"] == "absent"


def test_langchain_history_aware():
    """Chat messages before the question are the history, and make the rewrite a condensing one."""
    follow_up, condensed = "And what does it cost?", "What does the night ferry cost?"
    talk = [("user", Q), ("assistant", A)]
    history = [{"type": "human", "content": Q}, {"type": "ai", "content": A}]
    run = only(
        oi(
            "CHAIN",
            "retrieval_chain",
            oi(
                "CHAIN",
                "HistoryAwareRetriever",
                llm(
                    "ChatOpenAI",
                    [("system", "Formulate a standalone question."), *talk, ("user", follow_up)],
                    condensed,
                ),
                langchain_retriever("VectorStoreRetriever", condensed, ("1", FARES)),
                given={"input": follow_up, "chat_history": history},
            ),
            oi(
                "CHAIN",
                "stuff_documents_chain",
                llm(
                    "ChatOpenAI",
                    [("system", "Use the context:\n\n" + FARES), *talk, ("user", follow_up)],
                    "It costs 18 euros.",
                ),
                said="It costs 18 euros.",
            ),
            given={"input": follow_up, "chat_history": history},
            said={"input": follow_up, "context": [], "answer": "It costs 18 euros."},
        )
    )
    assert run.question.value == follow_up
    assert run.answer.value == "It costs 18 euros."
    assert run.rewriters[0].kind is RewriteKind.CONDENSE
    assert [m.content for m in run.history.value] == [Q, A]
    assert run.turn == 2
    assert FARES in run.assemblies[0].context.value


def test_langgraph_with_a_search_tool():
    """A tool that is named as a search is the retriever, its text one chunk; the rewriter is found."""
    state = {"question": Q, "query": "night ferry departure"}
    run = only(
        oi(
            "CHAIN",
            "LangGraph",
            oi(
                "CHAIN",
                "rewrite",
                llm(
                    "ChatOpenAI",
                    [("system", "Rewrite as a search query"), ("user", Q)],
                    "night ferry departure",
                ),
                given=Q,
            ),
            oi(
                "CHAIN",
                "retrieve",
                oi(
                    "TOOL",
                    "search_docs",
                    given="{'query': 'night ferry departure'}",
                    said=f"{FERRY}\n{DOGS}",
                    attributes={"tool.name": "search_docs"},
                ),
                given=state,
            ),
            oi(
                "CHAIN",
                "generate",
                llm(
                    "ChatOpenAI",
                    [("system", f"Answer from context: {FERRY}\n{DOGS}"), ("user", Q)],
                    A,
                ),
                said=A,
            ),
            given=Q,
            said={**state, "context": f"{FERRY}\n{DOGS}", "answer": A},
        )
    )
    assert summary(run) == {
        "question": Q,
        "answer": A,
        "rewriter": 1,
        "embedder": "unknown: not_captured",
        "retriever": 1,
        "reranker": "absent",
        "assembly": 1,
        "generator": 1,
    }
    assert run.retrievers[0].query.value == "night ferry departure"
    assert run.rewriters[0].rewrites.value == ("night ferry departure",)


def test_agent_with_two_searches_is_one_run():
    """An agent that searches twice and then answers is one run with two hops."""
    calls = [("night ferry times", FERRY), ("night ferry fares", FARES)]
    parts = []
    talk = [("system", "You are an agent."), ("user", Q)]
    for query, found in calls:
        call = {
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"query": "%s"}'
            % query,
        }
        parts.append(llm("ChatOpenAI", list(talk), "", attributes=call))
        parts.append(oi("TOOL", "search_handbook", given={"query": query}, said=found))
        talk += [("assistant", ""), ("tool", found)]
    parts.append(llm("ChatOpenAI", talk, A))
    run = only(
        oi(
            "AGENT",
            "agent",
            *parts,
            given={"messages": [{"role": "user", "content": Q}]},
            said={
                "messages": [{"role": "user", "content": Q}, {"role": "assistant", "content": A}]
            },
        )
    )
    assert summary(run)["retriever"] == 2
    assert summary(run)["rewriter"] == 2
    assert run.question.value == Q
    assert run.answer.value == A
    assert run.assemblies[0].context.value == f"{FERRY}\n\n{FARES}"
    assert run.history.value is None


def test_haystack():
    """Siblings in order of time; the prompt builder of kind LLM is no generator."""
    prompt = prompt_of(FERRY)
    run = only(
        oi(
            "CHAIN",
            "Pipeline.run",
            embedding("OpenAITextEmbedder.run", Q),
            retriever(
                "InMemoryEmbeddingRetriever.run",
                None,
                ("a", FERRY, 0.8),
                ("b", DOGS, 0.2),
                attributes={"input.value": '{"query_embedding": [0.1], "top_k": 2}'},
            ),
            oi(
                "RERANKER",
                "TransformersSimilarityRanker.run",
                given={"query": Q},
                attributes={
                    "reranker.query": Q,
                    **documents(
                        ("a", FERRY, 0.8), ("b", DOGS, 0.2), prefix="reranker.input_documents"
                    ),
                    **documents(("a", FERRY, 0.99), prefix="reranker.output_documents"),
                },
            ),
            oi(
                "LLM",
                "PromptBuilder.run",
                given={"documents": [], "question": Q},
                said={"prompt": prompt},
            ),
            llm("OpenAIGenerator.run", prompt, A),
            given={"data": {"text_embedder": {"text": Q}, "prompt_builder": {"question": Q}}},
            said={"llm": {"replies": [A], "meta": [{"model": "m"}]}},
        )
    )
    assert summary(run) == {
        "question": Q,
        "answer": A,
        "rewriter": "absent",
        "embedder": 1,
        "retriever": 1,
        "reranker": 1,
        "assembly": 1,
        "generator": 1,
    }
    assert run.retrievers[0].query.value == Q
    assert run.retrievers[0].top_k == 2
    assert run.assemblies[0].origin.name == "PromptBuilder.run"


def test_haystack_custom_generator():
    """A generator of kind CHAIN is found by its name and by the run's answer."""
    prompt = prompt_of(FERRY)
    run = only(
        oi(
            "CHAIN",
            "Pipeline.run",
            retriever(
                "InMemoryBM25Retriever.run",
                None,
                ("a", FERRY, 3.1),
                attributes={"input.value": '{"query": "%s"}' % Q},
            ),
            oi("LLM", "PromptBuilder.run", said={"prompt": prompt}),
            oi("CHAIN", "MyGenerator.run", given={"prompt": prompt}, said={"replies": [A]}),
            given={"data": {"retriever": {"query": Q}}},
            said={"llm": {"replies": [A]}},
        )
    )
    assert summary(run) == {
        "question": Q,
        "answer": A,
        "rewriter": "absent",
        "embedder": "absent",
        "retriever": 1,
        "reranker": "absent",
        "assembly": 1,
        "generator": 1,
    }
    assert FERRY in run.assemblies[0].context.value


def test_dspy_multi_hop():
    """The module whose output field is searched for is the rewriter; the answer is its field."""

    def module(name, fields, prompt, reply):
        return oi("CHAIN", name, llm("LM.__call__", prompt, reply), given=fields, said=reply)

    run = only(
        oi(
            "CHAIN",
            "Hops.forward",
            module(
                "Predict(Query).forward",
                {"question": Q},
                f"[[ ## question ## ]]\n{Q}",
                "[[ ## search_query ## ]]\nnight ferry timetable\n\n[[ ## completed ## ]]",
            ),
            retriever("Retrieve.forward", "night ferry timetable", FERRY, DOGS),
            module(
                "Predict(Query).forward",
                {"question": Q, "context": [FERRY]},
                f"[[ ## context ## ]]\n[1] {FERRY}\n\n[[ ## question ## ]]\n{Q}",
                "[[ ## search_query ## ]]\nferry season dates\n\n[[ ## completed ## ]]",
            ),
            retriever("Retrieve.forward", "ferry season dates", LOST),
            module(
                "ChainOfThought(Answer).forward",
                {"question": Q, "context": [FERRY, DOGS, LOST]},
                f"[[ ## context ## ]]\n[1] {FERRY}\n[2] {DOGS}\n[3] {LOST}\n\n[[ ## question ## ]]\n{Q}",
                f"[[ ## reasoning ## ]]\nIt is in the first passage.\n\n[[ ## answer ## ]]\n{A}\n\n[[ ## completed ## ]]",
            ),
            given={"question": Q},
            said={"reasoning": "It is in the first passage.", "answer": A},
        )
    )
    assert summary(run)["rewriter"] == 2
    assert summary(run)["retriever"] == 2
    assert run.answer.value == A
    assert run.generators[0].answer.value == A
    assert [step.rewrites.value for step in run.rewriters] == [
        ("night ferry timetable",),
        ("ferry season dates",),
    ]


def test_openai_sdk_below_a_plain_span():
    """No retriever span, but context in the prompt: the retriever was not captured."""
    run = only(
        span(
            "POST /ask",
            embedding("CreateEmbeddings", Q),
            llm(
                "ChatCompletion",
                [("system", f"Answer only from context.\n[1] {FERRY}"), ("user", Q)],
                A,
            ),
        )
    )
    assert summary(run) == {
        "question": Q,
        "answer": A,
        "rewriter": "absent",
        "embedder": 1,
        "retriever": "unknown: not_captured",
        "reranker": "absent",
        "assembly": "unknown: not_captured",
        "generator": 1,
    }
    assert FERRY in run.assemblies[0].context.value


def test_batch_below_an_http_span():
    """Sibling pipelines with a question and an answer each are as many runs."""
    other, reply = "Where may dogs stay?", "On deck 4."
    runs = map_trace(
        trace_of(
            span(
                "POST /batch",
                langchain(langchain_retriever("VectorStoreRetriever", Q, ("1", FERRY))),
                langchain(
                    langchain_retriever("VectorStoreRetriever", other, ("2", DOGS)),
                    question=other,
                    answer=reply,
                    chunks=(DOGS,),
                ),
            )
        )
    )
    assert [(run.question.value, run.answer.value) for run in runs] == [(Q, A), (other, reply)]
    assert runs[1].run_id == runs[0].run_id + "-2"
    assert {run.stages[Stage.RETRIEVER].steps for run in runs} == {1}


def test_batch_below_a_span_with_a_list_of_questions():
    """A span whose input is the list of questions is split as well."""
    other, reply = "Where may dogs stay?", "On deck 4."
    runs = map_trace(
        trace_of(
            oi(
                "CHAIN",
                "RunnableEach<RunnableSequence>",
                langchain(langchain_retriever("VectorStoreRetriever", Q, ("1", FERRY))),
                langchain(
                    langchain_retriever("VectorStoreRetriever", other, ("2", DOGS)),
                    question=other,
                    answer=reply,
                    chunks=(DOGS,),
                ),
                given=[Q, other],
                said=[A, reply],
            )
        )
    )
    assert [run.question.value for run in runs] == [Q, other]


def test_sub_questions_are_one_run():
    """A query engine that nests query engines has its own question: one run."""
    one, two = "When does it leave?", "What does it cost?"
    run = only(
        oi(
            "CHAIN",
            "SubQuestionQueryEngine.query",
            llm(
                "OpenAI.chat",
                f"Decompose into sub-questions: {Q}",
                f'[{{"sub_question": "{one}"}}, {{"sub_question": "{two}"}}]',
            ),
            llama_index(
                vector_retriever(one, ("a", FERRY, 0.5)),
                synthesis("At 22:15.", FERRY, question=one),
                query=one,
                answer="At 22:15.",
            ),
            llama_index(
                vector_retriever(two, ("c", FARES, 0.5)),
                synthesis("18 euros.", FARES, question=two),
                query=two,
                answer="18 euros.",
            ),
            synthesis(
                A,
                f"Sub question: {one}\nResponse: At 22:15.",
                f"Sub question: {two}\nResponse: 18 euros.",
            ),
            given=Q,
            said=A,
        )
    )
    assert summary(run)["retriever"] == 2
    assert run.rewriters[0].rewrites.value == (one, two)
    assert len(run.rewriters) == 1
    assert run.generators[0].answer.value == A
    assert FERRY in run.assemblies[0].context.value
    assert FARES in run.assemblies[0].context.value


def test_reranker_without_a_retriever_span():
    """The reranker's candidates are what was retrieved."""
    ranked = {
        **documents(("a", FERRY), ("b", DOGS), prefix="reranker.input_documents"),
        **documents(("a", FERRY, 0.9), prefix="reranker.output_documents"),
        "reranker.query": Q,
    }
    run = only(
        oi(
            "CHAIN",
            "rag",
            oi("RERANKER", "rerank", attributes=ranked),
            llm("chat", prompt_of(FERRY), A),
            given=Q,
            said=A,
        )
    )
    assert summary(run)["retriever"] == 1
    assert run.retrievers[0].reconstructed
    assert [chunk.id for chunk in run.retrievers[0].chunks.value] == ["a", "b"]
    assert summary(run)["embedder"] == "unknown: not_captured"


def test_streaming_without_a_root():
    """A client that went away leaves no root: the graph's nodes are one run all the same."""
    run = only(
        oi(
            "CHAIN",
            "rewrite",
            llm("ChatOpenAI", f"Rewrite the question: {Q}", "night ferry"),
            given=Q,
            said="night ferry",
            parent=b"gone",
        ),
        oi("TOOL", "search_docs", given={"query": "night ferry"}, said=FERRY, parent=b"gone"),
        oi(
            "CHAIN",
            "generate",
            llm("ChatOpenAI", [("system", f"Answer from the context:\n{FERRY}"), ("user", Q)], A),
            given={"question": Q},
            said=A,
            parent=b"gone",
        ),
    )
    assert run.question.value == Q
    assert run.answer.value == A
    assert summary(run)["rewriter"] == 1
    assert summary(run)["retriever"] == 1


def test_refine_shows_the_chunks_in_several_calls():
    """A synthesizer that refines showed the model all chunks, each in a call of its own."""
    first = f"Context information is below.\n------------\n{FERRY}\n------------\nAnswer: {Q}"
    second = f"Refine the answer with more context.\n------------\n{DOGS}\n------------\nExisting answer: at night"
    run = only(
        llama_index(
            vector_retriever(Q, ("a", FERRY, 0.5), ("b", DOGS, 0.4)),
            oi(
                "CHAIN",
                "Refine.synthesize",
                llm("OpenAI.chat", first, "At night."),
                llm("OpenAI.chat", second, A),
                given=Q,
                said=A,
            ),
        )
    )
    assert run.generators[0].answer.value == A
    assert FERRY in run.assemblies[0].context.value
    assert DOGS in run.assemblies[0].context.value
    assert summary(run)["rewriter"] == "absent"


def test_search_text_that_is_not_the_question():
    """A rewriter that left no span is unknown, not absent."""
    run = only(
        oi(
            "CHAIN",
            "rag",
            retriever("search", "ferry timetable departure 22", ("a", FERRY)),
            llm("chat", [("system", f"Context:\n{FERRY}"), ("user", Q)], A),
            given=Q,
            said=A,
        )
    )
    assert summary(run)["rewriter"] == "unknown: not_captured"


def test_empty_retrieval_is_not_a_missing_one():
    """A list of documents that is recorded as empty is a finding."""
    run = only(
        langchain(
            oi("RETRIEVER", "VectorStoreRetriever", given=Q, said={"documents": []}), chunks=("",)
        )
    )
    assert summary(run)["retriever"] == 1
    assert run.retrievers[0].chunks.value == ()
    assert run.assemblies[0].context.value == ""


def test_unstructured_messages_of_a_hand_written_span():
    """``llm.input_messages`` and ``retrieval.documents`` as JSON strings are read as well."""
    docs = '[{"document.content": "%s", "document.id": 7}]' % FERRY
    chat = '[{"message.role": "user", "message.content": "Context:\\n%s\\nQuestion: %s"}]' % (
        FERRY,
        Q,
    )
    run = only(
        oi(
            "CHAIN",
            "ask",
            oi("RETRIEVER", "find", given=Q, attributes={"retrieval.documents": docs}),
            oi(
                "LLM",
                "chat",
                attributes={"llm.input_messages": chat, "llm.model_name": "m"},
                said=A,
            ),
            given=Q,
            said=A,
        )
    )
    assert run.retrievers[0].chunks.value[0].id == "7"
    assert run.assemblies[0].context.value == FERRY


def test_calls_of_guardrails_and_rerankers_are_helpers():
    """LLM calls inside a guardrail or a reranker neither rewrite nor answer; their tokens count."""
    tokens = {"llm.token_count.prompt": 7}
    ranked = {
        **documents(("a", FERRY), ("b", DOGS), prefix="reranker.input_documents"),
        **documents(("a", FERRY), prefix="reranker.output_documents"),
    }
    run = only(
        oi(
            "CHAIN",
            "rag",
            oi("GUARDRAIL", "check", llm("chat", f"Rewrite if unsafe: {Q}", Q, attributes=tokens)),
            retriever("find", Q, ("a", FERRY), ("b", DOGS)),
            oi(
                "RERANKER",
                "LLMRerank",
                llm("chat", f"Rank: {FERRY} {DOGS}", "1"),
                attributes=ranked,
            ),
            llm("chat", prompt_of(FERRY), A, attributes=tokens),
            given=Q,
            said=A,
        )
    )
    assert summary(run)["rewriter"] == "absent"
    assert summary(run)["generator"] == 1
    assert run.tokens.prompt == 14
