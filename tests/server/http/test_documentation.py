from pathlib import Path

from sourcelight.server.http import settings
from sourcelight.server.identity import OWNER_TOKEN_VARIABLE

TEXT = (Path(__file__).parents[3] / "docs" / "service.md").read_text(encoding="utf-8")


def test_every_setting_is_documented() -> None:
    for name in (*settings.SETTING_KEYS, settings.DISABLE_DEEPSEARCH, OWNER_TOKEN_VARIABLE):
        assert f"`{name}`" in TEXT


def test_documented_defaults_are_the_real_ones() -> None:
    defaults = settings.Settings()
    assert f"| {defaults.max_file_size_bytes} |" in TEXT
    assert f"| {defaults.max_timeout_s} |" in TEXT
