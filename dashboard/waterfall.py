"""The waterfall of a trace: a bar a span, and for a call its queue, prefill and decode.

Owns the picture. Refuses to take a name for markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import polars as pl

from analysis.trace import SOUND
from dashboard.palette import DECODE, PALE_GREY, PREFILL, QUEUE, TOOL, UNSPLIT
from dashboard.wording import call_money_text, count_text, plotly_text, quantity_text, shortened

ROW_HEIGHT_PX = 24
TOP_PX, BOTTOM_PX = 184, 8
LEGEND_FROM_TOP_PX = 60
"""Below the title; the legend is a row an entry on a phone, above the axis's text."""
FAILED, FAILED_SIGN = "#cc3311", "✗"
BAR_ROWS = 0.72
ROOM_FOR_PRICES = 1.3
NAME_LETTERS = 34
LETTER_PX, LETTER_SIZE_PX, MOST_LABEL_PX = 6.7, 11, 240
LABELS = "names"
TITLE_LETTERS = 20
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


def waterfall_figure(spans: pl.DataFrame, identity: str) -> go.Figure:
    """Bars over seconds since trace `identity` began, one row a span from the top down.

    What failed has a sign before its name, a red frame, and its status beside its bar.
    """
    figure = go.Figure()
    numbered = spans.with_row_index("row")
    hovers = [_hover(row) for row in spans.iter_rows(named=True)]
    for phase in PHASES:
        is_of_kind = pl.col("kind").is_in(phase.kinds)
        has_bar = pl.col(phase.length).is_not_null() & pl.col(phase.begin).is_not_null()
        _add_phase(figure, numbered.filter(is_of_kind & has_bar), phase, hovers)
    _add_frames(figure, numbered)
    names = [(_marked(row), row["depth"]) for row in spans.iter_rows(named=True)]
    labels = [_label(name, depth) for name, depth in names]
    letters = max(map(len, labels), default=0)
    label_px = min(MOST_LABEL_PX, letters * LETTER_PX)
    _add_labels(figure, labels, letters)
    height_px = TOP_PX + BOTTOM_PX + ROW_HEIGHT_PX * max(2, spans.height)
    figure.update_layout(
        title=_title(spans, identity),
        barmode="overlay",
        height=height_px,
        margin={"l": label_px, "r": 8, "t": TOP_PX, "b": BOTTOM_PX},
        legend=_legend(height_px),
        hoverlabel={"align": "left"},
        xaxis={
            "title": "s since the trace began",
            "range": [0, _last_s(spans) * ROOM_FOR_PRICES],
            "side": "top",
        },
        yaxis={
            "range": [max(2, spans.height) - 0.5, -0.5],
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
        },
    )
    return figure


def _title(spans: pl.DataFrame, identity: str) -> dict[str, Any]:
    """Quantity, unit and stretch of time; the trace by its first letters, as ids are long."""
    return {
        "text": plotly_text(f"Phases in s of {shortened(identity, TITLE_LETTERS)}"),
        "subtitle": {"text": f"from 0 to {quantity_text(_last_s(spans))} s since it began"},
        "x": 0,
        "y": 1,
        "yref": "container",
        "pad": {"t": 14},
    }


def _legend(height_px: int) -> dict[str, Any]:
    return {
        "orientation": "h",
        "xref": "container",
        "x": 0,
        "yref": "container",
        "yanchor": "top",
        "y": 1 - LEGEND_FROM_TOP_PX / height_px,
    }


def _is_failed(row: dict[str, Any]) -> bool:
    return row["status"] is not None and row["status"] not in SOUND


def _status(row: dict[str, Any]) -> str:
    """The status, with the HTTP code where the call tells one: "timeout, HTTP 504"."""
    code = row["http_status"]
    return f"{row['status']}" if code is None else f"{row['status']}, HTTP {code}"


def _marked(row: dict[str, Any]) -> str:
    """The row's name, after a sign where it failed."""
    return f"{FAILED_SIGN} {row['name']}" if _is_failed(row) else str(row["name"])


def _last_s(spans: pl.DataFrame) -> float:
    """When the last span ends, in s since the trace began; 1 where no span tells."""
    ends = (spans["at_s"] + spans["duration_s"]).drop_nulls()
    return max(ends, default=1.0) or 1.0


def _add_labels(figure: go.Figure, labels: Sequence[str], letters: int) -> None:
    """Names at the left edge of the picture, filled up to one width so that they begin there.

    As text of a trace: annotations and tick labels of a large trace take seconds to draw.
    """
    figure.add_scatter(
        name=LABELS,
        mode="text",
        x=[0] * len(labels),
        y=list(range(len(labels))),
        text=[plotly_text(label.ljust(letters, "\u00a0")) for label in labels],
        textposition="middle left",
        textfont={"family": "monospace", "size": LETTER_SIZE_PX},
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )


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
        text=[_beside(row, phase) for row in rows.iter_rows(named=True)],
        textposition="outside",
        cliponaxis=False,
        marker={"color": phase.colour, "line": {"width": 0}},
        customdata=[hovers[row] for row in rows["row"]],
        hovertemplate=f"%{{customdata}}<br>{phase.name}: %{{x:.4f}} s<extra></extra>",
    )


def _add_frames(figure: go.Figure, rows: pl.DataFrame) -> None:
    """A red frame around each row that failed, from its begin to its end."""
    is_failed = ~pl.col("status").is_in(SOUND) & pl.col("duration_s").is_not_null()
    failed = rows.filter(is_failed)
    if failed.is_empty():
        return
    figure.add_bar(
        name=f"{FAILED_SIGN} failed",
        orientation="h",
        y=failed["row"].to_list(),
        base=failed["at_s"].to_list(),
        x=failed["duration_s"].to_list(),
        width=BAR_ROWS,
        marker={"color": "rgba(0,0,0,0)", "line": {"color": FAILED, "width": 2}},
        hoverinfo="skip",
    )


def _beside(row: dict[str, Any], phase: Phase) -> str:
    """What stands beside a bar: that it failed, and what the call used and cost."""
    is_last = phase.has_price or phase.kinds != CALL
    failed = [_status(row)] if _is_failed(row) and is_last else []
    return ", ".join([*failed, *([_price(row)] if phase.has_price else [])])


def _price(row: dict[str, Any]) -> str:
    """GPU-seconds and money of a call, as short as they can be said."""
    used = [] if row["gpu_seconds"] is None else [f"{quantity_text(row['gpu_seconds'])} GPU-s"]
    is_priced = row["cost"] is not None
    money = call_money_text(row["cost"], row["currency"]) if is_priced else "no price"
    return ", ".join([*used, money])


def _hover(row: dict[str, Any]) -> str:
    """What a bar says: whose it is and, for a call, what it used and cost. Plotly's markup."""
    lines = [_marked(row), f"{row['service'] or ''} {_status(row)}".strip()]
    if row["is_call"]:
        tokens = f"{count_text(row['input_tokens'])} in, {count_text(row['output_tokens'])} out"
        lines += [
            f"{row['model'] or 'unknown model'}: {tokens} tokens",
            _price(row),
        ]
    return "<br>".join(plotly_text(shortened(line, 80)) for line in lines)


def _label(name: str, depth: int) -> str:
    levels = min(depth, DEEPEST_INDENT)
    return INDENT * levels + shortened(name, NAME_LETTERS - 2 * levels)
