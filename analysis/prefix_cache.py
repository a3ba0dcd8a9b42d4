"""What a prefix cache would hold of the recorded prompts, by its size and its reach.

Owns the columns of `ask prefix_cache`. Refuses to guess: a call without prefix hashes is counted
as unknown, and a call that does not tell what was read from a cache promises no saving.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.errors import NoDataError
from analysis.extent import no_calls
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.prefix.caches import UNLIMITED, Floats, held_blocks
from analysis.prefix.claims import avoidable_tokens, claims_of
from analysis.prefix.distances import NEVER
from analysis.prefix.engines import IS_KNOWN, cache_numbers, capacities, numbered_engines
from analysis.prefix.orders import NO_HASHES, read_prompt_orders
from analysis.prefix.prompts import MOST_BLOCKS, Prompts, read_prompts
from analysis.prefix_loss import untold_text
from analysis.sql import question_named, run_in_batches
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

CAPACITIES_TOKENS = (*(4096 * 4**step for step in range(7)), UNLIMITED)
"""4,096 to 16,777,216 tokens of KV memory, and no limit."""

REACHES = ("replica", "pool")

AVOIDABLE = (
    "avoidable_gpu_seconds: of the prefill of calls that tell what they read from a cache, the "
    "share of their uncached tokens that this cache would hold; an estimate, to be replayed"
)
LEFT_OUT = (
    "some groups read more from caches than the prompts told here could share: their telemetry "
    "leaves out what prompts begin with, such as system messages"
)
BATCH_CALLS = 50_000
_CACHE = ("reach", "capacity_tokens")
_IS_ASKED = pl.col("group_number").is_not_null()


def prefix_cache(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    most_blocks: int = MOST_BLOCKS,
) -> Answer:
    """Hits of leading blocks by the columns `by`, the cache's reach and its capacity in tokens.

    `reach` is `replica`, a cache in each replica, or `pool`, one that all replicas share. Calls
    that were not asked for take their room in the caches all the same. Columns:
    docs/metrics/prefix_cache.md. Raises `NoDataError` where no call is in the window, or none of
    them has prefix hashes.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    prompts = _read(ledger.connection, groups, most_blocks)
    rows = pl.concat([_of_reach(prompts, reach) for reach in REACHES])
    is_whole = (pl.col("reach") == "pool") & pl.col("capacity_tokens").is_null()
    frame = (
        groups.labelled(rows.filter((pl.col("known_count") > 0) | is_whole))
        .select(*groups.columns, *_CACHE, pl.exclude(*groups.columns, *_CACHE))
        .sort([*in_order(groups.columns), *_CACHE], nulls_last=True)
    )
    return Answer(frame=frame, notes=_notes(groups.window, prompts, frame), window=groups.window)


def prefix_cache_claims(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    configuration: Configuration | None = None,
    capacity_tokens: int | None = None,
    most_blocks: int = MOST_BLOCKS,
) -> pl.DataFrame:
    """What a cache in each replica would save of the prefill of each call that tells its reads.

    An upper bound: running calls take room as well. The room of a cache is `capacity_tokens`, else
    as engines and `configuration` tell, else without limit. Raises `NoDataError` as `prefix_cache`.
    """
    configured = configuration or Configuration()
    groups = groups_of(ledger.connection, configured, by=(), window=window, where=where)
    sizes = capacities(ledger.connection, configured, capacity_tokens)
    orders = read_prompt_orders(ledger.connection, groups, sizes, most_blocks)
    return claims_of(avoidable_tokens(orders), "unexplained")


def _read(connection: Connection, groups: Groups, most_blocks: int) -> Prompts:
    engines = numbered_engines(connection, groups.filters["origin"])
    batches = run_in_batches(
        connection,
        question_named("prefix_cache"),
        BATCH_CALLS,
        engine_cohort_ids=engines["cohort_id"].to_list(),
        engine_numbers=engines["engine_number"].to_list(),
        **groups.values(),
    )
    prompts = read_prompts(batches, most_blocks)
    if prompts.calls.is_empty() or prompts.calls["group_number"].count() == 0:
        raise no_calls(connection, groups.asked, groups.filters)
    if not prompts.calls.select((_IS_ASKED & IS_KNOWN).any()).item():
        raise NoDataError(NO_HASHES)
    return prompts


def _of_reach(prompts: Prompts, reach: str) -> pl.DataFrame:
    """A row for each group and capacity, of caches of this reach."""
    caches = cache_numbers(prompts.calls, reach)
    asked = prompts.calls.with_columns(is_known=pl.Series(caches != NEVER))
    held_by_capacity = held_blocks(prompts, caches, CAPACITIES_TOKENS)
    return pl.concat(
        _sums(asked, held).with_columns(
            reach=pl.lit(reach), capacity_tokens=pl.lit(capacity, dtype=pl.Int64)
        )
        for capacity, held in zip(CAPACITIES_TOKENS, held_by_capacity, strict=True)
    )


def _sums(calls: pl.DataFrame, held: Floats) -> pl.DataFrame:
    """Sums by group of the calls asked for, `held` blocks of each of which are in the cache."""
    hit_tokens = pl.min_horizontal(
        pl.col("held_blocks") * pl.col("prefix_block_tokens"), pl.col("input_tokens")
    )
    uncached = pl.col("input_tokens") - pl.col("cache_read_tokens")
    more = (pl.col("hit_tokens") - pl.col("cache_read_tokens")).clip(lower_bound=0)
    avoidable = pl.when(uncached > 0).then(
        pl.col("prefill_gpu_seconds") * pl.min_horizontal(more / uncached, pl.lit(1.0))
    )
    known = pl.col("is_known")
    return (
        calls.with_columns(held_blocks=pl.Series(held))
        .filter(_IS_ASKED)
        .with_columns(hit_tokens=hit_tokens)
        .with_columns(avoidable_gpu_seconds=avoidable)
        .group_by(NUMBERS)
        .agg(
            known_count=known.sum().cast(pl.Int64),
            unknown_count=(~known).sum().cast(pl.Int64),
            input_tokens=_sum("input_tokens"),
            hit_tokens=_sum("hit_tokens").round().cast(pl.Int64),
            hit_ratio=_sum("hit_tokens") / _sum("input_tokens"),
            block_hit_ratio=_sum("held_blocks") / _sum("block_count"),
            reported_hit_tokens=_sum("cache_read_tokens"),
            avoidable_gpu_seconds=_sum("avoidable_gpu_seconds"),
        )
    )


def _sum(column: str) -> pl.Expr:
    """The sum over the known calls; null where none of them tells it."""
    told = pl.col(column).filter(pl.col("is_known")).drop_nulls()
    return pl.when(told.len() > 0).then(told.sum())


def _notes(window: Window, prompts: Prompts, frame: pl.DataFrame) -> tuple[str, ...]:
    notes = [
        f"window: {window.text()}; every cache is empty at its begin",
        "a cache takes no room from running calls here: what an engine has left for it is less",
        AVOIDABLE,
    ]
    unlimited = frame.filter(pl.col("capacity_tokens").is_null(), pl.col("reach") == "pool")
    if unknown := int(unlimited["unknown_count"].sum()):
        notes.append(f"without prefix hashes or a time: {counted(unknown, 'call')}")
    is_untold = _IS_ASKED & IS_KNOWN & pl.col("cache_read_tokens").is_null()
    if untold := prompts.calls.select(is_untold.sum()).item():
        notes.append(f"{untold_text(untold)}: these are not in avoidable_gpu_seconds")
    by_replica = frame.filter(pl.col("reach") == "replica", pl.col("capacity_tokens").is_null())
    if by_replica["known_count"].sum() < unlimited["known_count"].sum():
        notes.append("where replicas are not told, hits by replica are not known")
    if unlimited.select((pl.col("reported_hit_tokens") > pl.col("hit_tokens")).any()).item():
        notes.append(LEFT_OUT)
    if prompts.scale > 1:
        notes.append(
            f"of a sample of one block in {prompts.scale}, all uses of it: hits are estimates, "
            "rough where the capacity is small"
        )
    return tuple(notes)
