"""How long prompts and answers are, how answers end, and how GPU time gathers on few calls.

Owns what must be said beside these distributions. Refuses to guess a length: a call that tells
none is counted as unknown.
"""

from collections.abc import Mapping, Sequence

from analysis.answer import Answer
from analysis.groups import groups_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

UNKNOWN: Mapping[str, tuple[str, str]] = {
    "length": ("unknown_count", "not told, hence in no percentile: the length of {}"),
    "limits": ("unknown_end_count", "not told, hence neither cut nor whole: the end of {}"),
    "concentration": ("uncharged_count", "no GPU time is charged to {}"),
}
"""Question to the column that counts what it does not know, and the sentence that says so."""

DEAREST = "the calls themselves: `gpuledger ask calls --order gpu_seconds --limit 20`"


def length(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Mean, p50, p95, p99 and the longest in tokens, of prompts and of answers.

    Columns: docs/metrics/length.md. Raises `NoDataError` where no call is in the window.
    """
    return _answer("length", ledger, configuration, by=by, window=window, where=where)


def finish_reasons(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """Calls, output tokens and GPU-seconds by how the answer ended.

    Columns: docs/metrics/finish_reasons.md. Raises `NoDataError` where no call is in the window.
    """
    return _answer("finish_reasons", ledger, configuration, by=by, window=window, where=where)


def limits(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """The length of answers in tokens beside their `max_tokens`, and how many were cut.

    Columns: docs/metrics/limits.md. Raises `NoDataError` where no call is in the window.
    """
    return _answer("limits", ledger, configuration, by=by, window=window, where=where)


def concentration(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """The share of GPU-seconds in the dearest 1, 5 and 10 % of calls, and the Gini coefficient.

    Columns: docs/metrics/concentration.md. Raises `NoDataError` where no call is in the window.
    """
    return _answer(
        "concentration", ledger, configuration, DEAREST, by=by, window=window, where=where
    )


def _answer(  # noqa: PLR0913 - a question is asked by keywords
    name: str,
    ledger: Ledger,
    configuration: Configuration,
    *said: str,
    by: Sequence[str],
    window: Window | None,
    where: Mapping[str, str | None] | None,
) -> Answer:
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    frame = groups.rows_of(ledger.connection, name)
    notes = [f"window: {groups.window.text()}"]
    if name in UNKNOWN:
        column, sentence = UNKNOWN[name]
        if unknown := int(frame[column].sum()):
            notes.append(sentence.format(counted(unknown, "call")))
    return Answer(frame=frame, notes=(*notes, *said), window=groups.window)
