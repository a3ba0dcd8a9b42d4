"""What can go wrong below the command line, with evidence and what to do next.

Owns the root error of the package. Refuses to hide a cause: each error says what was found,
where, and which action helps.
"""


class LedgerError(Exception):
    """Data, configuration or a ledger that cannot be used as it is."""


class ConfigurationError(LedgerError):
    """The configuration file says something that cannot be understood."""


class UnreadableSourceError(LedgerError):
    """A file that is no data of any known kind: empty, a pointer, truncated, an error page."""


class LedgerMissingError(LedgerError):
    """There is no ledger where one was asked for."""


class LedgerLockedError(LedgerError):
    """Another process holds the ledger."""


class LedgerVersionError(LedgerError):
    """The ledger was written by another version of the schema."""
