"""Analyses of navigation: what clients offer beside the service's tools."""

from __future__ import annotations

from sourcelight.engines.tools.model import Analysis

ANALYSES: tuple[Analysis, ...] = ()
