"""What lists of chunks share."""

from otel_raglog.mapping.chunks import (
    completed,
    ids_of_several,
    is_extract,
    is_part,
    is_same,
    is_shortened,
    keys_of,
    known_by_id,
    known_by_text,
    places,
    says_same,
    union,
)
from otel_raglog.model import Chunk, Field, FieldStatus, present

A, B, C = Chunk("a text", "1"), Chunk("b text", "2"), Chunk("c text")


def test_identity():
    """A chunk is known by its id and by its text, white space aside."""
    assert keys_of(A) == (("id", "1"), ("text", "a text"))
    assert places([Chunk("a  text"), Chunk("", "2"), Chunk("x")], [A, B]) == (0, 1, None)


def test_relations():
    """Same means the same order; part means nothing else; extract means cut out of."""
    assert is_same([A, B], [Chunk("a text"), Chunk("", "2")])
    assert not is_same([B, A], [A, B])
    assert is_part([B], [A, B])
    assert not is_part([C], [A, B])
    assert is_extract([Chunk("a")], [A])
    assert not is_extract([Chunk("z")], [A])
    assert not is_extract([], [A])
    assert is_shortened([Chunk("text", "1")], [A])
    assert not is_shortened([Chunk("a text and more", "1")], [A])


def test_numbers_for_ids():
    """Ids that a later list gives anew name other chunks; the same text is the same chunk."""
    renumbered = [Chunk("b text", "1"), Chunk("a text", "2")]
    assert places(renumbered, [A, B]) == (1, 0)
    assert not is_same(renumbered, [A, B])
    assert places([Chunk("z", "1")], [A]) == (None,)
    assert places([Chunk("b text", "9")], [A, B]) == (1,)
    assert places([Chunk("", "1")], [A]) == (0,)
    twice = [Chunk("a text", "1"), Chunk("b text", "1")]
    assert places([Chunk("b text", "1")], twice) == (1,)


def test_versions_of_a_text():
    """Of one telling id, texts with most words in common are versions of one chunk."""
    page = Chunk("Dogs are welcome on the fourth deck, on a short lead.", "handbook#dogs")
    short = Chunk("Dogs: welcome on fourth deck (short lead).", "handbook#dogs")
    other = Chunk("The night ferry leaves Ellery at 22:15.", "handbook#dogs")
    assert says_same(short, page)
    assert not says_same(other, page)
    other_chapter = Chunk("Dogs are welcome on the fourth floor, in the small garden.", page.id)
    assert not says_same(other_chapter, page)


def test_snippets_of_a_numbered_text():
    """Under an id that is a mere number, a text whose words are all in the other is its snippet."""
    page = Chunk("Dogs are welcome on the fourth deck, on a short lead.", "doc_1")
    marked = Chunk("<b>Dogs</b> welcome … fourth <em class='hit'>deck</em>", "doc_1")
    other = Chunk("Dogs are welcome on the fourth floor, on a short lead.", "doc_1")
    assert says_same(marked, page)
    assert not says_same(other, page)
    assert not says_same(Chunk("Dogs and deck", "doc_1"), page)


def test_the_same_document_id_on_several_chunks():
    """Chunks of one document in one list stay apart, and each is found where its own text is."""
    shoes = Chunk("Returns of shoes are accepted within thirty days after delivery.", "returns.md")
    opened = Chunk("Returns of opened items are accepted within ten days after delivery.", shoes.id)
    shared = [shoes, opened]
    assert union([shared]) == (shoes, opened)
    assert places([opened, shoes], shared) == (1, 0)
    assert is_same(shared, shared)
    assert ids_of_several([shared]) == {"returns.md"}


def test_union():
    """Each chunk once, in order of first appearance; chunks without identity are kept."""
    assert union([[A, B], [Chunk("a text"), C], [Chunk("")]]) == (A, B, C, Chunk(""))


def test_completed():
    """Texts are found by id, ids by text; hidden texts stay hidden."""
    by_id, by_text = known_by_id([[A, B]]), known_by_text([[A, B]])
    bare = Chunk("", "1", 0.5, text_status=FieldStatus.NOT_CAPTURED)
    hidden = Chunk("", "2", text_status=FieldStatus.REDACTED)
    found = completed(present((bare, hidden, Chunk("b text"))), by_id, by_text).value
    assert [(c.id, c.text, c.score) for c in found] == [
        ("1", "a text", 0.5),
        ("2", "", None),
        ("2", "b text", None),
    ]
    empty = Field((), FieldStatus.EMPTY)
    assert completed(empty, by_id, by_text) is empty


def test_hidden_texts_are_known_by_id():
    """A chunk named by id alone is hidden where another step's was; a text comes first."""
    hidden = Chunk("", "1", text_status=FieldStatus.REDACTED)
    named = present((Chunk("", "1", text_status=FieldStatus.NOT_CAPTURED),))
    (found,) = completed(named, known_by_id([[hidden]]), {}).value
    assert found.text_status is FieldStatus.REDACTED
    (found,) = completed(named, known_by_id([[hidden], [A]]), {}).value
    assert found == A


def test_ids_of_several_texts():
    """An id names several chunks where no text is a part of the other; then only texts count."""
    other, cut = Chunk("another text", "1"), Chunk("text", "1")
    assert ids_of_several([[A, B], [cut]]) == frozenset()
    assert ids_of_several([[A, B], [other]]) == {"1"}
    assert union([[A, B], [other]]) == (A, B, other)
    assert union([[A, B], [cut]]) == (A, B)
    assert not is_part([other], [A])
    assert is_part([Chunk("", "2")], [B])
    assert known_by_id([[A, B]], {"1"}) == {"2": B}


def test_a_union_keeps_what_differs():
    """Chunks are one by their id or by their whole text, not by how these begin."""
    one, two = Chunk("The night ferry leaves at nine.", "1"), Chunk("The night ferry leaves late.")
    assert union([[one, two]]) == (one, two)
    assert union([[one], [Chunk("The  night ferry leaves at nine.", "9"), two]]) == (one, two)
    assert union([[Chunk(""), Chunk("")]]) == (Chunk(""), Chunk(""))
