"""Nothing in the repository names a machine or a registry host."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FORBIDDEN = re.compile(r"/(?:w[o]rk|r[o]ot|h[o]me)/\w|pypi\.o[r]g|pythonhosted\.o[r]g|npmjs\.o[r]g")


def test_no_file_names_a_machine_path_or_a_registry_host() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    found = []
    for name in filter(None, listed):
        path = ROOT / name
        if not path.is_file() or path.suffix in {".gz", ".png", ".pb", ".gguf", ".parquet"}:
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if FORBIDDEN.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert found == []
