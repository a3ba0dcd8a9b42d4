"""The keys of the configuration that decide what is masked."""

from pathlib import Path

import pytest

from gpuledger.main import main
from ingest.config import load_configuration
from ingest.errors import ConfigurationError


def configuration(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gpuledger.toml"
    path.write_text(text, "utf-8")
    return path


def test_masks_are_those_that_the_file_lists(tmp_path: Path) -> None:
    loaded = load_configuration(configuration(tmp_path, 'mask = ["card", "ip"]'))
    assert loaded.mask == ("card", "ip")
    assert load_configuration(configuration(tmp_path, "")).mask == (
        "secret",
        "card",
        "iban",
        "email",
        "phone",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('mask = "card"', 'mask is "card"; it must be a list of "secret" or "card"'),
        ('mask = ["cards"]', r'mask\[0\] is "cards".*did you mean "card"'),
        ('[[mask_patterns]]\nname = "x"', "mask_patterns.0.: has no pattern|has no pattern"),
        ('[[mask_patterns]]\nname = ""\npattern = "x"', 'name is ""; it must be.*not empty'),
        ('user_ids = "none"', 'user_ids is "none"; it must be "full" or "hash" or "off"'),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        load_configuration(configuration(tmp_path, text))


def test_config_check_refuses_a_pattern_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = configuration(tmp_path, "[[mask_patterns]]\nname = 'x'\npattern = '(?<=a)b'\n")
    with pytest.raises(SystemExit) as ended:
        main(["config", "check", "--config", str(path)])
    assert ended.value.code == 2
    assert "mask_patterns[0].pattern cannot be used" in capsys.readouterr().err
