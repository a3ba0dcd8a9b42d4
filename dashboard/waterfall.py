"""The waterfall of a trace: a bar a span, and for a call its queue, prefill and decode.

Owns the picture and which spans of a large trace it shows. Refuses to draw more than a browser
shows quickly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
import polars as pl

from dashboard.palette import DECODE, PALE_GREY, PREFILL, QUEUE, UNSPLIT
from dashboard.wording import plotly_text, shortened

DRAWN_SPANS = 500
ROW_HEIGHT_PX = 24
MARGIN_HEIGHT_PX = 110
NAME_LETTERS = 34
INDENT = "\u00a0\u00a0"
DEEPEST_INDENT = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One kind of bar: what it is called, the columns of its begin and length, its colour."""

    name: str
    begin: str
    length: str
    colour: str


PHASES = (
    Phase(name="queue", begin="queue_at_s", length="queue_s", colour=QUEUE),
    Phase(name="prefill", begin="prefill_at_s", length="prefill_s", colour=PREFILL),
    Phase(name="decode", begin="decode_at_s", length="decode_s", colour=DECODE),
    Phase(name="in service, phases not known", begin="at_s", length="unsplit_s", colour=UNSPLIT),
    Phase(name="other work", begin="at_s", length="other_s", colour=PALE_GREY),
)


def drawn_spans(frame: pl.DataFrame, most: int = DRAWN_SPANS) -> pl.DataFrame:
    """The rows of `frame` that are drawn, in their order: calls first, then the longest spans."""
    if frame.height <= most:
        return frame
    return (
        frame.with_row_index("position")
        .sort(["is_call", "duration_s"], descending=True, nulls_last=True)
        .head(most)
        .sort("position")
        .drop("position")
    )


def waterfall_figure(frame: pl.DataFrame, title: str, detail: str) -> go.Figure:
    """Bars over seconds since the trace began, one row a span from the top down."""
    rows = list(range(frame.height))
    figure = go.Figure()
    for phase in PHASES:
        if frame[phase.length].null_count() < frame.height:
            _add_phase(figure, frame, phase, rows)
    figure.update_layout(
        title={
            "text": plotly_text(title),
            "subtitle": {"text": plotly_text(detail)},
            "x": 0,
            "xref": "paper",
        },
        barmode="overlay",
        bargap=0.25,
        height=MARGIN_HEIGHT_PX + ROW_HEIGHT_PX * max(2, frame.height),
        margin={"l": 8, "r": 8, "t": 84, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1, "x": 0},
        hoverlabel={"align": "left"},
        xaxis={"title": "s since the trace began", "rangemode": "tozero", "side": "bottom"},
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": [_row_name(name, depth) for name, depth in _names(frame)],
            "automargin": True,
            "showgrid": False,
        },
    )
    return figure


def _add_phase(figure: go.Figure, frame: pl.DataFrame, phase: Phase, rows: Sequence[int]) -> None:
    figure.add_bar(
        name=phase.name,
        orientation="h",
        y=rows,
        base=frame[phase.begin].to_list(),
        x=frame[phase.length].to_list(),
        marker={"color": phase.colour, "line": {"width": 0}},
        customdata=[plotly_text(text) for text in frame["hover"]],
        hovertemplate=f"%{{customdata}}<br>{phase.name} %{{x:.4f}} s<extra></extra>",
    )


def _names(frame: pl.DataFrame) -> zip[tuple[str, int]]:
    return zip(frame["name"], frame["depth"], strict=True)


def _row_name(name: str, depth: int) -> str:
    indent = INDENT * min(depth, DEEPEST_INDENT)
    return indent + plotly_text(shortened(name, NAME_LETTERS - 2 * min(depth, DEEPEST_INDENT)))
