"""Notes are shown as plain text, without what a heading says already."""

import polars as pl

from analysis.answer import Answer
from analysis.window import Window
from dashboard.notes import notes_beside


def test_a_note_loses_its_backticks_and_the_window_is_not_repeated() -> None:
    notes = ("window: all", "unpriced: 3 calls; `gpuledger check` says why")
    answer = Answer(frame=pl.DataFrame(), notes=notes, window=Window(timezone="UTC"))
    assert notes_beside(answer) == ("unpriced: 3 calls; gpuledger check says why",)
