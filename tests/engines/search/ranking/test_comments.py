"""A comment that has words of a question one after another raises its file, not one that only has the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution.natural_language import RankedSearch, rank
from sourcelight.engines.search.index.document_buffer import DocumentBuffer
from sourcelight.engines.search.index.shard import LooseShard
from sourcelight.engines.search.ranking import Ranking
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

SENTENCE = "Readings of a gauge that drifts are dropped before the tide is computed"
REPEATED = "# tide: gauge, readings, drift; computed readings of the tide, dropped gauge\n"


def ask(tmp_path: Path, files: dict[str, str], question: str) -> Ranking:
    repo = RepositoryBuilder(tmp_path / "tides")
    repo.commit(files)
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    return rank(engine, RankedSearch(question), Viewer.owner(), Cancellation())


@pytest.mark.parametrize(
    ("name", "comment"),
    [
        ("tide.py", f'def keep():\n    """{SENTENCE}.\n    """\n'),
        ("tide.go", f"// {SENTENCE[:40]}\n// {SENTENCE[40:]}\nfunc keep() {{\n}}\n"),
        ("Tide.java", f"/**\n * {SENTENCE[:30]}\n * {SENTENCE[30:]}\n */\nclass Tide {{\n}}\n"),
        ("tide.rb", f"# {SENTENCE}\ndef keep\nend\n"),
        ("tide.lua", f"-- {SENTENCE}\nfunction keep()\nend\n"),
    ],
)
def test_a_comment_with_the_words_in_order_comes_first(tmp_path: Path, name: str, comment: str) -> None:
    files = {name: comment, "drift.py": f"{REPEATED}def drift():\n    return gauge\n"}
    ranking = ask(tmp_path, files, f"{SENTENCE}?")
    assert ranking.files[0].path == name
    assert [file.lists["comments"] > 0.0 for file in ranking.files] == [True, False]


def test_code_and_texts_with_the_words_say_nothing(tmp_path: Path) -> None:
    files = {"tide.py": f'NOTE = "{SENTENCE}"\n', "tide.txt": f"{SENTENCE}\n"}
    assert all(file.lists["comments"] == 0.0 for file in ask(tmp_path, files, SENTENCE).files)


def test_lines_of_a_document_are_those_of_its_text() -> None:
    texts = [b"one\ntwo\nthree", b"", b"alone\n", b"\n\nend\n"]
    shard = LooseShard(
        "loose-0", DocumentBuffer.of([(bytes([number]) * 20, text) for number, text in enumerate(texts)])
    )
    for document, text in enumerate(texts):
        lines = text.removesuffix(b"\n").split(b"\n") if text else []
        for first in range(1, len(lines) + 1):
            for last in range(first, len(lines) + 1):
                assert bytes(shard.lines(document, first, last)) == b"\n".join(lines[first - 1 : last])
