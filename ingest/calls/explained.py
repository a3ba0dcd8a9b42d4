"""Which rule and which attribute gave each column of a call, and what else was there.

Owns the order in which candidates are listed: that in which they are read. Refuses to decide: the
value is the one that the ledger holds, and its source the first candidate that says it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingest.calls.aliases import FieldName
from ingest.calls.call import PAYER_COLUMNS
from ingest.calls.derivation import Derivation
from ingest.calls.mapping import Found
from ingest.calls.views import View, Views
from ingest.config import Configuration

MAPPED, DEFAULT, SPAN, POOLS = "[map]", "default", "span", "[[pools]]"
COMPUTED, UNKNOWN, RECORD = "computed", "unknown", "record"


class Candidate(NamedTuple):
    """A value that was read for a column, by which rule and from where."""

    rule: str
    source: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One column of a call. `others` are the candidates that did not win, in the order of reading.

    `rule` is `[map]` (the configuration), `default` (a name that is read unless `[map]` says
    otherwise), `span` (what the alias table reads), the rule of an endpoint, `[[pools]]`,
    `record` (the record of a call told it), `computed` or `unknown`.
    """

    column: str
    value: str | None
    rule: str
    source: str | None
    others: tuple[Candidate, ...]


READ_FROM_SPANS: Mapping[str, tuple[FieldName, ...]] = {
    "model_requested": ("request_model",),
    "response_id": ("response_id", "request_id"),
    "reported_input_tokens": ("input_tokens",),
    "reported_output_tokens": ("output_tokens",),
    "cache_read_tokens": ("cache_read_tokens",),
    "cache_write_tokens": ("cache_write_tokens",),
    "reasoning_tokens": ("reasoning_tokens",),
    "reported_cost": ("reported_cost",),
}
"""Columns that only the alias table fills, with the fields that it reads for them."""

COLUMNS = (
    "endpoint",
    "service",
    *PAYER_COLUMNS,
    "operation",
    "provider",
    "model",
    "pool",
    "replica",
    "adapter",
    *READ_FROM_SPANS,
)
"""What is explained, in the order of showing."""


def explained(
    values: Mapping[str, Any],
    told: Sequence[tuple[Views, Derivation]],
    configuration: Configuration,
    *,
    has_record: bool,
) -> list[Fact]:
    """A fact for each of `COLUMNS`; `values` are the call's columns in the ledger.

    `told` are its views by trace, innermost first; `has_record` says that a record of the call,
    which is stored as columns only, told it too.
    """
    untold = RECORD if has_record else COMPUTED
    return [_fact(column, values, told, configuration, untold) for column in COLUMNS]


def _fact(
    column: str,
    values: Mapping[str, Any],
    told: Sequence[tuple[Views, Derivation]],
    configuration: Configuration,
    untold: str,
) -> Fact:
    value = None if values[column] is None else str(values[column])
    found = [
        candidate for views, derivation in told for candidate in _read(column, views, derivation)
    ]
    if column == "pool":
        found += _pools(values["model"], configuration)
    if column == "endpoint" and values["endpoint_source"] is not None:
        found.sort(key=lambda candidate: candidate.rule != values["endpoint_source"])
    candidates = list(dict.fromkeys(found))
    winner = next((one for one in candidates if _says(one, value)), None)
    if winner is not None:
        rule, source = winner.rule, winner.source
    elif value is None:
        rule, source = UNKNOWN, None
    else:
        rule, source = untold, None
    others = tuple(candidate for candidate in candidates if candidate != winner)
    return Fact(column=column, value=value, rule=rule, source=source, others=others)


def _says(candidate: Candidate, value: str | None) -> bool:
    if value is None:
        return False
    if candidate.value == value:
        return True
    try:
        return float(candidate.value) == float(value)
    except ValueError:
        return False


def _read(column: str, views: Views, derivation: Derivation) -> Iterator[Candidate]:
    """The candidates for `column` by the views of one trace."""
    special = _SPECIAL.get(column)
    if special is not None:
        yield from special(views, derivation)
    elif column in READ_FROM_SPANS:
        yield from _aliased(views, READ_FROM_SPANS[column])
    else:
        yield from _mapped(column, _around_engine(views), derivation)


def _around_engine(views: Views) -> tuple[Found, ...]:
    """Where who pays is looked for: around the engine first."""
    inner = views.innermost.context
    return (inner.around_engine, inner.found)


def _mapped(column: str, searches: Iterable[Found], derivation: Derivation) -> Iterator[Candidate]:
    configured = derivation.columns.configured.get(column)
    sources = configured or derivation.columns.defaults.get(column, ())
    rule = MAPPED if configured else DEFAULT
    for found in searches:
        for source in sources:
            if source in found:
                yield Candidate(rule, source, found[source])


def _aliased(views: Views, fields: Sequence[FieldName]) -> Iterator[Candidate]:
    around: Iterator[View] = iter(() if views.wrapper is None else (views.wrapper,))
    for view in (*views.own, *around):
        for field in fields:
            for alias, value in view.reading.all(field):
                name = alias.name if alias.path is None else f"{alias.name}: {alias.path}"
                source = f"attribute.{name} of span {view.span.span_id}"
                yield Candidate(SPAN, source, str(value))


def _endpoint(views: Views, derivation: Derivation) -> Iterator[Candidate]:
    context = views.outermost.context
    for candidate in _mapped("endpoint", _around_engine(views), derivation):
        yield candidate._replace(rule="map")
    prompts = [candidate.value for candidate in _aliased(views, ("prompt_name",))]
    services = [candidate.value for candidate in _service(views, derivation)]
    kinds = [candidate.value for candidate in _operation(views, derivation)]
    told = [
        ("route", "http.route of the nearest server span", context.route),
        ("workflow", "name of the nearest workflow or agent", context.workflow),
        ("prompt", "name of the prompt", next(iter(prompts), None)),
        ("route", "http.route of the model server", context.model_server_route),
        ("root", "name of the root span", context.top_name if context.has_root else None),
        (
            "service",
            "service and operation",
            f"{services[0]} {next(iter(kinds), 'chat')}" if services else None,
        ),
        ("root", "name of the outermost span", context.top_name),
    ]
    for rule, source, value in told:
        if value is not None:
            yield Candidate(rule, source, value)


def _service(views: Views, derivation: Derivation) -> Iterator[Candidate]:
    yield from _mapped("service", _around_engine(views), derivation)
    outer = views.outermost
    for source, value in (
        ("resource.service.name around the engine", outer.context.service_around_engine),
        ("resource.service.name", outer.span.service),
    ):
        if value is not None:
            yield Candidate(SPAN, source, value)


def _operation(views: Views, _derivation: Derivation) -> Iterator[Candidate]:
    for view in (*views.own, views.outermost):
        if view.part.operation is not None:
            yield Candidate(SPAN, f"kind of span {view.span.span_id}", view.part.operation)
    yield Candidate(DEFAULT, "an operation that no span names is a chat", "chat")


def _provider(views: Views, derivation: Derivation) -> Iterator[Candidate]:
    yield from _mapped("provider", (views.innermost.context.found,), derivation)
    yield from _aliased(views, ("provider", "host"))


def _model(views: Views, derivation: Derivation) -> Iterator[Candidate]:
    mapped = list(_mapped("model", (views.innermost.context.found,), derivation))
    yield from (candidate for candidate in mapped if candidate.rule == MAPPED)
    yield from _aliased(views, ("response_model", "request_model"))
    yield from (candidate for candidate in mapped if candidate.rule == DEFAULT)


def _where_it_ran(column: str) -> Callable[[Views, Derivation], Iterator[Candidate]]:
    def read(views: Views, derivation: Derivation) -> Iterator[Candidate]:
        inner = views.innermost
        yield from _mapped(column, (inner.context.found,), derivation)
        if inner.part.is_engine and column not in derivation.columns.configured:
            own = derivation.columns.found_on(inner.span)
            for source in derivation.columns.engine.get(column, ()):
                if source in own:
                    yield Candidate(DEFAULT, f"{source} of the engine", own[source])

    return read


def _pools(model: str | None, configuration: Configuration) -> Iterator[Candidate]:
    """The entries of the configuration that list the model; the ledger knows which one holds."""
    for number, pool in enumerate(configuration.pools):
        if model is not None and model in (pool.models or ()):
            since = "" if pool.effective_from is None else f" from {pool.effective_from}"
            yield Candidate(POOLS, f"pools[{number}].models lists {model}{since}", pool.name)


_SPECIAL: Mapping[str, Callable[[Views, Derivation], Iterator[Candidate]]] = {
    "endpoint": _endpoint,
    "service": _service,
    "operation": _operation,
    "provider": _provider,
    "model": _model,
    "pool": _where_it_ran("pool"),
    "replica": _where_it_ran("replica"),
    "adapter": _where_it_ran("adapter"),
}
