"""An answer: the rows, what must be said beside them, and the window they are about.

Owns the shape that every question returns. Refuses to print: the command line and the pages do.
"""

from dataclasses import dataclass

import polars as pl

from analysis.window import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`frame` has the cells, `notes` the sentences to show beside them, `window` its bounds."""

    frame: pl.DataFrame
    notes: tuple[str, ...]
    window: Window
