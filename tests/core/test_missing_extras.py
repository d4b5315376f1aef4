"""An error about a missing extra names the command that installs it, for a published package and for a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.core.errors import MissingExtra

PUBLISHED, CHECKOUT = "pip install 'sourcelight[llm]'", "pip install -e '.[llm]' in the checkout"
ORIGINS = {
    "registry": ("", PUBLISHED),
    "checkout": ('{"url": "file:///code", "dir_info": {"editable": true}}', CHECKOUT),
    "directory": ('{"url": "file:///code", "dir_info": {}}', PUBLISHED),
    "damaged": ("[1", PUBLISHED),
}


@pytest.mark.parametrize("name", ORIGINS)
def test_the_command_installs_what_is_missing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    origin, command = ORIGINS[name]
    info = tmp_path / "sourcelight-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sourcelight\nVersion: 9\n", "utf-8")
    if origin:
        (info / "direct_url.json").write_text(origin, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    message = str(MissingExtra("sourcelight[llm]", "asking a model"))
    assert message == f"asking a model needs the package sourcelight[llm]: {command}"


def test_other_packages_are_named_as_they_are() -> None:
    assert str(MissingExtra("polars", "to_polars()")).endswith(": pip install polars")
