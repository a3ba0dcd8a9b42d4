"""Checks of rows: counts of deliveries, references, token buckets, charges, data quality.

Owns what must hold of single rows. Refuses to look at money: `bill_checks` does.
"""

from collections.abc import Iterator

import polars as pl

from analysis.finding import Finding, verdict
from analysis.sql import question_named, run_question
from analysis.wording import counted
from ingest.calls.missing import ASK_FOR_USAGE
from ingest.ledger import Connection

SAMPLED_PARTITIONS = 8
TOLERANCE_S = 1e-6
"""GPU-seconds by which a call's charge may differ from its window-function twin."""
MODELS_NAMED = 3
STREAMS_NAMED = 5


def row_findings(connection: Connection) -> Iterator[Finding]:
    """Verdicts on deliveries, references, buckets and charges, then the counts of data quality."""
    yield _deliveries(connection)
    yield _orphans(connection)
    yield _buckets(connection)
    yield _stale(connection)
    yield _negatives(connection)
    yield _virtual_time(connection)
    yield from _quality(connection)


def unpriced_calls(connection: Connection) -> pl.DataFrame:
    """Calls without a price in the whole ledger: `model`, `reason`, `call_count`, most first."""
    return _rows(connection, "unpriced")


def _rows(connection: Connection, name: str, **values: object) -> pl.DataFrame:
    return run_question(connection, question_named(name, "checks"), **values)


def _deliveries(connection: Connection) -> Finding:
    row = _rows(connection, "deliveries").row(0, named=True)
    total = row["new_count"] + row["duplicate_count"] + row["rejected_count"]
    holds = row["read_count"] == total and row["rejected_count"] == row["reject_row_count"]
    return verdict(
        "read = new + duplicate + rejected",
        holds,
        f"{row['read_count']:,} = {row['new_count']:,} + {row['duplicate_count']:,} + "
        f"{row['rejected_count']:,} from {counted(row['delivery_count'], 'source')}; "
        f"{row['reject_row_count']:,} rejects have their reason",
    )


def _orphans(connection: Connection) -> Finding:
    found = _rows(connection, "orphans").filter(pl.col("orphan_count") > 0)
    kinds = [f"{count:,} {kind}" for kind, count in found.rows()]
    return verdict("every row finds its counterpart", not kinds, ", ".join(kinds) or "no orphan")


def _buckets(connection: Connection) -> Finding:
    row = _rows(connection, "buckets").row(0, named=True)
    return verdict(
        "token buckets add up to what was reported",
        row["unexplained_count"] == 0,
        f"{counted(row['compared_count'], 'call')} compared: {row['different_count']:,} differ, "
        f"{row['unexplained_count']:,} of them without a note",
    )


def _stale(connection: Connection) -> Finding:
    row = _rows(connection, "stale").row(0, named=True)
    evidence = f"{row['stale_count']:,} of {row['partition_count']:,} partitions are stale"
    hint = "; any `gpuledger ask` charges them" if row["stale_count"] else ""
    return verdict("charges are those of the calls", row["stale_count"] == 0, evidence + hint)


def _negatives(connection: Connection) -> Finding:
    row = _rows(connection, "negatives").row(0, named=True)
    return verdict(
        "no negative seconds or GPU-seconds in charges",
        row["negative_count"] == 0,
        f"{row['negative_count']:,} of {counted(row['charge_count'], 'charge')} are negative",
    )


def _virtual_time(connection: Connection) -> Finding:
    """The kernel against SQL window functions, on partitions spread over the ledger."""
    numbers = _rows(connection, "partitions")["partition_id"].to_list()
    step = max(1, -(-len(numbers) // SAMPLED_PARTITIONS))
    sample = numbers[::step]
    rows = _rows(connection, "virtual_time", partition_ids=sample) if sample else None
    calls = 0 if rows is None else int(rows["call_count"].sum())
    if rows is None or calls == 0:
        return Finding(
            check="charges equal virtual time in SQL",
            result="told",
            evidence="no partition of which every call's length was observed",
        )
    worst = max(rows["worst_difference_s"].to_list())
    of_sums = max(rows["sum_difference_s"].to_list())
    return verdict(
        "charges equal virtual time in SQL",
        bool((rows["worst_difference_s"] <= TOLERANCE_S).all()),
        f"{counted(calls, 'charge')} in {len(sample)} of {len(numbers)} partitions: at most "
        f"{worst:.1e} GPU-seconds apart, their sums {of_sums:.1e}",
    )


def _quality(connection: Connection) -> Iterator[Finding]:
    conflicts = _rows(connection, "deliveries")["conflict_count"].item()
    counts = dict(_rows(connection, "quality").rows()) | {
        "sent twice with other content": conflicts
    }
    for way, count in counts.items():
        yield Finding(check=way, result="told", evidence=counted(count, "call"))
    yield from _reported_costs(connection)
    yield _streams_without_usage(connection)
    unpriced = unpriced_calls(connection)
    models = ", ".join(
        f"{model or 'model not known'} {count:,} ({reason})"
        for model, reason, count in unpriced.head(MODELS_NAMED).rows()
    )
    total = int(unpriced["call_count"].sum())
    yield Finding(
        check="without a price",
        result="told",
        evidence=counted(total, "call") + (f": {models}" if models else ""),
    )


def _streams_without_usage(connection: Connection) -> Finding:
    """How many whole streams told no usage, of whom, and what the sender is to ask for."""
    found = _rows(connection, "streams_without_usage")
    total, unknown = int(found["call_count"].sum()), int(found["unknown_count"].sum())
    senders = [
        f"{endpoint or 'endpoint not known'} of {service or 'a service not known'} with "
        f"{model or 'a model not known'} {count:,}"
        for endpoint, service, model, count, _ in found.head(STREAMS_NAMED).rows()
    ]
    more = found.height - len(senders)
    senders += [f"{more:,} more"] if more else []
    evidence = counted(total, "call")
    if total:
        evidence += (
            f", tokens unknown of {unknown:,} and counted here of {total - unknown:,}: "
            f"{', '.join(senders)}; {ASK_FOR_USAGE}"
        )
    return Finding(check="streams without usage", result="told", evidence=evidence)


def _reported_costs(connection: Connection) -> Iterator[Finding]:
    for row in _rows(connection, "reported_costs").iter_rows(named=True):
        difference = row["reported_cost"] - row["listed_cost"]
        yield Finding(
            check="reported cost beside the price list",
            result="told",
            evidence=f"{counted(row['call_count'], 'call')}: reported {row['reported_cost']:.6f}, "
            f"listed {row['listed_cost']:.6f} {row['currency']}, {difference:+.6f}",
        )
