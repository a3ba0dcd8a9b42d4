"""The monthly report as it is printed: in a real Chromium, on A4, from the sample data."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

PRINTED_WIDTH_PX = 1031
"""A4 landscape, 297 mm, without two margins of 12 mm, at 96 pixels an inch."""
A4_LANDSCAPE = [(842, 595)]
MOST_PAGES = 4


@pytest.fixture(scope="module")
def report(sample: Any, run_command: Callable[..., str], tmp_path_factory: Any) -> Path:
    """The report of October as a page."""
    folder = tmp_path_factory.mktemp("report")
    run_command(
        "report", "--month", "2026-10", "--format", "html", "--out", str(folder),
        "--ledger", str(sample.ledger), "--config", str(sample.config),
    )  # fmt: skip
    return folder / "gpuledger-2026-10.html"


def test_no_cell_is_wider_than_the_paper(report: Path, page_of: Callable[..., Any]) -> None:
    page = page_of(PRINTED_WIDTH_PX)
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    rightmost = page.evaluate(
        "Math.max(...[...document.querySelectorAll('td, th, svg, li')]"
        ".map(cell => cell.getBoundingClientRect().right))"
    )
    assert rightmost <= PRINTED_WIDTH_PX


def test_long_names_and_large_amounts_fit_the_paper_too(
    report: Path, page_of: Callable[..., Any]
) -> None:
    page = page_of(PRINTED_WIDTH_PX)
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    page.evaluate(
        "document.querySelectorAll('tbody td').forEach(cell => {"
        " if (!cell.querySelector('svg')) cell.textContent ="
        " cell.matches('.text') ? '/x'.repeat(150) : '12,345,678.90'; })"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= PRINTED_WIDTH_PX


def test_it_is_printed_on_four_landscape_pages_at_most(
    report: Path, page_of: Callable[..., Any]
) -> None:
    page = page_of()
    page.goto(report.as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", printed)
    assert sorted({(round(float(w)), round(float(h))) for w, h in sizes}) == A4_LANDSCAPE
    assert 1 <= len(sizes) <= MOST_PAGES


def test_the_colours_of_the_legend_are_printed(report: Path, page_of: Callable[..., Any]) -> None:
    page = page_of()
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    adjusted = page.locator(".swatch").first.evaluate("e => getComputedStyle(e).printColorAdjust")
    assert adjusted == "exact"
