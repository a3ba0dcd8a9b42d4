"""What becomes of the tokens of prompts: read from a cache, or computed, and why.

Owns the columns of `ask prefix_loss`. Refuses a loss without its cause: what no condition of the
caches explains is called so.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.facts import Facts
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.letters import PICOSECONDS_PER_S
from analysis.prefix.engines import capacities
from analysis.prefix.losses import CAUSES, Whole, parts, portions
from analysis.prefix.money import prefill_parts
from analysis.prefix.orders import Orders, read_prompt_orders
from analysis.prefix.prompts import MOST_BLOCKS
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

FACTS = Facts(
    name="prefix_loss",
    question="Which tokens of prompts were read from a cache, and why were the others computed?",
    grain="a group, a time and a caller, where asked for, and a cause: hit, unreported, "
    "unexplained, eviction, routing, volatile, first_use, unshared, unknown",
    unit="tokens; prefill in GPU-seconds, spread over the tokens that were computed; cost in "
    "currency",
    params="--by, --where, --since, --until and --tz choose the calls; --capacity-tokens is the "
    "room of each cache, else what engines or the configuration tell, else without limit",
    nulls="cost is null where there is no price, or several currencies are; a cause without tokens "
    "and without prefill has no row",
    identity="over all causes, tokens are the input tokens of the calls, prefill_gpu_seconds their "
    "prefill; the causes from unreported to volatile are hits possible less those told",
)
NO_LIMIT = (
    "no limit of any cache is known, so nothing is lost to eviction here: give --capacity-tokens, "
    "take the metrics of engines, or set kv_cache_tokens of [[pools]]"
)
RUNNING = "a cache takes no room from running calls here: what an engine has left for it is less"
LEAST_TOLD_RATIO = 0.9
_PLACES = {cause: place for place, cause in enumerate(CAUSES)}


def prefix_loss(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    capacity_tokens: int | None = None,
    most_blocks: int = MOST_BLOCKS,
) -> Answer:
    """Tokens, prefill and cost by the columns `by` and the cause; docs/metrics/prefix_loss.md.

    Raises `NoDataError` where no call is in the window, or none of them has prefix hashes.
    """
    connection = ledger.connection
    groups = groups_of(connection, configuration, by=by, window=window, where=where)
    sizes = capacities(connection, configuration, capacity_tokens)
    orders = read_prompt_orders(connection, groups, sizes, most_blocks)
    found = parts(orders)
    keys, rows = _keyed(orders)
    frame = groups.labelled(_rows(connection, groups, rows, found[orders.is_asked], keys))
    frame = frame.sort(
        [*in_order(groups.columns), pl.col("cause").replace_strict(_PLACES, return_dtype=pl.Int64)],
        nulls_last=True,
    )
    notes = tuple(_notes(groups.window, orders, sizes))
    return Answer(frame=frame, notes=notes, window=groups.window)


def _keyed(orders: Orders) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The groups by `key`, and a row for each call that was asked for, with its `key`."""
    asked = orders.calls.filter(pl.Series(orders.is_asked)).select("call_no", *NUMBERS)
    keys = asked.select(NUMBERS).unique(maintain_order=True).with_row_index("key")
    keys = keys.with_columns(pl.col("key").cast(pl.Int64))
    calls = asked.join(keys, on=NUMBERS, how="left", nulls_equal=True, maintain_order="left")
    return keys, calls.select("call_no", "key")


def _rows(
    connection: Connection, groups: Groups, calls: pl.DataFrame, found: Whole, keys: pl.DataFrame
) -> pl.DataFrame:
    """A row a group and cause, with the numbers of its group."""
    tokens = pl.DataFrame(found, schema=list(CAUSES)).with_columns(key=calls["key"])
    sums = tokens.group_by("key").agg(
        pl.col(CAUSES).sum(), **{f"{c}_count": (pl.col(c) > 0).sum() for c in CAUSES}
    )
    long = sums.unpivot(CAUSES, index="key", variable_name="cause", value_name="tokens")
    counts = sums.unpivot([f"{c}_count" for c in CAUSES], index="key", value_name="call_count")
    long = long.with_columns(call_count=counts["call_count"].cast(pl.Int64))
    cohort_ids = groups.cohorts["cohort_id"].to_list()
    paid = prefill_parts(connection, calls, portions(found), CAUSES, cohort_ids)
    paid = paid.rename({"part": "cause"})
    whole = pl.col("tokens").sum().over("key")
    return (
        long.join(paid, on=["key", "cause"], how="left")
        .with_columns(
            tokens_ratio=pl.when(whole > 0).then(pl.col("tokens") / whole),
            prefill_gpu_seconds=pl.col("gpu_ps").cast(pl.Float64) / PICOSECONDS_PER_S,
        )
        .filter((pl.col("tokens") > 0) | (pl.col("prefill_gpu_seconds") > 0))
        .join(keys, on="key")
        .select(
            *NUMBERS, "cause", "call_count", "tokens", "tokens_ratio", "prefill_gpu_seconds",
            "cost", "currency",
        )
    )  # fmt: skip


def _notes(window: Window, orders: Orders, sizes: Mapping[str, int] | int) -> Iterator[str]:
    yield f"window: {window.text()}; every cache is empty at its begin"
    yield from room_notes(orders, sizes)
    asked = orders.is_asked & orders.is_known
    if untold := int(np.isnan(orders.told_tokens[asked]).sum()):
        yield (
            f"{untold_text(untold)}, so what the cache of the replica would hold is `unreported`, "
            "with the price of computed tokens"
        )
    calls = orders.calls.filter(pl.Series(asked))
    if nameless := int(calls["replica"].null_count()):
        yield f"the replica of {counted(nameless, 'call')} is not told: nothing is lost to routing"
    yield from told_notes(calls)
    if orders.prompts.scale > 1:
        yield (
            f"of a sample of one block in {orders.prompts.scale}, all uses of it: the parts are "
            "estimates, rough where the capacity is small"
        )


def untold_text(call_count: int) -> str:
    """That so many calls do not tell what they read, and what would tell it."""
    return (
        f"what {counted(call_count, 'call')} read from a cache is not told (cached tokens of usage)"
    )


def room_notes(orders: Orders, sizes: Mapping[str, int] | int) -> Iterator[str]:
    """How much each cache has room for, and who says so."""
    if not orders.is_limited:
        yield NO_LIMIT
        return
    if isinstance(sizes, Mapping):
        told = ", ".join(f"{pool} {size:,}" for pool, size in sorted(sizes.items()))
        yield f"room of the cache of a replica, in tokens, by its engine or configuration: {told}"
    else:
        yield f"room of the cache of each replica: {sizes:,} tokens"
    yield RUNNING


def told_notes(calls: pl.DataFrame) -> Iterator[str]:
    """That the text of some prompts was cut before it came here, where that shows."""
    told = pl.col("block_count") * pl.col("prefix_block_tokens") + pl.col("prefix_block_tokens")
    cut = calls.select((told < LEAST_TOLD_RATIO * pl.col("input_tokens")).sum()).item()
    if cut:
        yield (
            f"of {counted(int(cut), 'call')} only the beginning of the prompt is told: what is "
            "shared behind it is not known, so every figure is at least that"
        )
