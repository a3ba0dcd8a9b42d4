"""A small ledger of calls, delivered and withdrawn as a delivery would do it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from ingest.charging import charge, mark_stale
from ingest.config import Configuration
from ingest.ledger import Ledger, open_for_writing

S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCall:
    """One call as a test states it; the fields are columns of `call_rows` and `cohorts`."""

    __test__ = False

    call_id: str
    model: str | None = "m"
    model_requested: str | None = None
    provider: str | None = None
    service: str | None = None
    pool_reported: str | None = None
    origin: str = "production"
    timing_source: str = "engine"
    timing_quality: str = "ok"
    replica: str | None = "r0"
    arrived_at: int | None = None
    started_at: int | None = None
    first_token_at: int | None = None
    ended_at: int | None = None
    uncached_input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    visible_output_tokens: int | None = 10
    reasoning_tokens: int | None = None
    n_choices: int | None = None
    http_status: int | None = None
    reported_cost: Decimal | None = None
    reported_currency: str | None = None


COHORT_COLUMNS = (
    "model",
    "model_requested",
    "provider",
    "service",
    "pool_reported",
    "origin",
    "timing_source",
    "timing_quality",
)


class CallLedger:
    """A ledger in memory, with the few things that charging is asked to survive."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.connection = ledger.connection
        self._last_call_no = 0

    def deliver(self, *calls: TestCall) -> None:
        """Insert `calls`; one with a known `call_id` takes the place of the earlier."""
        self.withdraw(*(call.call_id for call in calls))
        for call in calls:
            self._last_call_no += 1
            row = {k: v for k, v in asdict(call).items() if k not in COHORT_COLUMNS}
            row |= {"call_no": self._last_call_no, "cohort_id": self._cohort(call)}
            row |= {"delivery_id": 1, "fullness": 1, "digest": "d"}
            self._insert("call_rows", row)
        self._touch([call.call_id for call in calls])

    def withdraw(self, *call_ids: str) -> None:
        """Remove the calls, if they are there."""
        self._touch(call_ids)
        self.connection.execute(
            "delete from call_rows where list_contains($ids, call_id)", {"ids": list(call_ids)}
        )

    def charge(self, configuration: Configuration | None = None) -> None:
        charge(self.ledger, configuration or Configuration())

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()

    def charges(self) -> list[tuple[Any, ...]]:
        """Every charge without the numbers that depend on the order of deliveries."""
        return self.rows(
            """
            select
                r.call_id, p.pool, p.replica, p.day, pools.effective_from, h.quarter,
                h.prefill_s, h.decode_s, h.prefill_gpu_seconds, h.decode_gpu_seconds
            from charges as h
            left join call_rows as r on h.call_no = r.call_no
            inner join charge_partitions as p on h.partition_id = p.partition_id
            inner join pools on h.rate_id = pools.rate_id
            order by all
            """
        )

    def gpu_seconds(self) -> dict[str, tuple[float, float]]:
        """Prefill and decode GPU-seconds of each call."""
        found = self.rows(
            """
            select r.call_id, sum(h.prefill_gpu_seconds), sum(h.decode_gpu_seconds)
            from charges as h
            left join call_rows as r on h.call_no = r.call_no
            group by r.call_id
            """
        )
        return {call_id: (prefill, decode) for call_id, prefill, decode in found}

    def _touch(self, call_ids: Sequence[str]) -> None:
        self.connection.execute(
            """
            create or replace temp table touched as
            select cohort_id, replica, arrived_at, started_at, ended_at
            from call_rows
            where list_contains($ids, call_id)
            """,
            {"ids": list(call_ids)},
        )
        mark_stale(self.connection, "touched")

    def _cohort(self, call: TestCall) -> int:
        columns = {name: getattr(call, name) for name in COHORT_COLUMNS}
        digest = repr(columns)
        known = self.rows("select cohort_id from cohorts where digest = $digest", digest=digest)
        if known:
            return int(known[0][0])
        (count,) = self.rows("select count(*) from cohorts")[0]
        fixed = {"operation": "chat", "status": "ok", "tokens_source": "reported"}
        row = columns | fixed | {"pairing": "single", "digest": digest, "cohort_id": count + 1}
        self._insert("cohorts", row)
        return int(count) + 1

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        names = ", ".join(row)
        values = ", ".join(f"${name}" for name in row)
        self.connection.execute(f"insert into {table} ({names}) values ({values})", row)


@pytest.fixture
def new_ledger() -> Iterator[Callable[[], CallLedger]]:
    """Makes an empty ledger; all are closed at the end of the test."""
    with ExitStack() as stack:
        yield lambda: CallLedger(stack.enter_context(open_for_writing(None)))


@pytest.fixture
def calls(new_ledger: Callable[[], CallLedger]) -> CallLedger:
    """One empty ledger."""
    return new_ledger()


@pytest.fixture
def call() -> type[TestCall]:
    """The kind of call that `CallLedger` takes."""
    return TestCall


def at_utc(text: str) -> int:
    """Nanoseconds since 1970 of an ISO instant without a zone."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * S


@pytest.fixture
def at() -> Callable[[str], int]:
    """ISO text to nanoseconds, UTC."""
    return at_utc
