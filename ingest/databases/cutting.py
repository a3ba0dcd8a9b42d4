"""Rows in the order of their watermark, cut into stretches that are delivered one by one.

Owns where a cut may lie: between two values of the watermark, never inside of one. Refuses to look
at more than one row at a time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from ingest.databases.marks import is_reached

Row = tuple[Any, ...]


@dataclass(slots=True)
class Cuts:
    """Cuts rows that come in the order of the value at `place`.

    A stretch ends after `size` rows, and where rows reach `settled_at`: what comes behind that may
    still be joined by rows that are late. `ends` are the bounds of the stretches that are over.
    """

    place: int
    size: int
    settled_at: Any
    ends: dict[int, Any] = field(default_factory=dict)
    _number: int = 0
    _count: int = 0
    _last: Any = None
    _is_settled: bool = True

    def stretches(self, rows: Iterable[Row]) -> Iterator[tuple[int, Iterator[Row]]]:
        """Number and rows of each stretch; one is to be read before the next is asked for."""
        return groupby(rows, key=self._number_of)

    def _number_of(self, row: Row) -> int:
        at = row[self.place]
        if self._is_settled and is_reached(at, self.settled_at):
            self._is_settled = False
            self._cut(self.settled_at)
        elif self._count >= self.size and at != self._last:
            self._cut(at)
        self._count += 1
        self._last = at
        return self._number

    def _cut(self, at: Any) -> None:
        self.ends[self._number] = at
        self._number += 1
        self._count = 0
