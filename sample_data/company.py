"""The company behind the sample: its pools, endpoints and what changed on which day.

Owns the constants that the files, the manifest and `gpuledger.toml` agree on. Refuses to draw
anything at random.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

SEED = 20260901
ZONE = "Asia/Tokyo"
CURRENCY = "USD"
SECOND_NS = 1_000_000_000


def at(text: str) -> int:
    """Nanoseconds since 1970 of a local time of the company such as "2026-10-05 09:00"."""
    local = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE))
    since = local - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLaw:
    """Seconds of one engine step, and what one replica can hold.

    A step with P prompt tokens, prefill attention work Q (token pairs), D decoding sequences and
    K tokens of context takes `fixed_s + P*prompt_token_s + Q*prompt_pair_s + D*sequence_s +
    K*context_token_s`.
    """

    fixed_s: float
    prompt_token_s: float
    prompt_pair_s: float
    sequence_s: float
    context_token_s: float
    step_prompt_tokens: int
    kv_tokens: int
    block_tokens: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A pool from one instant on: replicas, price per GPU-hour, and the windows it runs in.

    `windows` are (first weekday, last weekday, from hour, to hour), Monday 0, where hours beyond
    24 belong to the next day; None is always.
    """

    since: int
    replicas: int
    price_per_gpu_hour: Decimal
    windows: tuple[tuple[int, int, float, float], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFacts:
    """One pool: the model it serves, its GPU, how quick a step is, and its history."""

    name: str
    model: str
    gpu: str
    gpus_per_replica: int
    law: StepLaw
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts:
    """One endpoint: who runs it, who pays, and where its calls go (`pool` None: an API)."""

    route: str
    service: str
    team: str
    model: str
    pool: str | None
    timeout_s: float
    max_output_tokens: int
    temperature: float


CHAT_HOURS = ((0, 4, 10.0, 11.25),)
RAG_HOURS = ((0, 4, 9.25, 10.5),)
DIGEST_HOURS = ((0, 6, 23.75, 24.25), (0, 6, 8.75, 9.25))
"""The batch runs over midnight here and over midnight in UTC, every day."""

REPLICA_ADDED = at("2026-10-12 00:00")
GPU_PRICE_RISE = at("2026-10-16 00:00")
NEW_CHAT_PROMPT = at("2026-10-05 00:00")
RAG_ENGINE_TRACING = at("2026-10-05 00:00")
RAG_PREFIX_LOST = at("2026-10-13 00:00")
INCIDENT = (at("2026-10-07 10:40"), at("2026-10-07 11:00"))
TRIAL = (at("2026-10-20 00:00"), at("2026-10-21 12:00"))
MONTH_STARTS = (at("2026-09-01 00:00"), at("2026-10-01 00:00"), at("2026-11-01 00:00"))

CHAT_POOL = PoolFacts(
    name="chat-h100",
    model="qwen3-32b",
    gpu="H100",
    gpus_per_replica=1,
    law=StepLaw(
        fixed_s=0.0216,
        prompt_token_s=1.2e-4,
        prompt_pair_s=2.0e-9,
        sequence_s=1.0e-4,
        context_token_s=7.8e-8,
        step_prompt_tokens=2_048,
        kv_tokens=27_000,
    ),
    stretches=(
        Stretch(
            since=at("2026-08-01 00:00"),
            replicas=1,
            price_per_gpu_hour=Decimal("2.99"),
            windows=CHAT_HOURS,
        ),
        Stretch(
            since=REPLICA_ADDED,
            replicas=2,
            price_per_gpu_hour=Decimal("2.99"),
            windows=CHAT_HOURS,
        ),
        Stretch(
            since=GPU_PRICE_RISE,
            replicas=2,
            price_per_gpu_hour=Decimal("3.49"),
            windows=CHAT_HOURS,
        ),
    ),
)
RAG_POOL = PoolFacts(
    name="rag-l4",
    model="llama-3.1-8b-instruct",
    gpu="L4",
    gpus_per_replica=1,
    law=StepLaw(
        fixed_s=0.0580,
        prompt_token_s=2.9e-4,
        prompt_pair_s=1.5e-8,
        sequence_s=3.0e-4,
        context_token_s=2.2e-7,
        step_prompt_tokens=2_048,
        kv_tokens=90_000,
    ),
    stretches=(
        Stretch(
            since=at("2026-08-01 00:00"),
            replicas=2,
            price_per_gpu_hour=Decimal("0.71"),
            windows=DIGEST_HOURS + RAG_HOURS,
        ),
    ),
)
POOLS = (CHAT_POOL, RAG_POOL)

API_MODEL = "gpt-4.1"
API_MODEL_REPORTED = "gpt-4.1-2025-04-14"
API_PRICE_PER_TOKEN = {
    "uncached_input_tokens": Decimal("0.000002"),
    "cache_read_tokens": Decimal("0.0000005"),
    "output_tokens": Decimal("0.000008"),
}
UNKNOWN_MODEL = "kestrel-lite-preview"

CHAT = EndpointFacts(
    route="/chat",
    service="assistant",
    team="product",
    model=CHAT_POOL.model,
    pool=CHAT_POOL.name,
    timeout_s=150.0,
    max_output_tokens=8_192,
    temperature=0.7,
)
AGENT = EndpointFacts(
    route="/agent/run",
    service="assistant",
    team="support",
    model=CHAT_POOL.model,
    pool=CHAT_POOL.name,
    timeout_s=150.0,
    max_output_tokens=2_048,
    temperature=0.2,
)
SUMMARIZE = EndpointFacts(
    route="/summarize",
    service="knowledge",
    team="support",
    model=CHAT_POOL.model,
    pool=CHAT_POOL.name,
    timeout_s=120.0,
    max_output_tokens=4_096,
    temperature=0.0,
)
RAG = EndpointFacts(
    route="/rag/answer",
    service="knowledge",
    team="search",
    model=RAG_POOL.model,
    pool=RAG_POOL.name,
    timeout_s=300.0,
    max_output_tokens=1_024,
    temperature=0.0,
)
DIGEST = EndpointFacts(
    route="/digest",
    service="backoffice",
    team="data",
    model=RAG_POOL.model,
    pool=RAG_POOL.name,
    timeout_s=3_600.0,
    max_output_tokens=4_096,
    temperature=0.0,
)
EXTRACT = EndpointFacts(
    route="/extract",
    service="backoffice",
    team="data",
    model=API_MODEL,
    pool=None,
    timeout_s=60.0,
    max_output_tokens=2_048,
    temperature=0.0,
)
ENDPOINTS = (CHAT, AGENT, SUMMARIZE, RAG, DIGEST, EXTRACT)
