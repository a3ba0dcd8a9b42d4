"""One purge from beginning to end: the inbox settled, rows removed, both files written anew.

Owns the order of the steps. Refuses to begin while something waits that could bring back what is
about to go.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ingest.config import Configuration
from ingest.errors import LedgerMissingError
from ingest.ledger import open_for_writing
from ingest.purge.removal import Removed, purge_ledger
from ingest.purge.rewriting import due_mark, rewrite, rewrite_inbox, set_due
from ingest.receiver.beside import inbox_path
from ingest.receiver.inbox import Inbox
from ingest.receiver.settle import MAX_FAILURES, Settler


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What is to go: rows older than `before` says by table (ns since 1970), traces, users."""

    before: Mapping[str, int]
    traces: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What went, or would go, and the size of the ledger's file before and after, in bytes.

    `left_count` is of requests in the receiver's inbox that the ledger cannot take: not purged.
    `is_rewritten` says whether the file was written anew; where nothing went it is not.
    """

    removed: tuple[Removed, ...]
    size_before: int
    size_after: int
    left_count: int = 0
    is_rewritten: bool = False


class _DryRunError(Exception):
    """Ends the transaction of a dry run."""


def purge(path: Path, asked: Purge, configuration: Configuration) -> Purged:
    """Carry out `asked` on the ledger at `path` and on its inbox.

    Raises `LedgerMissingError` where there is no ledger, and what `open_for_writing` raises.
    """
    if not path.exists():
        raise LedgerMissingError(f"no ledger at {path}; name another with --ledger")
    size_before = path.stat().st_size
    left_count = 0 if asked.is_dry_run else _settle_inbox(path, configuration)
    removed = _removed(path, asked, configuration)
    if asked.is_dry_run:
        return Purged(removed=removed, size_before=size_before, size_after=size_before)
    is_due = due_mark(path).exists()
    if is_due:
        rewrite(path, memory_limit=configuration.memory_limit)
        if inbox_path(path).exists():
            rewrite_inbox(inbox_path(path))
        due_mark(path).unlink()
    return Purged(
        removed=removed,
        size_before=size_before,
        size_after=path.stat().st_size,
        left_count=left_count,
        is_rewritten=is_due,
    )


def _removed(path: Path, asked: Purge, configuration: Configuration) -> tuple[Removed, ...]:
    with (
        open_for_writing(path, memory_limit=configuration.memory_limit) as ledger,
        suppress(_DryRunError),
        ledger.transaction() as connection,
    ):
        removed = purge_ledger(
            connection,
            asked.before,
            traces=asked.traces,
            users=asked.users,
            configuration=configuration,
        )
        if asked.is_dry_run:
            raise _DryRunError
        if any(row.rows for row in removed):
            set_due(path)
    return tuple(removed)


def _settle_inbox(path: Path, configuration: Configuration) -> int:
    """Take what the receiver has acknowledged by now into the ledger: it is purged with the rest.

    Returns the requests that the ledger could not take, and that stay where they are.
    """
    waiting = inbox_path(path)
    if not waiting.exists():
        return 0
    with Inbox(waiting, max_bytes=0) as inbox:
        settler = Settler(path, inbox, configuration)
        last = inbox.last_arrival_id()
        while _oldest(inbox) <= last:
            settler.settle(until=0)
        return inbox.failed_count(MAX_FAILURES)


def _oldest(inbox: Inbox) -> float:
    """The number of the oldest request that may be taken; infinity where there is none."""
    waiting = inbox.waiting(max_bytes=0, max_records=0, max_failures=MAX_FAILURES)
    return waiting[0].arrival_id if waiting else math.inf
