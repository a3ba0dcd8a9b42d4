"""Reads Prometheus text of an inference engine: one scrape, or many in a row.

Owns how such a text is told from others. Refuses one of which nothing says when it was scraped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.engine_metrics.names import engine_names
from ingest.files import Source
from ingest.files.content import UTF8_BOM
from ingest.readers.documents import lines
from ingest.readers.exposition import MARK, Scrape, UndatedError, lines_to_samples
from ingest.readers.opening import begins_as_json
from ingest.readers.samples import sample_batches
from ingest.records import Batch

_COMMENTS = re.compile(
    rb"^# (?:TYPE [a-zA-Z_:][\w:.]* (?:counter|gauge|histogram|summary|untyped|unknown|info)\s*$"
    rb"|scraped_at )",
    re.MULTILINE,
)
_UNDATED = (
    "Prometheus text without timestamps: nothing says when it was scraped; give the instant with "
    f"--at TIME, or write a line '{MARK}TIME' above each scrape"
)


@dataclass(frozen=True, slots=True)
class PrometheusText:
    """Prometheus or OpenMetrics text; `scraped_at` dates samples that nothing else dates."""

    scraped_at: int | None = None

    name = "prometheus-text"
    title = "Prometheus text of vLLM, SGLang or llama.cpp"
    recognised_by = "lines such as '# TYPE name gauge', or samples named vllm:…, sglang:…"

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether the head has such a comment, or begins with a sample of a known engine."""
        if begins_as_json(head):
            return False
        text = head.removeprefix(UTF8_BOM).lstrip()
        return bool(_COMMENTS.search(text)) or text.startswith(_prefixes())

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of samples; a line that is no sample is rejected by itself."""
        with source.open() as stream:
            numbered = ((n, line.decode("utf-8", "replace")) for n, line in lines(stream))
            try:
                found = lines_to_samples(numbered, Scrape(at=self.scraped_at))
                yield from sample_batches(found)
            except UndatedError as error:
                raise source.refusal(_UNDATED) from error


def _prefixes() -> tuple[bytes, ...]:
    return tuple(prefix.encode() for names in engine_names().values() for prefix in names.prefixes)
