"""Levers 1 to 4, 8, 9 and 10: work that was done before.

Owns their sentences. Refuses to save a call that may be answered otherwise each time.
"""

from collections.abc import Mapping

import polars as pl

from analysis.claims import whole_calls
from analysis.detections.detected import Asked, Detected, Detection, joined, no, unknown, yes
from analysis.duplicates import APART_REASON, duplicate_calls, saved_calls, waiting_calls
from analysis.loops import LOOP_FILTERS, found_loops
from analysis.operations import OPERATION_FILTERS
from analysis.repetition import HOW_TO_KNOW, known_hashes, not_compared
from analysis.retries import first_attempts_notes, retried_attempts
from analysis.tool_repeats import tool_repeats
from analysis.ttl import DEFAULT_TTL_NS, ttl_text
from analysis.wording import counted

NOT_RUN = (
    "the comparison by meaning takes minutes and is not run here: `gpuledger ask semantic_cache`"
)
NO_LATENCY_MONEY = "waiting time, no GPU time of the model"


def _exact_cache(asked: Asked) -> Detected:
    marked = duplicate_calls(asked.connection, asked.window, asked.where, DEFAULT_TTL_NS)
    again = f"within {ttl_text(DEFAULT_TTL_NS)} of an answer to the same"
    return _identical(asked, marked, again)


def _coalescing(asked: Asked) -> Detected:
    marked = waiting_calls(asked.connection, asked.window, asked.where)
    return _identical(asked, marked, "while the same was in flight")


def _identical(asked: Asked, marked: pl.DataFrame, when: str) -> Detected:
    known = asked.hashes["calls"]
    if not known.told_count:
        return unknown(f"needs prompts or their hashes: {HOW_TO_KNOW['calls']}")
    claims = saved_calls(marked)
    apart = int(marked["is_duplicate"].sum()) - claims.height
    rest = f"counted apart {counted(apart, 'more call')}: {APART_REASON}" if apart else None
    missing = joined(*known.notes())
    if claims.is_empty():
        evidence = joined(f"no call that may be saved was sent {when}", rest)
        return no(str(evidence), missing)
    return yes(f"{_sent(claims.height)} {when}", claims, beside=rest, missing=missing)


def _sent(count: int) -> str:
    return f"{counted(count, 'call')} {'was' if count == 1 else 'were'} sent"


def _retry_discipline(asked: Asked) -> Detected:
    if not asked.told["attempt_count"]:
        return unknown("needs attempts: one trace around them, or attempt and retry_of")
    where = asked.where_among(OPERATION_FILTERS)
    attempts = retried_attempts(asked.ledger, asked.window, where)
    is_cut = pl.col("reason") == "truncation"
    found, cut = attempts.filter(~is_cut), int(attempts.filter(is_cut)["attempt_count"].sum())
    claims = whole_calls(found["call_nos"].explode())
    of_another = (
        f"{counted(cut, 'truncated answer')} asked for again: see lever 22" if cut else None
    )
    missing = joined(*not_compared(asked.hashes, "failed calls"))
    if claims.is_empty():
        failed = asked.hashes["failed calls"]
        if failed.row_count and not failed.told_count:
            return unknown(str(missing), of_another)
        return no(str(joined("no failed attempt was made again", of_another)), missing)
    by_reason = found.group_by("reason").agg(pl.col("attempt_count").sum()).sort("reason")
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in by_reason.iter_rows())
    return yes(
        f"{counted(claims.height, 'attempt')} in vain: {reasons}",
        claims,
        beside=joined(*first_attempts_notes(found), of_another),
        missing=missing,
    )


def _loop_guard(asked: Asked) -> Detected:
    tools, answers = asked.hashes["tool runs"], asked.hashes["answers"]
    if not asked.told["scoped_count"]:
        return unknown("needs traces or conversations around calls")
    if not tools.told_count and not answers.told_count:
        return unknown(f"needs runs of tools or hashes of answers: {HOW_TO_KNOW['tool runs']}")
    where = asked.where_among(LOOP_FILTERS)
    found = found_loops(asked.ledger, asked.window, where)
    claims = whole_calls(found["call_nos"].explode())
    missing = joined(*tools.notes(), *answers.notes())
    if claims.is_empty():
        return no("no loop was found", missing)
    repeats = int(found["repeat_count"].sum())
    evidence = (
        f"{counted(found.height, 'loop')} of {counted(repeats, 'repeated step')}: "
        f"{counted(claims.height, 'call')} after they could be seen"
    )
    return yes(evidence, claims, missing=missing)


def _semantic_cache(asked: Asked) -> Detected:
    if not asked.told["text_count"]:
        return unknown(
            'needs texts: send prompts (gen_ai.input.messages), set content to "full", and ingest '
            "again"
        )
    return unknown(NOT_RUN, f"texts of {counted(asked.told['text_count'], 'call')} are stored")


def _retrieval_cache(asked: Asked) -> Detected:
    return _repeated(asked, "retrieval", "retrievals")


def _tool_cache(asked: Asked) -> Detected:
    return _repeated(asked, "tool", "tool runs")


def _repeated(asked: Asked, kind: str, rows: str) -> Detected:
    known = known_hashes(asked.connection, asked.window, None)[rows]
    if not known.told_count:
        return unknown(f"needs {rows}: {HOW_TO_KNOW[rows]}")
    found = tool_repeats(asked.ledger, window=asked.window, where={"kind": kind}).frame
    missing = joined(*known.notes())
    sums = {name: int(found[name].sum()) for name in ("repeat_count", "changed_count")}
    if not sums["repeat_count"]:
        return no(f"no {kind} found the same again within {ttl_text(DEFAULT_TTL_NS)}", missing)
    most = found.row(0, named=True)
    evidence = (
        f"{counted(sums['repeat_count'], kind + ' run')} of {known.row_count:,} found the same "
        f"again within {ttl_text(DEFAULT_TTL_NS)}, {sums['changed_count']:,} found something "
        f"else: {found['saved_s'].sum():,.1f} s of waiting, most of {most['name']}; "
        f"{NO_LATENCY_MONEY}"
    )
    beside = f"of all {rows}, whatever calls were asked for" if asked.where else None
    return yes(evidence, beside=beside, missing=missing)


DETECTIONS: Mapping[int, Detection] = {
    1: _exact_cache,
    2: _coalescing,
    3: _retry_discipline,
    4: _loop_guard,
    8: _semantic_cache,
    9: _retrieval_cache,
    10: _tool_cache,
}
"""By number of the lever."""
