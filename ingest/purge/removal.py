"""The removal itself, in the caller's transaction, with the count of rows by table.

Owns which rows go. Refuses to take half of a trace: the calls of the rest would be derived from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ingest.calls.fingerprints import pseudonym
from ingest.config import Configuration
from ingest.ledger import Connection

REMOVED = "rows removed"
ANONYMISED = "figures kept, identities removed"

OF_CALLS = ("prompt_measures", "call_views")
"""Tables that go when calls do."""
OF_CHOSEN = (
    "contents",
    "prompt_measures",
    "spans",
    "tool_runs",
    "retrievals",
    "calls",
    "call_views",
)
"""Tables in the order in which the rows of a chosen trace or user go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """How many rows of `table` were, or would be, treated so."""

    table: str
    action: str
    rows: int


@cache
def statement(name: str) -> str:
    """The text of `ingest/purge/NAME.sql`."""
    return resources.files("ingest.purge").joinpath(f"{name}.sql").read_text("utf-8")


def purge_ledger(
    connection: Connection,
    before: Mapping[str, int],
    *,
    traces: Sequence[str] = (),
    users: Sequence[str] = (),
    configuration: Configuration,
) -> list[Removed]:
    """What left each table: rows older than `before` says of it, `traces`, and all of `users`.

    A user is found by the id and by its hash under the key of `configuration`.
    """
    removed = [_by_age(connection, table, instant) for table, instant in before.items()]
    if "calls" in before:
        removed += [_by_age(connection, table, before["calls"]) for table in OF_CALLS]
    if traces or users:
        removed += _by_identity(connection, traces, users, configuration)
    removed.append(_counted(connection, "cohorts", "cohorts_unused", {}))
    return removed


def _by_age(connection: Connection, table: str, before: int) -> Removed:
    return _counted(connection, table, f"{table}_by_age", {"before": before})


def _by_identity(
    connection: Connection,
    traces: Sequence[str],
    users: Sequence[str],
    configuration: Configuration,
) -> list[Removed]:
    hashes = [pseudonym(user, configuration) for user in users]
    values = {"traces": list(traces), "users": [*users, *hashes]}
    connection.execute(statement("chosen_traces"), values)
    connection.execute(statement("chosen_calls"), {"users": values["users"]})
    removed = [
        _counted(connection, "rejects", "rejects_of_chosen", values),
        *(_counted(connection, table, f"{table}_of_chosen", {}) for table in OF_CHOSEN),
    ]
    connection.execute("drop table chosen_calls")
    connection.execute("drop table chosen_traces")
    return removed


def _counted(
    connection: Connection, table: str, name: str, values: Mapping[str, object]
) -> Removed:
    ((rows,),) = connection.execute(statement(name), values).fetchall()
    action = ANONYMISED if table in {"calls", "call_views"} else REMOVED
    return Removed(table=table, action=action, rows=int(rows))
