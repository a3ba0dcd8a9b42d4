"""What a reader hands over: spans, calls, samples and rejects, as frozen records.

Owns the shape between bytes and rows. Refuses values that cannot be true (negative counts), so
that nothing behind the door has to ask again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ingest.prompt_measures import PromptMeasures

Json = Any
"""A value as a JSON parser gives it."""

LOG_KIND = "log"
"""The kind of a span that is a log record: its events belong to its parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """One event of a span; `at` is nanoseconds since 1970, None where the source gives no time."""

    name: str
    at: int | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)


REPEATED_KEYS = "gpuledger.repeated_keys"
"""Attribute that lists the keys which a span gives several times with values that disagree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span of any tracing format. Ids are lower-case hex; instants are nanoseconds, UTC."""

    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    name: str
    kind: str = "unspecified"
    started_at: int | None
    ended_at: int | None
    status: str = "unset"
    status_message: str | None = None
    service: str | None = None
    scope: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    resource: Mapping[str, Json] = field(default_factory=dict)
    events: Sequence[SpanEvent] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One model call; the fields are the columns of `calls`, None means not known.

    Instants are nanoseconds since 1970, UTC. `identity` is what `call_id` is derived from: the
    same call delivered twice has the same identity, whatever file brought it. `retry_of` is the
    identity of the first attempt, `response_id` what the provider called its answer.
    """

    identity: str
    operation: str = "chat"
    status: str = "ok"
    timing_source: str
    timing_quality: str = "ok"
    tokens_source: str = "reported"
    pairing: str = "single"
    origin: str = "production"

    endpoint: str | None = None
    endpoint_source: str | None = None
    feature: str | None = None
    team: str | None = None
    tenant: str | None = None
    service: str | None = None
    environment: str | None = None
    region: str | None = None
    provider: str | None = None
    model_requested: str | None = None
    model: str | None = None
    pool_reported: str | None = None
    adapter: str | None = None
    scenario: str | None = None
    arm: str | None = None

    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None
    conversation_id: str | None = None
    user_id: str | None = None
    replica: str | None = None

    arrived_at: int | None = None
    started_at: int | None = None
    first_token_at: int | None = None
    ended_at: int | None = None

    uncached_input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    visible_output_tokens: int | None = None
    reasoning_tokens: int | None = None
    reported_input_tokens: int | None = None
    reported_output_tokens: int | None = None
    reported_total_tokens: int | None = None
    tokens_note: str | None = None

    system_tokens: int | None = None
    tools_tokens: int | None = None
    examples_tokens: int | None = None
    context_tokens: int | None = None
    history_tokens: int | None = None
    user_tokens: int | None = None

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stream: bool | None = None
    stop: str | None = None
    response_format: str | None = None
    n_choices: int | None = None

    error_type: str | None = None
    http_status: int | None = None
    finish_reason: str | None = None
    attempt: int | None = None
    retry_of: str | None = None
    response_id: str | None = None
    is_cache_hit: bool | None = None

    prompt_hash: str | None = None
    input_hash: str | None = None
    output_hash: str | None = None
    tools_hash: str | None = None
    prefix_hashes: tuple[int, ...] | None = None
    prefix_block_tokens: int | None = None
    prompt_measures: PromptMeasures | None = None
    volatile_spans: tuple[int, ...] | None = None
    stable_prefix_hashes: tuple[int, ...] | None = None

    answer_shape: str | None = None
    answer_tokens: int | None = None
    preamble_tokens: int | None = None
    json_key_tokens: int | None = None
    json_repeated_key_tokens: int | None = None
    json_key_count: int | None = None
    json_value_tokens: int | None = None
    json_syntax_tokens: int | None = None
    json_blank_tokens: int | None = None
    trailing_tokens: int | None = None
    restated_tokens: int | None = None
    sentence_hashes: tuple[int, ...] | None = None
    sentence_lengths: tuple[int, ...] | None = None

    reported_cost: Decimal | None = None
    reported_currency: str | None = None

    prompt: str | None = None
    completion: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value of one metric of an engine at one instant.

    `metric` and `kind` are words of `ingest.engine_metrics.names`, `name` is what the engine
    exposes, `rank` its place among the names of that metric. `labels` tell series of one name
    apart. `value` is None where the engine says NaN or infinity. `began_at` is the instant since
    which a counter counts, where it is told. Instants are nanoseconds since 1970.
    """

    engine: str
    metric: str
    kind: str
    name: str
    rank: int = 0
    model: str | None = None
    instance: str | None = None
    pool_reported: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    at: int
    began_at: int | None = None
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """One record that could not be taken: where it stood, why, and the record as text."""

    position: str
    reason: str
    record: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A bounded share of a source: what was taken from it and what was not.

    `ignored_count` is of values that are sound and that no question reads; they are no records.
    """

    spans: Sequence[Span] = ()
    calls: Sequence[Call] = ()
    samples: Sequence[Sample] = ()
    rejects: Sequence[Reject] = ()
    ignored_count: int = 0

    @property
    def read_count(self) -> int:
        """Records seen, taken or not."""
        return len(self.spans) + len(self.calls) + len(self.samples) + len(self.rejects)
