"""Columns of tables about definitions, references, outlines and imports."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column

TABLES: Mapping[str, tuple[Column, ...]] = {}
