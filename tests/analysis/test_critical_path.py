"""The critical path: what the time from a root's begin to its end consists of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.critical_path import PARTS, critical_path
from analysis.errors import NoDataError
from analysis.window import Window
from ingest.config import Configuration
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
BEGIN = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()


@dataclass(frozen=True, kw_only=True)
class Span:
    """Begin and end in s after `BEGIN`; `part` is what runs there: model, tool or retrieval."""

    name: str
    parent: str | None = None
    begin: float | None = 0
    end: float | None = 1
    part: str | None = None
    kind: str = "internal"
    service: str | None = "app"
    trace: str = "t"


def at(seconds: float | None) -> int | None:
    return None if seconds is None else BEGIN + round(seconds * S)


def call(span: Span, **columns: Any) -> dict[str, Any]:
    """A call at `span`, of which no phase is told but begin and end."""
    return {
        "call_id": f"{span.trace} {span.name}",
        "trace_id": span.trace,
        "span_id": span.name,
        "endpoint": "/chat",
        "pool": "a",
        "timing_source": "span",
        "arrived_at": at(span.begin),
        "ended_at": at(span.end),
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


def ledger_with(
    ledger_of: LedgerOf, spans: Sequence[Span], calls: Sequence[dict[str, Any]] | None = None
) -> Ledger:
    models = [call(span) for span in spans if span.part == "model"] if calls is None else calls
    ledger = ledger_of(models, CONFIGURATION)
    for span in spans:
        times = (at(span.begin), at(span.end))
        ledger.connection.execute(
            "insert into spans values (?, ?, ?, ?, ?, ?, ?, 'ok', null, ?, null, '{}', '{}', '[]',"
            " 1, '', 1)",
            [span.trace, span.name, span.parent, span.name, span.kind, *times, span.service],
        )
        if span.part in ("tool", "retrieval"):
            table = {"tool": "tool_runs", "retrieval": "retrievals"}[span.part]
            ledger.connection.execute(
                f"insert into {table} values (?, ?, ?, 'x', ?, ?, 'ok', null, null, 1)",
                [span.trace, span.name, span.parent, *times],
            )
    return ledger


def parts_of(ledger: Ledger, **asked: Any) -> dict[str, float]:
    """Seconds of each part that is not 0, of the only group."""
    frame = critical_path(ledger, CONFIGURATION, by=(), **asked).frame
    assert frame.height == 1 + len(PARTS)
    return {part: float(s) for part, s in frame.select("part", "total_s").rows() if s}


ROOT = Span(name="root", end=10, kind="server")


def test_the_path_goes_through_the_child_that_runs_and_the_rest_is_own_code(
    ledger_of: LedgerOf,
) -> None:
    spans = [
        ROOT,
        Span(name="search", parent="root", begin=1, end=2, part="retrieval"),
        Span(name="chat", parent="root", begin=2.5, end=6, part="model"),
        Span(name="mail", parent="root", begin=6, end=9, part="tool"),
    ]
    assert parts_of(ledger_with(ledger_of, spans)) == {
        "trace": 10, "retrieval": 1, "model": 3.5, "tool": 3, "own_code": 2.5,
    }  # fmt: skip


def test_of_several_that_run_the_one_that_ends_last_is_on_the_path(ledger_of: LedgerOf) -> None:
    spans = [
        ROOT,
        Span(name="a", parent="root", begin=0, end=6, part="tool"),
        Span(name="chat", parent="root", begin=4, end=10, part="model"),
        Span(name="b", parent="root", begin=1, end=9, part="retrieval"),
    ]
    # From 4 on the call, which ends last; from 1 to 4 b, which ends after a; before that a.
    assert parts_of(ledger_with(ledger_of, spans)) == {
        "trace": 10, "tool": 1, "retrieval": 3, "model": 6,
    }  # fmt: skip


def test_what_runs_inside_of_a_child_off_the_path_does_not_count(ledger_of: LedgerOf) -> None:
    spans = [
        ROOT,
        Span(name="short", parent="root", begin=2, end=6),
        Span(name="mail", parent="short", begin=2, end=6, part="tool"),
        Span(name="long", parent="root", begin=4, end=10),
        Span(name="chat", parent="long", begin=5, end=10, part="model"),
    ]
    assert parts_of(ledger_with(ledger_of, spans)) == {
        "trace": 10, "own_code": 3, "tool": 2, "model": 5,
    }  # fmt: skip


def test_a_call_is_split_where_it_tells_its_phases(ledger_of: LedgerOf) -> None:
    chat = Span(name="chat", parent="root", begin=1, end=9, part="model")
    told = call(chat, timing_source="engine", started_at=at(3), first_token_at=at(4), replica="r0")
    assert parts_of(ledger_with(ledger_of, [ROOT, chat], [told])) == {
        "trace": 10, "queue": 2, "prefill": 1, "decode": 5, "own_code": 2,
    }  # fmt: skip


def test_time_below_a_tool_is_the_tools_and_a_client_waits(ledger_of: LedgerOf) -> None:
    spans = [
        ROOT,
        Span(name="mail", parent="root", begin=0, end=4, part="tool"),
        Span(name="smtp", parent="mail", begin=1, end=3, kind="client"),
        Span(name="http", parent="root", begin=4, end=8, kind="client"),
        Span(name="chat", parent="http", begin=5, end=7, part="model"),
    ]
    assert parts_of(ledger_with(ledger_of, spans)) == {
        "trace": 10, "tool": 4, "waiting": 2, "model": 2, "own_code": 2,
    }  # fmt: skip


def test_nobody_waits_for_what_ends_after_its_parent(ledger_of: LedgerOf) -> None:
    spans = [
        ROOT,
        Span(name="chat", parent="root", begin=1, end=4, part="model"),
        Span(name="log", parent="root", begin=3, end=60, part="tool"),
    ]
    ledger = ledger_with(ledger_of, spans)
    assert parts_of(ledger) == {"trace": 10, "model": 3, "own_code": 7}
    notes = critical_path(ledger, CONFIGURATION).notes
    assert "ended after what they are under, hence not waited for: 1 span" in notes


def test_another_service_may_have_been_given_up_or_have_another_clock(
    ledger_of: LedgerOf,
) -> None:
    engine = Span(
        name="chat", parent="http", begin=0.5, end=12, part="model", kind="server", service="vllm"
    )
    http = Span(name="http", parent="root", begin=1, end=9, kind="client")
    assert parts_of(ledger_with(ledger_of, [ROOT, http, engine])) == {
        "trace": 10, "model": 8, "own_code": 2,
    }  # fmt: skip
    message = replace(engine, kind="consumer")
    assert parts_of(ledger_with(ledger_of, [ROOT, http, message])) == {
        "trace": 10, "waiting": 8, "own_code": 2,
    }  # fmt: skip


def test_a_span_without_its_parent_is_under_the_root(ledger_of: LedgerOf) -> None:
    spans = [ROOT, Span(name="chat", parent="lost", begin=2, end=5, part="model")]
    assert parts_of(ledger_with(ledger_of, spans)) == {"trace": 10, "model": 3, "own_code": 7}


def test_ids_may_be_the_same_in_two_traces_and_for_a_trace_and_its_root(
    ledger_of: LedgerOf,
) -> None:
    spans = []
    for trace, other in (("a", "b"), ("b", "a")):
        spans += [
            Span(name=trace, end=10, trace=trace),
            Span(name=other, parent=trace, begin=1, end=6, trace=trace),
            Span(name="chat", parent=other, begin=2, end=4, part="model", trace=trace),
        ]
    assert parts_of(ledger_with(ledger_of, spans)) == {"trace": 20, "model": 4, "own_code": 16}


def test_a_trace_without_a_root_is_from_first_begin_to_last_end(ledger_of: LedgerOf) -> None:
    spans = [
        Span(name="one", parent="lost", begin=1, end=4, part="model"),
        Span(name="two", parent="lost", begin=5, end=8, part="tool"),
    ]
    assert parts_of(ledger_with(ledger_of, spans)) == {
        "trace": 7, "model": 3, "tool": 3, "waiting": 1,
    }  # fmt: skip


def test_each_root_of_a_trace_has_a_path_of_its_own(ledger_of: LedgerOf) -> None:
    spans = [
        ROOT,
        Span(name="chat", parent="root", begin=0, end=10, part="model"),
        Span(name="root 2", begin=100, end=104),
        Span(name="chat 2", parent="root 2", begin=101, end=104, part="model"),
        Span(name="root 3", begin=200, end=300),
    ]
    ledger = ledger_with(ledger_of, spans)
    assert parts_of(ledger) == {"trace": 14, "model": 13, "own_code": 1}
    frame = critical_path(ledger, CONFIGURATION).frame
    assert frame.row(0, named=True) == {
        "endpoint": "/chat", "part": "trace", "trace_count": 2, "total_s": Decimal(14),
        "mean_s": 7.0, "p95_s": 9.7, "share_ratio": 1.0,
    }  # fmt: skip


def test_a_circle_of_parents_and_a_root_without_an_end_are_left_out(ledger_of: LedgerOf) -> None:
    circle = [
        Span(name="a", parent="b", part="model", trace="circle"),
        Span(name="b", parent="a", trace="circle"),
        Span(name="self", parent="self", trace="circle"),
    ]
    timeless = [
        Span(name="r", end=None, trace="timeless"),
        Span(name="c", parent="r", part="model", trace="timeless"),
    ]
    sound = [ROOT, Span(name="chat", parent="root", begin=0, end=10, part="model")]
    ledger = ledger_with(ledger_of, [*circle, *timeless, *sound])
    assert parts_of(ledger) == {"trace": 10, "model": 10}
    notes = critical_path(ledger, CONFIGURATION).notes
    assert "left out, for the root does not tell both of its ends: 1 trace" in notes


def test_a_trace_has_the_group_of_its_first_call_asked_for(ledger_of: LedgerOf) -> None:
    first = Span(name="one", parent="root", begin=0, end=4, part="model")
    second = Span(name="two", parent="root", begin=4, end=10, part="model")
    calls = [call(first, model="small"), call(second, model="large")]
    ledger = ledger_with(ledger_of, [ROOT, first, second], calls)
    asked = {"by": ("model",), "window": Window()}
    frame = critical_path(ledger, CONFIGURATION, **asked).frame
    assert set(frame["model"].to_list()) == {"small"}
    frame = critical_path(ledger, CONFIGURATION, where={"model": "large"}, **asked).frame
    assert frame.filter(frame["part"] == "model").select("model", "total_s").rows() == [
        ("large", Decimal(10))
    ]


def test_without_spans_it_is_said_that_they_are_needed(ledger_of: LedgerOf) -> None:
    alone = call(Span(name="chat"), trace_id=None, span_id=None)
    with pytest.raises(NoDataError, match="the critical path needs spans"):
        critical_path(ledger_of([alone], CONFIGURATION), CONFIGURATION)
    with pytest.raises(NoDataError, match="no calls with"):
        critical_path(ledger_of([], CONFIGURATION), CONFIGURATION)


def walked(spans: Sequence[Span]) -> dict[str, int]:
    """Instant by instant: from the root down into the child that runs and ends last."""
    by_name = {span.name: span for span in spans}
    root = by_name["root"]
    parent_of = {
        span.name: by_name.get(span.parent, root) for span in spans if span.parent is not None
    }
    edges = sorted({edge for s in spans for edge in (s.begin, s.end) if edge is not None})
    found: dict[str, int] = {}
    for since, until in pairwise(edges):
        if root.begin is None or root.end is None or since < root.begin or until > root.end:
            continue
        part, span = None, root
        while True:
            part = span.part or part
            running = [
                child
                for child in spans
                if parent_of.get(child.name) is span
                and child.begin <= since
                and child.end >= until
                and (child.end <= span.end or child.service != span.service)
            ]
            if not running:
                break
            span = min(running, key=lambda child: (-child.end, child.begin, child.name))
        name = part or ("waiting" if span.kind == "client" else "own_code")
        found[name] = found.get(name, 0) + int(until - since)
    return found


SPANS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.integers(0, 20),
        st.integers(0, 12),
        st.sampled_from([None, "model", "tool", "retrieval"]),
        st.sampled_from(["internal", "client"]),
        st.sampled_from(["app", "other"]),
    ),
    max_size=12,
)


@settings(max_examples=20, deadline=None)
@given(drawn=SPANS, spans_at_once=st.sampled_from([1, 1_000_000]))
def test_the_parts_are_those_of_a_walk_and_add_up_to_the_root(
    ledger_of: LedgerOf, drawn: list[tuple[int, int, int, Any, Any, Any]], spans_at_once: int
) -> None:
    spans = [replace(ROOT, end=15), Span(name="0", parent="root", begin=3, end=5, part="model")]
    for number, (parent, begin, length, part, kind, service) in enumerate(drawn, start=1):
        above = "gone" if parent > number else str(parent) if parent < number else "root"
        spans.append(
            Span(
                name=str(number), parent=above, begin=begin, end=begin + length, part=part,
                kind=kind, service=service,
            )
        )  # fmt: skip
    found = parts_of(ledger_with(ledger_of, spans), spans_at_once=spans_at_once)
    assert found.pop("trace") == sum(found.values()) == 15
    assert found == walked(spans)
