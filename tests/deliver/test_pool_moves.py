"""A model moves between pools: its calls are in the pool of their time, whatever came first."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest.charging import charge
from ingest.charging.pools import DIGEST_FACT, configuration_digest
from ingest.config import Configuration, Pool, TokenPrice
from ingest.current import open_current
from ingest.deliver import deliver
from ingest.files import Source
from ingest.ledger import Ledger, open_for_writing
from ingest.records import Call
from ingest.schema import current_version, migrations

MakeReader = Callable[..., Any]
Deliver = Callable[..., None]
S = 1_000_000_000
DAY = 86_400 * S
BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
T = 20_727 * DAY  # the instant of BEGIN
PRICE = TokenPrice(model="m", input_per_mtok=Decimal(1), output_per_mtok=Decimal(2))


def listing(name: str, days: int | None, *models: str, **more: Any) -> Pool:
    """An entry of pool `name` from `days` after T on, or since ever."""
    since = None if days is None else BEGIN + timedelta(days=days)
    return Pool(name=name, models=models, effective_from=since, **more)


def configured(*pools: Pool) -> Configuration:
    return Configuration(pools=pools, token_prices=(PRICE,))


MOVED = configured(listing("a", None, "m"), listing("b", 0, "m", gpus_per_replica=2))
STAYING = configured(listing("a", None, "m"))
GIVEN_UP = configured(listing("a", None, "m"), listing("a", 0))


def call(identity: str = "x", begin: int | None = T, **more: Any) -> Call:
    """A call of model m that takes 4 s, of which 1 s is prefill."""
    times: dict[str, Any] = {}
    if begin is not None:
        times = {"started_at": begin, "first_token_at": begin + S, "ended_at": begin + 4 * S}
    told = {"timing_source": "stream", "model": "m"}
    tokens = {"uncached_input_tokens": 100, "visible_output_tokens": 10}
    return Call(identity=identity, **(told | tokens | times | more))


@pytest.fixture
def take(ledger: Ledger, source: Source, reader_of: MakeReader) -> Deliver:
    """Delivers calls to the ledger, and charges them as a configuration says."""

    def taken(configuration: Configuration, *calls: Call) -> None:
        deliver(ledger, source, reader_of(calls=calls), configuration)
        charge(ledger, configuration)

    return taken


def rows(ledger: Ledger, sql: str) -> list[tuple[Any, ...]]:
    return ledger.connection.execute(sql).fetchall()


def pools(ledger: Ledger) -> list[str | None]:
    return [pool for (pool,) in rows(ledger, "select pool from calls order by call_no")]


def charged(ledger: Ledger) -> list[tuple[Any, ...]]:
    """The pool, day and GPU-seconds of every charge, in the order of the calls."""
    return rows(
        ledger,
        """
        select p.pool, p.day - 20727, sum(h.prefill_gpu_seconds + h.decode_gpu_seconds)
        from charges as h
        inner join charge_partitions as p on h.partition_id = p.partition_id
        group by h.call_no, p.pool, p.day
        order by h.call_no, p.day
        """,
    )


@pytest.mark.parametrize("earlier", [MOVED, STAYING], ids=["moved before", "moved after"])
def test_a_call_is_in_the_pool_in_which_its_service_starts(
    ledger: Ledger, take: Deliver, earlier: Configuration
) -> None:
    take(
        earlier,
        call("before", T - DAY),
        call("last", T - 1),
        call("first", T),
        call("queued", T, arrived_at=T - S),
        call("arrival alone", None, arrived_at=T - 1, timing_source="tokens"),
        call("end alone", None, ended_at=T, timing_quality="unknown"),
        call("no time", None, timing_quality="unknown"),
        call("before 1970", -DAY, timing_quality="invalid"),
    )
    charge(ledger, MOVED)
    assert pools(ledger) == ["a", "a", "b", "b", "a", "b", "a", "a"]


def test_a_call_that_crosses_the_move_stays_in_its_pool_until_its_end(
    ledger: Ledger, take: Deliver
) -> None:
    take(MOVED, call(begin=T - S), call("y", T, ended_at=T + 3 * S))
    assert charged(ledger) == [("a", -1, 1.0), ("a", 0, 3.0), ("b", 0, 6.0)]


def test_a_call_that_names_its_pool_does_not_move_nor_does_a_replay(
    ledger: Ledger, take: Deliver
) -> None:
    take(MOVED, call(pool_reported="a"), call("y", origin="replay"))
    take(MOVED, call("z", T - DAY, pool_reported="b"))
    assert pools(ledger) == ["a", "m", "b"]


def test_the_model_that_answered_goes_before_the_model_asked_for(
    ledger: Ledger, take: Deliver
) -> None:
    entries = (listing("a", None, "m"), listing("a", 1), listing("b", 0, "alias"))
    take(
        configured(*entries),
        *(call(f"{day}", T + day * DAY, model_requested="alias") for day in (-1, 0, 1)),
        *(call(f"asked {day}", T + day * DAY, model=None, model_requested="alias") for day in (0,)),
    )
    assert pools(ledger) == ["a", "a", "b", "b"]


def test_a_move_charges_again_what_moves_and_nothing_else(ledger: Ledger, take: Deliver) -> None:
    take(STAYING, call("before", T - DAY), call("after", T), call("other", T, model="n"))
    before = rows(ledger, "select rowid, * from charges where call_no = 1")
    assert charge(ledger, MOVED).partitions == 2
    assert charged(ledger) == [("a", -1, 4.0), ("b", 0, 8.0)]
    assert rows(ledger, "select rowid, * from charges where call_no = 1") == before
    assert charge(ledger, MOVED).partitions == 0


def test_a_model_that_a_pool_gives_up_is_priced_by_the_token(ledger: Ledger, take: Deliver) -> None:
    take(STAYING, call("before", T - DAY), call("after", T))
    charge(ledger, GIVEN_UP)
    cost = "select call_no, token_cost from token_charges"
    assert charged(ledger) == [("a", -1, 4.0)]
    assert rows(ledger, cost) == [(2, Decimal("0.00012"))]
    charge(ledger, STAYING)
    assert charged(ledger) == [("a", -1, 4.0), ("a", 0, 4.0)]
    assert rows(ledger, cost) == []


def test_a_price_once_given_stays_where_an_era_without_a_pool_grows(
    ledger: Ledger, take: Deliver
) -> None:
    take(GIVEN_UP, call())
    ledger.connection.execute("update token_charges set price_rule = 'as it was'")
    earlier = configured(listing("a", None, "m"), listing("a", -1))
    charge(ledger, earlier)
    found = rows(
        ledger,
        "select price_rule from token_charges semi join call_rows using (call_no, cohort_id)",
    )
    assert found == [("as it was",)]


def test_a_fuller_version_that_starts_after_the_move_moves_the_call(
    ledger: Ledger, take: Deliver
) -> None:
    take(MOVED, call(begin=T - DAY))
    assert pools(ledger) == ["a"]
    take(MOVED, call(team="search"))
    assert charged(ledger) == [("b", 0, 8.0)]
    take(MOVED, call(begin=T - DAY))
    assert charged(ledger) == [("b", 0, 8.0)]


def test_an_era_without_a_call_names_no_pool(ledger: Ledger, take: Deliver) -> None:
    take(GIVEN_UP, call(begin=T - DAY, timing_source="engine"))
    assert rows(ledger, "select distinct pool from pools") == [("a",)]
    take(GIVEN_UP, call("y", timing_source="engine"))
    assert rows(ledger, "select distinct pool from pools order by pool") == [("a",), ("m",)]


def test_cohorts_are_as_before_when_a_model_no_longer_moves(ledger: Ledger, take: Deliver) -> None:
    take(STAYING, call("before", T - DAY), call())
    cohorts = "select cohort_id, pool, pool_from, pool_until from cohorts"
    assert rows(ledger, cohorts) == [(1, "a", 0, None)]
    charge(ledger, MOVED)
    assert rows(ledger, cohorts) == [(1, "a", 0, T), (2, "b", T, None)]
    charge(ledger, STAYING)
    assert rows(ledger, cohorts) == [(1, "a", 0, None)]


AS_VERSION_1 = """
insert into deliveries by name select * exclude (ignored_count) from made.deliveries;
insert into cohorts by name select * exclude (pool_from, pool_until) from made.cohorts;
insert into call_rows by name
select * exclude (
    input_tokens, output_tokens, response_id, tools_hash, is_cache_hit, answer_shape, answer_tokens,
    preamble_tokens, json_key_tokens, json_repeated_key_tokens, json_key_count, json_value_tokens,
    json_syntax_tokens, json_blank_tokens, trailing_tokens, restated_tokens, sentence_hashes,
    sentence_lengths, volatile_spans, stable_prefix_hashes
)
from made.call_rows;
insert into pools select * from made.pools;
insert into charge_partitions select * from made.charge_partitions;
insert into charges select * from made.charges;
insert into ledger_facts select * from made.ledger_facts;
update ledger_facts set value = '1' where name = 'schema_version';
"""


def test_a_ledger_of_version_1_goes_forward_and_its_calls_move(
    tmp_path: Path, source: Source, reader_of: MakeReader
) -> None:
    made, path = tmp_path / "made.duckdb", tmp_path / "l.duckdb"
    with open_for_writing(made) as ledger:
        calls = [call("before", T - DAY), call()]
        deliver(ledger, source, reader_of(calls=calls), STAYING)
        charge(ledger, STAYING)
        ledger.set_fact(DIGEST_FACT, configuration_digest(MOVED))  # which moved no call then
    with duckdb.connect(str(path)) as connection:
        connection.execute(migrations()[0].sql)
        connection.execute(f"attach '{made}' as made (read_only)")
        connection.execute(AS_VERSION_1)
    with open_for_writing(path) as ledger:
        assert ledger.fact("schema_version") == str(current_version())
        assert pools(ledger) == ["a", "a"]
    with open_current(path, MOVED) as ledger:
        assert charged(ledger) == [("a", -1, 4.0), ("b", 0, 8.0)]
