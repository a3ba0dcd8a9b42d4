"""Tables leave their numbers the room they need."""

from typing import Any

import pytest

from dashboard.tables import (
    LETTER_COLUMNS,
    SEEN_FIRST_PX,
    call_columns,
    law_columns,
    span_columns,
    trace_columns,
)


@pytest.mark.parametrize("columns", [call_columns(), span_columns(), trace_columns()])
def test_a_cost_of_six_decimals_is_not_cut(columns: dict[str, Any]) -> None:
    assert columns["cost"]["width"] >= len("9,999.999999") * 9


def test_cost_share_and_the_six_letters_are_seen_without_scrolling() -> None:
    columns = law_columns("endpoint", "USD")
    first = list(columns)[: 4 + len(LETTER_COLUMNS)]
    assert first == ["label", "cost", "currency", "share_ratio", *LETTER_COLUMNS]
    assert sum(columns[name]["width"] for name in first) <= SEEN_FIRST_PX
