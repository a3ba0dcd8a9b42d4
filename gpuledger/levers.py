"""`gpuledger levers`: what can be done about the bill, and what each lever would save.

Owns the options of that question. Refuses to compute.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from analysis.columns import parsed_filters
from analysis.lever_plan import RANKS
from analysis.levers import levers as asked_levers
from analysis.window import Window
from gpuledger.asking import (
    print_answer,
    print_notes,
    refusing_wrong_questions,
    where_option,
    window_options,
)
from gpuledger.lever_blocks import block_lines
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format
from ingest.config import Configuration
from ingest.current import open_current


@click.command()
@where_option
@window_options
@click.option(
    "--applies",
    multiple=True,
    type=click.Choice(list(RANKS)),
    help="Only levers that apply here, that do not, or of which it is not known.",
)
@ledger_option
@config_option
@format_option
def levers(  # noqa: PLR0917 - one parameter an option
    ledger_path: Path,
    configuration: Configuration,
    output_format: Format,
    where: Sequence[str],
    since: str | None,
    until: str | None,
    timezone: str | None,
    applies: Sequence[str],
) -> None:
    """What can be done about the bill: each lever, whether it applies here, what it would save.

    Those that apply come first, by tier: what changes no answer before what does.
    """
    with refusing_wrong_questions():
        window = Window.parse(since, until, timezone or configuration.timezone)
        filters = parsed_filters(where)
        with open_current(ledger_path, configuration) as ledger:
            answer = asked_levers(
                ledger, configuration, window=window, where=filters, applies=applies
            )
    title = f"levers, {answer.window.text()}"
    if output_format == "table" and sys.stdout.isatty():
        click.echo("\n".join([title, *block_lines(answer.frame, Console().width)]))
        print_notes(answer, output_format)
    else:
        print_answer(answer, output_format, title=title)
