"""How long tools and retrievals take: the latency that is no model's.

Owns the columns of `ask tool_latency`. Refuses to say what of it anybody waited for:
`ask critical_path` does.
"""

from collections.abc import Mapping

from analysis.answer import Answer
from analysis.errors import WrongQuestionError
from analysis.repetition import cut_notes, known_values, shown
from analysis.sql import question_named, run_question
from analysis.window import Window
from analysis.wording import counted
from ingest.ledger import Ledger

RUN_KINDS = ("tool", "retrieval")
RUN_FILTERS = ("kind", "name")
"""What the list may be filtered by."""

NO_RUNS = (
    "no run of a tool and no retrieval is told: send their spans, with gen_ai.operation.name "
    "execute_tool or retrieval"
)


def tool_latency(
    ledger: Ledger,
    *,
    window: Window,
    where: Mapping[str, str | None] | None = None,
    limit: int | None = None,
) -> Answer:
    """One row a tool or source of retrievals, with p50, p95 and p99 in s of its runs.

    Those that took most time first, at most `limit`. Columns: docs/metrics/tool_latency.md. An
    empty answer is an answer; its note says what to send.
    """
    wanted = known_values(where, RUN_FILTERS, "runs")
    if wanted["kind"] not in (None, *RUN_KINDS):
        raise WrongQuestionError(f"kind is one of {', '.join(RUN_KINDS)}, not {wanted['kind']!r}")
    found = run_question(
        ledger.connection,
        question_named("tool_latency"),
        since=window.since,
        until=window.until,
        **wanted,
    )
    notes = [NO_RUNS] if found.is_empty() else list(cut_notes(found, limit))
    if unknown := int(found["unknown_count"].sum()):
        notes.append(f"not told, hence in no percentile: the time of {counted(unknown, 'run')}")
    return Answer(frame=shown(found, limit, window, ()), notes=tuple(notes), window=window)
