"""Live and ready are different questions."""

from starlette.testclient import TestClient

from otel_raglog.web.health import health_app


def test_live_answers_even_while_not_ready():
    """A process that refuses new spans is alive all the same."""
    client = TestClient(health_app(lambda: "a destination's queue is full"))
    assert client.get("/live").status_code == 200


def test_ready_says_why_not():
    """503 with the reason, 200 once there is none."""
    reasons = ["starting", None]
    client = TestClient(health_app(lambda: reasons.pop(0)))
    refused = client.get("/ready")
    assert (refused.status_code, refused.json()["reason"]) == (503, "starting")
    assert client.get("/ready").status_code == 200
