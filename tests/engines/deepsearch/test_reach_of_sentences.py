"""What a sentence covers: references beside calls, lines of tests, manifests of other packages, lines with values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    "src/Codec.java": (
        "class Codec {\n  static String escapeName(String text) {\n    return text;\n  }\n\n"
        "  static String sealName(String text) {\n    return escapeName(text);\n  }\n}\n"
    ),
    "src/Names.java": (
        "class Names {\n  String first(String text) {\n"
        "    return Codec.escapeName(text) + Codec.sealName(text);\n  }\n\n"
        "  Object all(java.util.List<String> texts) {\n    return texts.stream().map(Codec::escapeName);\n  }\n}\n"
    ),
    "Sources/Gap.swift": "/// See editGap.\nfunc editGap(from: String) -> Int {\n  return 0\n}\n",
    "Sources/Usage.swift": "let near = names.filter { $0.editGap(from: name) < 3 }\n",
    "Tests/GapTests.swift": "func testGap() {\n  assertEqual(editGap(from: name), 1)\n}\n",
    "packages/core/package.json": '{"name": "core", "dependencies": {"qs": "^6.0"}}\n',
    "packages/tools/package.json": '{"name": "tools", "dependencies": {"flutter_lodash": "^2.0"}}\n',
    "src/settings.rs": (
        'const HELP: &str = "Run in parallel (--threads=1 for one at a time)";\n\n'
        "pub struct Settings {\n    pub threads: Option<usize>,\n}\n"
    ),
    "src/entry.rs": "pub struct Entry;\n\n"
    "impl Clone for Entry {\n    fn clone(&self) -> Self {\n        Entry\n    }\n}\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("reach")
    RepositoryBuilder(root / "pond").commit(FILES, "Plant")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("callers of escapeName", "3 calls or references in 2 files"),
        ("callers of sealName", "(1 call in 1 file)"),
        ("what uses editGap", "is called by name in line 1 of `Sources/Usage.swift`; tests call it in `testGap`"),
        ("Does the core package depend on lodash?", "No: `packages/core/package.json` does not list `lodash`"),
    ],
)
def test_a_sentence_says_what_it_covers(engine: LocalEngine, question: str, part: str) -> None:
    answer = research(engine, question)
    assert part in answer.text, answer.text


@pytest.mark.parametrize(
    ("question", "wrong"),
    [
        # `flutter_lodash` is not `lodash`, but neither yes nor no is proven for the repository.
        ("Does pond depend on lodash?", "No: "),
        ("how many threads does it use by default", "sets a value"),
        ("which traits does Entry implement", "No searched file has `traits`"),
    ],
)
def test_a_sentence_says_no_more_than_is_read(engine: LocalEngine, question: str, wrong: str) -> None:
    answer = research(engine, question)
    assert wrong.casefold() not in answer.text.casefold(), answer.text


def test_an_option_decides_between_commits(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "pond")
    repo.commit({"a.rs": "fn prune() {}\n"}, "Add --prune flag")
    repo.commit({"b.rs": "fn and() {}\n"}, "Added the --and flag for matching multiple patterns")
    repo.commit({"c.rs": "fn flag() {}\n"}, "Add flag")
    with closing(open_engine([tmp_path], index=tmp_path / "index", workers=1)) as engine:
        text = research(engine, "when was the --and flag added and by whom").text
    commits = re.findall(r"--prune flag|--and flag for matching|“Add flag”", text)
    assert commits[0] == "--and flag for matching", text
