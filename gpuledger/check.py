"""`gpuledger check`: invariants and data quality of a ledger, with an exit code."""

from pathlib import Path

import click

from analysis.check import FAILED
from analysis.check import check as check_ledger
from analysis.wording import counted
from gpuledger.asking import print_answer
from gpuledger.exits import ExitCode
from gpuledger.options import config_option, format_option, ledger_option
from gpuledger.output import Format
from ingest.config import Configuration
from ingest.current import open_current
from ingest.receiver.beside import inbox_path, waiting_beside


@click.command()
@ledger_option
@config_option
@format_option
def check(ledger_path: Path, configuration: Configuration, output_format: Format) -> int:
    """Conservation, coverage, conflicts: exit code 1 where something does not hold."""
    with open_current(ledger_path, configuration) as ledger:
        answer = check_ledger(ledger, configuration)
    print_answer(answer, output_format, title="Invariants and data quality")
    if waiting := waiting_beside(ledger_path):
        click.echo(
            f"not in the ledger yet: {counted(waiting, 'request')} in {inbox_path(ledger_path)}; "
            "`gpuledger receive` takes them",
            err=True,
        )
    has_failed = FAILED in answer.frame["result"]
    return ExitCode.CHECK_FAILED if has_failed else ExitCode.DONE
