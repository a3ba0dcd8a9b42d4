"""Scopes: which calls a table such as `[[budgets]]` is about, by columns of a call.

Owns the columns that a scope may name. Refuses any other with the nearest one, and one scope given
twice for the same time, as two SLOs of one endpoint are.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ingest.errors import ConfigurationError

SCOPE_COLUMNS = (
    "endpoint",
    "feature",
    "team",
    "tenant",
    "user_id",
    "service",
    "environment",
    "region",
    "operation",
    "provider",
    "model",
    "pool",
    "adapter",
)
"""What the calls of a budget may be told by."""


def refuse_unknown_scopes(
    tables: object, name: str, path: str, columns: Sequence[str] = SCOPE_COLUMNS
) -> None:
    """Raise `ConfigurationError` where a scope under `[[name]]` has a column that is none."""
    for index, table in enumerate(tables if isinstance(tables, list) else []):
        scope = table.get("scope") if isinstance(table, Mapping) else None
        for column in scope if isinstance(scope, Mapping) else ():
            if column not in columns:
                near = difflib.get_close_matches(column, columns, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(columns)}"
                raise ConfigurationError(
                    f"{path}: {name}[{index}].scope cannot select by {column!r}; {hint}"
                )


def refuse_same_scopes(budgets: Iterable[tuple[Mapping[str, Any], str]], path: str) -> None:
    """Raise where two of `budgets`, scope and month of each, are of the same calls."""
    seen: dict[tuple[Any, ...], int] = {}
    for index, (scope, month) in enumerate(budgets):
        first = seen.setdefault((month, *sorted(scope.items())), index)
        if first != index:
            raise ConfigurationError(
                f"{path}: budgets[{first}] and budgets[{index}] have the same scope in {month}; "
                "remove one"
            )


def refuse_same_endpoints(endpoints: Iterable[str], path: str) -> None:
    """Raise where two SLOs, of which these are the `endpoints`, promise for the same one."""
    seen: dict[str, int] = {}
    for index, endpoint in enumerate(endpoints):
        first = seen.setdefault(endpoint, index)
        if first != index:
            raise ConfigurationError(
                f"{path}: slos[{first}] and slos[{index}] are both of {endpoint!r}; make them one"
            )
