"""The address of a database: what is shown of it and what is kept, both without its secrets.

Owns the recognition of an address among paths and the removal of passwords from messages. Refuses
to print, store or pass on a password. Knows no driver, so that an address is told from a path
where none is installed.
"""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote

INSTALL = "pip install 'gpuledger[databases]'"
"""What brings SQLAlchemy and the driver of PostgreSQL."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\+[A-Za-z0-9_]+)?://")
_TOLD_OPTIONS = ("host", "port", "service", "dbname")
"""Options of an address that tell which database it is; the others may be secrets."""
_SECRET_OPTIONS = re.compile(r"pass|secret|token|key", re.IGNORECASE)
_HIDDEN = "***"


def is_database_address(text: str) -> bool:
    """Whether `text` is an address such as postgresql+psycopg://user@host/database."""
    return _ADDRESS.match(text) is not None


@dataclass(frozen=True, slots=True)
class Address:
    """An address as it was given; `shown` and `key` are the ways to tell it to others."""

    given: str

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def backend(self) -> str:
        """The kind of database, without its driver: postgresql, sqlite, ..."""
        return _split(self.given).scheme.split("+")[0].lower()

    @property
    def shown(self) -> str:
        """The address without password and without options that may be one."""
        parts = _split(self.given)
        return f"{parts.scheme}://{_authority(parts)}{parts.path}{_options(parts)}"

    @property
    def key(self) -> str:
        """What stays the same whatever driver and password are used."""
        parts = _split(self.given)
        return f"{self.backend}://{_authority(parts)}{parts.path}{_options(parts)}"

    def without_secrets(self, message: str) -> str:
        """`message` with every secret of the address hidden, as given or as decoded."""
        message = message.replace(self.given, self.shown)
        for secret in sorted(self._secrets(), key=len, reverse=True):
            message = message.replace(secret, _HIDDEN)
        return message

    def _secrets(self) -> set[str]:
        parts = _split(self.given)
        user = parts.netloc.rpartition("@")[0]
        password = user.partition(":")[2]
        options = [v for k, v in parse_qsl(parts.query) if _SECRET_OPTIONS.search(k)]
        return {secret for secret in (password, unquote(password), *options) if secret}


def _split(given: str) -> SplitResult:
    """The parts of an address; the first `?` ends the path, as drivers read it."""
    scheme, _, rest = given.partition("://")
    before, _, query = rest.partition("?")
    netloc, slash, path = before.partition("/")
    if "@" in path:  # a password with a slash that was not written as %2F
        more, slash, path = before.rpartition("@")[2].partition("/")
        netloc = f"{before.rpartition('@')[0]}@{more}"
    return SplitResult(scheme, netloc, f"{slash}{path}", query, "")


def _authority(parts: SplitResult) -> str:
    user, at, host = parts.netloc.rpartition("@")
    return f"{user.partition(':')[0]}{at}{host}"


def _options(parts: SplitResult) -> str:
    told = [f"{k}={v}" for k, v in parse_qsl(parts.query) if k in _TOLD_OPTIONS]
    return f"?{'&'.join(sorted(told))}" if told else ""
