"""Calls to charges: every stale partition again, and nothing else.

Owns the tables `charges` and `token_charges`. Refuses to change a call. Each chunk of partitions
is a transaction: an interrupted run leaves charged what it had finished, and the rest stale.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.charging.blocks import blocks_of, charge_calls
from ingest.charging.chunks import calls_per_chunk, plan_chunks
from ingest.charging.estimates import refresh_paces
from ingest.charging.lanes import lanes_of, read_calls
from ingest.charging.partitions import (
    Partition,
    has_stale_partitions,
    mark_mixed,
    partition_table,
    stale_partitions,
)
from ingest.charging.pieces import DAY_NS
from ingest.charging.pools import (
    DIGEST_FACT,
    apply_configuration,
    configuration_digest,
    rates_by_pool,
)
from ingest.charging.rates import Rate
from ingest.charging.statements import statement
from ingest.charging.token_prices import price_stale_days
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

Progress = Callable[[int, int], None]
"""Told after each chunk how many of how many stale partitions are charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeSummary:
    """What one run charged: partitions of GPU-charged calls, the pieces of calls written for them,
    and calls that got a price by the token."""

    partitions: int
    pieces: int
    priced_calls: int


def charge(
    ledger: Ledger, configuration: Configuration, progress: Progress | None = None
) -> ChargeSummary:
    """How much was charged until no partition was stale; nothing where nothing had changed.

    Between two chunks the ledger is left to those who wait for it; then what is stale is looked up
    again, since they may have charged it, or applied another configuration.
    """
    partitions = pieces = priced_calls = 0
    is_interrupted = True
    while is_interrupted:
        apply_configuration(ledger, configuration)
        is_interrupted = False
        if not has_stale_partitions(ledger.connection):
            break
        for found, total, written in _charged_chunks(ledger, configuration):
            partitions += found
            pieces += written
            if progress is not None:
                progress(partitions, max(total, partitions))
            if is_interrupted := ledger.give_way():
                break
        else:
            with ledger.transaction() as connection:
                priced_calls += price_stale_days(connection, configuration)
    return ChargeSummary(partitions=partitions, pieces=pieces, priced_calls=priced_calls)


def _charged_chunks(ledger: Ledger, configuration: Configuration) -> Iterator[tuple[int, int, int]]:
    """Each chunk, once it is charged: its partitions, those of all chunks, its pieces."""
    with ledger.transaction() as connection:
        refresh_paces(ledger)
        mark_mixed(connection)
    partitions = stale_partitions(connection)
    rates = rates_by_pool(connection)
    most_calls = calls_per_chunk(configuration.memory_limit)
    for chunk in plan_chunks(partitions, _calls_by_day(connection, partitions), most_calls):
        with ledger.transaction():
            pieces = _charge_chunk(connection, chunk, rates)
        yield len(chunk), len(partitions), pieces


def is_charging_current(ledger: Ledger, configuration: Configuration) -> bool:
    """Whether the ledger's charges are those of its calls under `configuration`."""
    is_applied = ledger.fact(DIGEST_FACT) == configuration_digest(configuration)
    return is_applied and not has_stale_partitions(ledger.connection)


def _calls_by_day(connection: Connection, partitions: Sequence[Partition]) -> dict[int, int]:
    if not partitions:
        return {}
    days = {"first_day": partitions[0].day, "last_day": partitions[-1].day}
    return dict(connection.execute(statement("calls_by_day"), days).fetchall())


def _charge_chunk(
    connection: Connection, chunk: Sequence[Partition], rates: Mapping[str, Sequence[Rate]]
) -> int:
    """Pieces written for the partitions of `chunk` in place of those that they had."""
    lanes = lanes_of(chunk)
    since, until = chunk[0].day * DAY_NS, (chunk[-1].day + 1) * DAY_NS
    calls = read_calls(connection, lanes, since, until)
    charges = charge_calls(calls, blocks_of(chunk, lanes, rates))
    connection.register("chunk_partitions", partition_table(chunk))
    connection.register("chunk_charges", charges)
    connection.execute(statement("charges_replace"))
    connection.unregister("chunk_charges")
    connection.unregister("chunk_partitions")
    return int(charges.num_rows)
