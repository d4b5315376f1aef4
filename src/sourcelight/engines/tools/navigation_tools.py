"""The tools about navigation."""

from __future__ import annotations

from sourcelight.engines.tools.model import Tool

TOOLS: tuple[Tool, ...] = ()
