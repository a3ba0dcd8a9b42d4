"""Pictures of answers: each a pure function of a frame.

Owns what a figure shows and how its title says quantity, unit and window. Refuses to compute a
cost, to read a ledger, and to take a name from the data for markup.
"""

from datetime import date

import plotly.graph_objects as go
import polars as pl

from dashboard.lines import IDLE_LABEL
from dashboard.palette import colours_of
from dashboard.series import OTHERS, SpendByDay
from dashboard.wording import plotly_text, shortened

SPEND_HEIGHT_PX = 400
HOVER_LETTERS = 40


def spend_figure(spend: SpendByDay, what: str) -> go.Figure:
    """Stacked bars: cost by day, one colour a label; `what` names the labels ("endpoint")."""
    colours = colours_of(spend.labels, without_hue=(IDLE_LABEL, OTHERS))
    days = spend.frame["day"].unique().sort().to_list()
    figure = go.Figure()
    for label in spend.labels:
        figure.add_bar(
            name=plotly_text(shortened(label)),
            x=days,
            y=_amounts(spend.frame, label, days),
            marker={"color": colours[label], "pattern": {"shape": _pattern(label)}},
            hovertemplate="%{y:,.2f} " + spend.currency,
        )
    figure.update_layout(
        title=_title(f"Cost by day and {what}, {spend.currency}", spend.window_text),
        barmode="stack",
        bargap=0.15,
        height=SPEND_HEIGHT_PX,
        margin={"l": 8, "r": 8, "t": 64, "b": 8},
        hovermode="x unified",
        hoverlabel={"namelength": HOVER_LETTERS},
        legend={"orientation": "h", "yanchor": "top", "y": -0.12, "x": 0, "traceorder": "normal"},
        xaxis={"type": "date", "tickformat": "%-d %b", "automargin": True},
        yaxis={"title": spend.currency, "automargin": True, "rangemode": "tozero"},
    )
    return figure


def _amounts(frame: pl.DataFrame, label: str, days: list[date]) -> list[float]:
    of_label = frame.filter(pl.col("label") == label)
    by_day = dict(zip(of_label["day"], of_label["cost"], strict=True))
    return [float(by_day.get(day, 0)) for day in days]


def _pattern(label: str) -> str:
    return {IDLE_LABEL: "/", OTHERS: "."}.get(label, "")


def _title(quantity: str, window_text: str) -> dict[str, object]:
    return {
        "text": plotly_text(quantity),
        "subtitle": {"text": plotly_text(window_text)},
        "x": 0,
        "xanchor": "left",
        "xref": "paper",
    }
