"""Token counts of one call from all its views.

Owns which view's count is taken: the innermost that has it. Refuses to add counts of two views,
and to mix a total of one view with the counts of another.
"""

from collections.abc import Mapping, Sequence

from ingest.calls.aliases import FieldName
from ingest.calls.reading import Reading
from ingest.calls.tokens import Buckets, buckets, token_count

COUNTS: tuple[FieldName, ...] = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_tokens",
)
REPEATED_NOTE = "is there several times, its last value counts"
_PARTS: dict[FieldName, tuple[FieldName, ...]] = {
    "input_tokens": ("cache_read_tokens", "cache_write_tokens"),
    "output_tokens": ("reasoning_tokens",),
}


def usage(
    views: Sequence[Reading], *, streamed_chunks: int | None = None, is_of_engine: bool = False
) -> tuple[Buckets, list[str]]:
    """The buckets of the call seen by `views`, innermost first, with what did not agree.

    `is_of_engine` says that the innermost is an engine's own.
    """
    read = [_counts(view) for view in views]
    notes = [note for _, conflicts in read for note in conflicts]
    merged: dict[FieldName, object] = {}
    owner: dict[FieldName, int] = {}
    for position, (counts, _) in enumerate(read):
        for field, value in counts.items():
            if field not in merged:
                merged[field], owner[field] = value, position
    _drop_foreign_total(merged, owner)
    if len(read) > 1:
        notes += _drop_foreign_parts(merged, owner)
        notes += _disagreements([counts for counts, _ in read])
    return _buckets(merged, streamed_chunks, is_of_engine=is_of_engine), notes


def _counts(view: Reading) -> tuple[dict[FieldName, object], list[str]]:
    """The first good value of each count, and where two names in one row disagree."""
    counts: dict[FieldName, object] = {}
    conflicts: list[str] = []
    repeated_keys = view.repeated_keys
    for field in COUNTS:
        if not view.has(field):
            continue
        given = [(alias.name, value, token_count(value)) for alias, value in view.all(field)]
        good = [(name, count) for name, _, count in given if count is not None]
        if given:
            counts[field] = good[0][1] if good else given[0][1]
        conflicts += [
            f"{field}: {name} {REPEATED_NOTE}" for name, _, _ in given if name in repeated_keys
        ]
        if len(good) > 1 and len({count for _, count in good}) > 1:
            values = ", ".join(f"{name}={count}" for name, count in good)
            conflicts.append(f"{field} disagree: {values}")
    return counts, conflicts


def _drop_foreign_total(merged: dict[FieldName, object], owner: dict[FieldName, int]) -> None:
    """A total checks the counts of its own view only."""
    total_of = owner.get("total_tokens")
    if total_of is not None and not (
        owner.get("input_tokens") == total_of == owner.get("output_tokens", total_of)
    ):
        merged.pop("total_tokens", None)


def _drop_foreign_parts(merged: dict[FieldName, object], owner: dict[FieldName, int]) -> list[str]:
    """Parts of another view's whole stay only where they fit into this one."""
    notes = []
    for whole, all_parts in _PARTS.items():
        parts = [part for part in all_parts if part in owner and owner[part] != owner.get(whole)]
        size = sum(token_count(merged[part]) or 0 for part in parts)
        if whole in owner and size > (token_count(merged[whole]) or 0):
            notes.append(f"{', '.join(parts)} of another view exceed {whole}, left out")
            for part in parts:
                del merged[part]
    return notes


def _disagreements(views: Sequence[dict[FieldName, object]]) -> list[str]:
    """Where two views of one call report different sums of input or output."""
    wholes = {(view.get("input_tokens"), view.get("output_tokens")) for view in views}
    if len(wholes) == 1 and all(map(_has_parts_inside, views)):
        return []
    notes = []
    sums = [_buckets(view, None) for view in views]
    for name in ("input_tokens", "output_tokens"):
        known = [count for found in sums if (count := getattr(found, name)) is not None]
        if len(set(known)) > 1:
            notes.append(f"views disagree on {name}: {', '.join(map(str, known))}")
    return notes


def _has_parts_inside(view: Mapping[FieldName, object]) -> bool:
    """Whether input and output are sums as they stand: no total, no part that exceeds its whole."""
    return "total_tokens" not in view and all(
        sum(token_count(view.get(part)) or 0 for part in parts)
        <= (token_count(view.get(whole)) or 0)
        for whole, parts in _PARTS.items()
    )


def _buckets(
    counts: Mapping[FieldName, object], streamed_chunks: int | None, *, is_of_engine: bool = False
) -> Buckets:
    named: dict[str, object] = {field: counts.get(field) for field in COUNTS}
    return buckets(**named, streamed_chunks=streamed_chunks, is_cache_inside=is_of_engine)
