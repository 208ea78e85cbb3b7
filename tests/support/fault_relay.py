"""A TCP port in front of a server, to a port that can be closed, opened, mute or cut off."""

from __future__ import annotations

import contextlib
import socket
import threading

from ports import free_port

_CHUNK_BYTES = 64 * 1024
_ACCEPT_SECONDS = 0.1


class Relay:
    """Passes connections to ``127.0.0.1:target`` and breaks them on demand.

    ``port`` stays the same from one :meth:`open` to the next, and nobody else gets it meanwhile; 0
    takes a free one.
    """

    def __init__(self, target: int, port: int = 0) -> None:
        self.port = port
        self._target = target
        self._listener: socket.socket | None = None
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._cut_next = threading.Event()
        self._mute = False
        self._threads: list[threading.Thread] = []

    def open(self) -> None:
        """Listen; does nothing when it does already."""
        if self._listener is not None:
            if self._mute:
                self._mute = False
                self.drop()  # else clients wait on connections that nobody reads
            return
        listener = socket.create_server(("127.0.0.1", self.port or free_port()))
        listener.settimeout(_ACCEPT_SECONDS)
        self.port = listener.getsockname()[1]
        self._listener, self._mute = listener, False
        self._start(self._accept, listener)

    def close(self) -> None:
        """Refuse connections and reset those that exist."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        self.drop()
        for thread in self._threads:
            thread.join(5)
        self._threads.clear()

    def mute(self) -> None:
        """Reset all connections, and accept new ones without ever reading from them."""
        self._mute = True
        self.drop()

    def cut_next_answer(self) -> None:
        """Pass on half of the bytes that the server sends next, then reset that connection."""
        self._cut_next.set()

    def drop(self) -> None:
        """Reset all connections."""
        with self._lock:
            connections = list(self._connections)
            self._connections.clear()
        for connection in connections:
            _reset(connection)

    def _start(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while listener is self._listener:
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:  # closed
                return
            client.settimeout(None)
            if self._mute:
                self._keep(client)
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            self._keep(client, server)
            self._start(self._pump, client, server, False)
            self._start(self._pump, server, client, True)

    def _keep(self, *connections: socket.socket) -> None:
        with self._lock:
            self._connections.update(connections)

    def _pump(self, source: socket.socket, target: socket.socket, outward: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                if outward and self._cut_next.is_set():
                    self._cut_next.clear()
                    target.sendall(data[: len(data) // 2])
                    break
                target.sendall(data)
        for connection in (source, target):
            with self._lock:
                self._connections.discard(connection)
            _reset(connection)


def _reset(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
