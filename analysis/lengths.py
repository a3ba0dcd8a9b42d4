"""How long prompts and answers are, how answers end, and how GPU time gathers on few calls.

Owns what must be said beside these distributions. Refuses to guess a length: a call that tells
none is counted as unknown.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from analysis.answer import Answer
from analysis.groups import groups_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Ledger

UNKNOWN: Mapping[str, Mapping[str, str]] = {
    "length": {"unknown_count": "not told, hence in no percentile: the length of {}"},
    "limits": {
        "unknown_end_count": "not told, hence neither cut nor whole: the end of {}",
        "unknown_output_count": "not told, hence in no percentile: the length of {}",
    },
    "concentration": {"uncharged_count": "no GPU time is charged to {}"},
}
"""Question to the columns that count what it does not know, and the sentences that say so."""

SAID: Mapping[str, str] = {
    "concentration": "the calls themselves: `gpuledger ask calls --order gpu_seconds --limit 20`"
}
"""Question to what else is said beside its answer."""


def distribution(
    name: str,
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = ("endpoint",),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """The rows of question `name` by the columns `by`: docs/metrics/NAME.md has columns and units.

    Raises `NoDataError` where no call is in the window.
    """
    groups = groups_of(ledger.connection, configuration, by=by, window=window, where=where)
    frame = groups.rows_of(ledger.connection, name)
    notes = [f"window: {groups.window.text()}"]
    for column, sentence in UNKNOWN.get(name, {}).items():
        if unknown := int(frame[column].sum()):
            notes.append(sentence.format(counted(unknown, "call")))
    if name in SAID:
        notes.append(SAID[name])
    return Answer(frame=frame, notes=tuple(notes), window=groups.window)


length = partial(distribution, "length")
"""Mean, p50, p95, p99 and the longest in tokens, of prompts and of answers."""

limits = partial(distribution, "limits")
"""The length of answers in tokens beside their `max_tokens`, and how many were cut."""

finish_reasons = partial(distribution, "finish_reasons")
"""Calls, output tokens and GPU-seconds by how the answer ended."""

concentration = partial(distribution, "concentration")
"""The share of GPU-seconds in the dearest 1, 5 and 10 % of calls, and the Gini coefficient."""
