"""Sources, readers and records made by hand."""

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import BinaryIO

import pytest

from ingest.files import Source
from ingest.ledger import Ledger, open_for_writing
from ingest.records import Batch, Call, Span


class HandReader:
    """A reader that gives the batches it was made with, whatever the source."""

    name = "by-hand"
    title = "records made by hand"
    recognised_by = "nothing"

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches = batches

    def recognise(self, head: bytes, source: Source) -> bool:
        return True

    def read(self, source: Source) -> Iterator[Batch]:
        yield from self.batches


def hand_source() -> Source:
    def opened() -> BinaryIO:
        return BytesIO(b"by hand")

    return Source("by-hand.json", opened, size_bytes=7)


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_for_writing(None) as opened:
        yield opened


@pytest.fixture
def reader_of() -> Callable[..., HandReader]:
    def made(
        spans: Sequence[Span] = (), calls: Sequence[Call] = (), batch_size: int = 3
    ) -> HandReader:
        batches = [
            Batch(spans=spans[at : at + batch_size]) for at in range(0, len(spans), batch_size)
        ]
        batches += [
            Batch(calls=calls[at : at + batch_size]) for at in range(0, len(calls), batch_size)
        ]
        return HandReader(batches)

    return made


@pytest.fixture
def source() -> Source:
    return hand_source()
