"""The package loads in no time and shows its public names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sourcelight as sl


def _run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    heavy = ("pandas", "numpy", "pyarrow", "anyio", "asyncio", "httpx2", "ipywidgets", "IPython", "pygit2", "re2")
    loaded = _run(f"import sys, sourcelight; print(*[m for m in {heavy} if m in sys.modules])")
    assert loaded == ""


def test_importing_takes_less_than_a_fifth_of_a_second() -> None:
    code = "import time; t = time.process_time(); import sourcelight; print(time.process_time() - t)"
    assert min(float(_run(code)) for _ in range(3)) < 0.2


def test_every_public_name_is_there_and_told() -> None:
    assert sorted(sl.__all__) == dir(sl)
    for name in sl.__all__:
        value = getattr(sl, name)
        assert name == "__version__" or value.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        getattr(sl, "nope")  # noqa: B009 - the point is the name


def test_star_import_works() -> None:
    assert _run("from sourcelight import *; print(open.__module__)") == "sourcelight.client.factory"
