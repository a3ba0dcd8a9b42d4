"""`gpuledger explain`: which letter moved between two periods."""

from dataclasses import replace
from pathlib import Path

import click

from analysis.columns import parsed_filters
from analysis.explain import explain as explain_change
from analysis.window import Window
from dashboard.explained import ROUNDED_NOTE, rounded_explanation
from gpuledger.asking import by_option, print_answer, refusing_wrong_questions, where_option
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format
from ingest.config import Configuration
from ingest.current import open_current


@click.command()
@click.option(
    "--from",
    "period_before",
    required=True,
    metavar="PERIOD",
    help="A month 2026-10, a day 2026-10-05, or BEGIN/END.",
)
@click.option(
    "--to",
    "period_after",
    required=True,
    metavar="PERIOD",
    help="Likewise, such as 2026-10-08/2026-10-15; END is not in it.",
)
@by_option("endpoint")
@where_option
@click.option("--tz", "timezone", help="Time zone of the periods; by configuration.")
@ledger_option
@config_option
@format_option
def explain(
    *,
    period_before: str,
    period_after: str,
    by: tuple[str, ...],
    where: tuple[str, ...],
    timezone: str | None,
    ledger_path: Path,
    configuration: Configuration,
    output_format: Format,
) -> None:
    """Which letter moved: the change of the bill between two periods, in money per letter."""
    zone = timezone or configuration.timezone
    with refusing_wrong_questions():
        before, after = Window.period(period_before, zone), Window.period(period_after, zone)
        filters = parsed_filters(where)
        with open_current(ledger_path, configuration) as ledger:
            answer = explain_change(
                ledger, configuration, before=before, after=after, by=by, where=filters
            )
    if output_format == "table":
        notes = (*answer.notes, ROUNDED_NOTE)
        answer = replace(answer, frame=rounded_explanation(answer.frame), notes=notes)
    print_answer(answer, output_format, title=f"{period_before} to {period_after} ({zone})")
