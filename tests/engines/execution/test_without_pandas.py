"""A service answers searches of text without loading pandas, which takes half a second and 34 MB."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sourcelight.testing import RepositoryBuilder

QUERIES = ["lamp count:1", "lamp count:5", "lamp lang:python", "tower", "type:file lamp", "lamp OR beam", "wick"]
SEARCHES = """
import json, sys
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer

with_pandas, matching = [], []
engine = open_engine([sys.argv[1]], index_now=True)
for query in sys.argv[2:]:
    for display in (-1, 100):
        events = list(engine.stream(SearchRequest(query, display=display), Viewer.owner(), Cancellation(60.0)))
    for event in events:
        if "Match" in type(event).__name__:
            list(encode_matches(event, {info.name: info for info in event.repositories}, chunk_text="both"))
    if sys.modules.pop("pandas", None):
        with_pandas.append(query)
    if any("Match" in type(event).__name__ for event in events):
        matching.append(query)
engine.close()
print(json.dumps([with_pandas, matching]))
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The queries that loaded pandas, and those with matches, in one process for all."""
    folder = tmp_path_factory.mktemp("repositories")
    for name in ("tower", "copy"):  # the same paths in both
        builder = RepositoryBuilder(folder / name)
        builder.commit({f"src/lamp{number}.py": "lamp = 'beam'\nlamp\n" for number in range(3)}, "start")
        # Long lines are encoded from record batches, where a language that isn't known is null.
        builder.commit({"wick": f"wick {'x ' * 2000}\n", "wick.py": f"wick = '{'x ' * 2000}'\n"}, "long lines")
    argv = [sys.executable, "-c", SEARCHES, str(folder), *QUERIES]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=100)
    loaded: list[list[str]] = json.loads(done.stdout)
    return loaded


@pytest.mark.parametrize("query", QUERIES)
def test_searches_of_text_load_no_pandas(query: str, outcome: list[list[str]]) -> None:
    with_pandas, matching = outcome
    assert query not in with_pandas
    assert query in matching
