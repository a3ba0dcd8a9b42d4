"""The configuration into the ledger: pools, budgets, and the pool of each cohort.

Owns the tables `pools` and `budgets`, the pools and eras of `cohorts`, and the facts that tell with
which configuration charges were made. Refuses to charge: it marks as stale what a change touches,
and a change of price alone touches no GPU-second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import msgspec
import pyarrow as pa

from ingest.charging.eras import ModelEra, model_eras
from ingest.charging.partitions import mark_other_version, mark_stale
from ingest.charging.pieces import DAY_NS
from ingest.charging.rates import (
    BEGINNING,
    Rate,
    Stretch,
    charged_differently,
    configured_rates,
)
from ingest.charging.statements import statement
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

CHARGING_VERSION = 2
"""Raised when the same calls and the same configuration are charged otherwise than before."""
DIGEST_FACT = "charging_configuration"
PRICES_FACT = "charging_token_prices"
LAST_DAY = 2**31 - 1

RATE_COLUMNS: dict[str, pa.DataType] = {
    "rate_id": pa.int32(),
    "pool": pa.string(),
    "effective_from": pa.int64(),
    "effective_to": pa.int64(),
    "gpu": pa.string(),
    "gpus_per_replica": pa.float64(),
    "replicas": pa.int32(),
    "price_per_gpu_hour": pa.decimal128(18, 9),
    "currency": pa.string(),
    "schedule": pa.string(),
    "is_configured": pa.bool_(),
}
ERA_COLUMNS: dict[str, pa.DataType] = {
    "model": pa.string(),
    "pool": pa.string(),
    "since": pa.int64(),
    "until": pa.int64(),
}
BUDGET_COLUMNS: dict[str, pa.DataType] = {
    "scope": pa.string(),
    "month": pa.string(),
    "amount": pa.decimal128(18, 2),
    "currency": pa.string(),
}


def apply_configuration(ledger: Ledger, configuration: Configuration) -> None:
    """Write what `configuration` says of pools and budgets; mark stale what it charges anew."""
    with ledger.transaction() as connection:
        eras = model_eras(configuration.pools)
        has_moves = any(era.since > BEGINNING for era in eras) or _has_eras(connection)
        _resolve_cohorts(connection, eras, has_moves=has_moves)
        _replace_pools(connection, configuration, has_moves=has_moves)
        digest = configuration_digest(configuration)
        if ledger.fact(DIGEST_FACT) == digest:
            return
        mark_other_version(ledger, CHARGING_VERSION)
        _replace_budgets(connection, configuration)
        prices_digest = _digest(token_part(configuration))
        if ledger.fact(PRICES_FACT) != prices_digest:
            connection.execute(statement("token_charges_drop"))
        ledger.set_fact(PRICES_FACT, prices_digest)
        ledger.set_fact(DIGEST_FACT, digest)


def configuration_digest(configuration: Configuration) -> str:
    """What of `configuration` charges depend on, as hex."""
    return _digest((configuration.pools, configuration.budgets, token_part(configuration)))


def token_part(configuration: Configuration) -> tuple[Any, ...]:
    """What of `configuration` the cost of token-priced calls depends on."""
    of_plans = (configuration.plans, configuration.timezone) if configuration.plans else ()
    return (
        configuration.currency,
        configuration.token_prices,
        configuration.exchange_rates,
        of_plans,
    )


def _digest(value: Any) -> str:
    text = msgspec.json.encode((CHARGING_VERSION, value))
    return blake2b(text, digest_size=16).hexdigest()


def rates_in(connection: Connection) -> list[Rate]:
    """The rates of the ledger, by pool and time."""
    found = connection.sql("select * from pools order by pool, effective_from")
    return [Rate(**row) for row in found.to_arrow_table().to_pylist()]


def rates_by_pool(connection: Connection) -> dict[str, list[Rate]]:
    """The rates of each pool of the ledger, in the order of time."""
    rates: dict[str, list[Rate]] = {}
    for rate in rates_in(connection):
        rates.setdefault(rate.pool, []).append(rate)
    return rates


def _has_eras(connection: Connection) -> bool:
    """Whether any combination has several cohorts, as an earlier configuration cut it."""
    return bool(connection.execute("select 1 from cohorts where pool_from > 0 limit 1").fetchall())


def _resolve_cohorts(connection: Connection, eras: Sequence[ModelEra], *, has_moves: bool) -> None:
    """Give each cohort its pool, and each call the cohort of its era.

    Without moves there is one era, and nothing to cut.
    """
    connection.register("pool_models", _era_table(eras))
    connection.execute(statement("cohorts_cut" if has_moves else "cohorts_uncut"))
    connection.execute(statement("cohorts_resolve"))
    connection.unregister("pool_models")
    if _has_rows(connection, "repooled_cohorts") or _has_rows(connection, "era_moves"):
        connection.execute(statement("cohorts_repool"))
        mark_stale(connection, "repooled_calls")
        connection.execute(statement("cohorts_move"))
        mark_stale(connection, "repooled_calls")
        connection.execute("drop table repooled_calls")
    connection.execute(statement("cohorts_resolved"))


def _era_table(eras: Sequence[ModelEra]) -> pa.Table:
    rows = [asdict(era) for era in eras]
    return pa.Table.from_pylist(rows, schema=pa.schema(ERA_COLUMNS))


def _has_rows(connection: Connection, table: str) -> bool:
    return bool(connection.table(table).limit(1).fetchall())


def _replace_pools(
    connection: Connection, configuration: Configuration, *, has_moves: bool
) -> None:
    before = rates_in(connection)
    named = connection.execute(statement("pools_with_calls" if has_moves else "pools_of_cohorts"))
    implicit = {pool for (pool,) in named.fetchall()} - {pool.name for pool in configuration.pools}
    after = configured_rates(configuration, implicit, {rate.key: rate.rate_id for rate in before})
    if after == before:
        return
    rows = [asdict(rate) for rate in after]
    _replace(
        connection, "pools_replace", pa.Table.from_pylist(rows, schema=pa.schema(RATE_COLUMNS))
    )
    for stretch in charged_differently(before, after):
        connection.execute(statement("partitions_mark_stretch"), _days(stretch))


def _days(stretch: Stretch) -> Mapping[str, str | int]:
    last_day = LAST_DAY if stretch.to is None else (stretch.to - 1) // DAY_NS
    return {"pool": stretch.pool, "first_day": stretch.since // DAY_NS, "last_day": last_day}


def _replace_budgets(connection: Connection, configuration: Configuration) -> None:
    rows = [
        {
            "scope": msgspec.json.encode(budget.scope, order="sorted").decode(),
            "month": budget.month,
            "amount": budget.amount,
            "currency": configuration.currency,
        }
        for budget in configuration.budgets
    ]
    _replace(
        connection, "budgets_replace", pa.Table.from_pylist(rows, schema=pa.schema(BUDGET_COLUMNS))
    )


def _replace(connection: Connection, name: str, rows: pa.Table) -> None:
    connection.register("arriving_rows", rows)
    connection.execute(statement(name))
    connection.unregister("arriving_rows")
