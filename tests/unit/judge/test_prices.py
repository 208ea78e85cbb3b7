"""What calls cost, and what is not known."""

import json
import math

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.judge.client import Usage
from otel_raglog.judge.prices import Prices

MILLION = 1_000_000
OWN = {"input": 2, "output": 4, "as_of": "2026-11-30", "source": "our contract"}


def own_prices(folder, models):
    path = folder / "prices.json"
    path.write_text(json.dumps({"models": models}))
    return path


def test_each_kind_of_token_has_its_own_price():
    """A million of each, with the default model."""
    prices = Prices.load()
    for usage, usd in [
        (Usage(prompt_tokens=10_000), 0.001),
        (Usage(completion_tokens=10_000), 0.005),
        (Usage(cache_read_tokens=10_000), 0.0001),
        (Usage(cache_write_tokens=10_000), 0.00125),
    ]:
        assert math.isclose(prices.cost("claude-haiku-5-5", usage), usd)


def test_a_long_prompt_has_a_price_of_its_own():
    """For all its tokens, when all kinds of prompt tokens together pass the limit."""
    prices = Prices.load()
    short = Usage(50_000, 1_000, 50_000)
    longer = Usage(50_000, 1_000, 50_001)
    assert math.isclose(prices.cost("claude-haiku-5-5", short), 0.005 + 0.0005 + 0.0005)
    assert math.isclose(
        prices.cost("claude-haiku-5-5", longer), 0.025 + 0.0025 + 50_001 * 0.05 / MILLION
    )


@pytest.mark.parametrize(
    "model", ["claude-haiku-4-5", "claude-haiku-4-5-20251001", "gpt-5-mini-2025-08-07"]
)
def test_a_dated_name_is_that_of_its_model(model):
    """As providers name versions."""
    assert Prices.load().cost(model, Usage(1)) is not None


@pytest.mark.parametrize(
    "model", ["qwen3:1.7b", "claude-haiku-4-5-mini", "gpt-5-2", "", "-20251001"]
)
def test_the_cost_of_an_unknown_model_is_unknown(model):
    """Not zero, and not that of a name that looks alike."""
    assert Prices.load().cost(model, Usage(1)) is None


def test_every_price_says_when_and_where_it_was_read():
    """None is of the future of its source, and output costs no less than input."""
    prices = Prices.load()
    for model in ("claude-haiku-5-5", "claude-sonnet-5-5", "gpt-5-nano", "gemini-2.5-flash"):
        price = prices.price(model)
        assert price.source
        assert price.as_of.isoformat() < "2026-11-30"
        assert 0 < price.input <= price.output


def test_tokens_of_a_cache_without_a_price_cost_as_input():
    """Too much rather than too little."""
    prices = Prices.load()
    cached = prices.cost("gemini-2.5-flash", Usage(cache_read_tokens=MILLION))
    assert cached == prices.cost("gemini-2.5-flash", Usage(MILLION))


def test_prices_of_ones_own_win_model_by_model(tmp_path):
    """Others stay; a local model can be said to be free."""
    free = {**OWN, "input": 0, "output": 0}
    path = own_prices(tmp_path, {"claude-haiku-4-5": OWN, "qwen3:1.7b": free})
    prices = Prices.load(path)
    assert prices.cost("claude-haiku-4-5", Usage(MILLION, MILLION)) == 6
    assert prices.cost("qwen3:1.7b", Usage(MILLION, MILLION)) == 0
    assert prices.cost("gpt-5-nano", Usage(MILLION)) == 0.05


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ({"m": {**OWN, "input": -1}}, "input of m"),
        ({"m": {**OWN, "input": "x"}}, "input of m"),
        ({"m": {**OWN, "as_of": "soon"}}, "as_of of m"),
        ({"m": {**OWN, "inptu": 1}}, "inptu of m"),
        ({"m": {"input": 1}}, "output of m"),
        ([], "models"),
    ],
)
def test_a_file_of_another_form_is_refused_with_the_place(tmp_path, models, said):
    """The option, the file and the entry are named."""
    path = own_prices(tmp_path, models)
    with pytest.raises(ConfigError) as caught:
        Prices.load(path)
    assert str(caught.value).startswith(f"judge.prices: {path}: ")
    assert said in str(caught.value)


def test_a_file_that_is_no_json_or_not_there_is_refused(tmp_path):
    """With the option's name."""
    path = tmp_path / "prices.json"
    with pytest.raises(ConfigError, match=r"judge\.prices: .* cannot be read"):
        Prices.load(path)
    path.write_text("{")
    with pytest.raises(ConfigError, match=r"judge\.prices"):
        Prices.load(path)
