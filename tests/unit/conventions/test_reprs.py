"""What Python reprs in attributes still tell."""

from otel_raglog.conventions.reprs import document_parts, finish_reason, message_role, message_text


def test_messages():
    """The text of a message is read with its escapes; other texts are no reprs."""
    haystack = (
        "ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='it\\'s\\nso')])"
    )
    assert message_text(haystack) == "it's\nso"
    assert message_role(haystack) == "USER"
    assert message_text("content=\"a 'b'\" additional_kwargs={}") == "a 'b'"
    assert message_text("GeneratedAnswer(data='x', query='q')") == "x"
    assert message_text("The content='x' is here") is None
    assert message_text("ChatMessage(empty)") is None


def test_documents():
    """Ids and scores of nodes and documents are read, their shortened texts are not."""
    assert document_parts("<NodeWithScore(node=TextNode(id_=a), score=None)>") == ("a", "None")
    haystack = "Document(id=d0, content: 'a, b (c)', meta: {'s': 1}, score: 4.3, embedding: vector of size 3)"
    assert document_parts(haystack) == ("d0", "4.3")
    assert document_parts("Document about ferries") is None


def test_finish_reasons():
    """The reason stands in the metadata after the text; a text that speaks of one says nothing."""
    start = "ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text="
    told = "'_meta={\\'finish_reason\\': \\'length\\'}')], _name=None, _meta="
    assert finish_reason(start + told + "{'model': 'm', 'finish_reason': 'stop'})") == "stop"
    assert finish_reason(start + told + "{})") is None
    chain = "content='x' additional_kwargs={} response_metadata={'finish_reason': 'length'}"
    assert finish_reason(chain) == "length"
    assert (
        finish_reason("GeneratedAnswer(data='x', query='q', meta={'stop_reason': 'end'})") == "end"
    )
    assert finish_reason("the 'finish_reason': 'length'") is None
