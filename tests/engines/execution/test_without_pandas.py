"""A service answers searches of text without loading pandas, which takes half a second and 34 MB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sourcelight.testing import RepositoryBuilder

SEARCH = """
import sys
from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer

engine = open_engine([sys.argv[1]], index_now=True)
for display in (-1, 100):
    events = list(engine.stream(SearchRequest(sys.argv[2], display=display), Viewer.owner(), Cancellation(60.0)))
engine.close()
print("pandas" in sys.modules, any("Match" in type(event).__name__ for event in events))
"""


@pytest.mark.parametrize("query", ["lamp count:1", "lamp lang:python", "tower", "type:file lamp", "lamp OR beam"])
def test_searches_of_text_load_no_pandas(query: str, tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "tower")
    builder.commit({f"src/lamp{number}.py": "lamp = 'beam'\nlamp\n" for number in range(3)}, "start")
    argv = [sys.executable, "-c", SEARCH, str(tmp_path), query]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.split() == ["False", "True"]
