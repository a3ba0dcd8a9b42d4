"""`gpuledger trace ID`: a waterfall in the terminal.

Owns the bars. Refuses to compute: lengths, GPU-seconds and money come with the rows.
"""

import sys
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.answer import Answer
from analysis.trace import SOUND
from analysis.trace import trace as trace_waterfall
from gpuledger.asking import print_answer, refusing_wrong_questions
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format, cell_text
from ingest.config import Configuration
from ingest.current import open_current

MOST_BAR_CELLS, LEAST_BAR_CELLS = 48, 12
MOST_NAME_CELLS, LEAST_NAME_CELLS = 60, 16
PLAIN_WIDTH = 140
FAILED_SIGN = "✗"
FIGURES = ("s", "in", "out", "GPU-s")
PADDING_CELLS = 1
PHASES = (
    ("at_s", "other_s", "─", "dim"),
    ("at_s", "unsplit_s", "▓", "magenta"),
    ("decode_at_s", "decode_s", "█", "green"),
    ("prefill_at_s", "prefill_s", "▒", "cyan"),
    ("queue_at_s", "queue_s", "░", "yellow"),
)
"""Begin and length of each kind of bar, its sign and style; the later is drawn over the earlier."""

LEGEND = "░ queue  ▒ prefill  █ decode  ▓ call, phases not known  ─ other work  ✗ failed"


@click.command()
@click.argument("identity", metavar="ID")
@ledger_option
@config_option
@format_option
def trace(
    identity: str, ledger_path: Path, configuration: Configuration, output_format: Format
) -> None:
    """A trace, or a call, whose id begins with ID: queue, prefill, decode, GPU-seconds, money."""
    with (
        refusing_wrong_questions(),
        open_current(ledger_path, configuration) as ledger,
    ):
        answer = trace_waterfall(ledger, configuration, identity)
    if output_format == "table":
        _print_waterfall(answer)
    else:
        print_answer(answer, output_format)


def _print_waterfall(answer: Answer) -> None:
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    console = Console(file=sys.stdout, width=width, markup=False, highlight=False)
    console.print(waterfall_table(answer, console.width))
    click.echo(LEGEND, err=True)


def waterfall_table(answer: Answer, width: int) -> Table:
    """The rows of `answer` with their bars, in `width` characters: names and bars give way."""
    rows = list(answer.frame.iter_rows(named=True))
    whole_s = max(1e-9, _end_s(answer.frame))
    currencies = {row["currency"] for row in rows if row["currency"] is not None}
    headers = (*FIGURES, f"cost, {'/'.join(sorted(currencies))}" if currencies else "cost")
    figures = [_figures(row, has_currency=len(currencies) > 1) for row in rows]
    names = [_name(row) for row in rows]
    figure_cells = [max(map(len, cells)) for cells in zip(headers, *figures, strict=True)]
    room = width - sum(figure_cells) - PADDING_CELLS * (len(headers) + 2)
    longest = min(MOST_NAME_CELLS, max(map(len, names), default=0))
    bar_cells = min(MOST_BAR_CELLS, max(LEAST_BAR_CELLS, room - longest))
    name_cells = max(LEAST_NAME_CELLS, min(longest, room - bar_cells))
    title = f"{answer.notes[0]}, {whole_s:,.3f} s"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("span", no_wrap=True, overflow="ellipsis", width=name_cells)
    table.add_column(f"0 … {whole_s:,.3f} s"[:bar_cells], no_wrap=True, width=bar_cells)
    for column in headers:
        table.add_column(column, justify="right", no_wrap=True)
    for row, name, cells in zip(rows, names, figures, strict=True):
        table.add_row(name, bar(row, whole_s, bar_cells), *cells)
    return table


def bar(row: dict[str, Any], whole_s: float, cells: int = MOST_BAR_CELLS) -> Text:
    """The row's phases to scale over `cells` characters; what is shorter than one is one.

    The longest phase is always seen: where the others leave it nothing, it is drawn over them.
    """
    plain = [" "] * cells
    styles: list[tuple[str, int, int]] = []
    phases = [phase for phase in PHASES if row[phase[0]] is not None and row[phase[1]]]
    longest = max(phases, key=lambda phase: float(row[phase[1]]), default=None)
    for phase in [*phases, longest]:
        if phase is None or (len(styles) == len(phases) and phase[2] in plain):
            continue
        begin, length, sign, style = phase
        first = min(cells - 1, int(row[begin] / whole_s * cells))
        last = min(cells, max(first + 1, round((row[begin] + row[length]) / whole_s * cells)))
        plain[first:last] = sign * (last - first)
        styles.append((style, first, last))
    text = Text("".join(plain))
    for style, first, last in styles:
        text.stylize(style, first, last)
    return text


def _name(row: dict[str, Any]) -> str:
    """The row's name, indented by its depth, after a sign where it failed."""
    sign = "" if row["status"] in (None, *SOUND) else f"{FAILED_SIGN} {row['status']}: "
    return f"{'  ' * min(row['depth'], 12)}{sign}{cell_text(row['name'])}"


def _figures(row: dict[str, Any], *, has_currency: bool) -> tuple[str, ...]:
    seconds = "" if row["duration_s"] is None else f"{row['duration_s']:,.3f}"
    if not row["is_call"]:
        return (seconds, "", "", "", "")
    used = "–" if row["gpu_seconds"] is None else f"{row['gpu_seconds']:,.2f}"
    tokens = (cell_text(row["input_tokens"]), cell_text(row["output_tokens"]))
    return (seconds, *tokens, used, _money(row, has_currency=has_currency))


def _end_s(frame: pl.DataFrame) -> float:
    ends = frame.select((pl.col("at_s") + pl.col("duration_s")).max()).item()
    return float(ends or 0.0)


def _money(row: dict[str, Any], *, has_currency: bool) -> str:
    if row["cost"] is None:
        return "unpriced" if row["is_call"] else ""
    amount = f"{row['cost']:,.6f}"
    return f"{amount} {row['currency']}" if has_currency else amount
