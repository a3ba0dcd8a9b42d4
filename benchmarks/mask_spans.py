"""What masking costs: ingest of the spans of `ingest_otlp.py` with the default masks and without.

Run `python benchmarks/mask_spans.py [REQUESTS] [ROUNDS]`. Both run one after the other in each
round, on the same bytes, in CPU seconds of all threads; the median of the rounds' ratios is
printed. Once the spans hold nothing to mask, as most do, and once every third span has an e-mail
address, so that it is walked through.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from ingest_otlp import TRACES_PER_REQUEST, cpu_s, request

from ingest.config import Configuration
from ingest.deliver import deliver
from ingest.files import open_sources
from ingest.ledger import open_for_writing
from ingest.readers import reader_named

PLAIN, MARKED = b"vllm.internal", b"a@example.com"
"""Of one length, so that the lengths in the message hold."""


def ingest_s(path: Path, configuration: Configuration) -> float:
    """CPU seconds of one ingest into a new ledger."""
    (source,) = open_sources([str(path)])
    reader = reader_named("otlp-protobuf")
    with tempfile.TemporaryDirectory() as folder:

        def ingest() -> None:
            with open_for_writing(Path(folder) / "l.duckdb") as ledger:
                deliver(ledger, source, reader, configuration)

        return cpu_s(ingest)


def main(request_count: int = 20, rounds: int = 5) -> None:
    body = b"".join(request(number) for number in range(request_count))
    spans = request_count * TRACES_PER_REQUEST * 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spans.pb"
        for name, written in (("nothing", body), ("every 3rd", body.replace(PLAIN, MARKED))):
            path.write_bytes(written)
            pairs = [
                (ingest_s(path, Configuration(mask=())), ingest_s(path, Configuration()))
                for _ in range(rounds)
            ]
            bare, masked = (statistics.median(times) for times in zip(*pairs, strict=True))
            ratio = statistics.median(after / before for before, after in pairs)
            print(
                f"{name:>9} to mask: {spans / bare:>7,.0f} spans/s/core without, "
                f"{spans / masked:>7,.0f} with; {ratio:.3f} × the time"
            )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
