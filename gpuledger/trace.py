"""`gpuledger trace ID`: a waterfall in the terminal.

Owns the bars. Refuses to compute: lengths, GPU-seconds and money come with the rows.
"""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.trace import SHOWN_ROWS, SOUND, TraceAnswer
from analysis.trace import trace as trace_waterfall
from analysis.trace_outline import Whole
from gpuledger.asking import print_answer, refusing_wrong_questions
from gpuledger.options import COUNT, config_option, format_option, ledger_option
from gpuledger.output import Format, cell_text
from ingest.config import Configuration
from ingest.current import open_current

MOST_BAR_CELLS, LEAST_BAR_CELLS = 48, 12
MOST_NAME_CELLS, LEAST_NAME_CELLS = 60, 16
PLAIN_WIDTH = 140
FAILED_SIGN = "✗"
FIGURES = ("s", "in", "out", "GPU-s")
PADDING_CELLS = 1
ALL_ROWS = "all of it"
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
@click.option(
    "--limit",
    type=COUNT,
    default=SHOWN_ROWS,
    show_default=True,
    help="At most so many rows; the totals are of all.",
)
@ledger_option
@config_option
@format_option
def trace(
    identity: str,
    limit: int,
    ledger_path: Path,
    configuration: Configuration,
    output_format: Format,
) -> None:
    """A trace, or a call, whose id begins with ID: queue, prefill, decode, GPU-seconds, money."""
    with (
        refusing_wrong_questions(),
        open_current(ledger_path, configuration) as ledger,
    ):
        answer = trace_waterfall(ledger, configuration, identity, most_rows=limit)
    if output_format == "table":
        _print_waterfall(answer)
    else:
        print_answer(answer, output_format)


def _print_waterfall(answer: TraceAnswer) -> None:
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    console = Console(file=sys.stdout, width=width, markup=False, highlight=False)
    console.print(waterfall_table(answer, console.width))
    click.echo(LEGEND, err=True)
    click.echo(answer.notes[-1], err=True)


def waterfall_table(answer: TraceAnswer, width: int) -> Table:
    """The rows of `answer` with their bars, in `width` characters: names and bars give way.

    Below them stands what all rows come to, also those that are not shown.
    """
    rows = list(answer.frame.iter_rows(named=True))
    whole = answer.whole
    whole_s = max(1e-9, whole.duration_s)
    currencies = [currency for currency, _ in whole.costs]
    headers = (*FIGURES, f"cost, {'/'.join(currencies)}" if currencies else "cost")
    totals = _totals(whole)
    figures = [*(_figures(row, has_currency=len(currencies) > 1) for row in rows), *totals]
    names = [*map(_name, rows), *(ALL_ROWS for _ in totals)]
    figure_cells = [max(map(len, cells)) for cells in zip(headers, *figures, strict=True)]
    room = width - sum(figure_cells) - PADDING_CELLS * (len(headers) + 2)
    longest = min(MOST_NAME_CELLS, max(map(len, names)))
    bar_cells = min(MOST_BAR_CELLS, max(LEAST_BAR_CELLS, room - longest))
    name_cells = max(LEAST_NAME_CELLS, min(longest, room - bar_cells))
    bars = [*(bar(row, whole_s, bar_cells) for row in rows), *(Text() for _ in totals)]
    title = "\n".join([f"{answer.notes[0]}, {whole_s:,.3f} s", *answer.notes[1:-1]])
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("span", no_wrap=True, overflow="ellipsis", width=name_cells)
    table.add_column(f"0 … {whole_s:,.3f} s"[:bar_cells], no_wrap=True, width=bar_cells)
    for column in headers:
        table.add_column(column, justify="right", no_wrap=True)
    for name, drawn, cells in zip(names, bars, figures, strict=True):
        table.add_row(name, drawn, *cells)
    return table


def _totals(whole: Whole) -> list[tuple[str, ...]]:
    """The figures of all rows; money of a second currency stands in a row of its own."""
    used = cell_text(None) if whole.gpu_seconds is None else f"{whole.gpu_seconds:,.2f}"
    counts = (cell_text(whole.input_tokens), cell_text(whole.output_tokens), used)
    has_several = len(whole.costs) > 1
    money = [
        f"{amount:,.6f} {currency}" if has_several else f"{amount:,.6f}"
        for currency, amount in whole.costs
    ] or [cell_text(None)]
    first = (f"{whole.duration_s:,.3f}", *counts, money[0])
    return [first, *(("", "", "", "", more) for more in money[1:])]


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


def _money(row: dict[str, Any], *, has_currency: bool) -> str:
    if row["cost"] is None:
        return "unpriced" if row["is_call"] else ""
    amount = f"{row['cost']:,.6f}"
    return f"{amount} {row['currency']}" if has_currency else amount
