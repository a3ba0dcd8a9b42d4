"""Who looks is told: a disk that is full, and requests that wait when the receiver ends."""

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpuledger.main import main
from ingest.ledger import open_for_writing
from ingest.receiver.beside import inbox_path, waiting_beside

WAIT_S = 60.0
Start = Callable[..., Any]


def posted(receiver: Any, body: bytes) -> int:
    """The HTTP status of the answer."""
    headers = {"content-type": "application/x-protobuf"}
    return httpx.post(
        f"{receiver.http}/v1/traces", content=body, headers=headers, timeout=60
    ).status_code


def test_health_is_failing_while_senders_are_told_that_the_disk_is_full_and_not_after(
    start: Start, request_of: Callable[..., Any]
) -> None:
    receiver = start()
    body = request_of(range(1, 2)).SerializeToString()
    assert posted(receiver, body) == 200
    receiver.wait_until_settled()
    limit = resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE, (4096, limit[1]))
    assert posted(receiver, body) == 503
    time.sleep(1.5)  # the settler has looked again
    answer = httpx.get(f"{receiver.http}/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "failing")
    assert answer.json()["trouble"]
    resource.prlimit(receiver.process.pid, resource.RLIMIT_FSIZE, limit)
    deadline = time.monotonic() + WAIT_S
    while (health := receiver.health())["status"] != "ok" or health["trouble"]:
        assert time.monotonic() < deadline, health
        time.sleep(0.1)
    assert posted(receiver, body) == 200


def test_a_stop_says_how_many_requests_wait_and_so_does_check(
    start: Start, request_of: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    receiver = start()
    path: Path = receiver.ledger_path
    with open_for_writing(path):
        for number in range(1, 4):
            body = request_of(range(number, number + 1)).SerializeToString()
            assert posted(receiver, body) == 200
        assert receiver.stop() == 0
    said = receiver.process.stderr.read()
    assert f"requests that wait in {inbox_path(path)}: 3; the next `gpuledger receive`" in said
    assert waiting_beside(path) == 3
    assert "not in the ledger yet: 3 requests in" in _check(path, capsys)
    again = start(ledger_path=path)
    again.wait_until_settled()
    assert again.stop() == 0
    assert "requests that wait" not in again.process.stderr.read()
    assert "not in the ledger yet" not in _check(path, capsys)


def _check(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What `gpuledger check` says on stderr."""
    with pytest.raises(SystemExit):
        main(["check", "--ledger", str(path)])
    return capsys.readouterr().err
