"""Sources made of bytes, and everything that a reader takes from one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.files import RefusedSourceError, Source, open_sources
from ingest.readers import reader_named
from ingest.records import Call, Reject, Span

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "readers"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"

SourceOf = Callable[..., Source]


@dataclass(frozen=True)
class Taken:
    """What a reader made of a source, batches put together."""

    spans: list[Span]
    calls: list[Call]
    rejects: list[Reject]


def the_source(path: Path) -> Source:
    (opened,) = open_sources([str(path)])
    if isinstance(opened, RefusedSourceError):
        raise opened
    return opened


def taken_from(source: Source, format_name: str) -> Taken:
    batches = list(reader_named(format_name).read(source))
    return Taken(
        spans=[span for batch in batches for span in batch.spans],
        calls=[call for batch in batches for call in batch.calls],
        rejects=[reject for batch in batches for reject in batch.rejects],
    )


@pytest.fixture
def source_of(tmp_path: Path) -> SourceOf:
    """A source of the given bytes; the name is one that says nothing."""

    def make(content: bytes, name: str = "data.bin") -> Source:
        path = tmp_path / name
        path.write_bytes(content)
        return the_source(path)

    return make


@pytest.fixture
def take(source_of: SourceOf) -> Callable[[bytes | str, str], Taken]:
    """What the named reader makes of the given bytes."""

    def make(content: bytes | str, format_name: str) -> Taken:
        data = content.encode() if isinstance(content, str) else content
        return taken_from(source_of(data), format_name)

    return make


@pytest.fixture
def take_file() -> Callable[[str, str], Taken]:
    """What the named reader makes of a file among the fixtures."""
    return lambda name, format_name: taken_from(the_source(FIXTURES / name), format_name)


@pytest.fixture
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture
def shared() -> Path:
    """The public files beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("the public files in ../shared are absent")
    return SHARED


@pytest.fixture
def take_shared(shared: Path) -> Callable[[str, str], Taken]:
    """What the named reader makes of a public file."""
    return lambda name, format_name: taken_from(the_source(shared / name), format_name)
