"""A TOML file as the tables that it holds.

Owns what is said of a file that cannot be opened, is no text, or is no TOML. Refuses to judge a
key or a value.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from ingest.errors import ConfigurationError

UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of the file at `path`; a byte order mark before them is skipped.

    Raises `ConfigurationError` with the line and the column of what is no TOML.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ConfigurationError(
            f"no configuration at {path}; name another with --config"
        ) from None
    except IsADirectoryError:
        raise ConfigurationError(
            f"{path} is a folder, no configuration file; name a file with --config"
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror or error}; name another with --config"
        ) from error
    try:
        return tomllib.loads(_text(data, path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}{_place(error)}") from error


def _text(data: bytes, path: Path) -> str:
    if data.startswith(UTF16_BOMS):
        raise ConfigurationError(f"{path} is text in UTF-16; save it as UTF-8")
    try:
        return data.removeprefix(UTF8_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise ConfigurationError(
            f"{path}, line {line}: the byte 0x{byte:02x} is no UTF-8; save the file as UTF-8"
        ) from error


def _place(error: tomllib.TOMLDecodeError) -> str:
    """Where a file is no TOML, and why."""
    message = str(error)
    found = _PLACE.search(message)
    what = message if found is None else message[: found.start()]
    what = f"{what[:1].lower()}{what[1:]}"
    if found is None or found.group(1) is None:
        return f" is no valid TOML: {what} at its end"
    return f", line {found.group(1)}, column {found.group(2)}: no valid TOML: {what}"
