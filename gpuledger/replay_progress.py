"""How a replay is watched: sentences on stderr, and a bar where that is a terminal.

Owns the drawing. Refuses to draw often: it takes milliseconds that a send may need.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

REFRESH_S = 1.0
"""The bar is drawn this often at most."""


def say(sentence: str) -> None:
    """Tell the person who waits, on stderr."""
    click.echo(sentence, err=True)


class _Sentences:
    """A watcher without a terminal: sentences only."""

    def say(self, sentence: str) -> None:
        say(sentence)

    def pass_begins(self, number: int, of: int, arm: str, calls: int) -> None:
        say(f"pass {number} of {of}: {arm}, {calls:,} calls")

    def call_ended(self) -> None:
        pass


class _Bar:
    """A watcher on a terminal: sentences above a bar for the present pass."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, visible=False)
        self._drawn_s = 0.0

    def say(self, sentence: str) -> None:
        self._bar.console.print(sentence, markup=False, highlight=False)

    def pass_begins(self, number: int, of: int, arm: str, calls: int) -> None:
        self._bar.reset(
            self._task, description=f"pass {number} of {of}: {arm}", total=calls, visible=True
        )
        self._bar.refresh()

    def call_ended(self) -> None:
        self._bar.advance(self._task)
        if time.monotonic() - self._drawn_s > REFRESH_S:
            self._drawn_s = time.monotonic()
            self._bar.refresh()


@contextmanager
def watching() -> Iterator[_Bar | _Sentences]:
    """A progress bar on stderr where that is a terminal, sentences where it is not."""
    if not sys.stderr.isatty():
        yield _Sentences()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        yield _Bar(bar)
