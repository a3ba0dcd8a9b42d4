"""Cases as their users met them: spans on the wire or records in a file, through to the answer."""

import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ingest.config import Configuration, TokenPrice
from ingest.deliver import DeliveryResult, deliver_paths
from ingest.ledger import Ledger, open_for_writing

S = 1_000_000_000
T0 = 1_794_304_800 * S
"""2026-11-10T10:00:00Z."""

PRICE = TokenPrice(
    model="m",
    input_per_mtok=Decimal(3),
    cache_read_per_mtok=Decimal("0.30"),
    cache_write_per_mtok=Decimal("3.75"),
    output_per_mtok=Decimal(15),
)
PRICED = Configuration(token_prices=(PRICE,))


def valued(value: Any) -> dict[str, Any]:
    """An attribute's value in OTLP JSON; integers are strings, as protojson writes them."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [valued(item) for item in value]}}
    return {"stringValue": value}


def keyed(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": valued(value)}
        for key, value in attributes.items()
        if value is not None
    ]


def span(
    span_id: str,
    attributes: dict[str, Any],
    *,
    parent: str = "",
    at_s: tuple[float, float] = (0, 10),
    trace: str = "a" * 32,
    kind: int = 3,
    name: str | None = None,
    service: str = "shop",
    resource: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One OTLP JSON span with its resource beside it; ids are short and filled up with zeros."""
    return {
        "resource": {"service.name": service, **(resource or {})},
        "span": {
            "traceId": trace,
            "spanId": span_id.rjust(16, "0"),
            "parentSpanId": parent.rjust(16, "0") if parent else "",
            "name": name or f"span {span_id}",
            "kind": kind,
            "startTimeUnixNano": str(T0 + round(at_s[0] * S)),
            "endTimeUnixNano": str(T0 + round(at_s[1] * S)),
            "attributes": keyed(attributes),
            **more,
        },
    }


def chat(
    span_id: str,
    usage: tuple[int | None, int | None] = (1000, 200),
    more: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A client span of a chat with model m and `usage` tokens in and out."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": usage[0],
        "gen_ai.usage.output_tokens": usage[1],
        **(more or {}),
    }
    return span(span_id, attributes, **fields)


class Case:
    """A ledger of one case, and what it answers."""

    def __init__(self, ledger: Ledger, folder: Path) -> None:
        self.ledger = ledger
        self._folder = folder
        self._count = 0

    def take(
        self,
        *spans: dict[str, Any],
        records: Sequence[dict[str, Any]] = (),
        configuration: Configuration = PRICED,
    ) -> list[DeliveryResult]:
        """Deliver spans as OTLP JSON and records in the native format."""
        resource_spans = [
            {
                "resource": {"attributes": keyed(one["resource"])},
                "scopeSpans": [{"spans": [one["span"]]}],
            }
            for one in spans
        ]
        results = []
        if spans:
            results += self.take_text(json.dumps({"resourceSpans": resource_spans}), configuration)
        if records:
            lines = "".join(json.dumps(record) + "\n" for record in records)
            results += self.take_text(lines, configuration)
        return results

    def take_text(self, text: str, configuration: Configuration = PRICED) -> list[DeliveryResult]:
        """Deliver a file with this text."""
        self._count += 1
        path = self._folder / f"{self._count}.json"
        path.write_text(text)
        results = deliver_paths(self.ledger, [str(path)], configuration)
        assert [result.error for result in results] == [None]
        return results

    def rows(self, columns: str, source: str = "calls") -> list[tuple[Any, ...]]:
        """These columns of every row, in order."""
        text = f"select {columns} from {source} order by all"
        return self.ledger.connection.execute(text).fetchall()

    def call(self, columns: str) -> tuple[Any, ...]:
        """These columns of the only call."""
        (row,) = self.rows(columns)
        return row

    def cost(self) -> Decimal | None:
        """What all calls cost by the token."""
        ((total,),) = self.rows("sum(token_cost)", "token_charges")
        return None if total is None else Decimal(total)


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    """An empty ledger to take a case into."""
    with open_for_writing(None) as ledger:
        yield Case(ledger, tmp_path)


@pytest.fixture(scope="session")
def make_chat() -> Callable[..., dict[str, Any]]:
    """Makes a client span of a chat."""
    return chat


@pytest.fixture(scope="session")
def make_span() -> Callable[..., dict[str, Any]]:
    """Makes a span of any kind."""
    return span


@pytest.fixture(scope="session")
def t0() -> int:
    """The instant that spans count from, nanoseconds since 1970: 2026-11-10T10:00:00Z."""
    return T0


@pytest.fixture(scope="session")
def priced() -> Configuration:
    """Model m costs 3, 0.30, 3.75 and 15 a million tokens of input, read, write and output."""
    return PRICED
