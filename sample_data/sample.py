"""Where the sample's files are, for whoever ingests them: paths, and the configuration.

Owns names inside the package. Refuses to open anything.
"""

from importlib.resources import files
from pathlib import Path


def sample_paths() -> list[Path]:
    """Every file of the sample, by name."""
    folder = Path(str(files("sample_data.telemetry")))
    return sorted(folder.glob("*.jsonl.gz"))


def sample_configuration_path() -> Path:
    """The configuration that the sample is charged with."""
    return Path(str(files("sample_data"))) / "gpuledger.toml"


def sample_waste_path() -> Path:
    """What can be saved in the sample, call by call, as JSON in gzip."""
    return Path(str(files("sample_data"))) / "waste.json.gz"


def sample_manifest_path() -> Path:
    """The totals that a reader of the sample must find."""
    return Path(str(files("sample_data"))) / "manifest.json"
