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
from analysis.trace import trace as trace_waterfall
from gpuledger.asking import print_answer, refusing_wrong_questions
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format, cell_text
from ingest.config import Configuration
from ingest.current import open_current

BAR_CELLS = 48
PLAIN_WIDTH = 140
PHASES = (
    ("at_s", "other_s", "─", "dim"),
    ("at_s", "unsplit_s", "▓", "magenta"),
    ("decode_at_s", "decode_s", "█", "green"),
    ("prefill_at_s", "prefill_s", "▒", "cyan"),
    ("queue_at_s", "queue_s", "░", "yellow"),
)
"""Begin and length of each kind of bar, its sign and style; the later is drawn over the earlier."""

LEGEND = "░ queue  ▒ prefill  █ decode  ▓ call, phases not known  ─ other work"


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
    frame = answer.frame
    whole_s = max(1e-9, _end_s(frame))
    table = Table(title=f"{answer.notes[0]}, {whole_s:,.3f} s", title_justify="left")
    for column in ("span", f"0 … {whole_s:,.3f} s"):
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    for column in ("s", "in", "out", "GPU-s", "cost"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in frame.iter_rows(named=True):
        table.add_row(
            "  " * min(row["depth"], 12) + row["name"],
            bar(row, whole_s),
            *(cell_text(row[c]) for c in ("duration_s", "input_tokens", "output_tokens")),
            cell_text(row["gpu_seconds"]),
            _money(row),
        )
    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    Console(file=sys.stdout, width=width, markup=False, highlight=False).print(table)
    click.echo(LEGEND, err=True)


def bar(row: dict[str, Any], whole_s: float, cells: int = BAR_CELLS) -> Text:
    """The row's phases to scale over `cells` characters; what is shorter than one is one."""
    plain = [" "] * cells
    styles: list[tuple[str, int, int]] = []
    for begin, length, sign, style in PHASES:
        if row[begin] is None or row[length] is None or row[length] == 0:
            continue
        first = min(cells - 1, int(row[begin] / whole_s * cells))
        last = min(cells, max(first + 1, round((row[begin] + row[length]) / whole_s * cells)))
        plain[first:last] = sign * (last - first)
        styles.append((style, first, last))
    text = Text("".join(plain))
    for style, first, last in styles:
        text.stylize(style, first, last)
    return text


def _end_s(frame: pl.DataFrame) -> float:
    ends = frame.select((pl.col("at_s") + pl.col("duration_s")).max()).item()
    return float(ends or 0.0)


def _money(row: dict[str, Any]) -> str:
    if row["cost"] is None:
        return "unpriced" if row["is_call"] else ""
    return f"{row['cost']:,.6f} {row['currency']}"
