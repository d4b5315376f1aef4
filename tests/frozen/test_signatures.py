"""Every public name has the signature that `signatures.json` says: a change of it is meant, and in CHANGELOG.md."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import sourcelight as sl

FROZEN = Path(__file__).parent / "signatures.json"


def signatures() -> dict[str, str]:
    """Each public name with its parameters; of classes, those of every public method and property.

    Annotations are left out: they name classes of the inside.
    """
    entries: dict[str, str] = {}
    for name in sl.__all__:
        value = getattr(sl, name)
        if inspect.ismodule(value):
            for inner in value.__all__ if hasattr(value, "__all__") else vars(value):
                member = getattr(value, inner)
                if not inner.startswith("_") and getattr(member, "__module__", "").startswith("sourcelight"):
                    _take(entries, f"{name}.{inner}", member)
        else:
            _take(entries, name, value)
    return entries


def _take(entries: dict[str, str], name: str, value: Any) -> None:
    if inspect.isclass(value):
        entries[name] = "class" + _parameters(value)
        if not issubclass(value, BaseException):
            for member in dir(value):
                if not member.startswith("_"):
                    inner = inspect.getattr_static(value, member)
                    inner = inner.__func__ if isinstance(inner, (classmethod, staticmethod)) else inner
                    entries[f"{name}.{member}"] = _parameters(inner) if callable(inner) else "value"
    elif callable(value):
        entries[name] = _parameters(value)


def _parameters(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)  # where a default stands in memory


def test_public_names_have_the_signatures_that_were_written_down() -> None:
    value: dict[str, str] = json.loads(FROZEN.read_text("utf-8"))
    now = signatures()
    assert {name: now.get(name) for name in value if now.get(name) != value[name]} == {}
    assert sorted(set(now) - set(value)) == [], "run scripts/freeze --names"
