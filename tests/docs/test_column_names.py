"""Frames that docstrings and pages name can be looked up under those names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from sourcelight import AsyncClient, columns_of

ROOT = Path(__file__).resolve().parent.parent.parent
_NAMED = re.compile(r"columns_of\(\\?[\"'](\w+)\\?[\"']\)")


def test_every_frame_that_is_named_has_columns() -> None:
    """In methods of clients, and in pages."""
    texts = [inspect.getdoc(member) or "" for _, member in inspect.getmembers(AsyncClient)]
    texts += [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    by_name = {name for text in texts for name in _NAMED.findall(text)}
    assert {"definitions", "references", "symbols", "imports", "dependencies", "repository_map", "calls"} <= by_name
    assert all(columns_of(name) for name in by_name)
