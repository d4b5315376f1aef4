"""Columns of tables about files, repositories and text found in them."""

from __future__ import annotations

from collections.abc import Mapping

from sourcelight.core.batches.schema import Column

TABLES: Mapping[str, tuple[Column, ...]] = {}
