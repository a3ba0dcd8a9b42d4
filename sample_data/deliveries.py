"""The files of the sample: which spans and lines go into which, with the accidents of delivery.

Owns file names, the export that was sent twice and the line that was cut off. Refuses to change a
span: what a file holds twice is the same bytes twice.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sample_data import company
from sample_data.batch_log import log_line
from sample_data.engine_spans import request_span, startup_span
from sample_data.exchanges import Exchange, is_second_month
from sample_data.services import service_spans
from sample_data.wire import WireSpan, lines

SERVICES = ("assistant", "knowledge", "backoffice")
MONTHS = ("2026-09", "2026-10")
CUT_LINE_NO = 40
RESENT = ("assistant-2026-10.otlp.jsonl.gz", range(60, 66))
RESENT_NAME = "assistant-2026-10-resent.otlp.jsonl.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """One file: its lines, the records in each, and how often each line repeats or is cut."""

    name: str
    lines: tuple[str, ...]
    record_counts: tuple[int, ...]
    rejected_count: int = 0
    duplicate_count: int = 0

    @property
    def text(self) -> bytes:
        """The file's bytes before compression."""
        return "".join(f"{line}\n" for line in self.lines).encode()

    @property
    def read_count(self) -> int:
        """Records in the file, rejected and repeated ones included."""
        return sum(self.record_counts)

    @property
    def checksum(self) -> str:
        """SHA-256 of the bytes before compression, which no zlib version changes."""
        return hashlib.sha256(self.text).hexdigest()

    def write(self, folder: Path) -> None:
        """Write the file compressed, without a time or a name in the gzip header."""
        with (
            (folder / self.name).open("wb") as raw,
            gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as packed,
        ):
            packed.write(self.text)


def deliveries(exchanges: Sequence[Exchange]) -> list[Delivered]:
    """Every file of the sample, by name."""
    found = [*_service_files(exchanges), *_engine_files(exchanges), *_batch_files(exchanges)]
    return sorted([*found, _resent(found)], key=lambda file: file.name)


def plain_deliveries(exchanges: Sequence[Exchange]) -> list[Delivered]:
    """A file for each service, pool and batch service, as all of them left their exporters."""
    spans = {service: _service_spans(exchanges, service) for service in SERVICES}
    spans |= {f"vllm-{pool.name}": _engine_spans(exchanges, pool) for pool in company.POOLS}
    rows = tuple(line for _, line in _batch_rows(exchanges))
    batch = Delivered(name="digest.jsonl.gz", lines=rows, record_counts=(1,) * len(rows))
    return [batch, *(_otlp_file(f"{name}.otlp.jsonl.gz", spans[name]) for name in sorted(spans))]


def _service_files(exchanges: Sequence[Exchange]) -> Iterable[Delivered]:
    for service in SERVICES:
        yield from _by_month(service, _service_spans(exchanges, service))


def _service_spans(exchanges: Sequence[Exchange], service: str) -> list[WireSpan]:
    return [
        span
        for exchange in exchanges
        if exchange.request.endpoint.service == service
        and exchange.request.endpoint != company.DIGEST
        for span in service_spans(exchange)
    ]


def _engine_files(exchanges: Sequence[Exchange]) -> Iterable[Delivered]:
    for pool in company.POOLS:
        spans = _engine_spans(exchanges, pool)
        if pool == company.CHAT_POOL:
            spans.append(startup_span())
        yield from _by_month(f"vllm-{pool.name}", spans)


def _engine_spans(exchanges: Sequence[Exchange], pool: company.PoolFacts) -> list[WireSpan]:
    return [
        request_span(exchange, tried, view)
        for exchange in exchanges
        if exchange.request.endpoint.pool == pool.name
        and exchange.request.endpoint != company.DIGEST
        for tried in exchange.tried
        if (view := tried.engine_view) is not None
    ]


def _by_month(name: str, spans: Sequence[WireSpan]) -> Iterable[Delivered]:
    tests: tuple[Callable[[int], bool], ...] = (
        lambda instant: not is_second_month(instant),
        is_second_month,
    )
    for month, is_inside in zip(MONTHS, tests, strict=True):
        inside = [span for span in spans if is_inside(span.ended_at)]
        if inside:
            yield _otlp_file(f"{name}-{month}.otlp.jsonl.gz", inside)


def _otlp_file(name: str, spans: Sequence[WireSpan]) -> Delivered:
    written = list(lines(spans))
    texts = [text for text, _ in written]
    counts = [count for _, count in written]
    if name == "backoffice-2026-10.otlp.jsonl.gz":
        cut = texts[CUT_LINE_NO]
        texts.insert(CUT_LINE_NO, cut[: len(cut) * 2 // 3])
        counts.insert(CUT_LINE_NO, 1)
        return Delivered(
            name=name, lines=tuple(texts), record_counts=tuple(counts), rejected_count=1
        )
    return Delivered(name=name, lines=tuple(texts), record_counts=tuple(counts))


def _batch_files(exchanges: Sequence[Exchange]) -> Iterable[Delivered]:
    rows = _batch_rows(exchanges)
    for month, is_second in zip(MONTHS, (False, True), strict=True):
        inside = tuple(line for instant, line in rows if is_second_month(instant) == is_second)
        yield Delivered(
            name=f"digest-{month}.jsonl.gz", lines=inside, record_counts=(1,) * len(inside)
        )


def _batch_rows(exchanges: Sequence[Exchange]) -> list[tuple[int, str]]:
    """The lines of the batch log, each with the end of its call."""
    return sorted(
        (view.ended_at, log_line(tried, view))
        for exchange in exchanges
        if exchange.request.endpoint == company.DIGEST
        for tried in exchange.tried
        if (view := tried.engine_view) is not None
    )


def _resent(files: Sequence[Delivered]) -> Delivered:
    """The export that the collector sent again after a timeout: lines of another file."""
    name, numbers = RESENT
    source = next(file for file in files if file.name == name)
    counts = tuple(source.record_counts[number] for number in numbers)
    return Delivered(
        name=RESENT_NAME,
        lines=tuple(source.lines[number] for number in numbers),
        record_counts=counts,
        duplicate_count=sum(counts),
    )
