"""A trace in outline: what all of it comes to, and which rows of a large one are shown.

Owns the rule of that choice, and the totals, which are of every row and not of the shown. Refuses
to show a row without what it is under.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, zip_longest
from typing import Any

import polars as pl

from analysis.money import total
from analysis.wording import counted

NS_PER_S = 1_000_000_000
RULE = "the dearest calls and the longest spans in turn, each with what it is under, in tree order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What all rows of a trace come to; a sum is None where no call tells its part.

    `began_at` in nanoseconds since 1970; `costs` has the money of each currency. Of
    `unpriced_count` calls no price, or that of a part alone, is known; `uncounted_count` calls do
    not tell all of their tokens.
    """

    row_count: int
    span_count: int
    call_count: int
    began_at: int
    duration_s: float
    input_tokens: int | None
    output_tokens: int | None
    uncounted_count: int
    gpu_seconds: float | None
    costs: tuple[tuple[str, Decimal], ...]
    unpriced_count: int

    def text(self) -> str:
        """The totals as a sentence."""
        tokens = (
            f"{'unknown' if count is None else f'{count:,}'} {kind}"
            for count, kind in ((self.input_tokens, "input"), (self.output_tokens, "output"))
        )
        money = [f"{amount:,f} {currency}" for currency, amount in self.costs]
        used = [] if self.gpu_seconds is None else [f"{self.gpu_seconds:,.3f} GPU-seconds"]
        parts = [counted(self.call_count, "call"), f"{' and '.join(tokens)} tokens", *used, *money]
        if self.uncounted_count:
            parts.append(f"{counted(self.uncounted_count, 'call')} with unknown tokens")
        if self.unpriced_count:
            parts.append(f"{counted(self.unpriced_count, 'call')} not priced or in part")
        return f"all of it: {', '.join(parts)}"

    def shown_text(self, shown_count: int) -> str:
        """How many of the rows are shown, and which."""
        what = "spans" if self.row_count == self.span_count else "spans and calls"
        return f"showing {shown_count:,} of {self.row_count:,} {what}: {RULE}"


def outlined(spans: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """One row a span, with its call if it has one, and one for each call without a span.

    Of two calls at one span the later one is placed there.
    """
    placed = (
        calls.filter(pl.col("span_id").is_in(spans["span_id"].implode()))
        .unique("span_id", keep="last", maintain_order=True)
        .select("span_id", "call_id", "cost", "gpu_seconds")
    )
    alone = calls.filter(~pl.col("call_id").is_in(placed["call_id"].implode())).select(
        pl.lit(None, dtype=pl.String).alias("span_id"),
        pl.lit(None, dtype=pl.String).alias("parent_span_id"),
        pl.coalesce("arrived_at", "started_at").alias("begun_at"),
        pl.col("ended_at").alias("done_at"),
        "call_id",
        "cost",
        "gpu_seconds",
    )
    at_spans = spans.select(
        "span_id",
        "parent_span_id",
        pl.col("started_at").alias("begun_at"),
        pl.col("ended_at").alias("done_at"),
    ).join(placed, on="span_id", how="left", maintain_order="left")
    return pl.concat([at_spans, alone]).with_row_index("row")


def whole_of(outline: pl.DataFrame, span_count: int, calls: pl.DataFrame) -> Whole:
    """What all rows and calls come to."""
    began_at: int = outline.select(pl.col("begun_at").min()).item() or 0
    is_told = pl.col("done_at") >= pl.col("begun_at")
    ended_at: int | None = outline.select(pl.col("done_at").filter(is_told).max()).item()
    paid = calls.filter(pl.col("cost").is_not_null())
    return Whole(
        row_count=outline.height,
        span_count=span_count,
        call_count=calls.height,
        began_at=began_at,
        duration_s=((ended_at or began_at) - began_at) / NS_PER_S,
        input_tokens=_sum(calls["input_tokens"]),
        output_tokens=_sum(calls["output_tokens"]),
        uncounted_count=calls.filter(
            pl.any_horizontal(pl.col("input_tokens", "output_tokens").is_null())
        ).height,
        gpu_seconds=_sum(calls["gpu_seconds"]),
        costs=tuple(
            (currency, total(paid.filter(pl.col("currency") == currency)["cost"].to_list()))
            for currency in sorted(paid["currency"].drop_nulls().unique())
        ),
        unpriced_count=calls.filter(pl.col("cost_status") != "priced").height,
    )


def chosen(outline: pl.DataFrame, most_rows: int) -> pl.DataFrame:
    """At most `most_rows` rows of `outline` by `RULE`; a row's parents come with it or it stays."""
    if outline.height <= most_rows:
        return outline
    rows = outline["row"].to_list()
    row_of = dict(zip(outline["span_id"].to_list(), rows, strict=True))
    row_of.pop(None, None)
    parents = [row_of.get(parent) for parent in outline["parent_span_id"].to_list()]
    taken: set[int] = set()
    for row in _ranked(outline):
        taken.update(_path(row, parents, taken, most_rows - len(taken)))
        if len(taken) == most_rows:
            break
    return outline.filter(pl.col("row").is_in(sorted(taken)))


def _ranked(outline: pl.DataFrame) -> Iterator[int]:
    """Rows: the dearest call, the longest row, the next dearest, the next longest, …"""
    by_id = ("span_id", "call_id")
    dearest = outline.filter(pl.col("call_id").is_not_null()).sort(
        "cost", "gpu_seconds", "begun_at", *by_id,
        descending=[True, True, False, False, False], nulls_last=True,
    )  # fmt: skip
    longest = outline.sort(
        pl.col("done_at") - pl.col("begun_at"), "begun_at", *by_id,
        descending=[True, False, False, False], nulls_last=True,
    )  # fmt: skip
    in_turn = zip_longest(dearest["row"].to_list(), longest["row"].to_list())
    return (row for row in chain.from_iterable(in_turn) if row is not None)


def _path(row: int, parents: Sequence[int | None], taken: set[int], room: int) -> Sequence[int]:
    """`row` and what it is under that is not taken yet; nothing where that exceeds `room`."""
    path: dict[int, None] = {}
    above: int | None = row
    while above is not None and above not in taken and above not in path:
        if len(path) == room:
            return ()
        path[above] = None
        above = parents[above]
    return tuple(path)


def _sum(column: pl.Series) -> Any:
    """The sum of what is known; None where nothing is."""
    known = column.drop_nulls()
    return None if known.is_empty() else known.sum()
