"""What a run of Claude Code tells at its end, shared with the calls that it made.

Owns the subtraction: what a result adds to the one before it, and what its calls leave of that.
Refuses to give a call what several calls, or calls that are not shown, used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from ingest.calls.remainders import NOT_ITEMISED
from ingest.calls.tokens import token_count
from ingest.readers.claude_usage import exclusive_columns
from ingest.readers.native_columns import native_value
from ingest.readers.record_fields import record_of
from ingest.records import Call, Json

_COUNTS = {
    "uncached_input_tokens": "inputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
    "visible_output_tokens": "outputTokens",
}
_INPUTS = tuple(name for name in _COUNTS if name != "visible_output_tokens")


@dataclass(frozen=True, slots=True)
class Used:
    """What a model was used for: its counts by column, and its cost in dollars."""

    counts: Mapping[str, int]
    cost: Decimal | None

    def since(self, before: "Used | None") -> "Used":
        """What came on top of `before`; all of it where it is less, for then it began anew."""
        if before is None or any(self.counts[name] < before.counts[name] for name in _COUNTS):
            return self
        counts = {name: self.counts[name] - before.counts[name] for name in _COUNTS}
        if self.cost is None or before.cost is None:
            return Used(counts, self.cost)
        return Used(counts, max(self.cost - before.cost, Decimal(0)))


@dataclass(slots=True)
class Run:
    """A session as far as it is read: calls since its last result, and what that told."""

    calls: dict[str, Call] = field(default_factory=dict)
    used: dict[str, Used] = field(default_factory=dict)

    def take(self, call: Call) -> None:
        """Keep `call`; a later line of the same answer takes the place of the earlier."""
        self.calls[call.identity] = call

    def told(self, models: Json, identity: str, session_id: str | None) -> Iterator[Call]:
        """The calls up to a result with its `modelUsage`, then a line of what they leave of it."""
        used = {name.partition("[")[0]: _used(record_of(one)) for name, one in models.items()}
        calls, self.calls = list(self.calls.values()), {}
        for model, total in used.items():
            own = [call for call in calls if call.model == model]
            yield from _shared(own, total.since(self.used.get(model)), model, identity, session_id)
        yield from (call for call in calls if call.model not in used)
        self.used.update(used)


def _used(model: Mapping[str, Json]) -> Used:
    cost = model.get("costUSD")
    counts = {name: token_count(model.get(key)) or 0 for name, key in _COUNTS.items()}
    return Used(counts, None if cost is None else native_value("reported_cost", cost))


def _shared(
    calls: Sequence[Call], used: Used, model: str, identity: str, session_id: str | None
) -> Iterator[Call]:
    """The calls of one model and its line; a single call is all that the model was used for."""
    sums = {name: sum(getattr(call, name) or 0 for call in calls) for name in _COUNTS}
    if len(calls) == 1 and all(sums[name] == used.counts[name] for name in _INPUTS):
        yield replace(calls[0], **_columns(used.counts, None), **_cost(used.cost))
        return
    yield from calls
    rest = {name: max(used.counts[name] - sums[name], 0) for name in _COUNTS}
    if any(rest.values()) or used.cost:
        yield Call(
            identity=f"{identity}:{model}",
            operation=NOT_ITEMISED,
            timing_source="tokens",
            timing_quality="unknown",
            model=model,
            conversation_id=session_id,
            **_columns(rest, f"not itemised: what a run used beyond its {len(calls)} calls"),
            **_cost(used.cost),
        )


def _columns(counts: Mapping[str, int], note: str | None) -> dict[str, Any]:
    made = exclusive_columns(
        uncached=counts["uncached_input_tokens"],
        cache_read=counts["cache_read_tokens"],
        cache_write=counts["cache_write_tokens"],
        output=counts["visible_output_tokens"],
    )
    return {**made, "tokens_note": note}


def _cost(cost: Decimal | None) -> dict[str, Any]:
    return {} if not cost else {"reported_cost": cost, "reported_currency": "USD"}
