"""How long rows stay: the tables that have an age, and the instant before which theirs are old.

Owns the words of `[retention]`. Refuses to know the present: it is an argument.
"""

import re
from collections.abc import Mapping

from ingest.config import RETENTION_TABLES, Configuration

TABLES = RETENTION_TABLES
NS_PER_HOUR = 3_600_000_000_000
_HOURS = {"h": 1, "d": 24}


def cutoffs(configuration: Configuration, now: int) -> Mapping[str, int]:
    """By table the instant, nanoseconds since 1970, before which its rows are to go."""
    return {
        table: now - _hours(configuration.retention[table]) * NS_PER_HOUR
        for table in TABLES
        if table in configuration.retention
    }


def _hours(age: str) -> int:
    """The hours of an age such as "90d"; the configuration has been checked."""
    found = re.fullmatch(r"(\d+)([dh])", age)
    if found is None:
        raise ValueError(f"{age!r} is no age such as 90d")
    return int(found[1]) * _HOURS[found[2]]
