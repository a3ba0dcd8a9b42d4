"""A pass as OpenTelemetry spans: what a client and an engine would have said of each call.

Owns the placing of the engine's durations on the wall clock. Every call is a client span that
begins when the call should have been sent, and inside it an engine span in the form that vLLM
exports. The engine says how long prompt and decode took, the client when the first token came:
so service began `prompt_s` before the first token, and everything earlier (send lag, transport,
waiting for a slot) is queue. Refuses to invent an engine span for a call that did not finish.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, set_span_in_context

from simulator.client import Outcome, Pass
from simulator.engines.engine import Served
from simulator.errors import ReplayError
from simulator.processor import PhaseSeconds
from simulator.trace import TracedCall

CLIENT_SERVICE = "gpuledger-replay"
ENGINE_SPAN = "llm_request"
OPERATION = "text_completion"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassIdentity:
    """Which pass of which scenario; the ids of its spans follow from it."""

    scenario: str
    arm: str
    number: int
    engine: str
    model: str

    @property
    def pool(self) -> str:
        """The pool that the replay's calls are charged to."""
        return f"replay {self.engine}"

    @property
    def replica(self) -> str:
        """The engine process: each pass has its own."""
        return replica_of(self.scenario, self.number)


def replica_of(scenario: str, number: int) -> str:
    """The name of the engine process that served pass `number` of `scenario`."""
    return f"{scenario} pass {number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One finished call on the wall clock, in nanoseconds since 1970."""

    arrived_at: int
    started_at: int
    first_token_at: int
    ended_at: int


def placed(outcome: Outcome, pass_started_at: int) -> Placed | None:
    """Where a finished call's phases lie; None where it did not finish."""
    served = outcome.served
    if served is None or outcome.first_token_s is None or outcome.intended_s is None:
        return None
    arrived_at = pass_started_at + _ns(outcome.intended_s)
    first_token_at = pass_started_at + _ns(outcome.first_token_s)
    return Placed(
        arrived_at=arrived_at,
        started_at=max(arrived_at, first_token_at - _ns(served.prompt_s)),
        first_token_at=first_token_at,
        ended_at=first_token_at + _ns(served.decode_s),
    )


def write_spans(
    path: Path,
    calls: Mapping[int, TracedCall],
    done: Pass,
    identity: PassIdentity,
    phases: Mapping[int, PhaseSeconds] | None = None,
) -> int:
    """The number of spans written to `path` as one OTLP protobuf message.

    `phases` are the engine's processor seconds by position, for the calls where they are known.
    """
    exporter = InMemorySpanExporter()
    writer = _SpanWriter(exporter, identity, done.started_at, phases or {})
    expected = sum(writer.write(calls[o.position], o) for o in done.outcomes)
    spans = exporter.get_finished_spans()
    if len(spans) != expected:
        raise ReplayError(
            f"{len(spans):,} of {expected:,} spans were recorded; OpenTelemetry variables in the "
            "environment (OTEL_SDK_DISABLED) switch recording off: unset them"
        )
    half = path.with_suffix(".part")
    half.write_bytes(encode_spans(spans).SerializeToString())
    half.replace(path)
    return len(spans)


class _SpanWriter:
    """Two tracers, as two services would have them, that record into one exporter."""

    def __init__(
        self,
        exporter: InMemorySpanExporter,
        identity: PassIdentity,
        pass_started_at: int,
        phases: Mapping[int, PhaseSeconds],
    ) -> None:
        self._phases = phases
        self._identity = identity
        self._pass_started_at = pass_started_at
        ids = _DerivedIds(f"{identity.scenario} {identity.number}")
        self._client = _tracer(exporter, ids, identity, {"service.name": CLIENT_SERVICE})
        self._engine = _tracer(
            exporter,
            ids,
            identity,
            {"service.name": identity.engine, "service.instance.id": identity.replica},
        )

    def write(self, call: TracedCall, outcome: Outcome) -> int:
        """The number of spans that stand for `outcome`: the client's, and the engine's if any."""
        arrived_at = self._pass_started_at + _ns(outcome.intended_s or 0.0)
        outer = self._client.start_span(
            f"{OPERATION} {self._identity.model}",
            kind=SpanKind.CLIENT,
            start_time=arrived_at,
            attributes=_client_attributes(call, outcome, self._identity),
        )
        found = placed(outcome, self._pass_started_at)
        if found is not None and outcome.served is not None:
            inner = self._engine.start_span(
                ENGINE_SPAN,
                context=set_span_in_context(outer),
                kind=SpanKind.SERVER,
                start_time=arrived_at,
                attributes=_engine_attributes(
                    outcome.served, found, self._phases.get(outcome.position)
                ),
            )
            inner.end(found.ended_at)
        if outcome.status != "ok":
            outer.set_status(Status(StatusCode.ERROR, outcome.error))
        outer.end(self._pass_started_at + _ns(outcome.ended_s or 0.0))
        return 1 if found is None else 2


def _client_attributes(
    call: TracedCall, outcome: Outcome, identity: PassIdentity
) -> dict[str, str | int | float | bool]:
    attributes: dict[str, str | int | float | bool] = {
        "gen_ai.operation.name": OPERATION,
        "gen_ai.provider.name": identity.engine,
        "gen_ai.request.model": identity.model,
        "gen_ai.request.max_tokens": call.output_tokens,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.stream": True,
        "gpuledger.replayed_call": call.call_id,
        "gpuledger.session": call.session,
    }
    attributes |= {f"gpuledger.{name}": value for name, value in call.labels.items()}
    if outcome.sent_s is not None and outcome.intended_s is not None:
        attributes["gpuledger.send_lag_s"] = outcome.sent_s - outcome.intended_s
        if outcome.first_token_s is not None:
            attributes["gen_ai.response.time_to_first_chunk"] = (
                outcome.first_token_s - outcome.intended_s
            )
    if outcome.http_status is not None:
        attributes["http.response.status_code"] = outcome.http_status
    if outcome.served is not None:
        attributes["gen_ai.usage.input_tokens"] = outcome.served.prompt_tokens
        attributes["gen_ai.usage.cache_read.input_tokens"] = outcome.served.cached_tokens
        attributes["gen_ai.usage.output_tokens"] = outcome.served.output_tokens
    if outcome.status != "ok":
        attributes["error.type"] = outcome.status
    return attributes


def _engine_attributes(
    served: Served, found: Placed, phases: PhaseSeconds | None
) -> dict[str, int | float]:
    """The attributes of a vLLM request span, in seconds, the slot, and the processor's seconds."""
    attributes: dict[str, int | float] = {
        "gen_ai.latency.time_in_queue": (found.started_at - found.arrived_at) / 1e9,
        "gen_ai.latency.time_in_model_prefill": (found.first_token_at - found.started_at) / 1e9,
        "gen_ai.latency.time_in_model_decode": (found.ended_at - found.first_token_at) / 1e9,
        "gen_ai.latency.time_in_model_inference": (found.ended_at - found.started_at) / 1e9,
        "gen_ai.latency.time_to_first_token": (found.first_token_at - found.arrived_at) / 1e9,
        "gen_ai.latency.e2e": (found.ended_at - found.arrived_at) / 1e9,
        "gen_ai.usage.prompt_tokens": served.prompt_tokens,
        "gen_ai.usage.completion_tokens": served.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": served.cached_tokens,
    }
    if served.slot is not None:
        attributes["gpuledger.engine_slot"] = served.slot
    if phases is not None:
        attributes["gpuledger.prefill_processor_s"] = phases.prefill_s
        attributes["gpuledger.decode_processor_s"] = phases.decode_s
    return attributes


def _tracer(
    exporter: InMemorySpanExporter,
    ids: IdGenerator,
    identity: PassIdentity,
    attributes: Mapping[str, str],
) -> Tracer:
    resource: dict[str, str | int] = {
        **attributes,
        "gpuledger.origin": "replay",
        "gpuledger.scenario": identity.scenario,
        "gpuledger.arm": identity.arm,
        "gpuledger.pass": identity.number,
        "gpuledger.pool": identity.pool,
        "gpuledger.replica": identity.replica,
    }
    provider = TracerProvider(
        sampler=ALWAYS_ON, resource=Resource.create(dict(resource)), id_generator=ids
    )
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("gpuledger.simulator")


class _DerivedIds(IdGenerator):
    """Ids from a name and a count, so that the same pass written twice is the same spans."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0

    def generate_span_id(self) -> int:
        return self._next(8)

    def generate_trace_id(self) -> int:
        return self._next(16)

    def _next(self, width: int) -> int:
        self._count += 1
        digest = hashlib.sha256(f"{self._name} {self._count}".encode()).digest()
        return int.from_bytes(digest[:width], "big") or 1


def _ns(seconds: float) -> int:
    return math.floor(seconds * 1e9)
