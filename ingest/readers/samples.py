"""Values of engine metrics on their way out of a reader: taken, rejected or ignored.

Owns the batches of samples and the count of what was ignored. Refuses a source of which nothing
but ignored values came.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.files import Source
from ingest.readers.reader import MAX_BATCH_RECORDS
from ingest.records import Batch, Reject, Sample


@dataclass(frozen=True, slots=True)
class Ignored:
    """`count` sound values of a metric that no question reads."""

    count: int = 1


Measured = Sample | Reject | Ignored


def sample_batches(found: Iterator[Measured], source: Source, what: str) -> Iterator[Batch]:
    """Batches of samples and rejects; what was ignored is counted with those before it.

    Raises `UnreadableSourceError` where there is neither; `what` says what the source is then.
    """
    samples: list[Sample] = []
    rejects: list[Reject] = []
    ignored_count = 0
    is_first = True
    for item in found:
        if isinstance(item, Ignored):
            ignored_count += item.count
            continue
        if len(samples) + len(rejects) == MAX_BATCH_RECORDS:
            yield Batch(samples=samples, rejects=rejects, ignored_count=ignored_count)
            samples, rejects, ignored_count, is_first = [], [], 0, False
        if isinstance(item, Sample):
            samples.append(item)
        else:
            rejects.append(item)
    if samples or rejects:
        yield Batch(samples=samples, rejects=rejects, ignored_count=ignored_count)
    elif is_first:
        raise source.refusal(
            f"{what} without a metric of vLLM, SGLang or llama.cpp "
            f"({ignored_count:,} values of others)"
        )
