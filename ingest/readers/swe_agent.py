"""Reads trajectories of SWE-agent: one JSON document a run, its steps and what they used together.

Owns the line "not itemised": the run's tokens and cost, which no step tells. Refuses to share them
out among the steps, whose tokens are unknown.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from ingest.calls.missing import TOLD_TOGETHER, missing_note
from ingest.calls.remainders import NOT_ITEMISED
from ingest.calls.timing import quality
from ingest.calls.tokens import buckets, token_count
from ingest.files import Source
from ingest.readers.call_notes import client_cost
from ingest.readers.documents import Document, records
from ingest.readers.identity import canonical_bytes
from ingest.readers.json_text import loads
from ingest.readers.opening import opening
from ingest.readers.reader import batches
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError, rejected
from ingest.readers.span_fields import text_or_none
from ingest.records import Batch, Call, Json, Reject

_STEP_KEYS = (b'"action"', b'"observation"', b'"response"')


class SweAgent:
    """Trajectories of SWE-agent."""

    name = "swe-agent"
    title = "SWE-agent trajectory, JSON"
    recognised_by = "a JSON object with trajectory, of steps with action, observation and response"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the first object is a trajectory."""
        return "trajectory" in opening(head).keys and all(key in head for key in _STEP_KEYS)

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of calls: one a step, and one line for what they used; none has a time."""
        return batches(_calls(source))


def _calls(source: Source) -> Iterator[Call | Reject]:
    for document in records(source):
        if isinstance(document, Reject):
            yield document
            continue
        try:
            run = record_of(document.value)
            steps = run.get("trajectory")
            if not isinstance(steps, list):
                raise RecordError("no trajectory: no list of steps")
            digest = hashlib.blake2b(canonical_bytes(run), digest_size=16).hexdigest()
        except ValueError as error:
            yield rejected(document.where, error, document.value)
            continue
        yield from _run(document, run, f"{SweAgent.name}:{digest}")


def _run(document: Document, run: Mapping[str, Json], identity: str) -> Iterator[Call | Reject]:
    """The calls of one run, then its line "not itemised"."""
    model, call_count = _model(run), 0
    is_told = _tells_output(run.get("info"))
    for index, step in enumerate(run["trajectory"]):
        try:
            answer = text_or_none(record_of(step).get("response"))
        except ValueError as error:
            yield rejected(document.at(f"trajectory[{index}]"), error, step)
            continue
        if answer is not None:
            call_count += 1
            yield _step(f"{identity}:{index}", answer, model, is_told=is_told)
    try:
        total = _total(run.get("info"), f"{identity}:total", call_count, model)
    except ValueError as error:
        yield rejected(document.at("info"), error, run.get("info"))
        return
    if total is not None:
        yield total


def _tells_output(info: Json) -> bool:
    """Whether the run tells what its steps put out together."""
    stats = info.get("model_stats") if isinstance(info, dict) else None
    return isinstance(stats, dict) and token_count(stats.get("tokens_received")) is not None


def _step(identity: str, answer: str, model: str | None, *, is_told: bool) -> Call:
    """The call of one step, which tells neither tokens nor time; `is_told`: the run tells them."""
    note = missing_note(
        None, None, status="ok", http_status=None, is_stream=False, operation="chat"
    )
    return Call(
        identity=identity,
        timing_source="tokens",
        timing_quality=quality(None, None, None, None),
        tokens_source="unknown",
        tokens_note=f"{note}; {TOLD_TOGETHER}" if is_told else note,
        model_requested=model,
        model=model,
        completion=answer,
    )


def _total(info: Json, identity: str, step_count: int, model: str | None) -> Call | None:
    """What the calls of a run used together; None where it does not tell.

    Its cost is that of the instance: `total_cost` adds up the runs before it.
    """
    stats = {} if info is None else record_of(info).get("model_stats")
    if not stats:
        return None
    stats = record_of(stats)
    call: dict[str, Any] = {
        "operation": NOT_ITEMISED,
        "timing_source": "tokens",
        "timing_quality": quality(None, None, None, None),
        "model_requested": model,
        "model": model,
        **buckets(
            input_tokens=stats.get("tokens_sent"), output_tokens=stats.get("tokens_received")
        ).columns(),
        **client_cost(stats, "instance_cost"),
    }
    api_calls = token_count(stats.get("api_calls"))
    count = step_count if api_calls is None else api_calls
    notes = [call["tokens_note"], f"not itemised: {count} model calls used it together"]
    if count != step_count:
        notes.append(f"{step_count} of them are steps")
    call["tokens_note"] = "; ".join(note for note in notes if note)
    return Call(identity=identity, **call)


def _model(run: Mapping[str, Json]) -> str | None:
    """The model that the run's configuration names, where the trajectory holds it."""
    configuration = run.get("replay_config")
    if isinstance(configuration, str):
        try:
            configuration = loads(configuration.encode("utf-8", "replace"))
        except ValueError:
            return None
    for key in ("agent", "model", "name"):
        configuration = configuration.get(key) if isinstance(configuration, dict) else None
    return text_or_none(configuration) if isinstance(configuration, str) else None
