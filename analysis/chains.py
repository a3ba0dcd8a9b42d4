"""Calls that came right after another one and took its answer in: both could be one call.

Owns what right after means, and what one call in place of two claims of the second. Refuses to
claim by lengths alone: prompts are equally long by chance too.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from analysis.answer import Answer
from analysis.claims import no_claims
from analysis.groups import NUMBERS, Groups, groups_of
from analysis.letters import PICOSECONDS_PER_S
from analysis.prefix.money import COST, prefill_parts
from analysis.repetition import HOW_TO_KNOW, spent_text
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

MOST_GAP_NS = 1_000_000_000
"""A call follows right after another within a second: no person has read the answer."""
NEW_RATIO = 0.25
"""By lengths: at most so much of a prompt is neither the prompt nor the answer before."""
MOST_RATIO = 0.5
"""By lengths: so much of a prompt at least is the answer before."""

PROOF = "prefix"
"""The evidence that is one: hashes of the leading blocks are equal."""

FIGURES = (
    "evidence", "chain_count", "call_count", "merged_count", "shared_tokens", "saved_tokens",
    "at_stake_gpu_seconds", "saved_gpu_seconds", "saved_cost", "currency",
)  # fmt: skip
_KEYS = (*NUMBERS, "evidence")

MERGE_NOTE = (
    "saved is the prefill of what the second prompt repeats, at most: one prompt has to ask for "
    "both answers, and what that does to them is to be replayed"
)
SIGN_NOTE = (
    "sum and most are signs: only lengths speak for them, nothing is saved by them here; "
    f"to know more, {HOW_TO_KNOW['calls']}"
)


def chains(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row a group and evidence: chains of calls that could be one, most saved first.

    `merged_count` calls would not be made beside the first of their chain. `at_stake_gpu_seconds`
    is the prefill of `saved_tokens`; `saved_gpu_seconds` the same where it is proven. An empty
    answer is an answer. Raises `NoDataError` where no call is in the window.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    linked = _linked(ledger.connection, groups)
    traced = groups.rows_of(ledger.connection, "chains_extent")
    rows = groups.labelled(_rows(ledger.connection, groups, linked))
    frame = rows.select(*groups.columns, *FIGURES).sort(
        "saved_gpu_seconds", "saved_tokens", *groups.columns, "evidence",
        descending=[True, True, *[False] * (len(groups.columns) + 1)], nulls_last=True,
    )  # fmt: skip
    notes = _notes(groups.window, frame, traced)
    return Answer(frame=frame, notes=notes, window=groups.window)


def chains_claims(
    ledger: Ledger,
    configuration: Configuration,
    *,
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> pl.DataFrame:
    """Claims on the prefill of calls whose prompts begin with prompt and answer before them.

    An upper bound: one prompt that asks for both has to be found, and be as good.
    """
    return claims_of_linked(linked_calls(ledger, configuration, window=window, where=where))


def linked_calls(
    ledger: Ledger,
    configuration: Configuration,
    *,
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> pl.DataFrame:
    """A row a call that could be one with the call before, by its `evidence`."""
    groups = groups_of(
        ledger.connection, configuration, by=("endpoint",), window=window, where=where
    )
    return _linked(ledger.connection, groups)


def claims_of_linked(linked: pl.DataFrame) -> pl.DataFrame:
    """`chains_claims` from the rows of `linked_calls`."""
    proven = linked.filter((pl.col("evidence") == PROOF) & (pl.col("prefill_ratio") > 0))
    if proven.is_empty():
        return no_claims()
    return proven.select("call_no", "prefill_ratio", decode_ratio=pl.lit(0.0)).sort("call_no")


def _linked(connection: Connection, groups: Groups) -> pl.DataFrame:
    """The calls asked for that could be one with the call before, with what is saved of each.

    What is shared and was read from a cache is not saved.
    """
    rows = run_question(
        connection,
        question_named("chains"),
        **groups.values(),
        most_gap_ns=MOST_GAP_NS,
        new_ratio=NEW_RATIO,
        most_ratio=MOST_RATIO,
    )
    uncached = pl.col("uncached_input_tokens")
    saved = pl.min_horizontal(
        (pl.col("shared_tokens") - pl.col("cache_read_tokens")).clip(lower_bound=0), uncached
    )
    return rows.with_columns(saved_tokens=pl.when(uncached.is_not_null()).then(saved)).with_columns(
        prefill_ratio=pl.when(uncached > 0).then(pl.col("saved_tokens") / uncached).otherwise(0.0)
    )


def _rows(connection: Connection, groups: Groups, linked: pl.DataFrame) -> pl.DataFrame:
    """A row for each group and evidence, with the numbers of the group."""
    keys = linked.select(_KEYS).unique(maintain_order=True).with_row_index("key")
    keys = keys.with_columns(pl.col("key").cast(pl.Int64))
    keyed = linked.join(keys, on=_KEYS, how="left", nulls_equal=True, maintain_order="left")
    # A chain begins with a call that follows no other by the same evidence in the same group.
    follows = keyed.select("key", call_no_before="call_no")
    heads = keyed.join(follows, on=["key", "call_no_before"], how="anti")
    sums = keyed.group_by("key").agg(
        merged_count=pl.len().cast(pl.Int64),
        shared_tokens=pl.col("shared_tokens").sum(),
        saved_tokens=pl.col("saved_tokens").sum(),
    )
    counts = heads.group_by("key").agg(chain_count=pl.len().cast(pl.Int64))
    is_proven = pl.col("evidence") == PROOF
    return (
        keys.join(sums, on="key")
        .join(counts, on="key", how="left")
        .join(_worth(connection, groups, keyed), on="key", how="left")
        .with_columns(
            pl.col("chain_count").fill_null(0),
            saved_gpu_seconds=pl.when(is_proven).then("at_stake_gpu_seconds"),
            saved_cost=pl.when(is_proven).then("cost"),
            currency=pl.when(is_proven).then("currency"),
        )
        .with_columns(call_count=pl.col("chain_count") + pl.col("merged_count"))
    )


def _worth(connection: Connection, groups: Groups, keyed: pl.DataFrame) -> pl.DataFrame:
    """GPU-seconds and cost of the prefill that is at stake, by key; null where none was charged."""
    ratios = keyed["prefill_ratio"].to_numpy()
    parts = prefill_parts(
        connection,
        keyed.select("call_no", "key"),
        np.column_stack([ratios, np.ones(len(ratios))]),
        ("saved", "kept"),
        groups.cohorts["cohort_id"].to_list(),
    )
    return parts.filter(pl.col("part") == "saved").select(
        "key",
        "currency",
        pl.col("cost").cast(COST),
        at_stake_gpu_seconds=pl.col("gpu_ps").cast(pl.Float64) / PICOSECONDS_PER_S,
    )


def _notes(window: Window, frame: pl.DataFrame, extent: pl.DataFrame) -> tuple[str, ...]:
    notes = [f"window: {window.text()}"]
    proven = frame.filter(pl.col("evidence") == PROOF)
    if proven.is_empty():
        notes.append("no call begins with the prompt and the answer of the call right before it")
    else:
        calls = counted(int(proven["merged_count"].sum()), "call")
        spent = spent_text(proven, "saved_gpu_seconds", "saved_cost")
        notes += [f"{calls} could be a part of the call right before: {spent}", MERGE_NOTE]
    if proven.height < frame.height:
        notes.append(SIGN_NOTE)
    if unhashed := int(extent["unhashed_count"].sum()):
        notes.append(
            f"not compared but by length: {counted(unhashed, 'call')} without prefix hashes; "
            f"{HOW_TO_KNOW['calls']}"
        )
    if untraced := int(extent["untraced_count"].sum()):
        notes.append(
            f"not looked at, for they are in no trace: {counted(untraced, 'call')}; send the "
            "traces of the application"
        )
    return tuple(notes)
