"""Values of engine metrics on their way out of a reader: taken, rejected or ignored.

Owns the batches of samples and the count of what was ignored. Refuses to drop a value uncounted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from ingest.readers.reader import MAX_BATCH_RECORDS
from ingest.records import Batch, Reject, Sample


@dataclass(frozen=True, slots=True)
class Ignored:
    """`count` sound values of a metric that no question reads."""

    count: int = 1


Measured = Sample | Reject | Ignored


def as_records(found: Iterable[Measured]) -> Iterator[Sample | Reject | None]:
    """`found` with None for each value that is ignored."""
    for item in found:
        if isinstance(item, Ignored):
            yield from repeat(None, item.count)
        else:
            yield item


def sample_batches(found: Iterator[Measured]) -> Iterator[Batch]:
    """Batches of samples and rejects; what was ignored is counted with those before it."""
    samples: list[Sample] = []
    rejects: list[Reject] = []
    ignored_count = 0
    for item in found:
        if isinstance(item, Ignored):
            ignored_count += item.count
            continue
        if len(samples) + len(rejects) == MAX_BATCH_RECORDS:
            yield Batch(samples=samples, rejects=rejects, ignored_count=ignored_count)
            samples, rejects, ignored_count = [], [], 0
        if isinstance(item, Sample):
            samples.append(item)
        else:
            rejects.append(item)
    if samples or rejects or ignored_count:
        yield Batch(samples=samples, rejects=rejects, ignored_count=ignored_count)
