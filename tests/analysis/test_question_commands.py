"""The commands that ask: data on stdout, talk on stderr, exit codes that scripts can rely on."""

import contextlib
import csv
import io
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gpuledger.asked import NAMES
from gpuledger.main import main

S = 1_000_000_000
SEPTEMBER = 1_788_220_800 * S  # 2026-09-01T00:00:00Z
MONTH = 30 * 86_400 * S
CONFIGURATION = """
[[budgets]]
scope = {}
month = "2026-10"
amount = 1

[[pools]]
name = "a"
price_per_gpu_hour = "3.60"
from = 2026-08-01T00:00:00Z
"""


def call(number: int, month: int) -> dict[str, Any]:
    start = SEPTEMBER + month * MONTH + number * 100 * S
    return {
        "call_id": f"{month}-{number}",
        "endpoint": "/chat" if number % 2 else "/rag",
        "pool": "a",
        "replica": "r0",
        "timing_source": "engine",
        "arrived_at": start,
        "started_at": start,
        "first_token_at": start + S,
        "ended_at": start + (4 + month) * S,
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    }


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code, its data, its talk."""

    returncode: int
    stdout: str
    stderr: str


def run(folder: Path, *arguments: str) -> Done:
    """The command as the shell runs it, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as stopped,
    ):
        main(list(arguments))
    return Done(int(stopped.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and a ledger under their default names."""
    path = tmp_path_factory.mktemp("ledger")
    (path / "gpuledger.toml").write_text(CONFIGURATION)
    calls = [call(number, month) for month in (0, 1) for number in range(4)]
    (path / "calls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in calls))
    done = run(path, "ingest", "calls.jsonl")
    assert done.returncode == 0, done.stderr
    return path


def test_the_headline_is_a_list_of_objects_with_its_keys(folder: Path) -> None:
    done = run(folder, "ask", "law", "--by", "endpoint", "--format", "json")
    lines = json.loads(done.stdout)
    assert done.returncode == 0
    assert {"line", "endpoint", "N", "Tp_s", "L_tokens", "Td_s", "B", "price_per_gpu_hour",
            "gpu_seconds", "prefill_gpu_seconds", "decode_gpu_seconds", "cost", "currency",
            "share_ratio", "estimated_ratio", "input_tokens", "output_tokens", "basis",
            } <= set(lines[0])  # fmt: skip
    costs = [line["cost"] for line in lines]
    assert costs == sorted(costs, reverse=True)
    assert "window:" in done.stderr


def test_table_csv_and_json_have_the_same_cells(folder: Path) -> None:
    asked = ("ask", "law", "--since", "2026-09", "--until", "2026-10")
    as_json = json.loads(run(folder, *asked, "--format", "json").stdout, parse_float=Decimal)
    as_csv = list(csv.DictReader(io.StringIO(run(folder, *asked, "--format", "csv").stdout)))
    assert [Decimal(row["cost"]) for row in as_csv] == [row["cost"] for row in as_json]
    assert sum(row["cost"] for row in as_json) == 720 * Decimal("3.6")
    assert "idle" in run(folder, *asked).stdout


def test_the_table_ends_with_a_total_which_json_leaves_to_its_reader(folder: Path) -> None:
    asked = ("ask", "law", "--since", "2026-09", "--until", "2026-10")
    table = run(folder, *asked)
    last = table.stdout.rstrip().splitlines()[-1].split()
    assert last[0] == "total"
    assert "2,592.00" in last  # 720 hours at 3.60
    assert "the table rounds for reading" in table.stderr
    as_json = run(folder, *asked, "--format", "json")
    assert {row["line"] for row in json.loads(as_json.stdout)} == {"calls", "idle"}
    assert "rounds" not in as_json.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("ask", "lew"), 2, "there is no question 'lew'; did you mean 'law'?"),
        (("ask", "law", "--by", "endpont"), 2, "did you mean 'endpoint'"),
        (("ask", "law", "--by", "a,b,c"), 2, "cannot group by 'a'"),
        (("ask", "law", "--by", "day,hour"), 2, "choose one of hour, day, month"),
        (("ask", "law", "--where", "teem=x"), 2, "did you mean 'team'"),
        (("ask", "law", "--where", "team"), 2, "write it as column=value"),
        (("ask", "law", "--since", "soon"), 2, "'soon' is no time"),
        (("ask", "law", "--tz", "Tokyo"), 2, "time zone 'Tokyo' is unknown"),
        (("ask", "calls", "--order", "prise"), 2, "cannot order by 'prise'"),
        (("ask", "duplicates", "--ttl", "1 hour"), 2, "write it as 90s, 15m, 1h or 7d"),
        (("ask", "duplicates", "--ttl", "999999d"), 2, "longer than any ledger; at most 53375d"),
        (("ask", "calls", "--limit", str(10**20)), 2, "is not in the range"),
        (("ask", "prefix_loss", "--capacity-tokens", str(10**20)), 2, "is not in the range"),
        (("ask", "law", "--until", "9999-12"), 2, "outside of the years 1823 to 2116"),
        (("trace", "zz", "--limit", str(10**20)), 2, "is not in the range"),
        (
            ("ask", "duplicates", "--by", "endpoint"),
            2,
            "duplicates takes no --by; besides --where and the window duplicates takes --limit, ",
        ),
        (("ask", "retries", "--policy", "peak"), 2, "takes no --policy: it is for idle; besides"),
        (("ask", "retries", "--capacity-tokens", "5"), 2, "for prefix_loss, volatile_prefixes;"),
        (("ask", "law", "--ttl", "1h"), 2, "for duplicates, response_cache, tool_repeats;"),
        (("ask", "law", "--limit", "3"), 2, "law takes no --limit; besides --where and"),
        (("ask", "limits", "--order", "cost"), 2, "limits takes no --order: it is for calls;"),
        (("ask", "calls", "--by", "day"), 2, "the window calls takes --order, --limit"),
        (("ask", "budget", "--by", "month"), 2, "the window budget takes nothing"),
        (("ask", "tool_repeats", "--where", "kind=tols"), 2, "kind is one of tool, retrieval"),
        (("ask", "law", "--since", "2025-01", "--until", "2025-02"), 4, "reach from 2026-09-01"),
        (("ask", "law", "--where", "endpoint=/none"), 4, "no calls with origin=production, endp"),
        (("ask", "law", "--ledger", "none.duckdb"), 4, "no ledger at none.duckdb"),
        (("explain", "--from", "2026-07", "--to", "2026-09"), 4, "no calls with"),
        (("explain", "--from", "2026-9", "--to", "2026-10"), 2, "'2026-9' is no period"),
        (("trace", "zz"), 4, "no trace and no call begins with 'zz'"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence_and_a_code(
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = run(folder, *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_two_columns_may_be_named_with_a_comma_or_twice(folder: Path) -> None:
    once = run(folder, "ask", "law", "--by", "endpoint,month", "--format", "json").stdout
    twice = run(folder, "ask", "law", "--by", "endpoint", "--by", "month", "--format", "json")
    assert json.loads(once) == json.loads(twice.stdout)
    assert {line["month"] for line in json.loads(once)} == {"2026-09", "2026-10"}


def test_calls_are_one_object_each(folder: Path) -> None:
    done = run(folder, "ask", "calls", "--where", "endpoint=/rag", "--format", "json")
    rows = json.loads(done.stdout)
    assert [row["endpoint"] for row in rows] == ["/rag"] * 4
    assert {"call_id", "endpoint", "team", "model", "pool", "started_at", "uncached_input_tokens",
            "cache_read_tokens", "cache_write_tokens", "visible_output_tokens", "reasoning_tokens",
            "queue_s", "prefill_s", "decode_s", "gpu_seconds", "prefill_gpu_seconds",
            "decode_gpu_seconds", "cost", "cost_status", "timing_source",
            } <= set(rows[0])  # fmt: skip


def test_explain_adds_up(folder: Path) -> None:
    done = run(folder, "explain", "--from", "2026-09", "--to", "2026-10", "--format", "json")
    rows = json.loads(done.stdout, parse_float=Decimal)
    parts = [row["change"] for row in rows if row["line"] != "total"]
    assert sum(parts) == rows[-1]["change"] == 24 * Decimal("3.6")


def test_explain_compares_any_two_periods(folder: Path) -> None:
    asked = ("explain", "--from", "2026-09-01", "--to", "2026-10-01T00:00:00Z/2026-10-01T00:02:30Z")
    done = run(folder, *asked, "--format", "json")
    assert done.returncode == 0, done.stderr
    total = json.loads(done.stdout, parse_float=Decimal)[-1]
    # One GPU at 3.60 an hour: a day, and two and a half minutes.
    assert (total["cost_from"], total["cost_to"]) == (Decimal("86.4"), Decimal("0.15"))
    assert "24 hours are compared with 0.0416667" in done.stderr


def test_a_month_without_calls_costs_what_was_provisioned(folder: Path) -> None:
    done = run(folder, "ask", "law", "--since", "2026-12", "--until", "2027-01", "--format", "json")
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout, parse_float=Decimal)
    assert [(row["line"], row["gpu_seconds"], row["cost"]) for row in lines] == [
        ("idle", 744 * 3600, 744 * Decimal("3.6"))
    ]
    assert "the ledger's 8 calls reach from 2026-09-01" in done.stderr


def test_explain_compares_with_a_month_without_calls(folder: Path) -> None:
    done = run(folder, "explain", "--from", "2026-12", "--to", "2026-09", "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout, parse_float=Decimal)
    assert {row["line"] for row in rows} == {"idle", "new", "total"}
    parts = [row["change"] for row in rows if row["line"] != "total"]
    assert sum(parts) == rows[-1]["change"] == -24 * Decimal("3.6")
    assert "no calls with origin=production from 2026-12-01" in done.stderr


def test_a_sound_ledger_passes_and_a_broken_one_has_exit_code_one(folder: Path) -> None:
    assert run(folder, "check").returncode == 0
    # Half a GPU is configured where a whole one was busy for three minutes.
    config = folder / "half.toml"
    config.write_text(CONFIGURATION + "gpus_per_replica = 1\nreplicas = 0\n")
    done = run(folder, "check", "--config", "half.toml")
    assert done.returncode == 1
    assert "more was busy than configured: a 2026-09" in done.stdout
    assert run(folder, "check").returncode == 0


def test_a_call_can_be_looked_at_by_the_beginning_of_its_id(folder: Path) -> None:
    rows = json.loads(run(folder, "ask", "calls", "--limit", "1", "--format", "json").stdout)
    done = run(folder, "trace", rows[0]["call_id"][:12])
    assert done.returncode == 0, done.stderr
    assert "0 spans, 1 call" in done.stdout
    assert "▒" in done.stdout
    assert "█" in done.stdout


def test_questions_are_listed_with_what_they_ask(folder: Path) -> None:
    rows = json.loads(run(folder, "questions", "--format", "json").stdout)
    assert "law" in {row["name"] for row in rows}
    assert all(row["question"].endswith(("?", ".")) for row in rows)
    assert all(row["asked_with"].startswith("gpuledger ") for row in rows)
    kinds = [row["kind"] for row in rows]
    assert kinds == sorted(kinds, key=["question", "command", "part", "check"].index)


OF_CALLS_ALONE = {
    "law", "calls", "latency", "length", "limits", "finish_reasons", "concentration", "anomalies",
    "forecast", "budget", "idle", "prices", "unit_costs", "duplicates", "in_flight", "retries",
    "rejects", "pairs", "operations", "loops", "tool_repeats", "engine",
}  # fmt: skip
"""What can be answered of any calls on a pool; the others may want texts, hashes, spans or SLOs."""


def test_what_is_listed_as_a_question_of_ask_can_be_asked(folder: Path) -> None:
    rows = json.loads(run(folder, "questions", "--format", "json").stdout)
    assert {row["name"] for row in rows if row["kind"] == "question"} == set(NAMES)
    commands = {
        row["name"]: row["asked_with"].split()[1] for row in rows if row["kind"] == "command"
    }
    assert commands == {
        "explain": "explain", "levers": "levers", "trace": "trace", "traces": "dashboard"
    }  # fmt: skip
    for name in NAMES:
        done = run(folder, "ask", name)
        assert done.returncode in ({0} if name in OF_CALLS_ALONE else {0, 4}), done.stderr
        if done.returncode:
            assert done.stderr.startswith("error: ")
            assert done.stdout == ""


def test_a_budget_is_asked_for_by_its_month_alone(folder: Path) -> None:
    assert run(folder, "ask", "budget", "--where", "month=2026-10").returncode == 0
    for words in (["--since", "2026-10"], ["--where", "team=a"]):
        done = run(folder, "ask", "budget", *words)
        assert done.returncode == 2
        assert "month" in done.stderr


def test_what_is_listed_and_not_asked_by_name_says_where_it_is_asked(folder: Path) -> None:
    rows = json.loads(run(folder, "questions", "--format", "json").stdout)
    others = [row for row in rows if row["asked_with"].split()[1:3] != ["ask", row["name"]]]
    assert {"explain", "trace", "cohorts", "negatives"} <= {row["name"] for row in others}
    for row in others:
        done = run(folder, "ask", row["name"])
        assert done.returncode == 2
        assert f"{row['name']!r} is " in done.stderr
        assert f"`{row['asked_with']}`" in done.stderr
