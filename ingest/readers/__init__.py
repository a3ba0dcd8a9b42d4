"""One module a format: bytes to spans, calls or samples. The registry that a new format joins.

Owns the choice of a reader, by content or by name. Refuses to choose by a file's name.
"""

import difflib

from ingest.errors import LedgerError
from ingest.files import RefusedSourceError, Source
from ingest.readers.aibrix import Aibrix
from ingest.readers.aider import Aider
from ingest.readers.api_calls import ANTHROPIC_MESSAGES, OPENAI_ANSWERS
from ingest.readers.azure_llm_trace import AzureLlmTrace
from ingest.readers.burstgpt import BurstGpt
from ingest.readers.claude_code import ClaudeCode
from ingest.readers.claude_stream import ClaudeStream
from ingest.readers.codex import Codex
from ingest.readers.codex_turns import CodexTurns
from ingest.readers.flat_spans import FlatSpans
from ingest.readers.foreign import companion, described
from ingest.readers.gemini_responses import GeminiResponses
from ingest.readers.gemini_session import GeminiSession
from ingest.readers.inspect_ai import InspectAi
from ingest.readers.jaeger_json import JaegerJson
from ingest.readers.langfuse import Langfuse
from ingest.readers.langsmith import LangSmith
from ingest.readers.litellm import LiteLlm
from ingest.readers.llama_cpp import LlamaCpp
from ingest.readers.llmperf import LlmPerf
from ingest.readers.lmcache_agent import LmCacheAgent
from ingest.readers.mooncake import Mooncake
from ingest.readers.native import Native
from ingest.readers.openinference_span import OpenInferenceSpan
from ingest.readers.otlp_json import OtlpJson, OtlpJsonLines
from ingest.readers.otlp_logs import OtlpLogs
from ingest.readers.otlp_metrics import OtlpMetrics
from ingest.readers.otlp_protobuf import OtlpProtobuf
from ingest.readers.prometheus_text import PrometheusText
from ingest.readers.proposals import proposal
from ingest.readers.reader import Reader
from ingest.readers.sdk_console import SdkConsole
from ingest.readers.swe_agent import SweAgent
from ingest.readers.vllm_lifecycle import VllmLifecycle
from ingest.readers.zipkin import Zipkin

READERS: tuple[Reader, ...] = (
    OtlpJsonLines(),
    OtlpJson(),
    OtlpProtobuf(),
    OtlpLogs(),
    OpenInferenceSpan(),
    JaegerJson(),
    SdkConsole(),
    Zipkin(),
    FlatSpans(),
    Langfuse(),
    LangSmith(),
    LiteLlm(),
    GeminiSession(),
    ClaudeCode(),
    ClaudeStream(),
    Codex(),
    CodexTurns(),
    GeminiResponses(),
    Aider(),
    SweAgent(),
    InspectAi(),
    VllmLifecycle(),
    LlamaCpp(),
    OPENAI_ANSWERS,
    ANTHROPIC_MESSAGES,
    AzureLlmTrace(),
    BurstGpt(),
    Mooncake(),
    Aibrix(),
    LlmPerf(),
    LmCacheAgent(),
    OtlpMetrics(),
    PrometheusText(),
    Native(),
)
"""In the order in which they are asked: otlp-json would take what otlp-jsonl takes."""


class UnknownFormatError(LedgerError):
    """A format name that no reader has."""


def reader_named(name: str) -> Reader:
    """The reader of that name. Raises `UnknownFormatError` with the nearest known one."""
    by_name = {reader.name: reader for reader in READERS}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, by_name, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(by_name)}"
    raise UnknownFormatError(f"unknown format {name!r}; {hint} (see `gpuledger formats`)")


def reader_dated(reader: Reader, scraped_at: int) -> Reader:
    """`reader`; one of samples that may be undated dates them with `scraped_at`, in nanoseconds."""
    return PrometheusText(scraped_at) if isinstance(reader, PrometheusText) else reader


def recognise(source: Source) -> Reader:
    """The reader whose format the content of `source` shows.

    Raises `UnreadableSourceError` that says what the content looks like instead.
    """
    for reader in READERS:
        if reader.recognise(source.head, source):
            return reader
    beside = companion(source.head)
    if beside is not None:
        raise RefusedSourceError(source.name, beside, is_companion=True)
    known = f"{described(source.head)}; no reader recognises it (see `gpuledger formats`)"
    proposed = proposal(source)
    raise source.refusal(known if proposed is None else f"{known}; {proposed}")
