"""`gpuledger ingest`: files and databases into the ledger.

Owns the progress bar, the table of what became of each source, and the exit code. Refuses to
stop at a bad file: it is named, and the others are taken.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import click
import msgspec
import polars as pl
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from analysis.wording import counted
from gpuledger.exits import ExitCode
from gpuledger.ingest_databases import taken_from_databases
from gpuledger.instants import instant_given
from gpuledger.options import config_option, ledger_option
from gpuledger.output import Format, write_frame
from ingest.config import Configuration, load_configuration
from ingest.config_file import read_toml
from ingest.databases.address import is_database_address
from ingest.deliver import DeliveryResult, deliver_paths
from ingest.deliver import Progress as Advance
from ingest.errors import ConfigurationError, LedgerError
from ingest.files import Source
from ingest.ledger import open_for_writing
from ingest.memory import frugal
from ingest.readers import reader_named
from ingest.readers.mapping_file import RowMapping, is_row_mapping, mapping_of

SEVERAL = 2
RESULT_SCHEMA = {
    "source": pl.String,
    "format": pl.String,
    "read": pl.Int64,
    "new": pl.Int64,
    "duplicate": pl.Int64,
    "rejected": pl.Int64,
    "conflict": pl.Int64,
}


def _known_format(
    _context: click.Context, _parameter: click.Parameter, name: str | None
) -> str | None:
    if name is not None:
        try:
            reader_named(name)
        except LedgerError as error:
            raise click.BadParameter(str(error)) from None
    return name


Mapped = RowMapping | Mapping[str, tuple[str, ...]]


def _mapped(
    _context: click.Context, _parameter: click.Parameter, path: Path | None
) -> Mapped | None:
    """The mapping of rows, or else the one table [map], that the file holds."""
    if path is None:
        return None
    raw = read_toml(path)
    if is_row_mapping(raw):
        return mapping_of(raw, str(path))
    loaded = load_configuration(path)
    if not loaded.map or loaded != Configuration(map=loaded.map):
        raise ConfigurationError(
            f"{path}: a file for --map holds one table, [map], or a mapping of rows under [table] "
            "and [columns]; give the rest with --config"
        )
    return loaded.map


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option(
    "--format",
    "format_name",
    callback=_known_format,
    metavar="NAME",
    help="The reader to use; else the content decides. `gpuledger formats` lists them.",
)
@click.option(
    "--map",
    "mapped",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_mapped,
    metavar="FILE",
    help="A TOML file: [table] and [columns] of rows, or a [map] in place of the configuration's.",
)
@click.option("--table", metavar="NAME", help="The table of a database; else LiteLLM's, if any.")
@click.option(
    "--content",
    type=click.Choice(["hash", "full", "off"]),
    help="What is stored of prompts and completions; else as configured.",
)
@click.option(
    "--at",
    "scraped_at",
    metavar="TIME",
    callback=instant_given,
    help="When metrics of an engine were scraped that do not say it, as 2026-10-01T08:00:00Z.",
)
@click.option("--strict", is_flag=True, help="Exit with 3 where a record was rejected.")
@click.option(
    "--output",
    "output_format",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="How the table on stdout is written.",
)
@ledger_option
@config_option
def ingest_paths(  # noqa: PLR0917 - one parameter an option
    paths: tuple[str, ...],
    format_name: str | None,
    mapped: Mapped | None,
    table: str | None,
    content: Literal["hash", "full", "off"] | None,
    scraped_at: int | None,
    strict: bool,
    output_format: Format,
    ledger_path: Path,
    configuration: Configuration,
) -> int:
    """Take files, folders, globs, `-` or databases into the ledger; a second run adds nothing."""
    configuration = frugal(configuration)
    if content is not None:
        configuration = msgspec.structs.replace(configuration, content=content)
    addresses = [path for path in paths if is_database_address(path)]
    files = [path for path in paths if path not in addresses]
    rows, map_override = _told_apart(mapped, format_name)
    results: list[DeliveryResult | None] = []
    with open_for_writing(ledger_path, memory_limit=configuration.memory_limit) as ledger:
        if files:
            with _bar() as advance:
                results += deliver_paths(
                    ledger,
                    files,
                    configuration,
                    format_name=format_name,
                    map_override=map_override,
                    mapping=rows,
                    scraped_at=scraped_at,
                    progress=advance,
                )
        if addresses:
            results += taken_from_databases(ledger, addresses, configuration, rows, table)
    known = [result for result in results if result is not None]
    if known:
        frame = _frame(known)
        write_frame(_with_total(frame) if output_format == "table" else frame, output_format)
    _tell(known)
    return ExitCode.NOT_USABLE if None in results else _exit_code(known, strict=strict)


def _told_apart(
    mapped: Mapped | None, format_name: str | None
) -> tuple[RowMapping | None, Mapping[str, tuple[str, ...]] | None]:
    """The mapping of rows, and the one of spans: at most one of them is there."""
    if isinstance(mapped, RowMapping) and format_name is not None:
        raise click.UsageError("--format and a mapping of rows exclude each other; give one")
    return (mapped, None) if isinstance(mapped, RowMapping) else (None, mapped)


def _frame(results: Sequence[DeliveryResult]) -> pl.DataFrame:
    rows = [
        {
            "source": result.source.encode("utf-8", "replace").decode("utf-8"),
            "format": result.format_name,
            **(asdict(result.counts) if result.counts else {}),
        }
        for result in results
    ]
    return pl.DataFrame(rows, schema=RESULT_SCHEMA)


def _with_total(frame: pl.DataFrame) -> pl.DataFrame:
    """`frame` with a line of all sources together, where there are several."""
    if frame.height < SEVERAL:
        return frame
    counts = [name for name, kind in RESULT_SCHEMA.items() if kind == pl.Int64]
    total = frame.select(pl.lit("total").alias("source"), pl.col(counts).sum())
    return pl.concat([frame, total], how="diagonal")


def _tell(results: Sequence[DeliveryResult]) -> None:
    """Say on stderr which sources could not be read and why records were rejected."""
    for result in results:
        if result.error is not None:
            what = "not read by itself" if result.is_companion else "not read"
            what = "skipped" if result.is_skipped else what
            click.echo(f"{what}: {result.source}: {result.error}", err=True)
        _tell_rejects(result)
        if result.counts is not None and result.counts.ignored:
            click.echo(
                f"ignored: {result.source}: {counted(result.counts.ignored, 'value')} of metrics "
                "that no question reads",
                err=True,
            )
        if result.counts is not None and result.counts.masked:
            found = ", ".join(f"{count:,} × {mask}" for mask, count in result.counts.masked.items())
            click.echo(f"masked: {result.source}: {found}", err=True)
    if any(_rejected_count(result) for result in results):
        click.echo("each rejected record: see `gpuledger ask rejects`", err=True)


def _tell_rejects(result: DeliveryResult) -> None:
    """Each reason once, the most frequent first, and how many records have yet another."""
    for reason in result.reject_reasons:
        click.echo(
            f"rejected: {result.source}: {reason.count:,} × {reason.reason} "
            f"(first: {reason.first_position})",
            err=True,
        )
    more = _rejected_count(result) - sum(reason.count for reason in result.reject_reasons)
    if more:
        click.echo(f"rejected: {result.source}: {more:,} more for other reasons", err=True)


def _rejected_count(result: DeliveryResult) -> int:
    return 0 if result.counts is None else result.counts.rejected


def _exit_code(results: Sequence[DeliveryResult], *, strict: bool) -> ExitCode:
    failed = [result for result in results if result.error and not result.is_companion]
    if any(not result.is_skipped for result in failed) or (failed and failed == list(results)):
        return ExitCode.NOT_USABLE
    if strict and any(_rejected_count(result) for result in results):
        return ExitCode.RECORDS_REJECTED
    return ExitCode.DONE


@contextmanager
def _bar() -> Iterator[Advance | None]:
    """A progress bar on stderr where that is a terminal; None where it is not."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Advance(bar)


class _Advance:
    """Moves one task of a progress bar, which stands for the source that is being read."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None)
        self._source: Source | None = None

    def __call__(self, source: Source) -> None:
        if source is not self._source:
            self._source = source
            self._bar.reset(self._task, description=source.name, total=source.size_bytes)
        self._bar.update(self._task, completed=source.read_position())
