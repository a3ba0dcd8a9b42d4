"""Tables leave their numbers the room they need."""

from typing import Any

import pytest

from dashboard.tables import call_columns, span_columns, trace_columns


@pytest.mark.parametrize("columns", [call_columns(), span_columns(), trace_columns()])
def test_a_cost_of_six_decimals_is_not_cut(columns: dict[str, Any]) -> None:
    assert columns["cost"]["width"] >= len("9,999.999999") * 9
