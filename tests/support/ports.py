"""Ports that stay free although nobody listens on them for a while."""

from __future__ import annotations

import random
import socket

_LOWEST, _HIGHEST = 20_000, 30_000
"""Below the ports that the system gives to whoever binds to port 0: other tests' servers, say."""
_TRIES = 200


def free_port() -> int:
    """Return a loopback port that nobody listens on, and that the system gives to nobody."""
    source = random.SystemRandom()
    for _ in range(_TRIES):
        port = source.randrange(_LOWEST, _HIGHEST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no port is free between {_LOWEST} and {_HIGHEST}")
