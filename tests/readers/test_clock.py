"""The unit of a time is told from its size, unless it is declared."""

import pytest

from ingest.readers.clock import instant_of
from ingest.readers.rejection import RecordError

AT = 1790841600 * 10**9


@pytest.mark.parametrize(
    "value",
    [
        1790841600,
        1790841600.0,
        "1790841600",
        1790841600_000,
        1790841600_000_000,
        1790841600_000_000_000,
        "2026-10-01T08:00:00Z",
        "2026-10-01 08:00:00",
        "2026-10-01T10:00:00+02:00",
    ],
)
def test_a_time_in_any_unit_is_the_same_instant(value: object) -> None:
    assert instant_of(value, "t") == AT


def test_a_declared_unit_decides() -> None:
    assert instant_of(21, "t", "ms") == 21_000_000
    assert instant_of("0.5", "t", "s") == 500_000_000


@pytest.mark.parametrize("value", [None, ""])
def test_an_absent_time_is_none(value: object) -> None:
    assert instant_of(value, "t") is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (21, "t 21 is no time since 1970 in s, ms, us or ns"),
        (-1790841600, "is no time since 1970"),
        (True, "t 'True' is no instant"),
        ([], r"t '\[\]' is no instant"),
        ("noon", "'noon' is no instant"),
    ],
)
def test_what_is_no_time_is_refused(value: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        instant_of(value, "t")
