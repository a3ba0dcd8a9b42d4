"""A trace of more spans than a page shows says so, in the words of the command."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

TRACE = "c" * 32
SENTENCE = "showing 500 of 1,200 spans: the dearest calls and the longest spans in turn"
TOTALS = "1,199 calls among 1,200 spans: 119,900 in, 11,990 out tokens"


def test_case_35_the_page_and_the_command_say_how_many_of_how_many_in_the_same_words(
    served_large_trace: str,
    large_trace: Any,
    page_of: Callable[..., Any],
    run_command: Callable[..., str],
) -> None:
    files = ("--ledger", str(large_trace.ledger), "--config", str(large_trace.config))
    printed = run_command("trace", TRACE, *files)
    assert SENTENCE in " ".join(line.strip() for line in printed.splitlines()[:3])
    assert printed.splitlines()[-1].split()[4:6] == ["119,900", "11,990"]
    page = page_of()
    page.goto(f"{served_large_trace}/traces?trace={TRACE}")
    page.get_by_text(SENTENCE).wait_for()
    page.get_by_text(TOTALS).wait_for()
    page.locator(".js-plotly-plot").get_by_text("step 0").first.wait_for()
    names = page.locator(".js-plotly-plot .scatterlayer text").all_text_contents()
    assert len([name for name in names if name.strip().startswith("step ")]) == 500
