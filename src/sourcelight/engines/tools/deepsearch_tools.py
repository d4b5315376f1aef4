"""The tools about deep search."""

from __future__ import annotations

from sourcelight.engines.tools.model import Tool

TOOLS: tuple[Tool, ...] = ()
