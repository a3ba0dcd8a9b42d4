"""A configuration that cannot be understood: the file, the key, what was given, what is allowed."""

import os
from pathlib import Path

import pytest

from gpuledger.main import main

PLAN = '[[plans]]\nname = "s"\nprice_per_month = "1"\n'
POOL = '[[pools]]\nname = "a"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPULEDGER_CONFIG", raising=False)
    return tmp_path


def refused(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """What `config check` says of a file that it does not take."""
    with pytest.raises(SystemExit) as ended:
        main(["config", "check", *arguments])
    said = capfd.readouterr()
    assert (ended.value.code, said.out) == (code, ""), said.err
    return said.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('content = "hsah"', 'content is "hsah"; it must be "full" or "hash" or "off"; did you'),
        ("content = 1", 'content is 1; it must be "full" or "hash" or "off"'),
        ("currency = 7", 'currency is 7; it must be a text in quotes, such as "a"'),
        ('memory_limit = "lots"', 'memory_limit is "lots"; it must be a size, such as "4GB"'),
        ('memory_limit = "0GB"', 'memory_limit is "0GB"; it must be a size'),
        ("[[pools]]\nname = 7", "pools[0].name is 7; it must be a text in quotes"),
        ('[[pools]]\ngpu = "x"', "pools[0] has no name; it must be a text in quotes"),
        (
            '[pools]\nname = "a"',
            "pools is a table; it must be one or more tables, each under",
        ),
        ('pools = ["x"]', 'pools[0] is "x"; it must be a table under [[pools]]'),
        (POOL + "replicas = -1", "pools[0].replicas is -1; it must be a whole number from 0 on"),
        (
            POOL + "replicas = 100000000000",
            "replicas is 100000000000; it must be a whole number from 0 on, at most 1,000,000",
        ),
        (POOL + "kv_cache_tokens = 0", "kv_cache_tokens is 0; it must be a whole number from 1 on"),
        (
            '[[slos]]\nendpoint = "/a"\nttft_p95_s = -1',
            "ttft_p95_s is -1; it must be a number above 0",
        ),
        (POOL + "replicas = true", "pools[0].replicas is true; it must be a whole number from 0"),
        (POOL + "replicas = 1.5", "pools[0].replicas is 1.5; it must be a whole number from 0 on"),
        (POOL + 'replicas = "2"', 'pools[0].replicas is "2"; it must be a whole number from 0 on'),
        (POOL + "gpus_per_replica = nan", "gpus_per_replica is nan; it must be a number above 0"),
        (POOL + "gpus_per_replica = inf", "gpus_per_replica is inf; it must be a number above 0"),
        (POOL + "gpus_per_replica = 0", "gpus_per_replica is 0; it must be a number above 0"),
        (POOL + 'price_per_gpu_hour = "3 EUR"', 'is "3 EUR"; it must be an amount, such as "2.99"'),
        (POOL + "price_per_gpu_hour = nan", "price_per_gpu_hour is nan; it must be an amount"),
        (POOL + "price_per_gpu_hour = true", "is true; it must be an amount"),
        (
            POOL + "from = 2026-10-01",
            "from is 2026-10-01; it must be a time, such as 2026-",
        ),
        (POOL + 'from = "soon"', 'from is "soon"; it must be a time'),
        (POOL + "models = [1]", "pools[0].models[0] is 1; it must be a text in quotes"),
        (POOL + 'models = "m"', 'models is "m"; it must be a list of texts, such as ["a", "b"]'),
        (POOL + 'schedule = "alway"', 'is "alway"; it must be "always" or a list of texts'),
        (POOL + 'schedule = "alway"', 'did you mean "always"?'),
        (
            POOL + 'currency = "EUR"',
            "'currency' is a key of the whole file: put it above",
        ),
        ('[map]\nteam = "attribute.team"', 'map.team is "attribute.team"; it must be a list of'),
        ("[map]\nteam = [1]", "map.team[0] is 1; it must be a text in quotes"),
        ('[map]\nteem = ["attribute.team"]', "[map] cannot fill 'teem'; did you mean 'team'?"),
        ('[map]\ntimezone = "UTC"', "'timezone' is a key of the whole file"),
        ("map = 3", "map is 3; it must be a table"),
        (
            '[[budgets]]\nscope = { team = 1 }\nmonth = "2026-10"\namount = 1',
            "budgets[0].scope.team is 1; it must be a text in quotes",
        ),
        (
            '[[budgets]]\nscope = {}\nmonth = "2026-13"\namount = 1',
            'budgets[0].month is "2026-13"; it must be a month in quotes, such as "2026-10"',
        ),
        (
            '[[budgets]]\nscope = { teem = "a" }\nmonth = "2026-10"\namount = 1',
            "budgets[0].scope cannot select by 'teem'; did you mean 'team'?",
        ),
        (
            2 * '[[budgets]]\nscope = { team = "a" }\nmonth = "2026-10"\namount = 1\n',
            "budgets[0] and budgets[1] have the same scope in 2026-10; remove one",
        ),
        (PLAN, "plans[0] covers no calls; give it a scope, such as { service ="),
        (
            PLAN + 'scope = { pool = "p" }',
            "plans[0].scope cannot select by 'pool'; known: endpoint",
        ),
        (
            PLAN.replace("1", "-1") + 'models = ["m"]',
            "plans[0].price_per_month is -1; an amount is",
        ),
        (
            PLAN + 'models = ["m"]\nfrom = 2026-10-01T00:00:00Z\nuntil = 2026-10-01T00:00:00Z',
            "plans[0] ends before it begins",
        ),
        (2 * (PLAN + 'models = ["m"]\n'), "plan 's' has two entries from the same instant"),
        ('[[slos]]\nendpoint = "/"\nttft_p95_s = "1s"', 'is "1s"; it must be a number'),
        ('timezone = "Asia/Tokio"', "timezone 'Asia/Tokio' is unknown; did you mean 'Asia/Tokyo'?"),
        ('timezone = "Asia"', "timezone 'Asia' is unknown"),
    ],
)
def test_a_value_of_the_wrong_kind_is_said_with_its_key_and_what_is_allowed(
    folder: Path, capfd: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (folder / "gpuledger.toml").write_text(text + "\n")
    error = refused(capfd)
    assert error.startswith("error: gpuledger.toml: ")
    assert said in error
    assert "$" not in error
    assert "`" not in error


def test_a_schedule_that_is_not_understood_is_said_with_its_key(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "gpuledger.toml").write_text(POOL + 'schedule = ["mon-fri 08:00-20:00", "nights"]')
    assert "error: pools[0].schedule: the schedule 'nights' is not underst" in refused(capfd)


def test_the_value_of_a_secret_is_never_shown(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "gpuledger.toml").write_text("hash_key = 271828\n")
    error = refused(capfd)
    assert "hash_key is of another kind; it must be a text in quotes" in error
    assert "271828" not in error


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b'currency = "EUR"\ncontent = hash\n',
            ", line 2, column 11: no valid TOML: invalid",
        ),
        (b'currency = "EUR"\ncurrency = "USD"\n', ", line 2, column 17: no valid TOML: cannot ove"),
        (b'currency = "EUR', " is no valid TOML: unterminated string at its end"),
        (b"# caf\xe9\n", ", line 1: the byte 0xe9 is no UTF-8; save the file as UTF-8"),
        ("currency = 'EUR'".encode("utf-16"), " is text in UTF-16; save it as UTF-8"),
        (b"a = 1\x00\n", ", line 1, column 6: no valid TOML"),
    ],
)
def test_what_is_no_toml_is_said_with_its_line_and_column(
    folder: Path, capfd: pytest.CaptureFixture[str], content: bytes, said: str
) -> None:
    (folder / "gpuledger.toml").write_bytes(content)
    assert f"error: gpuledger.toml{said}" in refused(capfd)


def test_a_byte_order_mark_is_skipped(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "gpuledger.toml").write_bytes(b'\xef\xbb\xbfcurrency = "EUR"\r\n')
    with pytest.raises(SystemExit) as ended:
        main(["config", "show", "--format", "csv"])
    assert ended.value.code == 0
    assert "currency,EUR" in capfd.readouterr().out


def test_a_file_that_cannot_be_opened_is_named(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no configuration at other.toml" in refused(capfd, "--config", "other.toml")
    (folder / "folder").mkdir()
    assert "is a directory" in refused(capfd, "--config", "folder", code=2)
    (folder / "gpuledger.toml").mkdir()
    assert "gpuledger.toml is a folder, no configuration file" in refused(capfd)
    (folder / "gpuledger.toml").rmdir()
    (folder / "gpuledger.toml").symlink_to("gone.toml")
    assert "no configuration at gpuledger.toml" in refused(capfd)
    (folder / "gpuledger.toml").unlink()
    monkeypatch.setenv("GPULEDGER_CONFIG", "elsewhere.toml")
    assert "no configuration at elsewhere.toml" in refused(capfd)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for the superuser")
def test_a_file_without_permission_is_named(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "gpuledger.toml").touch(mode=0o000)
    assert "gpuledger.toml cannot be read: Permission denied" in refused(capfd)


def test_a_schedule_that_ends_when_it_begins_is_refused_with_what_to_write(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "gpuledger.toml").write_text(POOL + 'schedule = ["mon-fri 10:00-10:00"]\n')
    assert refused(capfd) == (
        "error: pools[0].schedule: the schedule 'mon-fri 10:00-10:00' ends when it begins; "
        "write 00:00-24:00 for a whole day, or a later end\n"
    )
