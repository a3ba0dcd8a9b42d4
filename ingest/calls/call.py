"""One call from its views: every column that the spans of a trace can fill.

Owns which view a column is read from: time and tokens from the innermost, the endpoint from what
encloses the outermost, who pays from around the engine. Refuses to give one value to two calls
that only their common wrapper has: its usage and answer belong to the last attempt.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ingest.calls.aliases import AliasTable
from ingest.calls.derivation import Derivation
from ingest.calls.endpoint import endpoint
from ingest.calls.mapping import ColumnMap
from ingest.calls.missing import missing_note
from ingest.calls.observation import observation, streamed_chunks
from ingest.calls.outcome import RATE_LIMITED, Outcome, joined, outcome
from ingest.calls.request import request
from ingest.calls.retries import RetryLink
from ingest.calls.texts import texts
from ingest.calls.timing import (
    REPLAYED_TIMES,
    Observation,
    Phases,
    impossible_notes,
    phases,
    refused,
)
from ingest.calls.tokens import Buckets
from ingest.calls.usage import usage
from ingest.calls.views import View, Views
from ingest.counting.filling import RequestEnd, filled, measure_columns, section_columns
from ingest.counting.of_call import counts
from ingest.records import Call

PAYER_COLUMNS = (
    "feature",
    "team",
    "tenant",
    "user_id",
    "conversation_id",
    "environment",
    "region",
)
AZURE_HOSTS = (".openai.azure.com", ".ai.azure.com", ".cognitiveservices.azure.com")
"""Where Azure serves models; a machine that is rented there has another name."""
ORIGINS = frozenset({"production", "replay"})
COST_CURRENCY = "USD"
"""The currency in which every convention that has a cost attribute defines it."""
MAX_COST = Decimal(10) ** 9
COST_STEP = Decimal(1).scaleb(-9)


def call(views: Views, ended: Outcome, link: RetryLink | None, derivation: Derivation) -> Call:
    """The call that `views` describe: `ended` so, `link` is its place among attempts."""
    owns_wrapper = link is not None and link.owns_wrapper
    found_model = model(views, derivation.columns)
    parameters = request(views.readings(with_wrapper=True))
    tokens = _tokens(views, ended, derivation.table, owns_wrapper=owns_wrapper)
    counted = counts(views, derivation, owns_wrapper=owns_wrapper)
    tokens = filled(tokens, counted, _request_end(views, ended, is_stream=parameters["stream"]))
    seen = [observation(view, derivation.table) for view in views.own]
    found_times = _times(seen, ended, tokens)
    times = found_times.columns()
    is_cache_hit = any(view.part.is_replayed for view in views.own)
    if is_cache_hit:
        tokens, times = replayed(tokens), {**times, **REPLAYED_TIMES}
    missing = missing_note(
        tokens.input_tokens,
        tokens.output_tokens,
        status=ended.status,
        http_status=ended.http_status,
        is_stream=bool(parameters["stream"]),
        operation=operation(views),
    )
    notes = [*([missing] if missing else []), *impossible_notes(found_times, seen)]
    tokens = replace(tokens, tokens_note=_with_note(tokens.tokens_note, *notes))
    return Call(
        identity=views.identity,
        status=ended.status,
        error_type=ended.error_type,
        http_status=ended.http_status,
        finish_reason=ended.finish_reason,
        pairing="single" if len(views.own) == 1 and views.wrapper is None else "ancestor",
        attempt=None if link is None else link.attempt,
        retry_of=None if link is None else link.retry_of,
        response_id=_response_id(views),
        is_cache_hit=is_cache_hit or None,
        trace_id=views.innermost.span.trace_id,
        span_id=views.innermost.span.span_id,
        parent_span_id=views.innermost.span.parent_span_id,
        model=found_model,
        **times,
        **tokens.columns(),
        **section_columns(counted.asked),
        **measure_columns(counted),
        **parameters,
        **_who_pays(views, derivation.columns),
        **_what_ran(views, derivation.columns),
        **_cost(views, owns_wrapper=owns_wrapper),
        **texts(
            views, requested_model(views) or found_model, derivation, owns_wrapper=owns_wrapper
        ),
    )


def replayed(tokens: Buckets) -> Buckets:
    """The counts of an answer out of a gateway's cache: what was reported is kept, none is used."""
    note = "out of a gateway's cache: the usage is of an earlier answer, no token was processed"
    return Buckets(
        uncached_input_tokens=0,
        visible_output_tokens=0,
        reported_input_tokens=tokens.reported_input_tokens,
        reported_output_tokens=tokens.reported_output_tokens,
        reported_total_tokens=tokens.reported_total_tokens,
        tokens_source="estimated",
        tokens_note=_with_note(tokens.tokens_note, note),
    )


def ending(views: Views, table: AliasTable) -> Outcome:
    """How the call ended by its own views and its sender's: the outermost failure counts."""
    seen = [*views.own, *([views.sender] if views.sender else [])]
    return joined(
        [
            outcome(view.span, view.reading, table, child_http_status=view.child_http_status)
            for view in seen
        ]
    )


def _times(seen: Sequence[Observation], ended: Outcome, tokens: Buckets) -> Phases:
    found = phases(seen)
    is_refused = ended.http_status == RATE_LIMITED and not tokens.output_tokens
    return refused(found) if is_refused else found


def _tokens(views: Views, ended: Outcome, table: AliasTable, *, owns_wrapper: bool) -> Buckets:
    chunks = [streamed_chunks(view, table) or 0 for view in views.own]
    found, notes = usage(
        views.readings(with_wrapper=owns_wrapper),
        streamed_chunks=max(chunks) or None,
        is_of_engine=views.innermost.part.is_engine,
    )
    if ended.http_status == RATE_LIMITED and found.tokens_source == "unknown":
        notes = [*notes, f"refused with HTTP {RATE_LIMITED}: no token was processed"]
        found = replace(
            found, uncached_input_tokens=0, visible_output_tokens=0, tokens_source="estimated"
        )
    if views.innermost.part.role == "embedding" and found.uncached_input_tokens is not None:
        found = replace(found, visible_output_tokens=found.visible_output_tokens or 0)
    return replace(found, tokens_note=_with_note(found.tokens_note, *notes)) if notes else found


def _request_end(views: Views, ended: Outcome, *, is_stream: bool | None) -> RequestEnd:
    return RequestEnd(ended.status, ended.http_status, operation(views), bool(is_stream))


def _with_note(note: str | None, *more: str) -> str | None:
    return "; ".join([*([note] if note else []), *more]) or None


def model(views: Views, columns: ColumnMap) -> str | None:
    """What ran, as far as anybody says: the answer's model before the request's.

    A request to Azure names a deployment, which says nothing of the model behind it.
    """
    found = views.innermost.context.found
    configured = columns.configured_value("model", found)
    if configured is not None:
        return configured
    is_deployment = _is_azure(views, columns)
    for reading in views.readings(with_wrapper=True):
        named: str | None = reading.first("response_model")
        if named is None and not is_deployment:
            named = reading.first("request_model")
        if named is not None:
            return named
    return None if is_deployment else columns.value("model", found)


def _is_azure(views: Views, columns: ColumnMap) -> bool:
    """Whether Azure served the call, by its provider or its host; never for one's own engine."""
    if views.innermost.part.is_engine:
        return False
    provider = (_provider(views, columns) or "").lower()
    host = (views.text("host", with_wrapper=True) or "").lower()
    return "azure" in provider or provider.startswith("az.") or host.endswith(AZURE_HOSTS)


def _provider(views: Views, columns: ColumnMap) -> str | None:
    return columns.configured_value("provider", views.innermost.context.found) or views.text(
        "provider", with_wrapper=True
    )


def _response_id(views: Views) -> str | None:
    """What the provider called the answer.

    vLLM calls a chat's request as it calls its answer, but several choices share one request.
    """
    given = views.text("response_id")
    if given is not None or views.first("n_choices") not in (None, 1):
        return given
    requested = views.text("request_id") or ""
    return requested if requested.startswith("chatcmpl-") else None


def requested_model(views: Views) -> str | None:
    """The model that the call asked for, by the outermost of its views that names one."""
    asking = [*reversed(views.own), *([views.wrapper] if views.wrapper else [])]
    asked = (view.reading.first("request_model") for view in asking)
    return next((name for name in asked if name is not None), None)


def _what_ran(views: Views, columns: ColumnMap) -> dict[str, Any]:
    found = views.innermost.context.found
    origin = columns.value("origin", found)
    return {
        "model_requested": requested_model(views),
        "provider": _provider(views, columns) or views.text("host", with_wrapper=True),
        "pool_reported": columns.value("pool", found),
        "adapter": columns.value("adapter", found),
        "replica": columns.value("replica", found) or _engine_replica(views.innermost, columns),
        "origin": origin if origin in ORIGINS else "production",
        "scenario": columns.value("scenario", found),
        "arm": columns.value("arm", found),
    }


def _engine_replica(innermost: View, columns: ColumnMap) -> str | None:
    """The process that served the call, by the engine's own span alone."""
    if not innermost.part.is_engine:
        return None
    return columns.engine_value("replica", columns.found_on(innermost.span))


def _who_pays(views: Views, columns: ColumnMap) -> dict[str, Any]:
    inner, outer = views.innermost.context, views.outermost
    searches = (inner.around_engine, inner.found)
    service = (
        columns.configured_value("service", *searches)
        or outer.context.service_around_engine
        or outer.span.service
    )
    kind = operation(views)
    named = endpoint(
        outer.context,
        mapped=columns.value("endpoint", *searches),
        prompt_name=views.text("prompt_name", with_wrapper=True),
        service=service,
        operation=kind,
    )
    return {
        "endpoint": named.name,
        "endpoint_source": named.source,
        "service": service,
        "operation": kind,
        **{column: columns.value(column, *searches) for column in PAYER_COLUMNS},
    }


def operation(views: Views) -> str:
    told = (view.part.operation for view in (*views.own, views.outermost))
    return next((name for name in told if name is not None), "chat")


def _cost(views: Views, *, owns_wrapper: bool) -> dict[str, Any]:
    cost = views.first("reported_cost", with_wrapper=owns_wrapper)
    if not isinstance(cost, Decimal) or not 0 <= cost < MAX_COST:
        return {}
    return {"reported_cost": cost.quantize(COST_STEP), "reported_currency": COST_CURRENCY}
