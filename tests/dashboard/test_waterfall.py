"""A trace is drawn span by span, its calls with their phases and their money."""

import html
from decimal import Decimal
from typing import Any

import polars as pl

from dashboard.waterfall import waterfall_figure

SCHEMA = {
    "name": pl.String,
    "depth": pl.Int32,
    "kind": pl.String,
    "is_call": pl.Boolean,
    "service": pl.String,
    "status": pl.String,
    "http_status": pl.Int32,
    "model": pl.String,
    "at_s": pl.Float64,
    "duration_s": pl.Float64,
    "queue_at_s": pl.Float64,
    "queue_s": pl.Float64,
    "prefill_at_s": pl.Float64,
    "prefill_s": pl.Float64,
    "decode_at_s": pl.Float64,
    "decode_s": pl.Float64,
    "unsplit_s": pl.Float64,
    "other_s": pl.Float64,
    "gpu_seconds": pl.Float64,
    "cost": pl.Decimal(38, 9),
    "currency": pl.String,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
}
ROOT = {"name": "POST /chat", "kind": "span", "at_s": 0.0, "duration_s": 10.0, "other_s": 10.0}
CALL = {
    "name": "llm_request",
    "depth": 1,
    "kind": "model",
    "is_call": True,
    "at_s": 1.0,
    "duration_s": 8.0,
    "queue_at_s": 1.0,
    "queue_s": 0.5,
    "prefill_at_s": 1.5,
    "prefill_s": 1.5,
    "decode_at_s": 3.0,
    "decode_s": 6.0,
    "gpu_seconds": 4.5,
    "cost": Decimal("0.0045"),
    "currency": "USD",
    "input_tokens": 100,
    "output_tokens": 20,
    "model": "m",
}


def drawn(figure: Any) -> tuple[list[Any], list[str]]:
    """The bars of a figure, and the names beside them without what fills them up."""
    *bars, names = sorted(figure.data, key=lambda trace: trace.name == "names")
    assert len({len(html.unescape(text)) for text in names.text}) == 1
    return bars, [text.rstrip("\u00a0") for text in names.text]


def spans(*rows: dict[str, Any]) -> pl.DataFrame:
    usual = {"depth": 0, "is_call": False, "status": "ok"}
    return pl.DataFrame([usual | row for row in rows], schema=SCHEMA)


def test_a_call_has_its_queue_prefill_and_decode_one_after_the_other() -> None:
    figure = waterfall_figure(spans(ROOT, CALL), "Phases")
    bars = [(bar.name, list(bar.y), list(bar.base), list(bar.x)) for bar in drawn(figure)[0]]
    assert bars == [
        ("queue", [1], [1.0], [0.5]),
        ("prefill", [1], [1.5], [1.5]),
        ("decode", [1], [3.0], [6.0]),
        ("other span", [0], [0.0], [10.0]),
    ]


def test_gpu_seconds_and_money_stand_beside_a_call() -> None:
    figure = waterfall_figure(spans(ROOT, CALL), "Phases")
    assert [bar.text for bar in drawn(figure)[0] if any(bar.text)] == [("4.5 GPU-s, 0.00450 USD",)]
    assert "100 in, 20 out tokens" in drawn(figure)[0][0].customdata[0]


def test_a_call_without_phases_or_price_says_so() -> None:
    unknown = {"name": "call", "kind": "model", "is_call": True, "at_s": 0.0, "unsplit_s": 2.0}
    figure = waterfall_figure(spans(unknown), "Phases")
    assert [(bar.name, bar.text) for bar in drawn(figure)[0]] == [
        ("call, phases not known", ("no price",))
    ]


def test_a_failed_call_is_marked_by_sign_frame_and_text_and_tells_its_code() -> None:
    failed = CALL | {"status": "timeout", "http_status": 504}
    figure = waterfall_figure(spans(ROOT, failed), "t")
    assert drawn(figure)[1][1] == "\u00a0\u00a0✗ llm_request"
    *_, decode, _, frame = drawn(figure)[0]
    assert (frame.name, frame.y, frame.base, frame.x) == ("✗ failed", (1,), (1.0,), (8.0,))
    assert decode.text == ("timeout, HTTP 504, 4.5 GPU-s, 0.00450 USD",)
    assert "timeout, HTTP 504" in drawn(figure)[0][0].customdata[0]


def test_the_axis_stands_above_the_rows_and_the_title_says_quantity_unit_and_stretch() -> None:
    layout = waterfall_figure(spans(ROOT, CALL), "0123456789abcdef0123456789abcdef").layout
    assert layout.xaxis.side == "top"
    assert layout.title.text == "Phases in s of 012345678…6789abcdef"
    assert layout.title.subtitle.text == "from 0 to 10 s since it began"


def test_names_are_indented_by_depth_and_never_markup() -> None:
    figure = waterfall_figure(spans(ROOT, CALL | {"name": "<b>x</b>"}), "Phases")
    assert drawn(figure)[1] == [
        "POST /chat",
        "\u00a0\u00a0&lt;b&gt;x&lt;/b&gt;",
    ]
    assert "<b>" not in drawn(figure)[0][0].customdata[0]
