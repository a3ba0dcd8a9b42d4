"""Which calls are attempts of one operation, and in which order.

Owns the rule: attempts follow each other as their client saw it, all but the last failed, and they
stand under one wrapper, or ask the same in the same place. Refuses to link two answers, and to
call parallel choices a retry.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ingest.calls.outcome import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What decides whether one call repeats another.

    The instants are the client's: an engine may go on after its client gave up. `operation` is the
    wrapper around several calls, `place` what the call is part of otherwise; both are None where
    there is none. `asked` is the kind of operation and the model.
    """

    identity: str
    begun_at: int | None
    ended_at: int | None
    status: Status
    request_id: str | None = None
    operation: str | None = None
    place: str | None = None
    asked: tuple[str, str | None] = ("chat", None)
    input_hash: str | None = None
    input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RetryLink:
    """The place of a call among the attempts of one operation; `retry_of` names the first.

    `owns_wrapper` says that what only their common wrapper knows belongs to this call: it is the
    last one, and the wrapper holds nothing but these attempts.
    """

    attempt: int
    retry_of: str | None
    owns_wrapper: bool


Run = list[Attempt]
"""Attempts of one operation in their order; a call that nothing repeats is a run of its own."""

Alike = Callable[[Attempt, Attempt], bool]
"""Whether two calls may have asked the same."""


def retries(attempts: Sequence[Attempt]) -> dict[str, RetryLink]:
    """Identity to link, for every call that is one of several attempts."""
    runs = _joined([[attempt] for attempt in attempts], _wrapper)
    owners = _owners(runs, attempts)
    runs = _joined(runs, _same_prompt)
    runs = _joined(runs, _same_request, _is_input_alike)
    return {
        attempt.identity: RetryLink(
            attempt=position + 1,
            retry_of=run[0].identity if position else None,
            owns_wrapper=attempt.identity in owners,
        )
        for run in runs
        if len(run) > 1
        for position, attempt in enumerate(run)
    }


def _owners(runs: Sequence[Run], attempts: Sequence[Attempt]) -> set[str]:
    """The last attempts of those wrappers that hold one run alone."""
    sizes = Counter(attempt.operation for attempt in attempts)
    return {
        run[-1].identity
        for run in runs
        if run[0].operation is not None and len(run) == sizes[run[0].operation]
    }


def _wrapper(first: Attempt) -> Hashable:
    return first.operation


def _same_prompt(first: Attempt) -> Hashable:
    if first.place is None or first.input_hash is None:
        return None
    return (first.place, first.asked, first.input_hash)


def _same_request(first: Attempt) -> Hashable:
    return None if first.place is None else (first.place, first.asked)


def _joined(
    runs: Sequence[Run],
    group_of: Callable[[Attempt], Hashable],
    is_alike: Alike | None = None,
) -> list[Run]:
    """`runs` with those of a group joined that repeat each other; group None joins nothing.

    A run is repeated by the next one that begins in its group, or by none.
    """
    latest: dict[Hashable, Run] = {}
    joined: list[Run] = []
    for run in sorted(runs, key=_begin):
        group = group_of(run[0])
        before = None if group is None else latest.get(group)
        if before is not None and _repeats(before[-1], run[0], is_alike):
            before.extend(run)
        else:
            joined.append(run)
            latest[group] = run
    return joined


def _begin(run: Run) -> tuple[int, str]:
    return (run[0].begun_at or 0, run[0].identity)


def _repeats(earlier: Attempt, later: Attempt, is_alike: Alike | None) -> bool:
    if earlier.status == "ok" or earlier.ended_at is None or later.begun_at is None:
        return False
    if earlier.request_id is not None and earlier.request_id == later.request_id:
        return False
    is_next = earlier.ended_at <= later.begun_at
    return is_next and (is_alike is None or is_alike(earlier, later))


def _is_input_alike(earlier: Attempt, later: Attempt) -> bool:
    """Whether nothing known of the two prompts differs: their hashes, else their lengths."""
    if earlier.input_hash is not None and later.input_hash is not None:
        return earlier.input_hash == later.input_hash
    if earlier.input_tokens is not None and later.input_tokens is not None:
        return earlier.input_tokens == later.input_tokens
    return True
