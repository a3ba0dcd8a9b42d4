"""A span that comes late, again, fuller or with another start is one row: the fuller."""

import random
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.receiver.intake import PROTOBUF
from ingest.receiver.signals import TRACES

NS = 10**9
NOW = 1_790_000_000 * NS
HOUR_S = 3_600
FULL = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}

Version = tuple[int, int, dict[str, int]]
"""Number of the call, its start in nanoseconds, and the counts that this version tells."""


def request_of(versions: list[Version]) -> bytes:
    """Each call in a trace of its own."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number, started_at, counts in versions:
        span = scope.spans.add(
            trace_id=number.to_bytes(16),
            span_id=number.to_bytes(8),
            name="chat llama",
            start_time_unix_nano=started_at,
            end_time_unix_nano=started_at + NS,
        )
        for key in ("gen_ai.operation.name", "gen_ai.request.model"):
            span.attributes.add(key=key).value.string_value = "chat"
        for key, count in counts.items():
            span.attributes.add(key=key).value.int_value = count
    return request.SerializeToString()


def calls_in(live: Any) -> list[tuple[int, int, int]]:
    """Number of each call of the ledger, its start and its output tokens."""
    with live.reading() as ledger:
        rows = ledger.connection.execute(
            "select trace_id, arrived_at, output_tokens from calls order by 1"
        ).fetchall()
    return [(int(trace_id, 16), at, tokens) for trace_id, at, tokens in rows]


def receive(live: Any, *versions: Version) -> None:
    live.acknowledge(TRACES, request_of(list(versions)), PROTOBUF)


def test_spans_of_up_to_an_hour_ago_sent_again_in_other_batches_are_one_row_each(
    live: Any,
) -> None:
    chance = random.Random(1)  # noqa: S311 - repeatable, not secret
    starts = {number: NOW - chance.randrange(HOUR_S * NS) for number in range(1, 201)}
    for _ in range(3):
        numbers = list(starts)
        chance.shuffle(numbers)
        for first in range(0, len(numbers), 50):
            share = numbers[first : first + 50]
            receive(live, *((number, starts[number], FULL) for number in share))
        live.settle()
    assert calls_in(live) == [(number, at, 20) for number, at in starts.items()]
    assert len(live.held().spans) == 200


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda o: "".join(map(str, o)))
@pytest.mark.parametrize("settle_between", [False, True], ids=["together", "apart"])
def test_of_versions_with_other_starts_the_fuller_is_the_row_whenever_it_comes(
    live: Any, order: tuple[int, ...], settle_between: bool
) -> None:
    bare: Version = (7, NOW, {})
    half: Version = (7, NOW - HOUR_S * NS, {"gen_ai.usage.input_tokens": 100})
    full: Version = (7, NOW - 60 * NS, FULL)
    for index in order:
        receive(live, (bare, half, full)[index])
        if settle_between:
            live.settle()
    live.settle()
    assert calls_in(live) == [(7, NOW - 60 * NS, 20)]
    [span] = live.held().spans
    assert span[5] == NOW - 60 * NS


def test_of_two_versions_as_full_the_same_one_is_the_row_in_either_order(
    by_receiver: Callable[..., Any],
) -> None:
    early, late = [(request_of([(7, at, FULL)]), PROTOBUF) for at in (NOW - 9 * NS, NOW)]
    first = by_receiver(TRACES, [early, late], 1)
    second = by_receiver(TRACES, [late, early], 2)
    assert (first.spans, first.calls) == (second.spans, second.calls)
    assert len(first.spans) == 1
