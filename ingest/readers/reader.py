"""What a reader is, and how its records are packed into batches.

Owns the protocol that a new format fulfils. Refuses to hold more than one batch in memory.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from ingest.files import Source
from ingest.records import Batch, Call, Reject, Sample, Span

MAX_BATCH_RECORDS = 5_000
MAX_BATCH_CHARACTERS = 64 * 2**20
"""A batch ends early where its texts are long: 5,000 spans of 10 MB are not held at once."""

Record = Span | Call | Sample | Reject | None
"""None is a value that is sound and that no question reads; it is counted."""


class Reader(Protocol):
    """One format: how it is told from its content, and how it becomes records.

    `read` may raise `UnreadableSourceError` after it has given batches: a truncated file shows
    its end only there.
    """

    @property
    def name(self) -> str:
        """What `--format` takes."""

    @property
    def title(self) -> str:
        """The format in words."""

    @property
    def recognised_by(self) -> str:
        """What in the content shows the format, in one sentence."""

    def recognise(self, head: bytes, source: Source) -> bool:
        """Whether `head`, the first 64 KiB of `source`, shows this format."""

    def read(self, source: Source) -> Iterator[Batch]:
        """Batches of at most 5,000 records; each record is taken or rejected."""


def batches(records: Iterable[Record]) -> Iterator[Batch]:
    """`records` in their order, packed into batches of bounded size."""
    spans: list[Span] = []
    calls: list[Call] = []
    samples: list[Sample] = []
    rejects: list[Reject] = []
    count = characters = ignored = 0
    for record in records:
        if record is None:
            ignored += 1
            continue
        if isinstance(record, Span):
            spans.append(record)
            characters += sum([len(v) for v in record.attributes.values() if type(v) is str])
        elif isinstance(record, Call):
            calls.append(record)
        elif isinstance(record, Sample):
            samples.append(record)
        else:
            rejects.append(record)
        count += 1
        if count == MAX_BATCH_RECORDS or characters > MAX_BATCH_CHARACTERS:
            yield Batch(
                spans=spans, calls=calls, samples=samples, rejects=rejects, ignored_count=ignored
            )
            spans, calls, samples, rejects = [], [], [], []
            count = characters = ignored = 0
    if count or ignored:
        yield Batch(
            spans=spans, calls=calls, samples=samples, rejects=rejects, ignored_count=ignored
        )
