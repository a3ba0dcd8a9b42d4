"""What a reader must find of each attempt: only what the telemetry tells, as plain values.

Owns the step from truth to evidence: where no engine reported, service begins when the client
sent; where the client got no usage, the cached part is not known. Refuses to look at the files.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from sample_data import company
from sample_data.exchanges import CHUNK_LAG_NS, Exchange, Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Exclusive buckets; None is not known."""

    uncached_input: int | None
    cache_read: int | None
    visible_output: int | None
    reasoning: int | None

    @property
    def input(self) -> int:
        """All input tokens that are known."""
        return (self.uncached_input or 0) + (self.cache_read or 0)

    @property
    def output(self) -> int:
        """All output tokens that are known."""
        return (self.visible_output or 0) + (self.reasoning or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When a call was in service, in nanoseconds since 1970, and who said so."""

    source: Literal["engine", "stream", "span"]
    started_at: int
    first_token_at: int | None
    ended_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One call as a reader must find it; `call_id` is the one of the telemetry."""

    endpoint: str
    team: str
    model: str
    pool: str | None
    replica: str | None
    status: Literal["ok", "error", "timeout"]
    is_refused: bool
    is_valid: bool
    times: Times
    tokens: Tokens
    token_cost: Decimal | None
    call_id: str
    arrived_at: int
    prompt: tuple[str | None, str] | None
    attempt_no: int


def findings(exchanges: Iterable[Exchange]) -> Iterator[Finding]:
    """One finding for every attempt, in the order of the requests."""
    for exchange in exchanges:
        for tried in exchange.tried:
            yield _finding(exchange, tried)


def _finding(exchange: Exchange, tried: Tried) -> Finding:
    attempt, endpoint = tried.attempt, exchange.request.endpoint
    tokens = _tokens(tried)
    model = exchange.request.model or endpoint.model
    if model == company.API_MODEL and attempt.outcome == "ok":
        model = company.API_MODEL_REPORTED
    return Finding(
        endpoint=endpoint.route,
        team=endpoint.team,
        model=model,
        pool=endpoint.pool,
        replica=tried.replica,
        status="error" if attempt.outcome == "refused" else attempt.outcome,
        is_refused=attempt.outcome == "refused",
        is_valid=tried.flaw is None,
        times=_times(tried),
        tokens=tokens,
        token_cost=_token_cost(model, tokens) if endpoint.pool is None else None,
        call_id=tried.told_id,
        arrived_at=tried.arrived_at,
        prompt=attempt.step.prompt,
        attempt_no=attempt.attempt_no,
    )


def _times(tried: Tried) -> Times:
    """The engine's instants where it told them, else what the client saw."""
    view, attempt = tried.engine_view, tried.attempt
    if view is not None:
        return Times(
            source="engine",
            started_at=view.started_at,
            first_token_at=view.first_token_at,
            ended_at=view.ended_at,
        )
    served = attempt.served
    return Times(
        source="span" if served is None else "stream",
        started_at=attempt.sent_at,
        first_token_at=None if served is None else served.first_token_at + CHUNK_LAG_NS,
        ended_at=attempt.received_at,
    )


def _tokens(tried: Tried) -> Tokens:
    attempt, step = tried.attempt, tried.attempt.step
    if attempt.outcome == "refused":
        return Tokens(uncached_input=None, cache_read=None, visible_output=None, reasoning=None)
    if attempt.outcome != "ok":
        return Tokens(
            uncached_input=step.input_tokens,
            cache_read=None,
            visible_output=attempt.generated_tokens,
            reasoning=None,
        )
    return Tokens(
        uncached_input=step.input_tokens - attempt.cached_tokens,
        cache_read=attempt.cached_tokens,
        visible_output=attempt.generated_tokens - step.reasoning_tokens,
        reasoning=step.reasoning_tokens,
    )


def _token_cost(model: str, tokens: Tokens) -> Decimal | None:
    """The money of one API call; None where the model's price or its usage is not known."""
    if model != company.API_MODEL_REPORTED:
        return None
    price = company.API_PRICE_PER_TOKEN
    return (
        (tokens.uncached_input or 0) * price["uncached_input_tokens"]
        + (tokens.cache_read or 0) * price["cache_read_tokens"]
        + tokens.output * price["output_tokens"]
    )
