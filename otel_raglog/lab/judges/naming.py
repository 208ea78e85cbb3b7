"""The name of a judge on the command line to a provider, a model and an address."""

from __future__ import annotations

from dataclasses import dataclass

from otel_raglog.errors import BadInput
from otel_raglog.judge.clients import PROVIDERS

_ANTHROPIC, _OPENAI = "anthropic", "openai"


@dataclass(frozen=True, slots=True)
class JudgeName:
    """A model of a provider; ``endpoint`` ``None`` is the provider's own address.

    ``text`` is how it stands in labelled files: without the address.
    """

    provider: str
    model: str
    endpoint: str | None = None

    @property
    def text(self) -> str:
        """``provider:model``."""
        return f"{self.provider}:{self.model}"

    def is_same(self, other: JudgeName) -> bool:
        """Tell whether both are one model at one address, by whatever API it is asked."""
        return (self.model, self._address) == (other.model, other._address)

    @property
    def _address(self) -> str:
        return (self.endpoint or PROVIDERS[self.provider].endpoint).rstrip("/").casefold()


def judge_named(text: str, endpoint: str | None = None) -> JudgeName:
    """Return the judge of ``provider:model[@endpoint]``, or of a model alone.

    A colon belongs to the model's name unless a known provider stands before it. Without a provider
    it is ``anthropic`` for a model of that name's family (``claude-…``) at no other address, else
    ``openai``, which servers of other models speak too. ``endpoint`` is for names without one.

    Raises:
        BadInput: there is no model.
    """
    name, _, address = text.strip().partition("@http")
    own = f"http{address}" if address else endpoint
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS:
        model = name
        family = name.startswith("claude") and own is None
        provider = _ANTHROPIC if family else _OPENAI
    if not model:
        raise BadInput(
            f"--judges, --adjudicator: {text!r} names no model: write provider:model[@endpoint], the "
            f"provider one of {', '.join(PROVIDERS)}"
        )
    return JudgeName(provider, model, own)


def two_judges(text: str, endpoint: str | None = None) -> tuple[JudgeName, JudgeName]:
    """Return the two judges of ``A,B``.

    Raises:
        BadInput: there are not two of them, or both are the same.
    """
    names = [judge_named(each, endpoint) for each in text.split(",") if each.strip()]
    if len(names) != _TWO or names[0].is_same(names[1]):
        raise BadInput(f"--judges {text}: two different judges are needed, as in A,B")
    return names[0], names[1]


def three_judges(
    judges: str, adjudicator: str, endpoint: str | None = None
) -> tuple[JudgeName, JudgeName, JudgeName]:
    """Return the two judges of ``A,B``, and who decides where they differ.

    Raises:
        BadInput: see :func:`two_judges`; or the third is one of the two.
    """
    first, second = two_judges(judges, endpoint)
    third = judge_named(adjudicator, endpoint)
    if third.is_same(first) or third.is_same(second):
        raise BadInput(
            f"--adjudicator {adjudicator}: it is one of the judges, and would side with itself; a "
            "third model is needed"
        )
    return first, second, third


_TWO = 2
