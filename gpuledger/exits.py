"""The exit codes of every command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says.

    Wrong usage is what the user wrote, on the command line or in the configuration; not usable is
    what a ledger, a file of data or an engine is.
    """

    DONE = 0
    CHECK_FAILED = 1
    WRONG_USAGE = 2
    RECORDS_REJECTED = 3
    NOT_USABLE = 4
