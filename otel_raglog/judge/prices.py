"""Tokens to what they cost, for the models whose price is known."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otel_raglog.errors import ConfigError
from otel_raglog.judge.client import Usage
from otel_raglog.judge.model_names import undated
from otel_raglog.plain_errors import in_words

_SHIPPED = Path(__file__).with_name("prices.json")
_MILLION = 1_000_000

_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Rates(BaseModel):
    """USD per million tokens; where a price for the cache is not known, its tokens cost as input."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: _Usd
    output: _Usd
    cache_read: _Usd | None = None
    cache_write: _Usd | None = None

    def cost(self, usage: Usage) -> float:
        """Return USD."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return (
            usage.prompt_tokens * self.input
            + usage.completion_tokens * self.output
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
        ) / _MILLION


class LongPromptRates(Rates):
    """The price of all tokens of a call whose prompt has more than ``over_tokens`` tokens."""

    over_tokens: int = Field(gt=0)


class Price(Rates):
    """What a model costs, as its provider (``source``) said on ``as_of``."""

    as_of: date
    source: str = Field(min_length=1)
    long_prompt: LongPromptRates | None = None

    def cost(self, usage: Usage) -> float:
        """Return USD of one call."""
        prompt = usage.prompt_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if self.long_prompt is not None and prompt > self.long_prompt.over_tokens:
            return self.long_prompt.cost(usage)
        return super().cost(usage)


class _PriceFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: Literal["USD per million tokens"] = "USD per million tokens"
    models: dict[str, Price]


class Prices:
    """Prices by model. A model that is served locally has one only where a file of the user's says."""

    def __init__(self, models: Mapping[str, Price]) -> None:
        self._models = dict(models)

    @classmethod
    def load(cls, override: Path | None = None) -> Self:
        """Return the prices that come with this version; those in ``override`` win, model by model.

        Raises:
            ConfigError: ``override`` cannot be read, or is not of the form of ``prices.json``.
        """
        shipped = _PriceFile.model_validate_json(_SHIPPED.read_bytes()).models
        own = {} if override is None else _read(override)
        return cls({**shipped, **own})

    def price(self, model: str) -> Price | None:
        """Return the price of ``model``, of which a date at the end is no part; ``None``: not known."""
        found = self._models.get(model)
        return found if found is not None else self._models.get(undated(model))

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return USD of one call, ``None`` where the price is not known.

        Of one call, not of several together: long prompts may have a price of their own.
        """
        price = self.price(model)
        return None if price is None else price.cost(usage)


def _read(path: Path) -> Mapping[str, Price]:
    try:
        return _PriceFile.model_validate_json(path.read_bytes()).models
    except OSError as error:
        raise ConfigError(f"judge.prices: {path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = " of ".join(str(part) for part in reversed(problem["loc"])) or "the file"
        raise ConfigError(f"judge.prices: {path}: {where} {in_words(problem)}") from None
