"""`[retention]`: which tables may be given an age, and what an age is.

Owns the words of an age. Refuses a table that has none, and an age that is no number of days or
hours.
"""

import difflib
import re
from collections.abc import Mapping

from ingest.config_values import shown
from ingest.errors import ConfigurationError

RETENTION_TABLES = (
    "contents",
    "spans",
    "tool_runs",
    "retrievals",
    "rejects",
    "deliveries",
    "calls",
)
"""Tables whose rows may be given an age, in the order in which they go."""

HOURS = {"h": 1, "d": 24}
AGE = re.compile(r"([1-9]\d{0,4})([dh])")


def refuse_unknown_ages(tables: object, path: str) -> None:
    """Raise `ConfigurationError` for a key or an age under `[retention]` that is not known."""
    if not isinstance(tables, Mapping):
        return
    for table, age in tables.items():
        if table not in RETENTION_TABLES:
            near = difflib.get_close_matches(table, RETENTION_TABLES, n=1, cutoff=0.5)
            known = ", ".join(RETENTION_TABLES)
            hint = f"did you mean {near[0]!r}?" if near else f"known tables: {known}"
            raise ConfigurationError(f"{path}: [retention] knows no table {table!r}; {hint}")
        if isinstance(age, str) and not AGE.fullmatch(age):
            raise ConfigurationError(
                f"{path}: retention.{table} is {shown(age)}; it must be an age in days or hours, "
                'such as "90d" or "12h"'
            )


def hours(age: str) -> int:
    """The hours of an age such as "90d". Raises `ValueError` for what is none."""
    found = AGE.fullmatch(age)
    if found is None:
        raise ValueError(f"{age!r} is no age such as 90d")
    return int(found[1]) * HOURS[found[2]]
