"""Paths, folders, globs, pipes and archives become sources; what is no data is named."""

import gzip
import io
import os
import sys
import threading
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
import zstandard

from ingest.files import RefusedSourceError, Source, open_sources

LINE = b'{"a": 1}\n'


def opened(*paths: Path | str) -> list[Source | RefusedSourceError]:
    return list(open_sources([str(path) for path in paths]))


def bytes_of(source: Source | RefusedSourceError) -> bytes:
    assert isinstance(source, Source)
    with source.open() as stream:
        return stream.read()


def found(path: Path) -> str:
    (refused,) = opened(path)
    assert isinstance(refused, RefusedSourceError)
    assert refused.name == str(path)
    return refused.found


def test_a_file_is_a_source_with_its_size_and_the_checksum_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(LINE)
    (source,) = opened(path)
    assert isinstance(source, Source)
    assert (source.name, source.path, source.size_bytes) == (str(path), path, 9)
    assert source.checksum == sha256(LINE).hexdigest()
    assert bytes_of(source) == LINE
    assert source.read_position() == 9


def test_a_folder_gives_its_files_by_name_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", ".hidden", "sub/c.json", ".git/d.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(LINE)
    names = [Path(source.name).name for source in opened(tmp_path)]
    assert names == ["a.json", "b.json", "c.json"]


def test_a_glob_gives_what_matches_and_a_path_with_brackets_is_a_path(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "c[1].json"):
        (tmp_path / name).write_bytes(LINE)
    assert len(opened(tmp_path / "[ab].json")) == 2
    assert opened(tmp_path / "c[1].json")[0].name.endswith("c[1].json")


def test_a_missing_path_a_pattern_without_match_and_an_empty_folder_are_said(
    tmp_path: Path,
) -> None:
    (tmp_path / "empty").mkdir()
    assert found(tmp_path / "nothing.json") == "does not exist; check the path"
    assert found(tmp_path / "*.json") == "no file matches this pattern"
    assert found(tmp_path / "empty") == "a folder without files"


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"")
    (tmp_path / "b.json").write_bytes(LINE)
    bad, good = opened(tmp_path)
    assert isinstance(bad, RefusedSourceError)
    assert bytes_of(good) == LINE


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "an empty file"),
        (b" \r\n\t", "a file of blanks only"),
        (b"\x00" * 100, "a file of zero bytes only; it was allocated but never written"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
            "a Git LFS pointer, not the data; fetch it with `git lfs pull`",
        ),
        (
            b"../../.git/annex/objects/W8/4f/SHA256E-s9--ab.csv/SHA256E-s9--ab.csv",
            "a git-annex pointer, not the data; fetch it with `git annex get`",
        ),
        (
            b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>",
            "an HTML page, such as an error or a sign-in page saved in place of the data",
        ),
        (
            b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
            "XML, such as an error of an object store saved in place of the data",
        ),
        (b"\xff\xfe{\x00", "text in UTF-16; convert it to UTF-8"),
    ],
)
def test_what_is_no_data_is_named_as_what_it_is(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "traces.json"
    path.write_bytes(content)
    assert found(path) == what


@pytest.mark.parametrize("name", ["plain.json", "wrong.zst", "none"])
def test_compression_is_told_from_content_not_from_the_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for packed in (gzip.compress(LINE), zstandard.compress(LINE), LINE):
        path.write_bytes(packed)
        (source,) = opened(path)
        assert bytes_of(source) == LINE
        assert isinstance(source, Source)
        assert source.checksum == sha256(packed).hexdigest()


def test_members_that_follow_each_other_and_layers_are_all_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x"
    two = gzip.compress(LINE) + gzip.compress(LINE)
    frames = zstandard.compress(LINE) + zstandard.compress(LINE)
    for packed in (two, frames, gzip.compress(zstandard.compress(LINE + LINE))):
        path.write_bytes(packed)
        assert bytes_of(opened(path)[0]) == LINE + LINE


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_truncated_stream_is_an_error_and_not_a_short_file(tmp_path: Path, compress) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(compress(os.urandom(400_000))[:-100_000])
    (source,) = opened(path)
    with pytest.raises(RefusedSourceError, match=r"a truncated (gzip|zstd) file: its end is miss"):
        bytes_of(source)


def test_a_stream_that_is_cut_in_its_first_bytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(LINE)[:12])
    assert found(path) == "a truncated gzip file: its end is missing; transfer it again"


def test_a_damaged_gzip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    packed = bytearray(gzip.compress(LINE))
    packed[-6] ^= 0xFF
    path.write_bytes(packed)
    assert found(path).startswith("a damaged gzip file (CRC check failed")


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.files.compression.MAX_UNBOUNDED_BYTES", 2**20)
    path = tmp_path / "x"
    for packed in (gzip.compress(b"0" * 2**23, mtime=0), zstandard.compress(b"0" * 2**23)):
        path.write_bytes(packed)
        (source,) = opened(path)
        assert isinstance(source, Source)
        with pytest.raises(RefusedSourceError, match="decompression bomb"):
            bytes_of(source)


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return out.getvalue()


def test_an_archive_gives_its_members_each_with_its_own_name_and_checksum(tmp_path: Path) -> None:
    path = tmp_path / "export"
    packed = gzip.compress(LINE)
    path.write_bytes(zipped(a=LINE, sub__b=packed, empty=b"", **{".DS_Store": b"x"}))
    first, second, empty = opened(path)
    assert (first.name, second.name) == (f"{path}!a", f"{path}!sub/b")
    assert bytes_of(first) == bytes_of(second) == LINE
    assert isinstance(second, Source)
    assert second.checksum == sha256(packed).hexdigest()
    assert isinstance(empty, RefusedSourceError)
    assert empty.found == "an empty file"


def test_a_truncated_and_an_empty_archive_are_named(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(a=LINE)[:-30])
    assert found(path).startswith("a truncated or damaged zip archive")
    path.write_bytes(zipped())
    assert found(path) == "an archive without files"


def test_a_damaged_member_is_named_when_its_end_is_reached(tmp_path: Path) -> None:
    content = os.urandom(1_000_000)
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(a=content).replace(content[-8:], b"damaged!"))
    (member,) = opened(path)
    with pytest.raises(RefusedSourceError, match=r"zip!a: cannot be read to its end: Bad CRC-32"):
        bytes_of(member)


def test_a_member_that_says_it_is_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.files.compression.MAX_UNBOUNDED_BYTES", 2**20)
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(a=b"0" * 2**23, b=LINE))
    refused, member = opened(path)
    assert isinstance(refused, RefusedSourceError)
    assert "unpack to 8,388,608 or more: a decompression bomb" in refused.found
    assert bytes_of(member) == LINE


def test_siblings_are_found_beside_a_file_and_inside_an_archive(tmp_path: Path) -> None:
    (tmp_path / "requests.jsonl").write_bytes(LINE)
    (tmp_path / "meta.json").write_bytes(b"{}")
    (tmp_path / "run.zip").write_bytes(zipped(run__requests=LINE, run__meta=b"[]"))
    (plain,) = opened(tmp_path / "requests.jsonl")
    assert isinstance(plain, Source)
    assert (plain.sibling("meta.json"), plain.sibling("other.json")) == (b"{}", None)
    member = opened(tmp_path / "run.zip")[0]
    assert isinstance(member, Source)
    assert (member.sibling("meta"), member.sibling("other")) == (b"[]", None)


class FakeStdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("packed", [LINE, gzip.compress(LINE, mtime=0)])
def test_standard_input_can_be_read_several_times(
    monkeypatch: pytest.MonkeyPatch, packed: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", FakeStdin(packed))
    (source,) = opened("-")
    assert (source.name, bytes_of(source), bytes_of(source)) == ("-", LINE, LINE)
    assert isinstance(source, Source)
    assert (source.path, source.size_bytes) == (None, len(packed))


def test_an_archive_on_standard_input_gives_its_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", FakeStdin(zipped(a=LINE, b=LINE)))
    sources = opened("-")
    assert [source.name for source in sources] == ["-!a", "-!b"]
    assert [bytes_of(source) for source in sources] == [LINE, LINE]


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (refused,) = opened(tmp_path)
    assert isinstance(refused, RefusedSourceError)
    assert refused.found == "no regular file; name it by itself to read it"


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    (refused,) = opened(tmp_path)
    assert isinstance(refused, RefusedSourceError)
    assert refused.found == "cannot be read: No such file or directory"


def test_a_path_that_may_not_be_looked_at_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good").write_bytes(LINE)
    exists = Path.exists

    def closed(path: Path) -> bool:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return exists(path)

    monkeypatch.setattr(Path, "exists", closed)
    refused, good = opened(tmp_path / "closed", tmp_path / "good")
    assert isinstance(refused, RefusedSourceError)
    assert refused.found == "cannot be read: Permission denied"
    assert bytes_of(good) == LINE


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(LINE))
    writer.start()
    (source,) = opened(pipe)
    writer.join()
    assert bytes_of(source) == LINE
