"""Bodies that do not come as announced."""

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

Start = Callable[..., Any]


def begun(address: str, length: int) -> socket.socket:
    """A request that announces `length` bytes and has sent one of them."""
    url = urlsplit(address)
    connection = socket.create_connection((url.hostname, url.port), timeout=60)
    head = ("POST /v1/traces HTTP/1.1", "Host: gpuledger", "Content-Type: application/json")
    lines = "\r\n".join((*head, f"Content-Length: {length}", "", "{"))
    connection.sendall(lines.encode())
    return connection


def test_a_body_that_is_announced_as_too_large_is_refused_before_it_comes(start: Start) -> None:
    with begun(start("--max-body", "1").http, 2**20 + 1) as connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_sender_that_hangs_up_leaves_no_trace_of_the_program_in_the_log(start: Start) -> None:
    receiver = start()
    begun(receiver.http, 100).close()
    assert receiver.health()["status"] == "ok"
    assert receiver.stop() == 0
    assert "Traceback" not in receiver.process.stderr.read()
