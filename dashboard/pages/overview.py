"""Overview: what was spent, on what, how sure that is, and which letter of the law says why."""

import polars as pl
import streamlit as st

from dashboard import answers
from dashboard.charts import spend_figure
from dashboard.comparison import LetterCard, compared_lines, letter_cards, letter_values
from dashboard.lines import labelled
from dashboard.moves import moves_of
from dashboard.pages.notes import show_notes
from dashboard.pages.tables import show_table
from dashboard.pages.unpriced import show_unpriced
from dashboard.series import spend_by_day
from dashboard.source import Source
from dashboard.summary import Summary, summary_of, trust_sentence
from dashboard.tables import comparison_columns
from dashboard.view import View
from dashboard.wording import change_text, count_text, money_text, quantity_text, ratio_text

NOTHING_BEFORE = "Nothing to compare with: no calls here cover a period before from its start."
LETTER_WIDTH_PX = 168
"""Two stand side by side on a phone."""


def show(source: Source, view: View) -> None:
    """The page in `view`."""
    lines = answers.law_by(source, (view.by,), view.window, view.where)
    before = answers.law_before(source, (view.by,), view.window_before, view.where)
    summary = summary_of(lines.frame, view.currency)
    st.subheader(f"Cost of inference, {view.period.text}")
    if summary.cost is None:
        _counts(summary)
    else:
        _first_numbers(summary, None if before is None else summary_of(before, view.currency), view)
    st.text(trust_sentence(summary))
    show_unpriced(source, summary)
    if summary.cost is not None:
        _spend(source, view)
        _letters(source, view)
        _lines(lines.frame, before, view)
    show_notes(lines)


def _counts(summary: Summary) -> None:
    """The first numbers where nothing has a price in the configured currency."""
    with st.container(horizontal=True):
        st.metric("Calls", count_text(summary.calls_count), border=True)
        st.metric("Input tokens", count_text(summary.input_tokens), border=True)
        st.metric("Output tokens", count_text(summary.output_tokens), border=True)


def _first_numbers(summary: Summary, before: Summary | None, view: View) -> None:
    with st.container(horizontal=True):
        _number(
            "Cost",
            money_text(summary.cost, view.currency),
            None if before is None else change_text(summary.cost, before.cost),
            "" if before is None else f"against {view.name_before}",
        )
        _number(
            "GPU-seconds, idle included",
            quantity_text(summary.gpu_seconds),
            None if before is None else change_text(summary.gpu_seconds, before.gpu_seconds),
            f"for {count_text(summary.calls_count)} calls",
        )
        _number(
            "Idle",
            money_text(summary.idle_cost, view.currency),
            None if before is None else change_text(summary.idle_cost, before.idle_cost),
            f"{ratio_text(summary.idle_ratio)} of the GPU-seconds",
        )


def _number(label: str, value: str, change: str | None, beside: str) -> None:
    """One of the first numbers; that it rose is shown as bad news, since each is spent."""
    st.metric(label, value, change, delta_color="inverse", delta_description=beside, border=True)


def _spend(source: Source, view: View) -> None:
    daily = answers.law_by(source, ("day", view.by), view.window, view.where).frame
    spend = spend_by_day(
        labelled(daily, (view.by,)), currency=view.currency, window_text=view.period.text
    )
    st.plotly_chart(spend_figure(spend, view.by), key="spend", alt="Cost by day, stacked")


def _letters(source: Source, view: View) -> None:
    st.subheader("C = p · N · (Tp + L · Td) / B")
    st.text(f"Below each letter: its effect on C, summed over endpoints, {view.currency}")
    now = answers.law_by(source, (), view.window, view.where).frame
    before = answers.law_before(source, (), view.window_before, view.where)
    effects = {}
    if before is not None and view.window_before is not None:
        explained = answers.moved(source, view.window_before, view.window, view.where)
        moves = moves_of(explained.frame, view.currency)
        effects = {move.cause: move.cost for move in moves}
    cards = letter_cards(
        letter_values(now, view.currency),
        {} if before is None else letter_values(before, view.currency),
        effects,
        view.currency,
    )
    if before is None:
        st.text(NOTHING_BEFORE)
    with st.container(horizontal=True):
        for card in cards:
            _letter(card)


def _letter(card: LetterCard) -> None:
    st.metric(
        card.title,
        card.value,
        card.change,
        delta_color=card.colour,
        delta_description=card.effect,
        help=card.meaning,
        border=True,
        width=LETTER_WIDTH_PX,
    )


def _lines(lines: pl.DataFrame, before: pl.DataFrame | None, view: View) -> None:
    st.subheader(f"Cost by {view.by}")
    show_table(
        compared_lines(lines, before, view.by, view.currency),
        "cost",
        f"Cost by {view.by}, now and before",
        column_config=comparison_columns(view.by, view.name_before, view.currency),
        height="content",
    )
