"""What is said where a database cannot be read.

Owns the sentence for each way in which that happens, with what to do next. Refuses to show a
secret of the address.
"""

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ingest.databases.address import Address
from ingest.errors import LedgerError

_HINTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("password authentication failed", "no password supplied", "access denied for user"),
        "check user and password; a password may also stand in PGPASSWORD or in ~/.pgpass",
    ),
    (
        ("name or service not known", "could not translate host", "resolve host", "nodename nor"),
        "there is no such host; check the name in the address",
    ),
    (
        ("connection refused", "no such file or directory", "can't connect"),
        "nothing listens there; check host and port, and that the server runs",
    ),
    (("timeout", "timed out"), "the server does not answer; check host, port and firewalls"),
    (("permission denied", "must be owner"), "ask for the right: grant select on the table"),
    (
        ('database "', 'relation "', "no such table", "unknown database"),
        "check the name in the address",
    ),
    (("database is locked",), "another process holds the file; wait for it and run again"),
)
_OTHERWISE = "mend that and run the command again; what was taken already is not taken twice"


class DatabaseSourceError(LedgerError):
    """A database or a table that cannot be read; the message shows no secret."""

    def __init__(self, address: Address, found: str) -> None:
        self.found = address.without_secrets(found)
        super().__init__(f"{address.shown}: {self.found}")


def told(address: Address, error: SQLAlchemyError) -> DatabaseSourceError:
    """The error that tells what the driver said, on one line, and what to do."""
    said = str(error.orig if isinstance(error, DBAPIError) else error)
    first = next((line.strip() for line in reversed(_telling_lines(said))), type(error).__name__)
    hint = next((hint for words, hint in _HINTS if _has(said, words)), _OTHERWISE)
    return DatabaseSourceError(address, f"{first}; {hint}")


def _telling_lines(said: str) -> list[str]:
    lines = [line for line in said.splitlines() if line.strip()]
    fatal = [line for line in lines if "FATAL" in line or "ERROR" in line]
    return fatal or lines[:1]


def _has(said: str, words: tuple[str, ...]) -> bool:
    return any(word in said.lower() for word in words)
