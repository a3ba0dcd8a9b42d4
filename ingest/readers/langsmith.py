"""Reads runs of LangSmith: batches as its clients send them, and runs as its API lists them.

Owns the merging of what a client posts when a run begins with what it patches when it ends.
Refuses to hold the runs of a whole source: so many that have not ended wait.
"""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from ingest.files import Source
from ingest.readers.documents import Document, records
from ingest.readers.instants import NS_PER_MS, held, instant_of_text
from ingest.readers.json_text import bounded
from ingest.readers.langsmith_usage import metadata_of, model_call
from ingest.readers.named_ids import named_span_id, named_trace_id
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Json, Reject, Span, SpanEvent

MAX_OPEN_RUNS = 4_096
_BATCH_LISTS = ("post", "patch", "runs")
_RUN = frozenset({"id", "run_type"})
_TELLING = frozenset({"dotted_order", "trace_id", "start_time", "session_id", "parent_run_id"})
_CALLS = {"llm": "LLM", "embedding": "EMBEDDING"}
_KINDS = {**_CALLS, "tool": "TOOL", "retriever": "RETRIEVER"}
_PART = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{0,6})Z(.*)")
_EMPTY: tuple[Json, ...] = (None, "", {}, [])
_ERROR_TYPE = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Timeout|Interrupt))\b")


class LangSmith:
    """Runs of LangSmith."""

    name = "langsmith"
    title = "LangSmith runs, JSON or JSON lines"
    recognised_by = (
        "a JSON object with post and patch, or runs, that have a run_type; or runs with id, "
        "run_type and dotted_order, trace_id, session_id or start_time"
    )

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is such a batch or run."""
        keys = opening(head).keys
        if keys & set(_BATCH_LISTS) and not keys >= _RUN:
            return b'"run_type"' in head or (b'"dotted_order"' in head and "patch" in keys)
        return keys >= _RUN and bool(keys & _TELLING)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of spans."""
        return batches(_spans(source))


def _spans(source: Source) -> Iterator[Span | Reject]:
    waiting: OrderedDict[str, Document] = OrderedDict()
    for item in _runs(source):
        if isinstance(item, Reject):
            yield item
            continue
        try:
            run = _checked(record_of(item.value))
        except ValueError as error:
            yield rejected(item.where, error, item.value)
            continue
        before = waiting.pop(str(run["id"]), None)
        whole = Document(item.position, run if before is None else _merged(before.value, run))
        if _is_whole(whole.value):
            yield _taken(whole)
            continue
        waiting[str(run["id"])] = whole
        if len(waiting) > MAX_OPEN_RUNS:
            yield _taken(waiting.popitem(last=False)[1])
    for item in waiting.values():
        yield _taken(item)


def _runs(source: Source) -> Iterator[Document | Reject]:
    """Each run with its position; those of a batch in the order in which they happened."""
    for document in records(source, names_nan=True):
        if isinstance(document, Reject):
            yield document
            continue
        lists = _lists(document.value)
        if not lists:
            yield document
        for key, runs in lists.items():
            for index, run in enumerate(runs):
                yield Document(document.at(f"{key}[{index}]"), run)


def _lists(value: Json) -> dict[str, list[Json]]:
    """The lists of runs in a batch; none where the value is a run itself."""
    if not isinstance(value, dict) or value.keys() >= _RUN:
        return {}
    return {key: value[key] for key in _BATCH_LISTS if isinstance(value.get(key), list)}


def _checked(run: dict[str, Json]) -> dict[str, Json]:
    if run.get("id") in _EMPTY:
        raise RecordError("no run: no id")
    return run


def _merged(earlier: Mapping[str, Json], later: Mapping[str, Json]) -> dict[str, Json]:
    """One run of two tellings: the later counts where it says something."""
    return {**earlier, **{key: value for key, value in later.items() if value not in _EMPTY}}


def _is_whole(run: Mapping[str, Json]) -> bool:
    """Whether nothing is left to be told of a run: it began, and it ended."""
    return all(run.get(key) not in _EMPTY for key in ("start_time", "end_time", "run_type"))


def _taken(item: Document) -> Span | Reject:
    try:
        return _span_of(item.value)
    except ValueError as error:
        return rejected(item.where, error, item.value)


def _span_of(run: Mapping[str, Json]) -> Span:
    parts = [part for part in str(run.get("dotted_order") or "").split(".") if part]
    began = _PART.fullmatch(parts[-1]) if parts else None
    root = _PART.fullmatch(parts[0]) if parts else None
    trace_id = named_trace_id(run.get("trace_id") or (root and root[8]) or run["id"])
    error = text_or_none(run.get("error"))
    started_at = _instant(run, "start_time")
    return Span(
        trace_id=trace_id or "",
        span_id=named_span_id(run["id"]) or "",
        parent_span_id=named_span_id(_parent(run, parts)),
        name=text_or_none(run.get("name")) or "",
        kind="client" if _kind(run) in _CALLS else "internal",
        started_at=_begun(began) if started_at is None else started_at,
        ended_at=_instant(run, "end_time"),
        status="error" if error or run.get("status") == "error" else "unset",
        status_message=error,
        attributes=_attributes(run, error),
        events=_first_token(run),
    )


def _kind(run: Mapping[str, Json]) -> str:
    return str(run.get("run_type") or "")


def _parent(run: Mapping[str, Json], parts: list[str]) -> Json:
    """The id of the enclosing run: the last but one of those in its order."""
    parent = run.get("parent_run_id")
    above = _PART.fullmatch(parts[-2]) if parent is None and len(parts) > 1 else None
    return above[8] if above else parent


def _begun(part: re.Match[str] | None) -> int | None:
    """When a run began, by its place in the order of its trace."""
    if part is None:
        return None
    year, month, day, hour, minute, second, fraction, _ = part.groups()
    return instant_of_text(f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction or 0}Z")


def _attributes(run: Mapping[str, Json], error: str | None) -> dict[str, Json]:
    kind = _kind(run)
    own = {key: value for key, value in metadata_of(run).items() if not key.startswith("ls_")}
    error_type = _ERROR_TYPE.match(error) if error else None
    told = {
        "openinference.span.kind": _KINDS.get(kind, "CHAIN"),
        "langsmith.run_type": kind,
        "langsmith.project": run.get("session_name"),
        "gen_ai.conversation.id": own.get("conversation_id"),
        "metadata": {k: v for k, v in own.items() if k != "usage_metadata"} or None,
        "tool.name": run.get("name") if kind == "tool" else None,
        "error.type": error_type[1] if error_type else None,
        "input.value": run.get("inputs"),
        "output.value": run.get("outputs"),
        **(model_call(run) if kind in _CALLS else {}),
    }
    return {name: bounded(value) for name, value in told.items() if value not in _EMPTY}


def _first_token(run: Mapping[str, Json]) -> list[SpanEvent]:
    """The event of the first token, where the run tells it itself or among its events."""
    at = _instant(run, "first_token_time")
    events = run.get("events")
    if at is None and isinstance(events, list):
        tokens = (event for event in map(record_of, events) if event.get("name") == "new_token")
        at = next((_instant(event, "time") for event in tokens), None)
    return [] if at is None else [SpanEvent(name="gen_ai.first_token", at=at)]


def _instant(record: Mapping[str, Json], key: str) -> int | None:
    """An instant as text, or in milliseconds since 1970 as the JavaScript client writes it."""
    value = record.get(key)
    if value in _EMPTY:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return held(value * NS_PER_MS)
    if not isinstance(value, str):
        raise RecordError(f"{key} {str(value)[:40]!r} is no instant")
    return instant_of_text(value)
