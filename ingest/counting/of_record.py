"""What is counted of a call that a reader hands over whole, with its texts.

Owns the moment: before the texts are hashed or masked. Refuses to replace what the record tells,
and to count what a line of the whole run has already.
"""

from dataclasses import replace
from typing import Any

from ingest.calls.content import messages_of
from ingest.calls.missing import TOLD_TOGETHER, missing_note
from ingest.calls.tokens import Buckets
from ingest.config import Configuration
from ingest.counting.counted import PREFIX_COLUMNS
from ingest.counting.filling import RequestEnd, filled, measure_columns, section_columns
from ingest.counting.measures import MEASURE_COLUMNS
from ingest.counting.of_call import Counts
from ingest.counting.texts import PLAIN_OPERATIONS, Wanted, count, countable
from ingest.records import Call


def counted_call(call: Call, configuration: Configuration) -> Call:
    """`call` with counted tokens where its record has texts and no usage, sections and hashes."""
    if configuration.content == "off":
        return _unmeasured(call)
    if call.prompt is None and call.completion is None:
        return call
    if TOLD_TOGETHER in (call.tokens_note or ""):
        return call
    told = Buckets.of(call)
    found = count(_wanted(call, told, configuration), configuration)
    if found is None:
        return call
    counts = Counts(
        found if found.has_prompt else None,
        found if found.output_tokens else None,
        found.answer_measures if call.answer_shape is None else None,
    )
    end = RequestEnd(call.status, call.http_status, call.operation, call.stream is True)
    tokens = filled(told, counts, end)
    before, after = _missing(call, told), _missing(call, tokens)
    if tokens is not told and before and tokens.tokens_note:
        kept = [note for note in (tokens.tokens_note.replace(before, "", 1), after) if note]
        note = "; ".join(part for text in kept for part in text.split("; ") if part)
        tokens = replace(tokens, tokens_note=note)
    return replace(call, **tokens.columns(), **_sections(call, counts), **measure_columns(counts))


def _unmeasured(call: Call) -> Call:
    """`call` without the measures of texts that it tells."""
    if call.prompt_measures is None and call.answer_shape is None:
        return call
    nothing: dict[str, Any] = dict.fromkeys(MEASURE_COLUMNS)
    return replace(call, prompt_measures=None, **nothing)


def _wanted(call: Call, told: Buckets, configuration: Configuration) -> Wanted:
    wants_prompt = (
        configuration.count_sections
        or configuration.prefix_block_tokens > 0
        or told.input_tokens is None
    )
    is_output_missing = told.output_tokens is None
    wants_answer = call.operation != "embeddings" and (
        configuration.measure_answers or is_output_missing
    )
    prompt = messages_of(call.prompt, "user") if wants_prompt else None
    answer = messages_of(call.completion, "assistant") if wants_answer else None
    return Wanted(
        messages=countable(prompt),
        tools=None,
        ids=None,
        answer=countable(answer),
        is_output_missing=is_output_missing,
        model=call.model or call.model_requested,
        is_chat=call.operation not in PLAIN_OPERATIONS,
        answered=lambda: countable(messages_of(call.completion, "assistant")),
    )


def _sections(call: Call, counts: Counts) -> dict[str, Any]:
    """The columns of sections and hashes that the record leaves empty.

    A record that brings hashes of its own keeps them alone.
    """
    is_hashed = call.prefix_hashes is not None
    return {
        name: value
        for name, value in section_columns(counts.asked).items()
        if getattr(call, name) is None and not (is_hashed and name in PREFIX_COLUMNS)
    }


def _missing(call: Call, tokens: Buckets) -> str | None:
    return missing_note(
        tokens.input_tokens,
        tokens.output_tokens,
        status=call.status,
        http_status=call.http_status,
        is_stream=call.stream is True,
        operation=call.operation,
    )
