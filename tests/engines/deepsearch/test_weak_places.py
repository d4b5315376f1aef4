"""A file with a lead in the ranking whose definitions have few of the words of a question: it is only shown."""

from __future__ import annotations

from pathlib import Path

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.testing import RepositoryBuilder


def test_definitions_with_one_of_the_words_prove_no_place(tmp_path: Path) -> None:
    refusals = "".join(
        f"def throw_mutation_error_{name}(ledger):\n    raise TypeError(f'no {{ledger}}')\n\n\n"
        for name in ("north", "south", "east")
    )
    repo = RepositoryBuilder(tmp_path / "ledger")
    repo.commit({"ledger/array/type.py": refusals, "ledger/clock.py": "def tick():\n    return 1\n"}, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    text = research(engine, "Which file has the array-like type you can mutate while taking notes?").text
    assert "Most relevant" in text.split("\n## ")[0]
    assert "`ledger/array/type.py`" in text.split("\n2. ")[0]
