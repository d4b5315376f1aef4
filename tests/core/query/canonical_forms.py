"""Canonical forms of query trees, as tests compare them."""

from __future__ import annotations

from typing import Any


def without_quotes(form: Any) -> Any:
    """Return a canonical form without the ``quoted`` marks, which writing may add, and without an order of operands."""
    if isinstance(form, dict):
        result = {key: without_quotes(value) for key, value in form.items() if key != "quoted"}
        if "op" in result:
            result["args"] = sorted(result["args"], key=repr)
        return result
    return [without_quotes(part) for part in form] if isinstance(form, list) else form
