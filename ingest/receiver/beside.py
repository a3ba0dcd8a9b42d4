"""The inbox as it lies beside a ledger, for who does not receive.

Owns its name and the count of what waits in it. Refuses to make one, or to change it.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from ingest.errors import LedgerError

INBOX_SUFFIX = ".inbox"


def inbox_path(ledger_path: Path) -> Path:
    """The inbox of the ledger at `ledger_path`: the file beside it."""
    return ledger_path.with_name(ledger_path.name + INBOX_SUFFIX)


def waiting_beside(ledger_path: Path) -> int:
    """Requests that wait in the inbox of the ledger at `ledger_path`; 0 where it has none.

    Raises `LedgerError` where it cannot be read.
    """
    path = inbox_path(ledger_path)
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as inbox:
            [(count,)] = inbox.execute("select count(*) from arrivals").fetchall()
    except sqlite3.Error as error:
        raise LedgerError(f"what waits in {path} cannot be read: {error}") from error
    return int(count)
