"""The instants before which rows are old, from the ages of `[retention]`.

Owns nothing but that sum. Refuses to know the present: it is an argument.
"""

from collections.abc import Mapping

from ingest.config import Configuration
from ingest.config_retention import RETENTION_TABLES, hours

TABLES = RETENTION_TABLES
NS_PER_HOUR = 3_600_000_000_000


def cutoffs(configuration: Configuration, now: int) -> Mapping[str, int]:
    """By table the instant, nanoseconds since 1970, before which its rows are to go."""
    return {
        table: now - hours(configuration.retention[table]) * NS_PER_HOUR
        for table in TABLES
        if table in configuration.retention
    }
