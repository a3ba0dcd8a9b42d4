"""The length of calls, input and output, beside the longest that their engine takes.

Owns which limits are looked at: the engine's own, and the powers of two that refuse the longest
hundredth of the calls at most. Refuses to recommend one: whose calls are refused is for people.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calendar import in_order
from analysis.capacity.sizes import max_model_lens
from analysis.capacity.verdicts import Verdict, verdict_frame
from analysis.groups import groups_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

LIMITS_TOKENS = tuple(2**power for power in range(8, 25))
"""256 to 16,777,216 tokens."""

LEAST_CALLS = 1_000
"""Of fewer the 99.9th percentile is next to the longest."""

PERCENTILES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))

NO_LIMIT = (
    "the longest call that the engine takes: set max_model_len of [[pools]], or ingest the metrics "
    "of an engine that tells it (SGLang's context_len)"
)
NO_TOKENS = "the tokens of its calls"
TO_DECIDE = (
    ", twice that or more; a candidate, no saving is attributed: the limit costs GPU time only "
    "where room is set aside for the longest call, which the model or a replay says"
)

FIGURES = (
    "call_count",
    "unknown_count",
    "p50_tokens",
    "p99_tokens",
    "p999_tokens",
    "longest_tokens",
    "longest_asked_tokens",
    "max_model_len",
    "limit_tokens",
    "refused_count",
    "refused_asked_count",
)


def context_limits(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row for each limit of each group of `by`, which is pool and model where none is named.

    Columns: docs/capacity.md. Raises `NoDataError` where no call is in the window.
    """
    columns = tuple(by) or ("pool", "model")
    groups = groups_of(ledger.connection, configuration, by=columns, window=window, where=where)
    lengths = groups.rows_of(ledger.connection, "context_limits")
    limits = max_model_lens(ledger.connection, configuration)
    frame = _with_limits(_lengths(lengths, columns), lengths, columns, limits)
    frame = frame.select(*columns, *FIGURES).sort(
        in_order([*columns, "limit_tokens"]), nulls_last=True
    )
    return Answer(
        frame=frame, notes=tuple(_notes(frame, columns, groups.window)), window=groups.window
    )


def context_limits_verdicts(
    ledger: Ledger, configuration: Configuration, *, window: Window | None = None
) -> pl.DataFrame:
    """Whether lever 18 (`max_model_len` near real need) applies to each pool; see `Verdict`."""
    answer = context_limits(ledger, configuration, by=("pool",), window=window)
    rows = answer.frame.filter(pl.col("pool").is_not_null()).unique("pool").sort("pool")
    return verdict_frame(_verdict(row) for row in rows.iter_rows(named=True))


def _lengths(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """By group: how many calls there are, percentiles of what they used, the longest."""
    on = list(columns)
    used = rows.filter(pl.col("measure") == "used")
    known = pl.col("tokens").is_not_null()
    total = used.group_by(on).agg(
        call_count=pl.col("call_count").sum(),
        unknown_count=pl.col("call_count").filter(~known).sum(),
        longest_tokens=pl.col("tokens").max(),
    )
    asked = rows.filter(pl.col("measure") == "asked")
    total = total.join(
        asked.group_by(on).agg(longest_asked_tokens=pl.col("tokens").max()),
        on=on,
        how="left",
        nulls_equal=True,
    )
    reached = (
        used.filter(known)
        .sort("tokens")
        .with_columns(
            reached=pl.col("call_count").cum_sum().over(on),
            known_count=pl.col("call_count").sum().over(on),
        )
    )
    percentiles = [_percentile(ratio).alias(f"{name}_tokens") for name, ratio in PERCENTILES]
    return total.join(reached.group_by(on).agg(percentiles), on=on, how="left", nulls_equal=True)


def _percentile(ratio: float) -> pl.Expr:
    """The percentile `ratio`, interpolated, of `tokens` with `reached` calls up to each."""
    place = (pl.col("known_count") - 1) * ratio
    from_here = (pl.col("reached") > place.floor(), pl.col("reached") > place.ceil())
    low, high = (pl.col("tokens").filter(is_from).min() for is_from in from_here)
    return low + (place - place.floor()).first() * (high - low)


def _with_limits(
    total: pl.DataFrame, rows: pl.DataFrame, columns: Sequence[str], told: Mapping[str, int]
) -> pl.DataFrame:
    """A row for each group and limit, with the calls that it would refuse."""
    on = list(columns)
    own = pl.lit(None, dtype=pl.Int64)
    if "pool" in columns:
        own = pl.col("pool").replace_strict(told, default=None, return_dtype=pl.Int64)
    powers = pl.lit(pl.Series([list(LIMITS_TOKENS)], dtype=pl.List(pl.Int64))).first()
    longest = pl.max_horizontal("longest_tokens", "longest_asked_tokens", LIMITS_TOKENS[0] / 2 + 1)
    limited = (
        total.with_columns(max_model_len=own, power=powers)
        .explode("power")
        .filter(
            (pl.col("power") >= pl.col("p99_tokens")) & (pl.col("power") < longest * 2)
            | (pl.col("power") == LIMITS_TOKENS[0]) & pl.col("longest_tokens").is_null()
        )
        .with_columns(
            limit_tokens=pl.when(pl.col("longest_tokens").is_not_null()).then(pl.col("power"))
        )
        .drop("power")
    )
    at_own = limited.unique(on).filter(pl.col("max_model_len").is_not_null())
    at_own = at_own.with_columns(limit_tokens=pl.col("max_model_len"))
    limits = pl.concat([limited, at_own]).unique([*on, "limit_tokens"])
    for name, measure in (("refused_count", "used"), ("refused_asked_count", "asked")):
        counts = rows.filter(pl.col("measure") == measure, pl.col("tokens").is_not_null())
        pairs = limits.select(*on, "limit_tokens").join(
            counts.select(*on, "tokens", "call_count"), on=on, nulls_equal=True
        )
        refused = pairs.group_by(*on, "limit_tokens").agg(
            pl.col("call_count").filter(pl.col("tokens") > pl.col("limit_tokens")).sum().alias(name)
        )
        limits = limits.join(refused, on=[*on, "limit_tokens"], how="left", nulls_equal=True)
    return limits


def _notes(frame: pl.DataFrame, columns: Sequence[str], window: Window) -> Iterator[str]:
    yield f"window: {window.text()}"
    groups = frame.unique(list(columns))
    if unknown := int(groups["unknown_count"].sum()):
        yield f"not told, hence in no length: the tokens of {counted(unknown, 'call')}"
    if "pool" not in columns:
        yield "a limit is of a pool's engines: ask --by pool to see it beside"
    else:
        silent = groups.filter(pl.col("pool").is_not_null() & pl.col("max_model_len").is_null())
        if not silent.is_empty():
            yield f"{', '.join(silent['pool'].unique().sort())}: not told {NO_LIMIT}"
    yield "the calls themselves: `gpuledger ask calls --order input_tokens --limit 20`"


def _verdict(row: Mapping[str, Any]) -> Verdict:
    """Applies where half of the limit would refuse no call, of what was used and asked for."""
    pool, limit, longest = row["pool"], row["max_model_len"], row["longest_tokens"]
    if longest is None or limit is None:
        missing = NO_TOKENS if longest is None else NO_LIMIT
        return Verdict(lever=18, pool=pool, applies=None, evidence=None, missing=missing)
    asked = row["longest_asked_tokens"]
    text = f"the longest call has {longest:,} tokens"
    if row["call_count"] - row["unknown_count"] >= LEAST_CALLS:
        text += f", the p99.9 is {row['p999_tokens']:,.0f}"
    if asked is not None:
        text += f", up to {asked:,} were asked for"
    is_far = 2 * max(longest, asked or 0) <= limit
    return Verdict(
        lever=18,
        pool=pool,
        applies=is_far,
        evidence=f"{text}; the engine takes {limit:,}{TO_DECIDE if is_far else ''}",
    )
