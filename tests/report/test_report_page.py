"""The page stands alone, escapes what the data brings, and shows the table's figures."""

import re
from html.parser import HTMLParser

from dashboard.monthly.figures import MonthlyFigures
from dashboard.monthly.page import report_page
from dashboard.monthly.svg import rounded_up

SCRIPT_NAME = '<script>alert("x")</script>'


class Tags(HTMLParser):
    """The tags of a page and the attributes that could load something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.references: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]


def test_nothing_is_loaded_from_anywhere(figures: MonthlyFigures) -> None:
    page = report_page(figures)
    tags = Tags(page)
    assert tags.references == []
    assert not tags.names & {"script", "link", "img", "iframe", "object"}
    assert re.findall(r"(?:https?:)?//|url\(|@import", page) == []


def test_a_name_that_looks_like_a_script_is_text(figures: MonthlyFigures) -> None:
    page = report_page(figures)
    assert SCRIPT_NAME not in page
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;" in page


def test_the_three_numbers_come_first(figures: MonthlyFigures) -> None:
    page = report_page(figures)
    first = re.findall(r"<dd>([^<]+)<small>([^<]+)</small>", page)
    assert first == [
        ("92.35 USD", "+25.0\u00a0% against 2026-09"),
        ("80,009", "100,147 calls"),
        ("20.00 USD", "25.0\u00a0% of the GPU-seconds"),
    ]


def test_the_letters_and_their_effects_stand_on_the_page(figures: MonthlyFigures) -> None:
    page = report_page(figures)
    assert "N, calls" in page
    assert "<td>+25.00</td>" in page
    assert "<td>-6.53</td>" in page
    assert "<td>+18.47</td>" in page


def test_one_sentence_says_how_far_to_trust_it(figures: MonthlyFigures) -> None:
    assert (
        "83.3\u00a0% of the calls&#39; GPU-seconds are measured, 16.7\u00a0% estimated; "
        "7 calls with 770 tokens without a price, not in the cost." in report_page(figures)
    )


def test_the_same_figures_give_the_same_page(figures: MonthlyFigures) -> None:
    assert report_page(figures) == report_page(figures)


def test_an_axis_ends_at_a_round_number() -> None:
    tops = [rounded_up(value) for value in (0, 0.03, 0.9, 1, 7, 11, 22, 480, 1001)]
    assert tops == [1, 0.05, 1, 1, 10, 20, 25, 500, 2000]
