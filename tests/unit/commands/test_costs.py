"""Words on what asking took."""

from collections import Counter

from otel_raglog.commands.costs import Cost, counts_in_words, tokens_in_words
from otel_raglog.judge.client import Usage


def test_costs_add_up_while_every_price_is_known():
    """Afterwards they are unknown."""
    cost = Cost()
    cost.add(0.25)
    cost.add(0.5)
    assert cost.words() == "0.7500 USD"
    assert cost.words(0.5, "about ") == "about 0.3750 USD"
    cost.add(None)
    cost.add(1)
    assert cost.words() == "cost unknown (judge.prices)"


def test_tokens_of_prompts_hold_those_of_the_cache():
    """They were read all the same."""
    assert tokens_in_words(Usage(1000, 7, 200, 30)) == "1,230 + 7 tokens"


def test_counts_begin_with_the_most_frequent():
    """Nothing is said of none."""
    assert counts_in_words(Counter(["budget", "stopped", "stopped"])) == "2 stopped, 1 budget"
    assert counts_in_words(Counter()) == ""
