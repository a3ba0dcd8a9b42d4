"""`gpuledger export`: the ledger as files that others read.

Owns where an export goes. Refuses to write over a file that is there.
"""

import sys
from pathlib import Path
from typing import Literal

import click

from gpuledger.exits import ExitCode
from gpuledger.options import config_option, ledger_option
from ingest.config import Configuration
from ingest.current import open_current
from ingest.export import write_native, write_parquet
from ingest.ledger import Ledger, open_for_reading


@click.command("export")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["native", "parquet"]),
    default="native",
    show_default=True,
    help="Calls as JSON lines that `ingest` takes, or calls and charges as Parquet.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The file (native; default stdout) or the folder (parquet) to write.",
)
@ledger_option
@config_option
def export(
    format_name: Literal["native", "parquet"],
    out: Path | None,
    ledger_path: Path,
    configuration: Configuration,
) -> int:
    """Write the ledger as JSON lines or as Parquet."""
    if format_name == "parquet":
        if out is None:
            raise click.UsageError("--format parquet needs --out DIR")
        with open_current(ledger_path, configuration) as ledger:
            files = write_parquet(ledger.connection, out)
        click.echo(f"wrote {', '.join(str(path) for path in files)}", err=True)
        return ExitCode.DONE
    with open_for_reading(ledger_path, memory_limit=configuration.memory_limit) as ledger:
        count = _write_native(ledger, out)
    click.echo(f"wrote {count:,} calls", err=True)
    return ExitCode.DONE


def _write_native(ledger: Ledger, out: Path | None) -> int:
    if out is None:
        return write_native(ledger.connection, sys.stdout.buffer)
    try:
        with out.open("xb") as stream:
            return write_native(ledger.connection, stream)
    except FileExistsError:
        raise click.UsageError(f"{out} exists; name another --out or remove it") from None
    except OSError as error:
        raise click.UsageError(f"{out} cannot be written: {error.strerror or error}") from error
