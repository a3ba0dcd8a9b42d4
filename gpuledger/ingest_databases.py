"""The part of `gpuledger ingest` that reads databases.

Owns the hint where the packages for it are not installed, and the proposal of a mapping on stdout.
Refuses to import SQLAlchemy where no database is named.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console
from rich.markup import escape

from ingest.config import Configuration
from ingest.databases.address import INSTALL
from ingest.deliver import DeliveryResult
from ingest.errors import LedgerError
from ingest.ledger import Ledger
from ingest.readers.mapping_file import RowMapping
from ingest.store.deliveries import DeliveryCounts


def taken_from_databases(
    ledger: Ledger,
    addresses: Sequence[str],
    configuration: Configuration,
    mapping: RowMapping | None,
    table: str | None,
) -> list[DeliveryResult | None]:
    """What became of the table of each address; None for one of which a mapping is proposed.

    Raises `LedgerError` where SQLAlchemy is not installed.
    """
    try:
        from ingest.databases.deliver import (  # noqa: PLC0415 - an optional extra
            Proposal,
            deliver_databases,
        )
    except ModuleNotFoundError as error:
        raise LedgerError(
            f"a database is read with {error.name}, which is not installed; {INSTALL}"
        ) from None
    with _counter() as progress:
        found = deliver_databases(
            ledger, addresses, configuration, mapping=mapping, table=table, progress=progress
        )
    results: list[DeliveryResult | None] = []
    for each in found:
        if isinstance(each, Proposal):
            _propose(each.source, each.text)
        results.append(None if isinstance(each, Proposal) else each)
    return results


@contextmanager
def _counter() -> Iterator[Callable[[str, DeliveryCounts], None] | None]:
    """Rows so far on stderr where that is a terminal; None where it is not."""
    if not sys.stderr.isatty():
        yield None
        return
    with Console(stderr=True).status("reading") as status:
        yield lambda source, counts: status.update(
            escape(f"{source}: {counts.read:,} rows read, {counts.new:,} new")
        )


def _propose(source: str, text: str) -> None:
    click.echo(text, nl=False)
    click.echo(
        f"not read: {source}: it has no mapping; the one above is proposed from its columns. "
        "Save it as mapping.toml, correct it, and run again with --map mapping.toml",
        err=True,
    )
