"""`gpuledger demo`: the sample becomes a ledger, its bill a table, and the dashboard opens.

Owns the order of these steps and the ledger that it builds. Refuses to replace a ledger that no
demo made.
"""

from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl

from analysis.law import law
from analysis.window import Window
from gpuledger.options import format_option
from gpuledger.output import Format, write_frame
from gpuledger.serve_dashboard import serve
from gpuledger.totals import with_totals
from ingest.config import Configuration, load_configuration
from ingest.deliver import DeliveryResult, deliver_paths
from ingest.errors import LedgerError, LedgerVersionError
from ingest.files import Source
from ingest.ledger import open_for_reading, open_for_writing
from ingest.turn import turn_path
from sample_data.sample import sample_configuration_path, sample_paths

DEFAULT_DEMO_LEDGER = Path("demo/gpuledger.duckdb")
FIRST_MONTH, MONTH_AFTER = "2026-09", "2026-11"
DEMO_FACT = "demo"
HEADLINE = (
    "line", "endpoint", "pool", "basis", "N", "Tp_s", "L_tokens", "Td_s", "B", "price_per_gpu_hour",
    "gpu_seconds", "cost", "currency", "share_ratio",
)  # fmt: skip
"""Columns of `ask law` that the headline table shows."""


@click.command("demo")
@click.option(
    "--ledger",
    "ledger_path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=DEFAULT_DEMO_LEDGER,
    show_default=True,
    help="Where the demo's ledger is built anew.",
)
@click.option("--no-serve", "is_served", flag_value=False, default=True, help="Print and stop.")
@click.option("--port", type=click.IntRange(1, 65_535), default=None, help="Default: 8501 on.")
@format_option
def demo(ledger_path: Path, is_served: bool, port: int | None, output_format: Format) -> None:
    """Build a ledger from the sample, print its bill, serve the dashboard."""
    configuration_path = sample_configuration_path()
    configuration = load_configuration(configuration_path)
    build(ledger_path, configuration)
    print_headline(ledger_path, configuration, output_format)
    if is_served:
        serve(ledger_path, configuration_path, port=port)


def build(ledger_path: Path, configuration: Configuration) -> None:
    """Make the sample's ledger at `ledger_path`, in place of an earlier demo's.

    The old one stays until the new one is complete. Raises `LedgerError` where the file there is
    no demo's.
    """
    refuse_foreign(ledger_path)
    ledger_path.parent.mkdir(parents=True, exist_ok=True)
    fresh = ledger_path.with_name(f"{ledger_path.name}.new")
    for stale in (fresh, fresh.with_name(f"{fresh.name}.wal")):
        stale.unlink(missing_ok=True)
    paths = [str(path) for path in sample_paths()]
    click.echo(f"reading {len(paths)} files of sample traffic", err=True)
    with open_for_writing(fresh, memory_limit=configuration.memory_limit) as ledger:
        ledger.set_fact(DEMO_FACT, "sample_data")
        results = deliver_paths(ledger, paths, configuration, progress=_Teller())
    _tell(results)
    fresh.replace(ledger_path)
    turn_path(fresh).unlink(missing_ok=True)


def refuse_foreign(ledger_path: Path) -> None:
    """Raise `LedgerError` where `ledger_path` holds something that no demo has built."""
    if not ledger_path.exists():
        return
    try:
        with open_for_reading(ledger_path) as ledger:
            is_ours = ledger.fact(DEMO_FACT) is not None
    except LedgerVersionError:
        is_ours = ledger_path == DEFAULT_DEMO_LEDGER
    if not is_ours:
        raise LedgerError(
            f"{ledger_path} is a ledger that no demo has built, and it stays as it is; "
            "name another with --ledger"
        )


def print_headline(
    ledger_path: Path, configuration: Configuration, output_format: Format = "table"
) -> None:
    """Print the law by endpoint over the sample's two months; its lines add up to the bill."""
    window = Window.parse(FIRST_MONTH, MONTH_AFTER, configuration.timezone)
    with open_for_reading(ledger_path, memory_limit=configuration.memory_limit) as ledger:
        answer = law(ledger, configuration, by=("endpoint",), window=window)
        months = law(ledger, configuration, by=("month",), window=window).frame
    frame = with_totals(answer.frame) if output_format == "table" else answer.frame
    write_frame(frame.select(HEADLINE), output_format, title=answer.window.text())
    for note in answer.notes:
        click.echo(note, err=True)
    priced = months.drop_nulls("cost")
    spent = priced.group_by("month", "currency").agg(pl.col("cost").sum()).sort("month")
    for month, currency, cost in spent.iter_rows():
        click.echo(f"{month}: {cost:,.2f} {currency}", err=True)


def _tell(results: Sequence[DeliveryResult]) -> None:
    counts = [result.counts for result in results if result.counts is not None]
    click.echo(
        f"read {sum(one.read for one in counts):,} records: "
        f"{sum(one.new for one in counts):,} new, "
        f"{sum(one.duplicate for one in counts):,} sent twice, "
        f"{sum(one.rejected for one in counts):,} rejected",
        err=True,
    )
    for result in results:
        if result.error is not None:
            raise LedgerError(f"{result.source}: {result.error}; install the sample again")


class _Teller:
    """Names each file on stderr when its reading begins."""

    def __init__(self) -> None:
        self._name: str | None = None

    def __call__(self, source: Source) -> None:
        if source.name != self._name:
            self._name = source.name
            click.echo(f"  {Path(source.name).name}", err=True)
