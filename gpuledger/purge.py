"""`gpuledger purge`: rows out of the ledger, by age, by trace, by user, and out of its bytes.

Owns the command's options and its table. Refuses to purge everything by an option left out: what
is to go is configured or named.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import polars as pl

from gpuledger.exits import ExitCode
from gpuledger.instants import instant_given
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format, write_frame
from ingest.config import Configuration
from ingest.purge import TABLES, Purge, Removed, cutoffs, purge

UNUSED = "cohorts"
"""The table of which rows go that nothing uses any more, whatever was named."""
SCHEMA = {"table": pl.String, "action": pl.String, "rows": pl.Int64}


@click.command("purge")
@click.option(
    "--table",
    "tables",
    type=click.Choice(TABLES),
    multiple=True,
    help="Only this table; may be given several times. [default: all that have an age]",
)
@click.option(
    "--before",
    callback=instant_given,
    metavar="TIME",
    help="What is older goes, such as 2026-10-01T00:00:00Z; else as [retention] says.",
)
@click.option("--trace", "traces", multiple=True, metavar="ID", help="Everything of this trace.")
@click.option("--user", "users", multiple=True, metavar="ID", help="Everything of this user.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@format_option
@ledger_option
@config_option
def purge_rows(  # noqa: PLR0917 - one parameter an option
    tables: tuple[str, ...],
    before: int | None,
    traces: tuple[str, ...],
    users: tuple[str, ...],
    dry_run: bool,
    output_format: Format,
    ledger_path: Path,
    configuration: Configuration,
) -> int:
    """Remove what is older than its retention, or a trace, or a user, for good.

    Calls keep their figures and lose what says whose they were, so every report stays as it was.
    The file is written anew afterwards: what was removed is in none of its bytes. Where nothing
    matched, it stays as it is.
    """
    asked = Purge(
        before=_before(tables, before, configuration, is_by_name=bool(traces or users)),
        traces=traces,
        users=users,
        is_dry_run=dry_run,
    )
    done = purge(ledger_path, asked, configuration)
    write_frame(_frame(done.removed), output_format)
    if not any(row.rows for row in done.removed if row.table != UNUSED):
        click.echo("nothing matched: no row is what was named, or as old", err=True)
    if dry_run:
        click.echo("nothing was changed: this was a dry run", err=True)
    elif done.is_rewritten:
        click.echo(
            f"{ledger_path} was written anew: {done.size_before:,} bytes before, "
            f"{done.size_after:,} now",
            err=True,
        )
    if done.left_count:
        click.echo(
            f"{done.left_count:,} requests in {ledger_path}.inbox could not be taken into the "
            "ledger and were not purged; look at the receiver's log, or remove that file",
            err=True,
        )
        return ExitCode.CHECK_FAILED
    return ExitCode.DONE


def _before(
    tables: Sequence[str], before: int | None, configuration: Configuration, *, is_by_name: bool
) -> Mapping[str, int]:
    """By table the instant before which rows go; none where a trace or a user is named alone."""
    if before is not None:
        return dict.fromkeys(tables or TABLES, before)
    if is_by_name and not tables:
        return {}
    ages = cutoffs(configuration, time.time_ns())
    if missing := [table for table in tables if table not in ages]:
        raise click.UsageError(
            f"[retention] gives {missing[0]} no age; name one there, or give --before TIME"
        )
    if not ages:
        raise click.UsageError(
            "nothing to purge is named: give --before TIME, --trace ID or --user ID, or ages under "
            "[retention] in the configuration"
        )
    return {table: ages[table] for table in tables} if tables else ages


def _frame(removed: Sequence[Removed]) -> pl.DataFrame:
    return pl.DataFrame([asdict(row) for row in removed], schema=SCHEMA)
