"""One call from views that were told apart: another trace, a gateway's log, an engine's own spans.

Owns which view each column is read from, as `call` owns it inside of a trace: time from the
innermost, the endpoint from the outermost, who pays from the nearest around the engine. Refuses to
mix the token counts of two views.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from ingest.calls.aliases import alias_table
from ingest.calls.grouping import Rule
from ingest.calls.timing import INSTANTS, REPLAYED_TIMES
from ingest.calls.tokens import Buckets
from ingest.counting.counted import PREFIX_COLUMNS
from ingest.counting.measures import MEASURE_COLUMNS
from ingest.records import Call

_UNKNOWN_LENGTH = 2**63
"""More than any interval: a view of which begin or end is unknown is outside of those known."""
_BUCKETS = (
    "uncached_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "visible_output_tokens",
    "reasoning_tokens",
)
_TOKENS = tuple(field.name for field in fields(Buckets))
_COUNTS = tuple(name for name in _TOKENS if name != "tokens_note")
_ENDPOINT = ("endpoint", "endpoint_source")
_OUTCOME = ("status", "error_type", "http_status")
_COST = ("reported_cost", "reported_currency")
_PAYERS = ("feature", "team", "tenant", "user_id", "conversation_id", "environment", "region")
_OUTERMOST = ("service", "model_requested", "attempt", "retry_of")
_PLACE = ("trace_id", "span_id", "parent_span_id")
_OWN = ("identity", "pairing", "origin", "scenario", "arm", *_PLACE)
_TIMES = (*INSTANTS, "timing_source", "timing_quality", "replica", "operation")
_SET_APART = frozenset(
    (
        *_OWN,
        *_TIMES,
        *_TOKENS,
        *_ENDPOINT,
        *_OUTCOME,
        *_COST,
        *PREFIX_COLUMNS,
        *MEASURE_COLUMNS,
        *_PAYERS,
    )
)


def joined_call(views: Sequence[Call], rule: Rule) -> Call:
    """The one call that `views` describe, in any order; `rule` is what says that they do."""
    inward_out = sorted(views, key=_depth)
    innermost, naming = inward_out[0], _endpoint_of(inward_out[::-1])
    outward_in = _outward_in(inward_out, naming)
    around = [view for view in inward_out if view.timing_source != "engine"] or inward_out
    failed = _failed(outward_in)
    is_cache_hit = any(view.is_cache_hit for view in views)
    return replace(
        innermost,
        pairing=rule,
        **_columns(_with(inward_out, "trace_id"), _PLACE),
        **{column: _first(inward_out, column) for column in _filled_from_inside()},
        **{column: _first(outward_in, column) for column in _OUTERMOST},
        **{column: _first([*around, *inward_out], column) for column in _PAYERS},
        **_columns(_fullest(inward_out), _COUNTS),
        tokens_note=_tokens_note(inward_out),
        **_columns(naming, _ENDPOINT),
        **_columns(failed or innermost, ("status", "error_type")),
        http_status=_first([failed or innermost, *inward_out], "http_status"),
        **_columns(_with(inward_out, "reported_cost"), _COST),
        **_columns(_with(inward_out, "prefix_hashes"), PREFIX_COLUMNS),
        **_columns(_with(inward_out, "answer_shape"), MEASURE_COLUMNS),
        **(REPLAYED_TIMES if is_cache_hit else {}),
    )


def _depth(view: Call) -> tuple[bool, int, str]:
    """Engines are innermost, then the shorter interval; the identity decides between equals."""
    begun_at = view.arrived_at if view.arrived_at is not None else view.started_at
    ended_at = view.ended_at
    lasted = _UNKNOWN_LENGTH if begun_at is None or ended_at is None else ended_at - begun_at
    return (view.timing_source != "engine", lasted, view.identity)


def _filled_from_inside() -> Iterable[str]:
    named = (field.name for field in fields(Call))
    return (name for name in named if name not in _SET_APART and name not in _OUTERMOST)


def _first(views: Sequence[Call], column: str) -> Any:
    values = (getattr(view, column) for view in views)
    return next((value for value in values if value is not None), None)


def _columns(view: Call, columns: Iterable[str]) -> dict[str, Any]:
    return {column: getattr(view, column) for column in columns}


def _with(views: Sequence[Call], column: str) -> Call:
    """The first view that has `column`, else the first of all."""
    return next((view for view in views if getattr(view, column) is not None), views[0])


def _fullest(views: Sequence[Call]) -> Call:
    """The view that reports most, then tells most of the five buckets; of equals the innermost.

    Before all others comes one that knows that the answer was out of a cache: it used no token.
    """
    return max(views, key=lambda view: (view.is_cache_hit is True, _told_tokens(view)))


def _told_tokens(view: Call) -> tuple[int, int]:
    """How many sides of a view's usage were reported, not counted, and how many buckets it has."""
    told = Buckets.of(view)
    sides = (told.reported_input_tokens, told.reported_output_tokens)
    if told.tokens_source == "reported":
        sides = (told.input_tokens, told.output_tokens)
    buckets = sum(getattr(view, name) is not None for name in _BUCKETS)
    return sum(side is not None for side in sides), buckets


def _endpoint_of(outward_in: Sequence[Call]) -> Call:
    """The view that names the endpoint: one that the user mapped, else the outermost.

    A view that has nothing but its service or the route of an LLM API to name it after gives way to
    one that has more: the interval of a trace that holds the engine is the engine's, so it seems to
    be inside.
    """
    telling = [view for view in outward_in if _tells_endpoint(view)]
    mapped = [view for view in telling if view.endpoint_source == "map"]
    return (mapped or telling or [_with(outward_in, "endpoint")])[0]


def _tells_endpoint(view: Call) -> bool:
    """Whether its endpoint is the product's: no service, no `POST /v1/chat/completions`."""
    route = (view.endpoint or "").rpartition(" ")[2]
    is_of_model_server = route in alias_table().file.endpoint.model_server_routes
    return view.endpoint_source not in (None, "service") and not is_of_model_server


def _outward_in(inward_out: Sequence[Call], naming: Call) -> list[Call]:
    """The views from the outermost; a trace that holds the engine and names the endpoint is it."""
    outward_in = list(inward_out[::-1])
    is_mapped = naming.endpoint_source == "map"
    if naming.timing_source == "engine" and _tells_endpoint(naming) and not is_mapped:
        outward_in.sort(key=lambda view: view is not naming)
    return outward_in


def _failed(outward_in: Sequence[Call]) -> Call | None:
    """The outermost view that did not end well: what it says is what its user saw."""
    return next((view for view in outward_in if view.status != "ok"), None)


def _tokens_note(inward_out: Sequence[Call]) -> str | None:
    """The note of the view whose counts are taken, and where the others count otherwise."""
    taken = _fullest(inward_out)
    notes = [taken.tokens_note] if taken.tokens_note else []
    alike = [view for view in inward_out if view.tokens_source == taken.tokens_source]
    told = [Buckets.of(view) for view in alike]
    for name in ("input_tokens", "output_tokens"):
        counts = [count for one in told if (count := getattr(one, name)) is not None]
        if len(set(counts)) > 1:
            notes.append(f"views disagree on {name}: {', '.join(map(str, counts))}")
    return "; ".join(notes) or None
