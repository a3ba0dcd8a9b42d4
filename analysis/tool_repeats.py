"""Tools, retrievals and embeddings that were asked the same again and found the same.

Owns the columns of `ask tool_repeats`. Refuses to say that a tool may be cached: whether it changes
something cannot be seen from its runs.
"""

from collections.abc import Mapping

import polars as pl

from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from analysis.repetition import Known, cut_notes, repeated_costs, shown, spent_text
from analysis.reuse import NO_SOURCE, Requests, Whole, sources
from analysis.sql import question_named, run_question
from analysis.ttl import DEFAULT_TTL_NS, ttl_text
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Connection, Ledger

ROWS = {"tool": "tool runs", "retrieval": "retrievals", "embedding": "embeddings"}
KINDS = tuple(ROWS)
TOOL_FILTERS = ("kind", "name")
"""What the list may be filtered by."""

OUTCOMES = ("repeat", "changed", "unseen")
FIGURES = (
    "kind", "name", "run_count", "computed_count", "repeat_count", "changed_count",
    "unseen_count", "unknown_count", "run_s", "saved_s", "saved_gpu_seconds", "saved_cost",
    "currency",
)  # fmt: skip
EFFECT_NOTE = (
    "whether a tool changes something, such as an order that it sends, cannot be seen from its "
    "runs: cache those alone that only read"
)
FRESH_NOTE = (
    "changed_count are runs to which the cache would have given a result that was no longer true"
)
EMBEDDING_NOTE = "embeddings of equal texts are taken for equal; ask duplicates counts them too"


def tool_repeats(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
    ttl_ns: int = DEFAULT_TTL_NS,
) -> Answer:
    """One row a tool, source of retrievals or model of embeddings that may have found the same.

    A result stays in the cache for `ttl_ns` nanoseconds from the end of the run that filled it.
    Those that would save most seconds first, at most `limit`. Columns:
    docs/metrics/tool_repeats.md. An empty answer is an answer.
    """
    connection, filters = ledger.connection, dict(where or {})
    if filters.get("kind", KINDS[0]) not in KINDS:
        raise WrongQuestionError(f"kind is one of {', '.join(KINDS)}, not {filters['kind']!r}")
    runs = _judged(_runs(connection, "tool_repeats", window, filters), ttl_ns)
    totals = _runs(connection, "tool_totals", window, filters)
    rows = _rows(totals, runs).join(_costs(connection, runs), on=["kind", "name"], how="left",
                                    nulls_equal=True)  # fmt: skip
    found = rows.filter(pl.col("repeat_count") + pl.col("unseen_count") > 0).sort(
        "saved_s", "repeat_count", "kind", "name",
        descending=[True, True, False, False], nulls_last=True,
    )  # fmt: skip
    return Answer(
        frame=shown(found.select(FIGURES), limit, window, ()),
        notes=(
            *_found_notes(found, limit, ttl_ns),
            *_untold_notes(totals),
        ),
        window=window,
    )


def _runs(
    connection: Connection, name: str, window: Window, filters: Mapping[str, str | None]
) -> pl.DataFrame:
    """The rows of question `name` of the kind and the name that are asked for."""
    found = run_question(connection, question_named(name), since=window.since, until=window.until)
    for column, value in filters.items():
        found = found.filter(pl.col(column).eq_missing(pl.lit(value, dtype=pl.String)))
    return found


def _judged(runs: pl.DataFrame, ttl_ns: int) -> pl.DataFrame:
    """`runs` with their `outcome`, one of `OUTCOMES`, and `run_ns`; null where they are computed.

    A run that failed is computed whatever the cache holds.
    """
    answered_at: Whole = runs["ended_at"].fill_null(0).to_numpy()
    source = sources(
        Requests(
            groups=runs["group_no"].to_numpy(),
            begun_at=runs["begun_at"].to_numpy(),
            opens_at=answered_at,
            closes_at=answered_at + ttl_ns,
            is_answered=(runs["is_ok"] & runs["ended_at"].is_not_null()).to_numpy(),
        )
    )
    kept = pl.Series("source", source)
    found = runs.with_columns(
        cached=runs["found"].gather(kept.clip(0)) if runs.height else runs["found"],
        is_served=(kept != NO_SOURCE) & runs["is_ok"],
        run_ns=pl.col("ended_at") - pl.col("begun_at"),
    )
    is_equal = pl.col("found") == pl.col("cached")
    outcome = (
        pl.when(is_equal.is_null()).then(pl.lit("unseen"))
        .when(is_equal).then(pl.lit("repeat")).otherwise(pl.lit("changed"))
    )  # fmt: skip
    return found.with_columns(outcome=pl.when("is_served").then(outcome))


def _rows(totals: pl.DataFrame, runs: pl.DataFrame) -> pl.DataFrame:
    """`totals` with how many runs ended how, and the seconds of the repeats."""
    is_repeat = pl.col("outcome") == "repeat"
    counts = runs.group_by("kind", "name").agg(
        *((pl.col("outcome") == name).sum().cast(pl.Int64).alias(f"{name}_count")
          for name in OUTCOMES),
        saved_s=pl.when(is_repeat.any()).then(pl.col("run_ns").filter(is_repeat).sum() / 1e9),
    )  # fmt: skip
    joined = totals.join(counts, on=["kind", "name"], how="left", nulls_equal=True).with_columns(
        pl.col(f"{name}_count").fill_null(0) for name in OUTCOMES
    )
    served = pl.sum_horizontal(f"{name}_count" for name in OUTCOMES)
    return joined.with_columns(
        computed_count=pl.col("asked_count") - served,
        unknown_count=pl.col("run_count") - pl.col("asked_count"),
    )


def _costs(connection: Connection, runs: pl.DataFrame) -> pl.DataFrame:
    """What repeated embeddings cost, by kind and name."""
    calls = runs.filter(pl.col("call_no").is_not_null()).with_columns(
        group_no=pl.struct("kind", "name").rank("dense").cast(pl.Int64),
        is_duplicate=(pl.col("outcome") == "repeat").fill_null(value=False),
    )
    names = calls.select("group_no", "kind", "name").unique()
    return repeated_costs(connection, calls).join(names, on="group_no").select(
        "kind",
        "name",
        "currency",
        saved_gpu_seconds="duplicate_gpu_seconds",
        saved_cost="duplicate_cost",
    )  # fmt: skip


def _untold_notes(totals: pl.DataFrame) -> tuple[str, ...]:
    """What of the runs looked at does not tell what it was asked, by kind."""
    counts = totals.group_by("kind").agg(pl.col("run_count", "asked_count").sum())
    by_kind = {kind: (runs, told) for kind, runs, told in counts.iter_rows()}
    return tuple(
        note
        for kind, rows in ROWS.items()
        if kind in by_kind
        for note in Known(
            kind=rows, row_count=by_kind[kind][0], told_count=by_kind[kind][1]
        ).notes()
    )


def _found_notes(found: pl.DataFrame, limit: int | None, ttl_ns: int) -> tuple[str, ...]:
    again = f"within {ttl_text(ttl_ns)} of a run that was asked the same"
    if found.is_empty():
        return (f"no tool, retrieval or embedding ran {again}",)
    repeats = counted(int(found["repeat_count"].sum()), "run")
    spent = spent_text(found, "saved_gpu_seconds", "saved_cost")
    kinds = set(found["kind"].to_list())
    return (
        f"{repeats} {again} found the same: {found['saved_s'].sum():,.3f} s",
        *cut_notes(found, limit),
        *([FRESH_NOTE] if found["changed_count"].sum() else []),
        *([EFFECT_NOTE] if "tool" in kinds else []),
        *([f"of embeddings {spent}", EMBEDDING_NOTE] if "embedding" in kinds else []),
    )
