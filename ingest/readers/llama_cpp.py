"""Reads answers of llama.cpp's server, which tell by `timings` what each phase took.

Owns the two counts of a prompt, of what was processed and of what the cache held, and the placing
of the phases before `created`, the second in which the answer was made. Refuses to place them
where there is none.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.timing import outside_notes, quality
from ingest.calls.tokens import buckets, token_count
from ingest.files import Source
from ingest.readers.documents import records
from ingest.readers.identity import Occurrences, canonical_bytes
from ingest.readers.instants import NS_PER_MS, NS_PER_S, held, whole_instant
from ingest.readers.latest import latest
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_COUNT_KEYS = (b'"prompt_n"', b'"predicted_n"')
_PLACED = "phases end in the second of `created`"
_CHAT = "chat.completion"


class LlamaCpp:
    """Answers of llama.cpp's server."""

    name = "llama-cpp"
    title = "llama.cpp server answers, JSON or JSON lines"
    recognised_by = "a JSON object with timings, and prompt_n and predicted_n inside"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such an answer."""
        return "timings" in opening(head).keys and all(key in head for key in _COUNT_KEYS)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls; of the chunks of a stream the last counts."""
        return batches(latest(_calls(source)))


def _calls(source: Source) -> Iterator[Call | Reject]:
    occurrences = Occurrences(LlamaCpp.name)
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            record = record_of(document.value)
            if not _is_part(record):
                yield _call_of(record, occurrences)
        except ValueError as error:
            yield rejected(document.where, error, document.value)


def _is_chunk(record: Mapping[str, Json]) -> bool:
    return str(record.get("object")).endswith(".chunk")


def _is_part(record: Mapping[str, Json]) -> bool:
    """Whether this is a chunk of a stream whose timings another one tells: the last does."""
    return record.get("stop") is False or (_is_chunk(record) and record.get("timings") is None)


def _call_of(record: Mapping[str, Json], occurrences: Occurrences) -> Call:
    timings = record.get("timings")
    if not isinstance(timings, dict):
        raise RecordError("an answer without timings")
    prompt_ns, predicted_ns = (_duration(timings, key) for key in ("prompt_ms", "predicted_ms"))
    times = _times(record, prompt_ns, predicted_ns)
    is_chat = str(record.get("object")).startswith(_CHAT)
    call: dict[str, Any] = {
        "operation": "chat" if is_chat else "text_completion",
        "model": text_or_none(record.get("model")),
        "finish_reason": _finish_reason(record),
        "stream": True if _is_chunk(record) else None,
        **times,
        **_tokens(record, timings),
    }
    placing = _PLACED
    if times["ended_at"] is None:
        placing = f"no `created`: {_phases(prompt_ns, predicted_ns)} have no place in time"
    notes = [call["tokens_note"], placing, *outside_notes(call)]
    call["tokens_note"] = "; ".join(note for note in notes if note)
    return Call(identity=_identity(record, occurrences), **call)


def _identity(record: Mapping[str, Json], occurrences: Occurrences) -> str:
    """The answer's own id, which the native route does not give."""
    answer_id = record.get("id")
    if isinstance(answer_id, str) and answer_id:
        return f"{LlamaCpp.name}:{answer_id}"
    return occurrences.identity(canonical_bytes(record))


def _times(
    record: Mapping[str, Json], prompt_ns: int | None, predicted_ns: int | None
) -> dict[str, Any]:
    """Start, first token and end: the phases last as measured, and end when `created` says."""
    created = record.get("created")
    second = whole_instant(created)
    if created is not None and second is None:
        raise RecordError(f"created {str(created)[:40]!r} is no whole number of seconds")
    ended_at = held(second * NS_PER_S) if second else None
    first_token_at = _before(ended_at, predicted_ns)
    started_at = _before(first_token_at, prompt_ns)
    return {
        "started_at": started_at,
        "first_token_at": first_token_at,
        "ended_at": ended_at,
        "timing_source": "tokens" if started_at is None else "engine",
        "timing_quality": quality(None, started_at, first_token_at, ended_at),
    }


def _before(at: int | None, duration_ns: int | None) -> int | None:
    """The instant that lies a duration before `at`; None where either is absent."""
    return None if at is None or duration_ns is None else held(at - duration_ns)


def _duration(timings: Mapping[str, Json], key: str) -> int | None:
    """Nanoseconds of a count of milliseconds, None where it is absent."""
    value = timings.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RecordError(f"{key} {str(value)[:40]!r} is no number of milliseconds")
    return round(value * NS_PER_MS)


def _phases(prompt_ns: int | None, predicted_ns: int | None) -> str:
    """What the phases took, in words."""
    took = {"prefill": prompt_ns, "decode": predicted_ns}
    named = [f"{name} of {ns / NS_PER_MS:g} ms" for name, ns in took.items() if ns is not None]
    return " and ".join(named) or "its phases"


def _tokens(record: Mapping[str, Json], timings: Mapping[str, Json]) -> dict[str, Any]:
    """The buckets: `prompt_n` was processed, the rest of the prompt came from the cache."""
    usage = record.get("usage")
    reported = usage if isinstance(usage, dict) else {}
    whole = token_count(reported.get("prompt_tokens", record.get("tokens_evaluated")))
    processed, cached = token_count(timings.get("prompt_n")), token_count(timings.get("cache_n"))
    if cached is None and whole is not None and processed is not None and whole >= processed:
        cached = whole - processed
    prompt = whole if processed is None else processed + (cached or 0)
    output = token_count(timings.get("predicted_n"))
    made = buckets(
        input_tokens=prompt,
        output_tokens=reported.get("completion_tokens") if output is None else output,
        cache_read_tokens=cached,
        total_tokens=None if prompt is None or output is None else prompt + output,
    ).columns()
    told = reported.get("prompt_tokens"), reported.get("completion_tokens")
    notes = [made["tokens_note"], *_disagreements(told, (prompt, output))]
    return {**made, "tokens_note": "; ".join(note for note in notes if note) or None}


def _disagreements(
    told: tuple[Json, Json], counted: tuple[int | None, int | None]
) -> Iterator[str]:
    """Where usage and timings of one answer are not the same counts."""
    for name, usage, timed in zip(("input", "output"), told, counted, strict=True):
        count = token_count(usage)
        if count is not None and timed is not None and count != timed:
            yield f"usage tells {count} {name} tokens, timings {timed}"


def _finish_reason(record: Mapping[str, Json]) -> str | None:
    choices = record.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else record
    if not isinstance(first, dict):
        return None
    return text_or_none(first.get("finish_reason") or first.get("stop_type"))
