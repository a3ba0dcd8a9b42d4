"""Columns of a call from an answer of OpenAI's or Anthropic's API, or of one that speaks alike.

Owns what the counts of each dialect mean. Refuses to read an answer without usage as one of no
tokens.
"""

from collections.abc import Mapping
from typing import Any

from ingest.calls.missing import STREAM_WITHOUT_USAGE
from ingest.calls.tokens import buckets, token_count
from ingest.readers.api_events import CHUNKS
from ingest.readers.call_notes import instants, reported_cost
from ingest.readers.claude_usage import claude_columns
from ingest.readers.clock import instant_of
from ingest.readers.record_fields import record_of
from ingest.readers.rejection import RecordError
from ingest.readers.span_fields import text_or_none
from ingest.records import Json

_OPERATIONS = {
    "chat.completion": "chat",
    "text_completion": "text_completion",
    "response": "chat",
    "list": "embeddings",
}
_FAILED = {"failed": "error", "cancelled": "cancelled", "canceled": "cancelled"}
_ANSWERS = ("choices", "output", "usage", "content", "data", "error")


def is_message(answer: Mapping[str, Json]) -> bool:
    """Whether an answer is a message of Anthropic's API."""
    return answer.get("type") == "message" or (
        "stop_reason" in answer and isinstance(answer.get("content"), list)
    )


def identity_of(answer: Mapping[str, Json]) -> str | None:
    """What an answer calls itself; a message is the one that Claude Code's sessions know."""
    answer_id = text_or_none(answer.get("id"))
    if answer_id is None:
        return None
    return f"{'claude-code' if is_message(answer) else 'openai'}:{answer_id}"


def answer_columns(answer: Mapping[str, Json]) -> dict[str, Any]:
    """What an answer tells of its call. Raises `RecordError` where it is none."""
    if not any(key in answer for key in _ANSWERS):
        raise RecordError(f"no answer of a model: none of {', '.join(_ANSWERS)}")
    is_anthropic = is_message(answer)
    usage = answer.get("usage")
    if usage is not None and not isinstance(usage, dict):
        raise RecordError(f"usage {str(usage)[:40]!r} is no object")
    tokens = _claude_tokens(usage) if is_anthropic else _openai_tokens(usage or {}, answer)
    if usage is None and answer.get("stream") and not is_anthropic:
        tokens["tokens_note"] = _joined(tokens["tokens_note"], STREAM_WITHOUT_USAGE)
    operation = _OPERATIONS.get(str(answer.get("object")), "chat")
    if operation == "embeddings" and tokens["uncached_input_tokens"] is not None:
        tokens["visible_output_tokens"] = tokens["visible_output_tokens"] or 0
    return {
        "operation": operation,
        "response_id": text_or_none(answer.get("id")),
        "model": text_or_none(answer.get("model")),
        "provider": "anthropic" if is_anthropic else None,
        "finish_reason": _finish_reason(answer),
        "stream": True if answer.get("stream") is True else None,
        "n_choices": _choice_count(answer),
        **_ending(answer),
        **tokens,
        **(reported_cost(usage.get("cost")) if usage else {}),
        **_times(answer),
    }


def _times(answer: Mapping[str, Json]) -> dict[str, Any]:
    """When the answer was begun, to the second. Its end in whole seconds would be no duration."""
    created = answer.get("created", answer.get("created_at"))
    return instants(instant_of(created, "created") if created else None, None, None)


def _ending(answer: Mapping[str, Json]) -> dict[str, Any]:
    error = answer.get("error")
    status = _FAILED.get(str(answer.get("status")), "error" if error else "ok")
    if status == "ok":
        return {"status": status}
    told = error if isinstance(error, dict) else {}
    return {
        "status": status,
        "error_type": text_or_none(told.get("type") or told.get("code")),
    }


def _openai_tokens(usage: Mapping[str, Json], answer: Mapping[str, Json]) -> dict[str, Any]:
    prompt = _details(usage, "prompt_tokens_details", "input_tokens_details")
    output = _details(usage, "completion_tokens_details", "output_tokens_details")
    cached = (
        prompt.get("cached_tokens"),
        usage.get("cache_read_input_tokens"),
        usage.get("prompt_cache_hit_tokens"),
    )
    written = (prompt.get("created_cache_tokens"), usage.get("cache_creation_input_tokens"))
    made = buckets(
        input_tokens=usage.get("prompt_tokens", usage.get("input_tokens")),
        output_tokens=usage.get("completion_tokens", usage.get("output_tokens")),
        total_tokens=usage.get("total_tokens"),
        cache_read_tokens=_first(*cached),
        cache_write_tokens=_first(*written),
        reasoning_tokens=output.get("reasoning_tokens"),
        streamed_chunks=answer.get(CHUNKS) or None,
    )
    return made.columns()


def _claude_tokens(usage: Json) -> dict[str, Any]:
    """The columns of a message; what it thought is a part of its output."""
    columns = claude_columns(usage)
    thought = token_count(_details(usage or {}, "output_tokens_details").get("thinking_tokens"))
    visible = columns["visible_output_tokens"]
    if thought is None or visible is None or thought > visible:
        return columns
    return {**columns, "visible_output_tokens": visible - thought, "reasoning_tokens": thought}


def _finish_reason(answer: Mapping[str, Json]) -> str | None:
    """Why the answer ended, each reason of several choices once."""
    choices = answer.get("choices")
    if isinstance(choices, list):
        reasons = [text_or_none(record_of(choice).get("finish_reason")) for choice in choices]
        return ",".join(dict.fromkeys(reason for reason in reasons if reason)) or None
    incomplete = answer.get("incomplete_details")
    if isinstance(incomplete, dict):
        return text_or_none(incomplete.get("reason"))
    return text_or_none(answer.get("stop_reason"))


def _choice_count(answer: Mapping[str, Json]) -> int | None:
    choices = answer.get("choices")
    return len(choices) if isinstance(choices, list) and len(choices) > 1 else None


def _details(usage: Mapping[str, Json], *names: str) -> dict[str, Json]:
    found = (usage.get(name) for name in names)
    return next((details for details in found if isinstance(details, dict)), {})


def _first(*values: Json) -> Json:
    return next((value for value in values if value is not None), None)


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None
