"""The committed files are what the generator writes, and they are small."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sample_data.deliveries import Delivered
from sample_data.sample import sample_manifest_path, sample_paths

pytestmark = pytest.mark.xdist_group("sample")

MIB = 2**20


def test_the_seed_gives_the_committed_lines_and_manifest_again(generated: Path) -> None:
    names = [path.name for path in sample_paths()]
    assert sorted(path.name for path in (generated / "telemetry").iterdir()) == names
    for path in sample_paths():
        again = generated / "telemetry" / path.name
        assert gzip.decompress(again.read_bytes()) == gzip.decompress(path.read_bytes())
    assert (generated / "manifest.json").read_bytes() == sample_manifest_path().read_bytes()


def test_the_manifest_pins_the_bytes_of_every_file(manifest: dict[str, Any]) -> None:
    pinned = {file["name"]: file["sha256_before_compression"] for file in manifest["files"]}
    assert pinned == {
        path.name: hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest()
        for path in sample_paths()
    }


def test_a_file_written_twice_is_the_same_bytes(tmp_path: Path) -> None:
    file = Delivered(name="a.jsonl.gz", lines=("{}", '{"a":1}'), record_counts=(1, 1))
    file.write(tmp_path)
    first = (tmp_path / "a.jsonl.gz").read_bytes()
    file.write(tmp_path)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == first
    assert first[3:8] == b"\0\0\0\0\0"  # no name in the header, and no time


def test_the_sample_is_smaller_than_eight_mebibytes() -> None:
    assert sum(path.stat().st_size for path in sample_paths()) < 8 * MIB


def test_the_lines_carry_one_record_each_as_the_manifest_counts_them(
    manifest: dict[str, Any],
) -> None:
    counted = {path.name: _records(path) for path in sample_paths()}
    assert counted == {
        file["name"]: (file["records"] - file["rejected"], file["rejected"])
        for file in manifest["files"]
    }


def _records(path: Path) -> tuple[int, int]:
    """Spans and log rows that a plain JSON parser finds, and lines that are no JSON."""
    good = bad = 0
    for line in gzip.decompress(path.read_bytes()).splitlines():
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            bad += 1
            continue
        good += sum(
            len(scope["spans"])
            for resource in value.get("resourceSpans", [])
            for scope in resource["scopeSpans"]
        )
        good += "resourceSpans" not in value
    return good, bad
