"""Names what bytes look like, from their first kilobytes.

Owns the list of things that are no telemetry: pointers, web pages, archives, other databases.
Refuses to judge a format of telemetry: that is the readers' part.
"""

import re

UTF8_BOM = b"\xef\xbb\xbf"
_SHOWN_BYTES = 8
_SHOWN_CHARACTERS = 60
_MARKUP_WINDOW = 1024

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3\x00", "an SQLite database; export its rows first"),
    (b"ARROW1", "an Arrow file"),
    (b"PK\x03\x04", "a zip archive inside another file; unpack it first"),
    (b"\x1f\x8b", "gzip inside several layers of compression; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd inside several layers of compression; unpack it first"),
    (b"BZh", "a bzip2 file; unpack it, or use gzip or zstd"),
    (b"\xfd7zXZ\x00", "an xz file; unpack it, or use gzip or zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it, or use zip"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a program"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\xff\xfe", "text in UTF-16; convert it to UTF-8"),
    (b"\xfe\xff", "text in UTF-16; convert it to UTF-8"),
)
_TAR_MAGIC_AT = 257
_DUCKDB_MAGIC_AT = 8

_GIT_LFS = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\s")
_GIT_ANNEX = re.compile(rb"(\.\./)*(\.git|/annex)/.{0,200}SHA\d+E?-s\d+--", re.DOTALL)
_HTML = re.compile(rb"<(!doctype html|html|head|body)\b", re.IGNORECASE)


def no_data(head: bytes) -> str | None:
    """What `head` is, where it can be no telemetry of any format; None where it may be."""
    text = head.removeprefix(UTF8_BOM).lstrip()
    if not head:
        return "an empty file"
    if not text:
        return "a file of blanks only"
    if not head.strip(b"\x00"):
        return "a file of zero bytes only; it was allocated but never written"
    if _GIT_LFS.match(text):
        return "a Git LFS pointer, not the data; fetch it with `git lfs pull`"
    if _GIT_ANNEX.match(text):
        return "a git-annex pointer, not the data; fetch it with `git annex get`"
    return _markup(text[:_MARKUP_WINDOW]) or _foreign(head)


def _markup(text: bytes) -> str | None:
    if _HTML.match(text):
        return "an HTML page, such as an error or a sign-in page saved in place of the data"
    if text.startswith((b"<?xml", b"<Error>")):
        if _HTML.search(text):
            return "an HTML page, such as an error or a sign-in page saved in place of the data"
        return "XML, such as an error of an object store saved in place of the data"
    return None


def _foreign(head: bytes) -> str | None:
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        return "a tar archive; unpack it, or use zip"
    if head[_DUCKDB_MAGIC_AT : _DUCKDB_MAGIC_AT + 4] == b"DUCK":
        return "a DuckDB database; name it with --ledger if it is a ledger"
    return None


def looks_binary(head: bytes) -> bool:
    """Whether `head` cannot be text: it has control bytes, or is no UTF-8 (a cut end aside)."""
    if re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", head):
        return True
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(head) - 3
    return False


def appearance(head: bytes) -> str:
    """What `head` looks like, for a message: its first bytes or its first characters."""
    if looks_binary(head):
        return f"binary data beginning {head[:_SHOWN_BYTES].hex(' ')}"
    text = head.removeprefix(UTF8_BOM).decode("utf-8", "replace").strip()
    first_line = text.splitlines()[0] if text else ""
    shown = first_line[:_SHOWN_CHARACTERS] + ("…" if len(first_line) > _SHOWN_CHARACTERS else "")
    return f"text beginning {shown!r}"
