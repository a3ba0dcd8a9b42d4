"""A received batch, from its bytes to the ledger, for spans that come in time and for late ones.

On a ledger of a million spans: the time until a batch of 512 spans is acknowledged, and until it
is in the ledger as calls, for spans that began up to 0 s, 10 minutes and 1 hour before, and for the
same batches sent again. Seconds depend on the machine; ratios are to the batches in time.

    python benchmarks/receive_late_spans.py [--spans N] [--batches N]
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.config import Configuration
from ingest.ledger import open_for_writing
from ingest.receiver.inbox import Inbox
from ingest.receiver.intake import PROTOBUF, Intake
from ingest.receiver.settle import Settler
from ingest.receiver.signals import TRACES

BATCH_SPANS = 512
SPANS_PER_TRACE = 4
SPANS_PER_S = 1_000
BEGIN_NS = 1_790_000_000 * 10**9
LATENESS_S = {"in time": 0, "10 minutes": 600, "1 hour": 3_600}

INSERT_SPANS = """
insert into spans
select
    md5(cast(range // $per_trace as varchar)) as trace_id,
    lpad(to_hex(range), 16, '0') as span_id,
    null as parent_span_id,
    'work' as name,
    'internal' as kind,
    $begin + range * (1000000000 // $per_second) as started_at,
    $begin + range * (1000000000 // $per_second) + 50000000 as ended_at,
    'unset' as status,
    null as status_message,
    'shop' as service,
    null as scope,
    '{}' as attributes,
    '{}' as resource,
    '[]' as events,
    3 as fullness,
    lpad(to_hex(range), 28, '0') as digest,
    1 as delivery_id
from range($spans)
"""


def batch(number: int, now_ns: int, lateness_s: int, chance: random.Random) -> bytes:
    """One export request of `BATCH_SPANS` spans, a quarter of which are model calls."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for index in range(BATCH_SPANS):
        trace = number * BATCH_SPANS + index // SPANS_PER_TRACE
        at = now_ns - int(chance.uniform(0, lateness_s) * 1e9)
        span = scope.spans.add(
            trace_id=(2**100 + trace).to_bytes(16),
            span_id=(2**40 + number * BATCH_SPANS + index).to_bytes(8),
            name="chat llama",
            start_time_unix_nano=at,
            end_time_unix_nano=at + 10**9,
        )
        if index % SPANS_PER_TRACE == 0:
            span.attributes.add(key="gen_ai.operation.name").value.string_value = "chat"
            span.attributes.add(key="gen_ai.request.model").value.string_value = "llama"
            span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 100
            span.attributes.add(key="gen_ai.usage.output_tokens").value.int_value = 20
    return request.SerializeToString()


def measure(folder: Path, spans: int, batches: int) -> None:
    """Print medians of the time until acknowledged and until in the ledger, by lateness."""
    path, configuration = folder / "ledger.duckdb", Configuration()
    with open_for_writing(path) as ledger:
        values = {
            "spans": spans,
            "begin": BEGIN_NS,
            "per_trace": SPANS_PER_TRACE,
            "per_second": SPANS_PER_S,
        }
        ledger.connection.execute(INSERT_SPANS, values)
    now_ns = BEGIN_NS + spans // SPANS_PER_S * 10**9
    chance = random.Random(1)  # noqa: S311 - repeatable, not secret
    with Inbox(folder / "inbox", max_bytes=2**30) as inbox:
        intake, settler = Intake(configuration, time.time_ns), Settler(path, inbox, configuration)
        number = 0
        in_time = None
        for label, lateness_s in LATENESS_S.items():
            bodies = [batch(number + i, now_ns, lateness_s, chance) for i in range(batches)]
            number += batches
            for what, sent in ((label, bodies), (f"{label}, again", bodies)):
                acknowledged, settled = [], []
                for body in sent:
                    begin = time.perf_counter()
                    inbox.put(intake.take(TRACES, body, PROTOBUF, "benchmark").arrival).result()
                    acknowledged.append(time.perf_counter() - begin)
                    settler.settle()
                    settled.append(time.perf_counter() - begin - acknowledged[-1])
                ack, settle = statistics.median(acknowledged), statistics.median(settled)
                in_time = in_time or (ack, settle)
                print(
                    f"{what}: acknowledged in {ack * 1e3:.1f} ms ({ack / in_time[0]:.2f} times), "
                    f"in the ledger after {settle * 1e3:.0f} ms more ({settle / in_time[1]:.2f} "
                    "times)",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--batches", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), arguments.spans, arguments.batches)


if __name__ == "__main__":
    main()
