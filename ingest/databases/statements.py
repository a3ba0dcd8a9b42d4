"""The statements that an operator's database is asked.

Owns the reading of a stretch in the order of the watermark, and the counting of many stretches in
one pass. Refuses text: names come from the database's own catalogue and values are bound.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, Select

from ingest.databases.marks import WITHOUT_END
from ingest.databases.segments import Measures, Tally
from ingest.databases.shape import Shape

UNPLACED = -1
"""The number of the stretch of rows without a watermark."""


def stretch(
    shape: Shape, names: Sequence[str], watermark: str, since: Any, until: Any
) -> Select[Any]:
    """The rows of [since, until) in the order of the watermark; None is no bound."""
    at = shape.table.c[watermark]
    found = sa.select(*(shape.table.c[name] for name in names)).where(at.is_not(None))
    if since is not None:
        found = found.where(at >= since)
    if until is not None:
        found = found.where(at < until)
    return found.order_by(at)


def unplaced(shape: Shape, names: Sequence[str], watermark: str) -> Select[Any]:
    """The rows without a watermark."""
    columns = (shape.table.c[name] for name in names)
    return sa.select(*columns).where(shape.table.c[watermark].is_(None))


def every(shape: Shape, names: Sequence[str]) -> Select[Any]:
    """All rows, in no order."""
    return sa.select(*(shape.table.c[name] for name in names))


def sample(shape: Shape, names: Sequence[str]) -> Select[Any]:
    """A hundred rows, whichever come first."""
    return every(shape, names).limit(100)


def latest(shape: Shape, watermark: str) -> Select[Any]:
    """The highest watermark; of times, the highest that comes to an end."""
    at = shape.table.c[watermark]
    found = sa.select(sa.func.max(at))
    if shape.may_be_endless(watermark):
        found = found.where(at < sa.cast(sa.literal(WITHOUT_END), shape.types[watermark]))
    return found


def tallies(shape: Shape, watermark: str, bounds: Sequence[Any], measures: Measures) -> Select[Any]:
    """Number and tally of each stretch that ends at one of `bounds`, and of the unplaced rows."""
    at = shape.table.c[watermark]
    inside = (at < bounds[-1]) | at.is_(None)
    number = sa.case((at.is_(None), _number(UNPLACED)), else_=_stretch_of(at, bounds, 0))
    names = [*measures.scalars, *([measures.changed] if measures.changed else [])]
    columns = [shape.table.c[name] for name in dict.fromkeys(names)]
    placed = sa.select(number.label("gpuledger_stretch"), *columns).where(inside).subquery()
    changed = [sa.func.max(placed.c[measures.changed])] if measures.changed else []
    return sa.select(
        placed.c["gpuledger_stretch"],
        sa.func.count(),
        *(sa.func.count(placed.c[name]) for name in measures.scalars),
        *(sa.func.sum(placed.c[name]) for name in measures.wholes),
        *changed,
    ).group_by(placed.c["gpuledger_stretch"])


def tally_of(row: Sequence[Any], measures: Measures) -> Tally:
    """The tally in a row of `tallies`, after its number."""
    counts = list(row[1 : 2 + len(measures.scalars)])
    sums = row[2 + len(measures.scalars) :][: len(measures.wholes)]
    return Tally(
        rows=int(counts[0]),
        present=tuple(map(int, counts[1:])),
        sums=tuple(int(total or 0) for total in sums),
        changed=row[-1] if measures.changed else None,
    )


def _stretch_of(at: ColumnElement[Any], bounds: Sequence[Any], first: int) -> ColumnElement[Any]:
    """The number of the stretch that holds `at`, found by halving."""
    if len(bounds) == 1:
        return _number(first)
    half = len(bounds) // 2
    return sa.case(
        (at < bounds[half - 1], _stretch_of(at, bounds[:half], first)),
        else_=_stretch_of(at, bounds[half:], first + half),
    )


def _number(value: int) -> ColumnElement[Any]:
    return sa.literal_column(str(value), sa.Integer)
