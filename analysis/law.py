"""The headline: what each group of calls cost, by the letters of the law, and what is left over.

Owns which lines an answer has and the sentences beside them. Refuses an empty table: a window
without a call and without a provisioned GPU-second is an error that says what the ledger has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.answer import Answer
from analysis.columns import checked_groups
from analysis.extent import bounded, no_calls, no_calls_text
from analysis.group_sums import GroupSums, group_sums
from analysis.idle import idle_sums, unconfigured_pools
from analysis.lines import Line, group_lines, idle_lines, lines_frame, unpriced_lines
from analysis.scan import times_of
from analysis.selection import PRODUCTION, Filters, selected
from analysis.window import Window
from analysis.wording import counted
from ingest.charging.pools import rates_in
from ingest.charging.rates import Rate
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

IDLE_FILTERS = {"origin", "pool"}
"""A filter by anything else selects a part of a pool's calls, and idle time belongs to the pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LawLines:
    """The lines of an answer before rounding, and what is said beside them.

    `only_idle` says, where no call is in the window, how far the ledger's calls reach.
    """

    lines: tuple[Line, ...]
    columns: tuple[str, ...]
    notes: tuple[str, ...]
    window: Window
    only_idle: str | None


def law(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Filters | None = None,
) -> Answer:
    """The lines of the calls that `where` selects in `window`, grouped by the columns `by`.

    Without `window` it is from the first service start to the last end; without an origin in
    `where` it is production. Idle time has a line of its own per pool, unless the calls are
    filtered by more than origin and pool; a window without a call has those lines alone. Columns
    and units: docs/metrics/law.md. Raises `WrongQuestionError` for an unknown column,
    `NoDataError` where the window has neither a call nor a provisioned GPU-second.
    """
    found = law_lines(ledger, configuration, by=by, window=window, where=where)
    frame = lines_frame(found.lines, found.columns)
    return Answer(frame=frame, notes=found.notes, window=found.window)


def law_lines(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Filters | None = None,
) -> LawLines:
    """The lines of `law` with their exact costs; raises what it raises."""
    columns = checked_groups(by)
    filters = selected(where)
    connection = ledger.connection
    asked = window or Window(timezone=configuration.timezone)
    resolved = bounded(connection, asked, filters)
    times = times_of(columns, resolved)
    sums = group_sums(connection, times, by=columns, window=asked, filters=filters)
    rates = rates_in(connection)
    zone, idle_rates = configuration.timezone, _idle_rates(rates, filters)
    idle = idle_sums(idle_rates, sums, by=columns, window=resolved, schedule_zone=zone)
    if not sums.groups and not any(item.gpu_ps for item in idle):
        raise no_calls(connection, asked, filters)
    lines = [
        *group_lines(sums.groups, columns),
        *idle_lines(idle, columns),
        *unpriced_lines(sums.groups, columns),
    ]
    only_idle = None if sums.groups else _only_idle(connection, asked, filters)
    notes = (
        f"window: {resolved.text()}",
        *([] if only_idle is None else [only_idle]),
        *_line_notes(lines),
        *_pool_notes(rates, sums, filters),
    )
    return LawLines(
        lines=tuple(lines), columns=columns, notes=notes, window=resolved, only_idle=only_idle
    )


def _has_idle(filters: Filters) -> bool:
    return set(filters) <= IDLE_FILTERS and filters["origin"] == PRODUCTION


def _idle_rates(rates: Sequence[Rate], filters: Filters) -> list[Rate]:
    """The rates whose idle time belongs to the answer."""
    if not _has_idle(filters):
        return []
    return [rate for rate in rates if filters.get("pool", rate.pool) == rate.pool]


def _only_idle(connection: Connection, window: Window, filters: Filters) -> str:
    """What is said of a window in which pools were provisioned and nobody called."""
    return (
        f"{no_calls_text(connection, window, filters)}; all that was provisioned is idle "
        "(`from` and `schedule` of a pool say when it is provisioned)"
    )


def _line_notes(lines: Sequence[Line]) -> Iterator[str]:
    on_gpu = [line.sums for line in lines if line.sums is not None and line.basis == "gpu"]
    busy_ps = sum(sums.gpu_ps for sums in on_gpu)
    estimated_ps = sum(sums.estimated_gpu_ps for sums in on_gpu)
    if estimated_ps:
        yield (
            f"{estimated_ps / busy_ps:.1%} of GPU-seconds are estimated: their calls do not tell "
            "when service began or the first token came"
        )
    unknown = sum(
        line.sums.call_count - line.sums.known_output_count
        for line in lines
        if line.sums is not None
    )
    if unknown:
        yield f"output tokens not told: {counted(unknown, 'call')}; L is the mean of the others"
    unpriced = sum(
        line.sums.call_count for line in lines if line.line == "unpriced" and line.sums is not None
    )
    if unpriced:
        yield f"unpriced: {counted(unpriced, 'call')}; `gpuledger check` says why"
    for line in lines:
        if line.line == "idle" and line.gpu_ps is not None and line.gpu_ps < 0:
            yield (
                f"pool {line.pool!r} was busier than its configuration allows; correct its "
                "replicas, gpus_per_replica or schedule"
            )


def _pool_notes(rates: Sequence[Rate], sums: GroupSums, filters: Filters) -> Iterator[str]:
    unconfigured = unconfigured_pools(rates, sums)
    if unconfigured:
        names = ", ".join(unconfigured)
        yield f"not configured, so 1 GPU a replica is assumed, no price and no idle time: {names}"
    if not _has_idle(filters):
        yield "idle time is not shown: it belongs to whole pools of production"
