"""Where prompts that share long text differ early, and what the other order of them would save.

Owns the columns of `ask volatile_prefixes`, and what a reorder claims of each call. Refuses to find
text by its look alone: volatile is what differs between calls whose text behind it is the same.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from analysis.answer import Answer
from analysis.claims import no_claims
from analysis.facts import Facts
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.letters import PICOSECONDS_PER_S
from analysis.prefix.engines import capacities
from analysis.prefix.money import COST, prefill_parts
from analysis.prefix.orders import Orders, read_prompt_orders
from analysis.prefix.prompts import MOST_BLOCKS
from analysis.prefix_loss import room_notes, told_notes, untold_text
from analysis.repetition import spent_text
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.counting.volatile import KINDS
from ingest.ledger import Connection, Ledger

FACTS = Facts(
    name="volatile_prefixes",
    question="Where does early text that differs from call to call keep what stands behind it out "
    "of prefix caches, and what would moving it behind save?",
    grain="a group, a time and a caller, where asked for, and a kind of the text in which a prompt "
    "first differs: time, id, number, user, other",
    unit="tokens; first_token counts from 0; GPU-seconds of prefill, cost in currency",
    params="--by (endpoint and model unless given), --where, --since, --until and --tz choose the "
    "calls; --capacity-tokens is the room of each cache, else what engines or the configuration "
    "tell, else without limit",
    nulls="saved_gpu_seconds is null where no call was charged, saved_cost where there is no price "
    "or several currencies are; a kind that a reorder would not save anything has no row",
    identity="reordered_hit_tokens - hit_tokens = gained_tokens > 0; saved_gpu_seconds are the "
    "claims of lever 12 on the charges",
)
BY = ("endpoint", "model")
SHOWN = (
    "kind", "call_count", "first_token", "span_tokens", "lost_tokens", "hit_tokens",
    "reordered_hit_tokens", "gained_tokens", "saved_gpu_seconds", "saved_cost", "currency",
)  # fmt: skip
SIMULATED = (
    "a reorder is simulated: all that looks volatile stands behind all other text of its prompt; "
    "what another order does to answers is to be replayed"
)
NOTHING = (
    "no prompt differs early from others that share its text: in what came with its text under "
    "this version of the ledger, and in the forms of docs/counting.md"
)


def volatile_prefixes(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = BY,
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
    capacity_tokens: int | None = None,
    most_blocks: int = MOST_BLOCKS,
) -> Answer:
    """One row a group and kind, most tokens first; columns: docs/metrics/volatile_prefixes.md.

    Raises `NoDataError` where no call is in the window, or none of them has prefix hashes.
    """
    connection = ledger.connection
    groups = groups_of(connection, configuration, by=by, window=window, where=where)
    sizes = capacities(connection, configuration, capacity_tokens)
    orders = read_prompt_orders(connection, groups, sizes, most_blocks)
    moved = moved_prompts(orders)
    frame = groups.labelled(_rows(connection, groups, moved)).select(*groups.columns, *SHOWN)
    frame = frame.sort(
        "gained_tokens", *groups.columns, "kind", descending=[True, *[False] * (len(by) + 1)],
        nulls_last=True,
    )  # fmt: skip
    notes = tuple(_notes(groups.window, orders, frame, sizes))
    return Answer(frame=frame, notes=notes, window=groups.window)


def volatile_prefixes_claims(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    configuration: Configuration | None = None,
    capacity_tokens: int | None = None,
    most_blocks: int = MOST_BLOCKS,
) -> pl.DataFrame:
    """What a reorder by endpoint and model saves of each call's prefill; of its decode nothing.

    It is more than would be saved where the engine's caches hold less than is simulated: see the
    capacity. Raises `NoDataError` as `volatile_prefixes` does.
    """
    connection = ledger.connection
    configured = configuration or Configuration()
    groups = groups_of(connection, configured, by=BY, window=window, where=where)
    sizes = capacities(connection, configured, capacity_tokens)
    return claims_of_moved(
        moved_prompts(read_prompt_orders(connection, groups, sizes, most_blocks))
    )


def moved_prompts(orders: Orders) -> pl.DataFrame:
    """The calls of groups and kinds that are worth moving, with what of them a reorder changes.

    Columns beside those of a call: `kind`, `gained` and `forgone` in tokens, `prefill_ratio`.
    """
    moved = _worth_moving(_moved(orders))
    return moved.drop("volatile_spans")


def claims_of_moved(moved: pl.DataFrame) -> pl.DataFrame:
    """What of the prefill of each call a reorder saves."""
    claimed = moved.filter(pl.col("prefill_ratio") > 0)
    if claimed.is_empty():
        return no_claims()
    return claimed.select("call_no", "prefill_ratio", decode_ratio=pl.lit(0.0)).sort("call_no")


def _moved(orders: Orders) -> pl.DataFrame:
    """The calls asked for of which a reorder changes the hits, with the kind that it moves.

    `gained` and `forgone` are tokens: what is hit more than is simulated and told now, or less than
    is simulated.
    """
    now, reordered, told = orders.now_tokens, orders.reordered_tokens, orders.told_tokens
    beyond = np.fmax(now, told)
    calls = orders.calls.with_columns(
        now=pl.Series(now),
        reordered=pl.Series(reordered),
        computed=pl.Series(orders.computed_tokens),
        gained=pl.Series(np.maximum(reordered - beyond, 0)),
        forgone=pl.Series(np.maximum(now - reordered, 0)),
    )
    found = calls.filter(
        pl.Series(orders.is_asked & orders.is_known),
        pl.col("volatile_spans").list.len() > 0,
        (pl.col("gained") > 0) | (pl.col("forgone") > 0),
    )
    return found.join(_first_spans(found), on="call_no", how="inner")


def _first_spans(calls: pl.DataFrame) -> pl.DataFrame:
    """Of each call the first volatile text that ends behind what is hit; else its last one.

    Where a reorder gives up hits it is the first of all.
    """
    spans = pl.col("volatile_spans").list
    is_forgone = pl.col("gained") <= 0
    behind = pl.when(is_forgone).then(0).otherwise(pl.col("now"))
    return (
        calls.select(
            "call_no",
            behind=behind,
            begin=spans.gather_every(3, 0),
            span_tokens=spans.gather_every(3, 1),
            kind=spans.gather_every(3, 2),
        )
        .explode("begin", "span_tokens", "kind")
        .with_columns(is_behind=pl.col("begin") + pl.col("span_tokens") > pl.col("behind"))
        .group_by("call_no", maintain_order=True)
        .agg(
            pl.col(name).filter("is_behind").first().fill_null(pl.col(name).last()).alias(name)
            for name in ("begin", "span_tokens", "kind")
        )
        .with_columns(
            kind=pl.col("kind").replace_strict(
                range(1, len(KINDS) + 1), KINDS, return_dtype=pl.String
            )
        )
    )


def _worth_moving(moved: pl.DataFrame) -> pl.DataFrame:
    """The calls of groups and kinds that gain more than they give up, with `prefill_ratio`.

    What a group gives up is taken from the gains of all its calls alike.
    """
    of_kind = [*NUMBERS, "kind"]
    gained, forgone = (pl.col(name).sum().over(of_kind) for name in ("gained", "forgone"))
    computed = pl.col("computed")
    share = (pl.col("gained") / computed).clip(0.0, 1.0) * (1 - forgone / gained)
    return moved.filter(gained > forgone).with_columns(
        prefill_ratio=pl.when(computed > 0).then(share).otherwise(0.0)
    )


def _rows(connection: Connection, groups: Groups, moved: pl.DataFrame) -> pl.DataFrame:
    """A row a group and kind, with the numbers of its group."""
    of_kind = [*NUMBERS, "kind"]
    keys = moved.select(of_kind).unique(maintain_order=True).with_row_index("key")
    keys = keys.with_columns(pl.col("key").cast(pl.Int64))
    keyed = moved.join(keys, on=of_kind, how="left", nulls_equal=True, maintain_order="left")
    gains = pl.col("gained") > 0
    gained_tokens = (pl.col("gained").sum() - pl.col("forgone").sum()).cast(pl.Int64)
    hit_tokens = pl.col("reordered").sum().cast(pl.Int64) - gained_tokens
    sums = keyed.group_by("key").agg(
        call_count=gains.sum().cast(pl.Int64),
        first_token=pl.col("begin").filter(gains).median().cast(pl.Int64),
        span_tokens=pl.col("span_tokens").filter(gains).median().cast(pl.Int64),
        lost_tokens=pl.col("gained").filter(gains).median().cast(pl.Int64),
        hit_tokens=hit_tokens,
        reordered_hit_tokens=pl.col("reordered").sum().cast(pl.Int64),
        gained_tokens=gained_tokens,
    )
    ratios = keyed["prefill_ratio"].to_numpy()
    shares = np.stack((ratios, np.ones_like(ratios)), axis=1)
    names = ("saved", "rest")
    cohort_ids = groups.cohorts["cohort_id"].to_list()
    paid = prefill_parts(connection, keyed.select("call_no", "key"), shares, names, cohort_ids)
    saved = paid.filter(part="saved").select(
        "key",
        "currency",
        saved_gpu_seconds=pl.col("gpu_ps").cast(pl.Float64) / PICOSECONDS_PER_S,
        saved_cost=pl.col("cost").cast(COST),
    )
    return keys.join(sums, on="key").join(saved, on="key", how="left").drop("key")


def _notes(
    window: Window, orders: Orders, frame: pl.DataFrame, sizes: Mapping[str, int] | int
) -> Iterator[str]:
    yield f"window: {window.text()}; every cache is empty at its begin"
    yield from room_notes(orders, sizes)
    if frame.is_empty():
        yield NOTHING
    else:
        calls = counted(int(frame["call_count"].sum()), "call")
        tokens = f"{int(frame['gained_tokens'].sum()):,} tokens"
        spent = spent_text(frame, "saved_gpu_seconds", "saved_cost")
        yield f"{calls} would read {tokens} more from caches: {spent}"
        yield SIMULATED
    asked = orders.calls.filter(pl.Series(orders.is_asked))
    if unknown := asked.height - int((orders.is_asked & orders.is_known).sum()):
        yield f"without prefix hashes, a time or a known input: {counted(unknown, 'call')}"
    known = orders.is_asked & orders.is_known
    if untold := int(np.isnan(orders.told_tokens[known]).sum()):
        yield (
            f"{untold_text(untold)}: hits now are what the cache of the replica would hold, and a "
            "reorder saves nothing where that cache is off"
        )
    yield from told_notes(orders.calls.filter(pl.Series(known)))
    if orders.prompts.scale > 1 or orders.stable.scale > 1:
        yield "of a sample of blocks: hits are estimates, rough where the capacity is small"
