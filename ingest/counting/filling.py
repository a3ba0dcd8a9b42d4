"""Counts in place of the usage that nobody reported.

Owns the label: "counted" where the model's own tokenizer and its known chat format made every
count, else "estimated". Refuses to replace a reported count, to count a request that the model
never took, and to call a count 0.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from ingest.calls.missing import STREAM_WITHOUT_USAGE
from ingest.calls.tokens import Buckets
from ingest.counting.counted import Counted
from ingest.counting.of_call import Counts
from ingest.counting.sections import SECTIONS

_TAKEN_ALL_THE_SAME = (408, 499)
_FIRST_ERROR, _FIRST_SERVER_ERROR = 400, 500


class RequestEnd(NamedTuple):
    """What a request was and how it ended, as far as it says whether the model took it."""

    status: str
    http_status: int | None
    operation: str
    is_stream: bool = False

    def is_taken(self, *, is_answered: bool) -> bool:
        """Whether the model began: it answered, or nothing says that it refused or failed."""
        code = self.http_status or 0
        is_refused = _FIRST_ERROR <= code < _FIRST_SERVER_ERROR and code not in _TAKEN_ALL_THE_SAME
        return is_answered or (self.status != "error" and not is_refused)


def filled(found: Buckets, counted: Counts, ending: RequestEnd) -> Buckets:
    """`found` with counted tokens where it has none, and a note that says how they were counted.

    Output that is known from streamed chunks stays where it is more.
    """
    output = _output(found, counted.answered)
    is_answered = output is not None or bool(found.output_tokens)
    if not ending.is_taken(is_answered=is_answered):
        return found
    asked = _input(found, counted.asked, ending)
    filled_in: dict[str, Any] = {**(asked or {}), **(output or {})}
    if not filled_in:
        return found
    reasons: list[str] = []
    notes: list[str] = []
    if asked and counted.asked:
        reasons += counted.asked.input_reasons
        notes.append(_input_note(counted.asked))
    if output and counted.answered:
        reasons += _output_reasons(counted.answered, ending)
        notes.append(_output_note(counted.answered, ending))
    is_counted = not reasons and found.tokens_source != "estimated"
    label = "counted" if is_counted else "estimated"
    note = "; ".join([*([found.tokens_note] if found.tokens_note else []), *notes])
    return replace(found, **filled_in, tokens_source=label, tokens_note=note)


def measure_columns(counted: Counts) -> dict[str, Any]:
    """The columns of an answer's measures."""
    return {} if counted.measures is None else counted.measures.columns()


def section_columns(asked: Counted | None) -> dict[str, Any]:
    """The columns of sections, hashes and measures; a section that nothing shows is not known."""
    if asked is None:
        return {}
    return {
        **{f"{name}_tokens": asked.sections.get(name) for name in SECTIONS},
        "prefix_hashes": asked.prefix_hashes(),
        "prefix_block_tokens": asked.prefix_block_tokens,
        "prompt_measures": asked.measures,
        "volatile_spans": asked.volatile,
        "stable_prefix_hashes": asked.stable_prefix_hashes(),
    }


def _input(
    found: Buckets, asked: Counted | None, ending: RequestEnd
) -> dict[str, int | None] | None:
    """The input columns by count; None where input is known, or nothing was counted."""
    if asked is None or not asked.input_tokens or found.uncached_input_tokens is not None:
        return None
    cached = (found.cache_read_tokens or 0) + (found.cache_write_tokens or 0)
    columns: dict[str, int | None] = {"uncached_input_tokens": max(asked.input_tokens - cached, 0)}
    if ending.operation == "embeddings" and found.visible_output_tokens is None:
        columns["visible_output_tokens"] = 0
    return columns


def _output(found: Buckets, answered: Counted | None) -> dict[str, int | None] | None:
    """The output columns by count; None where output is reported, or known to be more."""
    if answered is None or not answered.output_tokens or found.reported_output_tokens is not None:
        return None
    if answered.output_tokens <= (found.output_tokens or 0):
        return None
    if found.reasoning_tokens is not None:
        seen = answered.output_tokens - (answered.reasoning_tokens or 0)
        return {"visible_output_tokens": seen}
    reasoning = answered.reasoning_tokens
    return {
        "visible_output_tokens": answered.output_tokens - (reasoning or 0),
        "reasoning_tokens": reasoning,
    }


def _input_note(asked: Counted) -> str:
    if asked.is_input_of_ids:
        return "input counted from token ids"
    label = "estimated" if asked.input_reasons else "counted"
    text = (asked.input_tokens or 0) - asked.format_tokens
    told = [f"input {label} with {asked.encoding}: {text} of text"]
    told += [f"{asked.format_tokens} of chat format"] if asked.format_tokens else []
    return ", ".join([*told, *asked.input_reasons])


def _output_note(answered: Counted, ending: RequestEnd) -> str:
    reasons = _output_reasons(answered, ending)
    label = "estimated" if reasons else "counted"
    told = [f"output {label} with {answered.encoding}", *reasons]
    return ", ".join(told) + (f"; {STREAM_WITHOUT_USAGE}" if ending.is_stream else "")


def _output_reasons(answered: Counted, ending: RequestEnd) -> list[str]:
    unfinished = [] if ending.status == "ok" else [f"at least that: the call was {ending.status}"]
    return [*answered.output_reasons, *unfinished]
