"""Clients for judges: whose key goes where, and that they try again."""

import json
from random import Random

import pytest
from judge_behaviours import fails
from judge_server import JudgeServer
from judged_records import findings, run_record

from otel_raglog.clock import SystemClock
from otel_raglog.errors import ConfigError
from otel_raglog.lab.judges.case import case_of
from otel_raglog.lab.judges.clients import key_variable, patient_client
from otel_raglog.lab.judges.judge import Judge, opinion_of
from otel_raglog.lab.judges.naming import JudgeName


def client(name, key=None, waits=None):
    def wait(seconds):
        if waits is not None:
            waits.append(seconds)
        return False

    return patient_client(
        name, key, connections=2, clock=SystemClock(), random=Random(1), wait=wait
    )


def test_a_providers_key_is_for_its_own_address_alone():
    """Another server gets a key only when its variable was named."""
    assert key_variable(JudgeName("anthropic", "m"), None) == "ANTHROPIC_API_KEY"
    assert key_variable(JudgeName("openai", "m"), None) == "OPENAI_API_KEY"
    assert key_variable(JudgeName("openai", "m", "http://h"), None) is None
    assert key_variable(JudgeName("openai", "m", "http://h"), "MY_KEY") == "MY_KEY"


def test_a_missing_key_is_named_before_anything_is_sent():
    """With the variable that is read."""
    with pytest.raises(ConfigError, match="anthropic:m needs a key: set ANTHROPIC_API_KEY"):
        client(JudgeName("anthropic", "m"))


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_judge_over_a_real_socket(provider):
    """After a 429 with Retry-After, it is asked again; the answer is checked findings."""
    with JudgeServer(lambda _: json.dumps(findings())) as server:
        server.script(fails(429, retry_after="2"))
        address = server.url_anthropic if provider == "anthropic" else server.url_openai
        waits = []
        asked = client(JudgeName(provider, "m", address), "secret-key", waits)
        found = opinion_of(Judge("x", asked, 20), case_of(run_record()))
        asked.close()
    assert found.failure is None
    assert found.findings.retriever.needed_chunks == ("c1",)
    assert (server.count(), waits) == (2, [2.0])
    assert server.requests[0].schema is not None
    assert "secret-key" in str(server.requests[0].headers)
