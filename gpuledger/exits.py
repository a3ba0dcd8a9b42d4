"""The exit codes of every command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says."""

    DONE = 0
    CHECK_FAILED = 1
    WRONG_USAGE = 2
    RECORDS_REJECTED = 3
    NOT_USABLE = 4
