"""Values of engine metrics on their way out of a reader: taken, rejected or ignored.

Owns the batches of samples and the count of what was ignored. Refuses to drop a value uncounted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from ingest.readers.reader import batches
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


def sample_batches(found: Iterable[Measured]) -> Iterator[Batch]:
    """Batches of samples and rejects; what was ignored is counted with those before it."""
    return batches(as_records(found))
