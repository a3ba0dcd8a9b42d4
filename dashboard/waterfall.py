"""The waterfall of a trace: a bar a span, and for a call its queue, prefill and decode.

Owns the picture and which spans of a large trace it shows. Refuses to draw more than a browser
shows quickly, and to take a name for markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import polars as pl

from dashboard.palette import DECODE, PALE_GREY, PREFILL, QUEUE, TOOL, UNSPLIT
from dashboard.wording import call_money_text, count_text, plotly_text, quantity_text, shortened

DRAWN_SPANS = 500
ROW_HEIGHT_PX = 24
TOP_PX, BOTTOM_PX = 92, 48
BAR_ROWS = 0.72
ROOM_FOR_PRICES = 1.3
NAME_LETTERS = 34
LETTER_PX, INDENT_PX, MOST_LABEL_PX = 7, 8, 240
INDENT = "\u00a0\u00a0"
DEEPEST_INDENT = 8
CALL, TOOLS, SPANS = ("model",), ("tool", "retrieval"), ("span",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One kind of bar: its name, the kinds of rows that have it, its columns, its colour."""

    name: str
    kinds: tuple[str, ...]
    begin: str
    length: str
    colour: str
    has_price: bool = False
    """Whether GPU-seconds and money of the call stand behind the bar."""


PHASES = (
    Phase(name="queue", kinds=CALL, begin="queue_at_s", length="queue_s", colour=QUEUE),
    Phase(name="prefill", kinds=CALL, begin="prefill_at_s", length="prefill_s", colour=PREFILL),
    Phase(
        name="decode",
        kinds=CALL,
        begin="decode_at_s",
        length="decode_s",
        colour=DECODE,
        has_price=True,
    ),
    Phase(
        name="call, phases not known",
        kinds=CALL,
        begin="at_s",
        length="unsplit_s",
        colour=UNSPLIT,
        has_price=True,
    ),
    Phase(name="tool or retrieval", kinds=TOOLS, begin="at_s", length="other_s", colour=TOOL),
    Phase(name="other span", kinds=SPANS, begin="at_s", length="other_s", colour=PALE_GREY),
)


def drawn_spans(trace: pl.DataFrame, most: int = DRAWN_SPANS) -> pl.DataFrame:
    """The rows of `trace` that are drawn, in their order.

    The spans at the top come first, then calls, then the longest of the others.
    """
    if trace.height <= most:
        return trace
    return (
        trace.with_row_index("position")
        .sort([pl.col("depth") == 0, "is_call", "duration_s"], descending=True, nulls_last=True)
        .head(most)
        .sort("position")
        .drop("position")
    )


def waterfall_figure(spans: pl.DataFrame, title: str) -> go.Figure:
    """Bars over seconds since the trace began, one row a span from the top down."""
    figure = go.Figure()
    numbered = spans.with_row_index("row")
    hovers = [_hover(row) for row in spans.iter_rows(named=True)]
    for phase in PHASES:
        is_of_kind = pl.col("kind").is_in(phase.kinds)
        has_bar = pl.col(phase.length).is_not_null() & pl.col(phase.begin).is_not_null()
        _add_phase(figure, numbered.filter(is_of_kind & has_bar), phase, hovers)
    names = list(zip(spans["name"], spans["depth"], strict=True))
    label_px = _label_width_px(names)
    figure.update_layout(
        title={"text": plotly_text(title), "x": 0, "y": 1, "yref": "container", "pad": {"t": 14}},
        barmode="overlay",
        height=TOP_PX + BOTTOM_PX + ROW_HEIGHT_PX * max(2, spans.height),
        margin={"l": label_px, "r": 8, "t": TOP_PX, "b": BOTTOM_PX},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1, "x": 0},
        hoverlabel={"align": "left"},
        annotations=[
            _annotation(_label(name, depth), row, label_px)
            for row, (name, depth) in enumerate(names)
        ],
        xaxis={"title": "s since the trace began", "range": [0, _last_s(spans) * ROOM_FOR_PRICES]},
        yaxis={
            "range": [max(2, spans.height) - 0.5, -0.5],
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure


def _last_s(spans: pl.DataFrame) -> float:
    """When the last span ends, in s since the trace began; 1 where no span tells."""
    ends = (spans["at_s"] + spans["duration_s"]).drop_nulls()
    return max(ends, default=1.0) or 1.0


def _annotation(label: str, row: int, label_px: int) -> dict[str, Any]:
    """A name at the left edge of the picture: tick labels would lose their indentation."""
    return {
        "text": label,
        "y": row,
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "xshift": -label_px,
        "align": "left",
        "showarrow": False,
    }


def _label_width_px(names: Sequence[tuple[str, int]]) -> int:
    """Room for the longest name with its indentation."""
    widths = [
        min(len(name), NAME_LETTERS) * LETTER_PX + min(depth, DEEPEST_INDENT) * INDENT_PX
        for name, depth in names
    ]
    return min(MOST_LABEL_PX, max(widths, default=0))


def _add_phase(figure: go.Figure, rows: pl.DataFrame, phase: Phase, hovers: Sequence[str]) -> None:
    if rows.is_empty():
        return
    figure.add_bar(
        name=phase.name,
        orientation="h",
        y=rows["row"].to_list(),
        base=rows[phase.begin].to_list(),
        x=rows[phase.length].to_list(),
        width=BAR_ROWS,
        text=[_price(row) for row in rows.iter_rows(named=True)] if phase.has_price else None,
        textposition="outside",
        cliponaxis=False,
        marker={"color": phase.colour, "line": {"width": 0}},
        customdata=[hovers[row] for row in rows["row"]],
        hovertemplate=f"%{{customdata}}<br>{phase.name}: %{{x:.4f}} s<extra></extra>",
    )


def _price(row: dict[str, Any]) -> str:
    """GPU-seconds and money of a call, as short as they can be said."""
    used = [] if row["gpu_seconds"] is None else [f"{quantity_text(row['gpu_seconds'])} GPU-s"]
    is_priced = row["cost"] is not None
    money = call_money_text(row["cost"], row["currency"]) if is_priced else "no price"
    return ", ".join([*used, money])


def _hover(row: dict[str, Any]) -> str:
    """What a bar says: whose it is and, for a call, what it used and cost. Plotly's markup."""
    lines = [row["name"], f"{row['service'] or ''} {row['status']}".strip()]
    if row["is_call"]:
        tokens = f"{count_text(row['input_tokens'])} in, {count_text(row['output_tokens'])} out"
        lines += [
            f"{row['model'] or 'unknown model'}: {tokens} tokens",
            _price(row),
        ]
    return "<br>".join(plotly_text(shortened(line, 80)) for line in lines)


def _label(name: str, depth: int) -> str:
    levels = min(depth, DEEPEST_INDENT)
    return INDENT * levels + plotly_text(shortened(name, NAME_LETTERS - 2 * levels))
