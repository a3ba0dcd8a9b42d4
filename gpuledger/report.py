"""`gpuledger report`: one month as a workbook, a page and plain tables."""

import re
from pathlib import Path

import click

from dashboard.monthly.documents import FORMATS, write_report
from dashboard.monthly.gather import monthly_figures
from gpuledger.asking import refusing_wrong_questions
from gpuledger.options import config_option, ledger_option
from ingest.config import Configuration
from ingest.current import open_current

MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])$")


def _month(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    if not MONTH.match(text):
        raise click.BadParameter(f"{text!r} is no month; write it as 2026-10")
    return text


def _formats(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[str, ...]:
    wanted = tuple(part.strip() for part in text.split(","))
    unknown = [part for part in wanted if part not in FORMATS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is no format; known: {', '.join(FORMATS)}")
    return wanted


@click.command("report")
@click.option("--month", required=True, callback=_month, help="The month, as 2026-10.")
@click.option("--tz", "zone", help="Where the month begins and ends; else as configured.")
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder to write into; made where there is none.",
)
@click.option(
    "--format",
    "formats",
    default="xlsx,html",
    show_default=True,
    callback=_formats,
    help=f"Any of {','.join(FORMATS)}.",
)
@ledger_option
@config_option
def report(
    ledger_path: Path,
    configuration: Configuration,
    folder: Path,
    formats: tuple[str, ...],
    **cut: str | None,
) -> None:
    """Write the report of one month; its lines add up to the bill to the cent."""
    month, zone = str(cut["month"]), cut["zone"] or configuration.timezone
    with refusing_wrong_questions(), open_current(ledger_path, configuration) as ledger:
        figures = monthly_figures(ledger, configuration, month, zone)
    for path in write_report(figures, folder, formats):
        click.echo(path)
