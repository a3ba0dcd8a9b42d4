"""An application: asks an OpenAI-compatible server a few things, with one instrumentation at work.

    python instrumented_client.py INSTRUMENTATION SERVER_URL OTLP_URL

Prints the usage that the server reported, as JSON: one object a call.
"""

import importlib
import json
import sys

from openai import OpenAI
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

INSTRUMENTORS = {
    "opentelemetry": "opentelemetry.instrumentation.openai_v2",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "openinference": "openinference.instrumentation.openai",
}
QUESTIONS = ("Name a colour.", "Name a colour, and a fruit.")


def main(instrumentation: str, server_url: str, otlp_url: str) -> None:
    provider = TracerProvider(resource=Resource.create({"service.name": instrumentation}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{otlp_url}/v1/traces")))
    trace.set_tracer_provider(provider)
    module = importlib.import_module(INSTRUMENTORS[instrumentation])
    module.OpenAIInstrumentor().instrument(tracer_provider=provider)
    client = OpenAI(base_url=f"{server_url}/v1", api_key="none", max_retries=0)
    usage = []
    with provider.get_tracer("shop").start_as_current_span(
        "POST /colours", attributes={"http.route": "/colours"}, kind=trace.SpanKind.SERVER
    ):
        for question in QUESTIONS:
            answer = client.chat.completions.create(
                model="smollm2",
                max_tokens=12,
                messages=[{"role": "user", "content": question}],
            )
            usage.append((answer.usage.prompt_tokens, answer.usage.completion_tokens))
        stream = client.chat.completions.create(
            model="smollm2",
            max_tokens=12,
            messages=[{"role": "user", "content": QUESTIONS[0]}],
            stream=True,
            stream_options={"include_usage": True},
        )
        last = [chunk for chunk in stream if chunk.usage is not None][-1]
        usage.append((last.usage.prompt_tokens, last.usage.completion_tokens))
    provider.shutdown()
    sys.stdout.write(json.dumps(usage))


if __name__ == "__main__":
    main(*sys.argv[1:])
