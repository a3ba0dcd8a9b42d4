"""What a ledger remembers of a table: stretches of its watermark, and what it read in each.

Owns the counts by which rows are found that came, or changed, after their stretch was read.
Refuses to remember a row, an address or a password.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from ingest.databases.marks import kept, latest, restored
from ingest.databases.shape import Shape
from ingest.records import Json

MAX_SEGMENTS = 64
"""A longer history is remembered by larger stretches."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What of rows is counted: values of `scalars`, sums of `wholes`, the maximum of `changed`."""

    scalars: tuple[str, ...]
    wholes: tuple[str, ...]
    changed: str | None

    @classmethod
    def of(
        cls, shape: Shape, columns: Sequence[str], summed: Sequence[str], changed: str | None
    ) -> "Measures":
        """What can be counted of `columns` by the database and by this process alike.

        `summed` are counts of tokens: sums of times or ids might exceed 64 bits.
        """
        scalars = tuple(name for name in columns if shape.is_scalar(name))
        return cls(scalars, tuple(name for name in summed if shape.is_whole(name)), changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How much was read; two tallies of the same rows are equal, whoever made them."""

    rows: int = 0
    present: tuple[int, ...] = ()
    sums: tuple[int, ...] = ()
    changed: Any = None

    def plus(self, other: "Tally") -> "Tally":
        """The tally of both."""
        if not self.rows or not other.rows:
            return self if self.rows else other
        return Tally(
            rows=self.rows + other.rows,
            present=tuple(map(sum, zip(self.present, other.present, strict=True))),
            sums=tuple(map(sum, zip(self.sums, other.sums, strict=True))),
            changed=latest((self.changed, other.changed)),
        )


def tally(rows: Sequence[tuple[Any, ...]], names: Sequence[str], measures: Measures) -> Tally:
    """What `rows`, whose values stand in the order of `names`, count."""
    if not rows:
        return Tally()
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return Tally(
        rows=len(rows),
        present=tuple(len(rows) - columns[name].count(None) for name in measures.scalars),
        sums=tuple(
            sum(value for value in columns[name] if isinstance(value, int))
            for name in measures.wholes
        ),
        changed=latest(columns[measures.changed]) if measures.changed else None,
    )


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows whose watermark lies before `until` and not before the end of the one before."""

    until: Any
    tally: Tally


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of a table: read in full up to the end of the last segment.

    `terms` is a digest of what was read and how; `unplaced` counts the rows without a watermark.
    """

    terms: str
    segments: tuple[Segment, ...] = ()
    unplaced: Tally = field(default_factory=Tally)

    @property
    def read_until(self) -> Any:
        """The watermark from which on rows are to be read; None for all."""
        return self.segments[-1].until if self.segments else None

    def with_segments(self, since: Any, made: Sequence[Segment], until: Any) -> "Memory":
        """The memory in which `made` takes the place of what lay in [since, until)."""
        before = [s for s in self.segments if since is not None and s.until <= since]
        after = [s for s in self.segments if until is not None and s.until > until]
        return replace(self, segments=_merged([*before, *made, *after]))


def _merged(segments: list[Segment]) -> tuple[Segment, ...]:
    """At most `MAX_SEGMENTS` of them: the two neighbours with the fewest rows become one."""
    while len(segments) > MAX_SEGMENTS:
        pairs = range(len(segments) - 1)
        at = min(pairs, key=lambda i: segments[i].tally.rows + segments[i + 1].tally.rows)
        first, second = segments[at : at + 2]
        segments[at : at + 2] = [Segment(second.until, first.tally.plus(second.tally))]
    return tuple(segments)


def written(memory: Memory) -> str:
    """The memory as a ledger keeps it."""
    return orjson.dumps(
        {
            "terms": memory.terms,
            "unplaced": _written_tally(memory.unplaced),
            "segments": [
                {"until": kept(segment.until), **_written_tally(segment.tally)}
                for segment in memory.segments
            ],
        }
    ).decode()


def remembered(text: str | None, terms: str) -> Memory:
    """The memory that `text` writes; an empty one where there is none or its terms are others."""
    raw = {} if text is None else orjson.loads(text)
    if raw.get("terms") != terms:
        return Memory(terms)
    segments = tuple(
        Segment(restored(each["until"]), _read_tally(each)) for each in raw["segments"]
    )
    return Memory(terms, segments, _read_tally(raw["unplaced"]))


def _written_tally(made: Tally) -> dict[str, Json]:
    return {
        "rows": made.rows,
        "present": made.present,
        "sums": [str(total) for total in made.sums],
        "changed": kept(made.changed),
    }


def _read_tally(raw: Mapping[str, Any]) -> Tally:
    return Tally(
        rows=raw["rows"],
        present=tuple(raw["present"]),
        sums=tuple(map(int, raw["sums"])),
        changed=restored(raw["changed"]),
    )
