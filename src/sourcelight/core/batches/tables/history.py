"""Columns of tables about commits, diffs, comparisons, contributors and analyses of history."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column

TABLES: Mapping[str, tuple[Column, ...]] = {}
