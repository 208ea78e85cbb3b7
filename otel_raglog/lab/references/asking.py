"""A request to an LLM to a checked answer, asked for once more where it was malformed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from otel_raglog.checks.judge.answers import Answer
from otel_raglog.checks.judge.parsing import read_answer
from otel_raglog.errors import BadInput, Rejected
from otel_raglog.judge.client import Ask, JudgeClient, Question, Reply, YesShare
from otel_raglog.judge.retrying import Retrier

A = TypeVar("A", bound=Answer)

_BYTES_OF_A_MARK = 16
_OF_EVERY_CALL = frozenset({"unauthorized", "payment_required", "no_such_model"})


def new_mark() -> str:
    """Return a word that no text of a run can know."""
    return secrets.token_hex(_BYTES_OF_A_MARK)


def ask_for(
    client: JudgeClient,
    request: Ask,
    answer: type[A],
    *,
    timeout_seconds: float,
    sound: Callable[[A], None] = lambda _: None,
) -> A:
    """Return the checked answer to ``request``; a malformed one is asked for once more.

    ``sound`` raises :class:`BadInput` for an answer of the right form that cannot be.

    Raises:
        BadInput: the second answer is malformed too; says what is wrong, and quotes nothing.
        Unavailable: see :meth:`JudgeClient.ask`.
        Rejected: see :meth:`JudgeClient.ask`.
    """
    try:
        return _asked(client, request, answer, timeout_seconds, sound)
    except BadInput as error:
        wrong = str(error)
    repaired = f"{request.prompt}\n\nAn earlier answer was refused: {wrong}. Answer with JSON of the schema alone."
    return _asked(client, replace(request, prompt=repaired), answer, timeout_seconds, sound)


def _asked(
    client: JudgeClient,
    request: Ask,
    answer: type[A],
    timeout_seconds: float,
    sound: Callable[[A], None],
) -> A:
    reply = client.ask(request, timeout_seconds)
    if not reply.complete:
        raise BadInput("the answer was cut off")
    found = read_answer(answer, reply.text)
    sound(found)
    return found


def is_of_every_call(error: Rejected) -> bool:
    """Tell whether the provider would refuse any other request too: key, account or model."""
    return error.reason in _OF_EVERY_CALL


class PatientClient:
    """A client that tries again what may work later, for work that nobody waits for."""

    def __init__(self, client: JudgeClient, retrier: Retrier) -> None:
        self._client = client
        self._retrier = retrier
        self._lock = threading.Lock()
        self._calls = 0

    @property
    def calls(self) -> int:
        """All calls so far, each try counted."""
        return self._calls

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._client.provider

    @property
    def model(self) -> str:
        """The model's name there."""
        return self._client.model

    def ask(self, request: Ask, timeout_seconds: float) -> Reply:
        """Return the reply; ``timeout_seconds`` is for one try.

        Raises:
            Unavailable: every try failed.
            Rejected: see :meth:`JudgeClient.ask`.
        """
        return self._retrier.call(
            lambda left: self._counted().ask(request, min(left, timeout_seconds)),
            self._retrier.deadline(None),
            may_retry=lambda: True,
        )

    def first_token(self, question: Question, timeout_seconds: float) -> YesShare:
        """Return how probable yes is; ``timeout_seconds`` is for one try.

        Raises:
            Unavailable: every try failed.
            Rejected: see :meth:`JudgeClient.first_token`.
        """
        return self._retrier.call(
            lambda left: self._counted().first_token(question, min(left, timeout_seconds)),
            self._retrier.deadline(None),
            may_retry=lambda: True,
        )

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _counted(self) -> JudgeClient:
        with self._lock:
            self._calls += 1
        return self._client
