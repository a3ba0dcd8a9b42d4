"""What can be saved in the sample, call by call: the exact sets that a reader must find.

Owns `waste.json.gz`, and its counts in the manifest. Refuses to read the files or the product:
every set follows from what the generator did.
"""

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from sample_data import answers, company, repeats, texts, totals
from sample_data.exchanges import Exchange, Tried
from sample_data.findings import Finding
from sample_data.planned import Step
from sample_data.residency import Piece
from sample_data.shapes import SHAPES

FILE = "waste.json.gz"
TAIL_SHARE = 100
"""The tail is the dearest hundredth of an endpoint's charged calls, at least one."""

CASE_POOL, CASE_MONTH, CASE_TTL_S = "rag-l4", "2026-09", 1_800
"""Where a hit rate promises far more than it saves: questions are short, digests are long."""


def waste(exchanges: Sequence[Exchange], charged: Iterable[Piece]) -> dict[str, Any]:
    """Kind to the ids of the calls or runs that it concerns, in the telemetry's own ids."""
    return {
        "duplicates": repeats.duplicates(exchanges),
        "in_flight": repeats.in_flight(exchanges),
        "retries": repeats.failed(exchanges),
        "operations": _operations(exchanges),
        "retrievals": repeats.retrievals(exchanges),
        "tools": repeats.tools(exchanges),
        "loops": _loops(exchanges),
        "volatile_prefixes": _behind_the_time(exchanges),
        "tails": _tails(charged),
        "texts": _texts(exchanges),
    }


def write(folder: Path, found: Mapping[str, Any]) -> dict[str, Any]:
    """Write the sets into `folder`; what the manifest says of that file."""
    text = (json.dumps(found, separators=(",", ":")) + "\n").encode()
    with (
        (folder / FILE).open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as packed,
    ):
        packed.write(text)
    return {
        "file": FILE,
        "sha256_before_compression": hashlib.sha256(text).hexdigest(),
        "counts": {kind: _count(sets) for kind, sets in found.items()},
    }


def volatile_prefixes() -> list[dict[str, Any]]:
    """Endpoints whose prompts begin with something new each time, and what stands behind it."""
    return [
        {
            "endpoint": company.RAG.route,
            "since": "2026-10-13",
            "position": 0,
            "kind": "time",
            "stable_tokens_behind": SHAPES["rag"]["prefix_tokens"],
        }
    ]


def hit_rate_case(
    exchanges: Sequence[Exchange], found: Sequence[Finding], charged: Iterable[Piece]
) -> dict[str, Any]:
    """Calls, hits and GPU-seconds where a hit rate promises far more than it saves."""
    zone = ZoneInfo(company.ZONE)
    mine = {
        one.call_id
        for one in found
        if one.pool == CASE_POOL and totals.month_of(one.arrived_at, zone) == CASE_MONTH
    }
    begun = [
        exchange for exchange in exchanges if any(tried.told_id in mine for tried in exchange.tried)
    ]
    hits = {
        call_id
        for groups in repeats.duplicates(begun, CASE_TTL_S).values()
        for ids in groups
        for call_id in ids
    }
    spent = gpu_seconds_by_call(charged)
    spent_s = sum((spent[one] for one in mine if one in spent), Fraction(0))
    saved_s = sum((spent[one] for one in hits if one in spent), Fraction(0))
    return {
        "pool": CASE_POOL,
        "month": CASE_MONTH,
        "ttl_s": CASE_TTL_S,
        "calls": len(mine),
        "hits": len(hits),
        "hit_ratio": len(hits) / len(mine),
        "gpu_seconds": float(spent_s),
        "saved_gpu_seconds": float(saved_s),
        "saved_ratio": float(saved_s / spent_s),
    }


def gpu_seconds_by_call(charged: Iterable[Piece]) -> dict[str, Fraction]:
    """Every charged call with its GPU-seconds."""
    spent: dict[str, Fraction] = defaultdict(Fraction)
    for piece in charged:
        spent[piece.finding.call_id] += piece.gpu_seconds
    return spent


def _behind_the_time(exchanges: Iterable[Exchange]) -> dict[str, list[str]]:
    """Endpoint to the calls whose replica had read the same text, behind another time, before."""
    found: dict[str, list[str]] = {}
    replicas: set[str] = set()
    tried = [one for exchange in exchanges for one in exchange.tried]
    for one in sorted(tried, key=lambda one: one.arrived_at):
        step, served = one.attempt.step, one.attempt.served
        if served is None or not (step.system or "").endswith(texts.handbook_rules()):
            continue
        if step.system != texts.handbook_rules():
            if served.replica in replicas:
                found.setdefault(one.attempt.request.endpoint.route, []).append(one.told_id)
            replicas.add(served.replica)
    return found


def _texts(exchanges: Iterable[Exchange]) -> dict[str, list[str]]:
    """What is wrong with texts to the calls that tell such a text."""
    told = [tried for exchange in exchanges for tried in exchange.tried]
    signs: dict[str, Callable[[Step], bool]] = {
        "preamble": lambda step: (step.answer or "").startswith(answers.PREAMBLE),
        "trailing": lambda step: (step.answer or "").endswith(answers.TRAILING),
        "closing": lambda step: (step.answer or "").endswith(answers.CLOSING),
        "restated": lambda step: (step.answer or "").startswith(answers.RESTATED),
    }
    found = {
        name: [
            tried.told_id
            for tried in told
            if tried.attempt.outcome == "ok" and is_there(tried.attempt.step)
        ]
        for name, is_there in signs.items()
    }
    pages = {tried.told_id: answers.documents(tried.attempt.step.message or "") for tried in told}
    found["markup"] = [one for one, documents in pages.items() if documents]
    found["repeated_document"] = [
        one for one, documents in pages.items() if len(set(documents)) < len(documents)
    ]
    return {sign: ids for sign, ids in found.items() if ids}


def _operations(exchanges: Iterable[Exchange]) -> list[list[str]]:
    """The attempts in order of each call that was tried more than once."""
    return [
        [tried.told_id for tried in tries]
        for exchange in exchanges
        for tries in repeats.operations(exchange)
        if len(tries) > 1
    ]


def _loops(exchanges: Iterable[Exchange]) -> list[dict[str, Any]]:
    """Runs that used one tool with one result three times in a row or more.

    `calls` come after the third of these runs and before the last: what a guard would stop.
    """
    found = []
    for exchange in exchanges:
        runs = [tries for tries in repeats.operations(exchange) if _run(tries[0]) is not None]
        is_loop = len(runs) > 2 and len({_run(tries[0]) for tries in runs}) == 1
        if is_loop:
            tool = runs[0][0].attempt.step.tool
            guarded = [tried.told_id for tries in runs[2:-1] for tried in tries]
            found.append(
                {
                    "trace_id": exchange.trace_id,
                    "tool": tool.name if tool else None,
                    "runs": [tries[0].call_id for tries in runs],
                    "calls": guarded,
                }
            )
    return found


def _run(tried: Tried) -> tuple[str, str, str] | None:
    tool = tried.attempt.step.tool
    return None if tool is None else (tool.name, tool.arguments, tool.result)


def _tails(charged: Iterable[Piece]) -> dict[str, list[str]]:
    """Endpoint to its dearest calls by GPU-seconds, the dearest first."""
    by_endpoint: dict[str, set[str]] = defaultdict(set)
    pieces = list(charged)
    for piece in pieces:
        by_endpoint[piece.finding.endpoint].add(piece.finding.call_id)
    spent = gpu_seconds_by_call(pieces)
    tails = {}
    for endpoint in sorted(by_endpoint):
        ordered = sorted(by_endpoint[endpoint], key=lambda one: (-spent[one], one))
        tails[endpoint] = ordered[: -(-len(ordered) // TAIL_SHARE)]
    return tails


def _count(sets: Any) -> Any:
    """How many ids stand in `sets`, by owner where they have one."""
    if isinstance(sets, dict):
        return {owner: _count(inner) for owner, inner in sets.items()}
    if all(isinstance(one, list) for one in sets):
        return {"groups": len(sets), "ids": sum(len(one) for one in sets)}
    return len(sets)
