"""docs/mcp.md says what the endpoints do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from server.mcp.conftest import Served
from sourcelight.server.mcp.addresses import ENDPOINTS

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_the_python_example_runs(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    ours = {
        "repo:redis sdsnewlen": "lighthouse",
        "http://127.0.0.1:7080/.api/mcp": served.url,
        "YOUR_TOKEN": served.tokens["mcp"],
    }
    for theirs, our in ours.items():
        assert theirs in example
        example = example.replace(theirs, our)
    exec(compile(example, "docs/mcp.md", "exec"), names)  # noqa: S102 - our own page
    assert "src/lamp.py" in capsys.readouterr().out


def test_endpoints_and_examples_are_right() -> None:
    for endpoint in ENDPOINTS:
        assert f"`{endpoint}`" in PAGE
    examples = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [list(json.loads(example)) for example in examples] == [["mcpServers"]] * 3
