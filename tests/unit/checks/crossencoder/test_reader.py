"""Readers of pairs: the bundled one, and one of sentence-transformers by its name."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from otel_raglog.checks.crossencoder.reader import (
    BUNDLED_READER,
    MAX_CHARACTERS,
    MAX_SPAN_CHARACTERS,
    MAX_SPAN_TOKENS,
    MAX_TEXT_TOKENS,
    MAX_TOKENS,
    SPANS,
    BundledReader,
    CrossEncoder,
    NamedCrossEncoder,
    Reading,
    ReadingCache,
    Span,
)
from otel_raglog.errors import ConfigError

QUESTION = "How many days of paid vacation do full-time employees receive?"
VACATION = (
    "Full-time employees receive 25 days of paid vacation per calendar year. Unused days expire "
    "on 31 March."
)
TOPICAL = "Managers approve paid vacation of full-time employees in the HR portal, day by day."
CLAIM = "Anna Schmidt answers questions about travel expenses."
PAIRS = (
    (QUESTION, VACATION),
    (QUESTION, TOPICAL),
    ("Wie viele Urlaubstage? 🏖", VACATION),
    (CLAIM, CLAIM),
    ("", VACATION),
    (QUESTION, ""),
)
ODD = (
    "",
    " \n\t",
    "\x00",
    "a\x00b \x07\u202e",
    "\ud800",
    "half \ud83d a pair \udfff",
    "🏖👩‍👩‍👧 Straße №5 ﬁn",
    "[CLS] [SEP] [MASK]",
    "word " * 10_000,
    "x" * 10_000,
    "语言" * 5_000,
)


def figures(reading: Reading) -> list[float]:
    """Return all numbers of a reading of the bundled model."""
    assert reading.supports is not None
    assert reading.same_meaning is not None
    scores = [span.score for span in reading.spans]
    return [reading.answers, reading.supports, reading.same_meaning, *scores]


def test_the_answer_makes_a_passage_answer(reader: BundledReader) -> None:
    """One about the same without it does so less, and one about something else."""
    found, topical, other = reader.read(
        [
            (QUESTION, VACATION),
            (QUESTION, TOPICAL),
            (QUESTION, "Lost devices must be reported to the IT desk."),
        ]
    )
    assert found.answers > topical.answers
    assert found.answers > other.answers
    assert found.spans[0].score > topical.spans[0].score
    assert found.spans[0].score > other.spans[0].score


def test_the_likeliest_span_is_the_answer(reader: BundledReader) -> None:
    """For each question another one of the same passage."""
    number, date = reader.read([(QUESTION, VACATION), ("When do unused days expire?", VACATION)])
    assert "25" in number.spans[0].text
    assert "31 March" in date.spans[0].text


@pytest.mark.parametrize(
    ("passage", "stated", "swapped"),
    [
        (
            "Travel expenses are paid back in 30 days. Anna Schmidt answers questions about them.",
            CLAIM,
            "Peter Brandt answers questions about travel expenses.",
        ),
        (
            "The Alvar Bridge was opened by Queen Ida, the castle was built by Duke Harald.",
            "The Alvar Bridge was opened by Queen Ida.",
            "The Alvar Bridge was opened by Duke Harald.",
        ),
        (
            VACATION,
            "Full-time employees receive 25 days of vacation.",
            "Full-time employees receive 40 days of vacation.",
        ),
    ],
    ids=["a name from nowhere", "a name of the passage", "a number"],
)
def test_a_swapped_name_or_number_is_less_supported(
    reader: BundledReader, passage: str, stated: str, swapped: str
) -> None:
    """All other words are in the passage."""
    right, wrong = reader.read([(stated, passage), (swapped, passage)])
    assert right.supports is not None
    assert wrong.supports is not None
    assert right.supports > wrong.supports


@pytest.mark.parametrize(
    "changed",
    [
        "bridges that were opened in Hamburg in 1984",
        "bridges that were opened in Bremen in 1931",
        "How is the weather in Hamburg?",
    ],
    ids=["another year", "another town", "another question"],
)
def test_a_changed_rewrite_means_less_the_same(reader: BundledReader, changed: str) -> None:
    """Less than one that only says it in other words."""
    question = "Which bridges were opened in Hamburg in 1931?"
    kept = "bridges that were opened in Hamburg in 1931"
    same, other = reader.read([(question, kept), (question, changed)])
    assert same.same_meaning is not None
    assert other.same_meaning is not None
    assert same.same_meaning > other.same_meaning


class StubSession:
    """Marks the second token of the passage as the answer, in place of a model."""

    def __init__(self) -> None:
        self.fed: dict[str, np.ndarray] = {}

    def run(self, _: None, feed: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        self.fed = feed
        bounds = np.zeros((*feed["input_ids"].shape, 2), dtype=np.float32)
        bounds[0, 0] = 1.0, 1.0
        bounds[0, feed["token_type_ids"][0].argmax() + 1] = 5.0, 4.0
        return bounds, np.asarray([[0.25, 0.5, 0.75]], dtype=np.float32)


def test_text_and_passage_go_in_and_each_task_comes_out(
    reader: BundledReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marks around both, types that tell them apart; a span counts against that of no answer."""
    (model, pool), stub = reader._model(), StubSession()
    fresh = BundledReader()
    monkeypatch.setattr(fresh, "_model", lambda: (replace(model, session=stub), pool))
    (reading,) = fresh.read([("when?", "In 1931, they say")])
    tokens = [model.tokenizer.id_to_token(place) for place in stub.fed["input_ids"][0]]
    assert tokens == ["[CLS]", "when", "?", "[SEP]", "in", "1931", ",", "they", "say", "[SEP]"]
    assert stub.fed["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1, 1, 1, 1, 1]]
    assert stub.fed["attention_mask"].all()
    assert (reading.answers, reading.supports, reading.same_meaning) == (0.25, 0.5, 0.75)
    assert reading.spans[0] == Span("1931", 3, 7, 5.0 + 4.0 - 2.0)


def test_a_reading_depends_on_its_pair_alone(reader: BundledReader) -> None:
    """Neither order nor neighbours, threads nor another instance change a bit of it."""
    together = reader.read(PAIRS)
    fresh = BundledReader(workers=1)
    alone = [fresh.read([pair])[0] for pair in reversed(PAIRS)]
    assert together == tuple(reversed(alone))
    fresh.close()


def test_text_and_passage_are_not_the_same(reader: BundledReader) -> None:
    """Exchanged they are another pair."""
    one, other = reader.read([(QUESTION, VACATION), (VACATION, QUESTION)])
    assert one != other


@pytest.mark.parametrize("odd", ODD, ids=[repr(text[:12]) for text in ODD])
def test_whatever_comes_in_a_span_is_read(reader: BundledReader, odd: str) -> None:
    """All figures are finite, and spans are pieces of the passage, best first."""
    for text, passage in ((odd, odd), (odd, VACATION), (QUESTION, f"{odd} {VACATION}")):
        (reading,) = reader.read([(text, passage)])
        assert all(map(math.isfinite, figures(reading)))
        assert len(reading.spans) <= SPANS
        scores = [span.score for span in reading.spans]
        assert scores == sorted(scores, reverse=True)
        for span in reading.spans:
            assert passage[span.start : span.end] == span.text
            assert span.text.strip()


def test_spans_are_short_and_different(reader: BundledReader) -> None:
    """Each is another candidate."""
    (reading,) = reader.read([(QUESTION, VACATION)])
    assert len(reading.spans) == SPANS
    assert len({(span.start, span.end) for span in reading.spans}) == SPANS
    assert all(len(span.text.split()) <= MAX_SPAN_TOKENS for span in reading.spans)


def test_one_word_can_be_the_answer(reader: BundledReader) -> None:
    """It is the only span that it has."""
    (reading,) = reader.read([(QUESTION, "25")])
    assert [(span.text, span.start, span.end) for span in reading.spans] == [("25", 0, 2)]


def test_an_empty_passage_has_no_spans(reader: BundledReader) -> None:
    """But the pair is read."""
    (reading,) = reader.read([(QUESTION, "")])
    assert reading.spans == ()
    assert math.isfinite(reading.answers)


def test_of_a_text_the_last_64_tokens_count_and_of_a_passage_what_is_left(
    reader: BundledReader,
) -> None:
    """The question stands behind an earlier turn, the claim behind its question."""
    held = MAX_TOKENS - MAX_TEXT_TOKENS - 3
    text, passage = "word " * MAX_TEXT_TOKENS, "text " * held
    whole, longer_text, longer_passage = reader.read(
        [(text, passage), ("more " * 9_000 + text, passage), (text, passage + "more " * 9_000)]
    )
    assert figures(longer_text) == figures(whole)
    assert figures(longer_passage) == figures(whole)
    (shorter,) = reader.read([(text, "text " * (held - 1))])
    assert figures(shorter) != figures(whole)


def test_an_earlier_turn_does_not_hide_the_question(reader: BundledReader) -> None:
    """Two questions after the same long turn read differently."""
    turn = "We talked about the offices, their rents and who may use the gym on Sundays. " * 8
    passage = "Parental leave is 16 weeks for all parents."
    fits, does_not = reader.read(
        [(f"{turn}\nHow long is parental leave?", passage), (f"{turn}\nWho is Anna?", passage)]
    )
    assert fits.answers > does_not.answers


def test_without_pairs_there_is_nothing_to_read() -> None:
    """The model is not even loaded."""
    assert BundledReader(Path("/nowhere")).read([]) == ()


def test_a_pair_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also within one call."""
    fresh = BundledReader(workers=1)
    first = fresh.read([PAIRS[0], PAIRS[1], PAIRS[0]])
    assert first[0] is first[2]
    monkeypatch.setattr(fresh, "_model", lambda: pytest.fail("ran again"))
    assert fresh.read([PAIRS[1], PAIRS[0]]) == (first[1], first[0])


def test_what_the_cache_cannot_hold_is_read_all_the_same(reader: BundledReader) -> None:
    """In one call more pairs than it has room for."""
    small = BundledReader(workers=1, max_cached=1)
    assert small.read(PAIRS) == reader.read(PAIRS)
    small.close()


def test_it_works_again_after_close() -> None:
    """Closing stops threads, no more."""
    fresh = BundledReader(workers=2)
    before = fresh.read(PAIRS[:1])
    fresh.close()
    fresh.close()
    assert fresh.read(PAIRS[:2])[:1] == before
    fresh.close()


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    """By the manifest's hash; the message names whose file it is."""
    for path in BUNDLED_READER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with (tmp_path / "model-int8.onnx").open("r+b") as file:
        file.seek(1_000)
        file.write(b"damage")
    with pytest.raises(ConfigError, match=r"^cross-encoder: .*model-int8\.onnx .*sha256"):
        BundledReader(tmp_path).load()


def test_a_missing_model_is_refused_when_it_is_first_used(tmp_path: Path) -> None:
    """And by ``load``, which services call at their start."""
    missing = BundledReader(tmp_path / "gone")
    for use in (missing.load, lambda: missing.read(PAIRS[:1])):
        with pytest.raises(ConfigError, match=r"^cross-encoder: the model in .*gone"):
            use()


@pytest.mark.parametrize("option", ["workers", "max_cached"])
def test_numbers_below_one_are_refused(option: str) -> None:
    """With the options' names."""
    with pytest.raises(ConfigError, match=option):
        BundledReader(**{option: 0})


def test_the_cache_is_bounded_and_drops_what_was_used_longest_ago() -> None:
    """Memory does not grow with traffic."""
    cache = ReadingCache(2)
    one, two, three = Reading(1.0), Reading(2.0), Reading(3.0)
    cache.put(b"a", one)
    cache.put(b"b", two)
    assert cache.get(b"a") is one
    cache.put(b"c", three)
    assert (cache.get(b"a"), cache.get(b"b"), cache.get(b"c")) == (one, None, three)


def test_what_is_cached_again_counts_as_used() -> None:
    """And replaces what was there."""
    cache = ReadingCache(2)
    for key, value in ((b"a", 1.0), (b"b", 2.0), (b"a", 3.0), (b"c", 4.0)):
        cache.put(key, Reading(value))
    assert cache.get(b"a") == Reading(3.0)
    assert cache.get(b"b") is None


LOG_ODDS = 5.0
"""What the tiny models give, about: no probability."""

WORDS = ("how", "many", "days", "of", "vacation", "employees", "receive", "25", ".", "?")


def tiny_cross_encoder(folder: Path, labels: int) -> Path:
    """Write a cross-encoder of two thousand random weights and its tokenizer into a folder."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        PreTrainedTokenizerFast,
    )

    marks = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    vocabulary = {word: place for place, word in enumerate((*marks, *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    torch.manual_seed(7)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=64,
            initializer_range=0.2,
            num_labels=labels,
        )
    )
    torch.nn.init.constant_(model.classifier.bias, LOG_ODDS)
    model.save_pretrained(folder)
    return folder


def test_without_sentence_transformers_the_message_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And which option asked for it."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    named = NamedCrossEncoder("cross-encoder/some-model")
    for use in (named.load, lambda: named.read(PAIRS[:1])):
        with pytest.raises(ConfigError) as caught:
            use()
        assert str(caught.value) == (
            "analysis.cross_encoder: 'cross-encoder/some-model' needs sentence-transformers: "
            "pip install sentence-transformers"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cross-encoder with one score."""
    pytest.importorskip("sentence_transformers")
    return tiny_cross_encoder(tmp_path_factory.mktemp("tiny"), labels=1)


@pytest.fixture(scope="module")
def named(folder: Path) -> CrossEncoder:
    """Return the model, loaded once."""
    return NamedCrossEncoder(str(folder))


def test_a_named_folder_is_loaded_and_tells_whether_passages_answer(named: CrossEncoder) -> None:
    """In log-odds, as the model gives them; nothing else is known."""
    one, other = named.read([(QUESTION, VACATION), (QUESTION, TOPICAL)])
    assert one.answers != other.answers
    assert min(one.answers, other.answers) > 1
    assert one == Reading(one.answers)


def test_a_named_models_reading_depends_on_its_pair_alone(
    named: CrossEncoder, folder: Path
) -> None:
    """Neither order nor neighbours nor another instance change a bit of it."""
    together = named.read(PAIRS)
    fresh = NamedCrossEncoder(str(folder))
    assert together == tuple(reversed([fresh.read([pair])[0] for pair in reversed(PAIRS)]))


@pytest.mark.parametrize("odd", ODD, ids=[repr(text[:12]) for text in ODD])
def test_a_named_model_reads_whatever_comes_in_a_span(named: CrossEncoder, odd: str) -> None:
    """All scores are finite."""
    found = named.read([(odd, odd), (odd, VACATION), (QUESTION, odd)])
    assert all(math.isfinite(reading.answers) for reading in found)


def test_a_named_model_runs_a_pair_once(folder: Path) -> None:
    """Also within one call."""
    fresh = NamedCrossEncoder(str(folder))
    first = fresh.read([PAIRS[0], PAIRS[1], PAIRS[0]])
    assert first[0] is first[2]
    fresh._model.predict = lambda *_, **__: pytest.fail("ran again")
    assert fresh.read([PAIRS[1], PAIRS[0]]) == (first[1], first[0])


def test_a_model_with_several_scores_is_refused(tmp_path: Path) -> None:
    """None of them is known to be that of an answer."""
    pytest.importorskip("sentence_transformers")
    several = tiny_cross_encoder(tmp_path, labels=3)
    with pytest.raises(ConfigError, match=r"^analysis\.cross_encoder: .* has 3 scores"):
        NamedCrossEncoder(str(several)).load()


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """The message names it, in one line."""
    pytest.importorskip("sentence_transformers")
    with pytest.raises(ConfigError) as caught:
        NamedCrossEncoder(str(tmp_path)).load()
    message = str(caught.value)
    assert message.startswith(f"analysis.cross_encoder: {str(tmp_path)!r} cannot be loaded: ")
    assert "\n" not in message


def test_one_question_beside_many_passages_is_tokenised_once(
    reader: BundledReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no more of it than its end; the reading is that of the pair alone."""
    model, pool = reader._model()
    seen: list[str] = []

    class Counting:
        def encode(self, text: str, *, add_special_tokens: bool) -> object:
            seen.append(text)
            return model.tokenizer.encode(text, add_special_tokens=add_special_tokens)

    fresh = BundledReader()
    monkeypatch.setattr(fresh, "_model", lambda: (replace(model, tokenizer=Counting()), pool))
    question = "x " * 50_000 + QUESTION
    readings = fresh.read([(question, VACATION), (question, TOPICAL), (question, VACATION * 900)])
    assert len(seen) == 4
    assert max(map(len, seen)) == MAX_CHARACTERS
    assert readings[:2] == reader.read([(question, VACATION), (question, TOPICAL)])


def test_a_span_of_unbroken_data_is_cut(reader: BundledReader) -> None:
    """Readings are kept, so each is bounded."""
    passage = " ".join(["x" * 5_000, "25", "y" * 4_000])
    (reading,) = reader.read([(QUESTION, passage)])
    assert reading.spans
    for span in reading.spans:
        assert span.text == passage[span.start : span.end]
        assert len(span.text) <= MAX_SPAN_CHARACTERS
