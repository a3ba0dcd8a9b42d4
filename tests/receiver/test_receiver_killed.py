"""What was acknowledged survives `kill -9` at any instant, once; what was not can be sent again."""

import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

PROTOBUF = {"content-type": "application/x-protobuf"}
BATCH = 16
SENDERS = 2
KILLS = int(os.environ.get("GPULEDGER_KILLS", "4"))
"""A sample; `GPULEDGER_KILLS=200 pytest tests/receiver` is the whole, in some minutes."""


class Sender(threading.Thread):
    """Sends batch after batch; one that is not acknowledged is sent until it is, some again."""

    def __init__(self, number: int, request_of: Callable[..., Any]) -> None:
        super().__init__()
        self.url = ""
        self.is_done = threading.Event()
        self.acknowledged: set[int] = set()
        self._random = random.Random(number)  # noqa: S311 - repeatable, not secret
        self._batches = iter(range(number, 10**6, SENDERS))
        self._request_of = request_of

    def run(self) -> None:
        while not self.is_done.is_set():
            numbers = range(first := 1 + BATCH * next(self._batches), first + BATCH)
            self._deliver(numbers)
            if self._random.random() < 0.2:
                self._deliver(numbers)

    def _deliver(self, numbers: range) -> None:
        body = self._request_of(numbers).SerializeToString()
        while True:
            try:
                answer = httpx.post(self.url, content=body, headers=PROTOBUF, timeout=30)
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            if answer.status_code == 200:
                self.acknowledged.update(numbers)
                return
            time.sleep(0.05)


@pytest.mark.parametrize("seed", [7])
def test_nothing_acknowledged_is_lost_and_nothing_is_doubled(
    start: Callable[..., Any],
    request_of: Callable[..., Any],
    calls_in: Callable[[Path], list[tuple[int, int]]],
    seed: int,
) -> None:
    instants = random.Random(seed)  # noqa: S311 - repeatable, not secret
    receiver = start()
    senders = [Sender(number, request_of) for number in range(SENDERS)]
    for sender in senders:
        sender.url = f"{receiver.http}/v1/traces"
        sender.start()
    for _ in range(KILLS):
        _wait_for_more(senders)
        time.sleep(instants.uniform(0.0, 1.0))
        receiver.kill()
        receiver = start()
        for sender in senders:
            sender.url = f"{receiver.http}/v1/traces"
    for sender in senders:
        sender.is_done.set()
    for sender in senders:
        sender.join()
    receiver.wait_until_settled()
    assert receiver.stop() == 0
    found = [number for number, _ in calls_in(receiver.ledger_path)]
    assert found == sorted(set().union(*(sender.acknowledged for sender in senders)))


def _wait_for_more(senders: Sequence[Sender]) -> None:
    """Return once a batch more is acknowledged than when this was asked."""
    before = sum(len(sender.acknowledged) for sender in senders)
    deadline = time.monotonic() + 60
    while sum(len(sender.acknowledged) for sender in senders) <= before:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_ledger_without_memory_delays_what_is_acknowledged_and_loses_nothing(
    start: Callable[..., Any],
    request_of: Callable[..., Any],
    calls_in: Callable[[Path], list[tuple[int, int]]],
    tmp_path: Path,
) -> None:
    poor = tmp_path / "poor.toml"
    poor.write_text('memory_limit = "8MB"\n')
    receiver = start("--config", str(poor), "--max-inbox", "1")
    noise = random.Random(1)  # noqa: S311 - repeatable, not secret
    note = partial(noise.randbytes, 4_000)
    refused: list[httpx.Response] = []
    acknowledged: list[int] = []
    first = 1
    while not refused and first < 10_000:
        numbers = range(first, first + 100)
        body = request_of(numbers, note=lambda: note().hex()).SerializeToString()
        answer = httpx.post(
            f"{receiver.http}/v1/traces", content=body, headers=PROTOBUF, timeout=60
        )
        if answer.status_code == 200:
            acknowledged.extend(numbers)
        else:
            refused.append(answer)
        first += 100
    assert refused
    assert (refused[0].status_code, refused[0].headers["retry-after"]) == (503, "5")
    assert receiver.health()["inbox_requests"] > 0
    receiver.kill()

    rich = start()
    again = range(first - 100, first)
    body = request_of(again).SerializeToString()
    deadline = time.monotonic() + 60
    while httpx.post(f"{rich.http}/v1/traces", content=body, headers=PROTOBUF).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    rich.wait_until_settled()
    assert rich.stop() == 0
    assert [number for number, _ in calls_in(rich.ledger_path)] == sorted({*acknowledged, *again})
