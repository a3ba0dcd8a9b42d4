"""An ingest takes a small part of the memory that is configured, in whatever form that is."""

import pytest

from ingest.config import Configuration
from ingest.memory import INGEST_LIMIT, frugal, limit_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4GB", 4 * 10**9), ("0.5 GiB", 2**29), ("512kb", 512_000), ("100B", 100)],
)
def test_an_amount_is_read_in_its_unit(text: str, expected: int) -> None:
    assert limit_bytes(text) == expected


def test_a_share_is_of_the_memory_of_the_machine() -> None:
    assert limit_bytes("100%") > 2**28
    assert limit_bytes("50 %") == limit_bytes("100%") // 2


@pytest.mark.parametrize("text", ["", "much", "4 lb", "%"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no amount of memory"):
        limit_bytes(text)


@pytest.mark.parametrize(
    ("configured", "taken"), [("4GB", INGEST_LIMIT), ("64MB", "64MB"), ("100%", INGEST_LIMIT)]
)
def test_no_more_is_taken_than_is_configured(configured: str, taken: str) -> None:
    assert frugal(Configuration(memory_limit=configured)).memory_limit == taken
