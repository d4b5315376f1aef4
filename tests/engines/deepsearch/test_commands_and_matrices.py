"""Commands that documents have, versions in matrices of workflows, and keys with their tables and mappings."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.manifests.requirement import keys_around
from sourcelight.engines.deepsearch.question.lookups.purpose_wording import read_tested
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

_WORKFLOW = """\
name: Test
on: push
permissions: # none of them
  contents: read
jobs:
  test:
    strategy:
      fail-fast: false
      matrix:
        # python: ["2.7"]
        python-version: ["3.11", '3.12',
                         "3.13"]  # "3.14"
        node:
          - 20
          - 22 # long
        go: ${{ fromJson(needs.x.outputs.go) }}
        ruby: ["3.3"]
        os: [ubuntu-latest]
        exclude:
          - python-version: "3.9"
            ruby: "2.0"
        include:
          - {python-version: '3.15', os: windows-latest}
    runs-on: ${{ matrix.os }}
    steps:
      - name: Set up
        with:
          python-version: "3.8"
          java-version: 17
"""
_APPLICATION = """\
server:
  ssl:
    port: 9443
  port: 8080
other:
  server:
    port: 7000
name: boat
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("commands")
    repo = RepositoryBuilder(folder / "barque")
    repo.commit(
        {
            ".github/workflows/test.yml": _WORKFLOW,
            ".github/workflows/lint.yml": (
                "jobs:\n  lint:\n    runs-on: ${{ matrix.ruby || 'x' }}\n    strategy:\n      matrix:\n"
                "        ruby: [1.8]\n"
            ),
            "config/application.yml": _APPLICATION,
            "config/app.properties": "cache.size=100\nsize=3\n",
            "README.md": (
                "# Barque\n\n## Installation\n\n"
                "```sh\n# from the registry\n$ pip install barque\nCollecting barque\n```\n\n"
                "## Contest\n\n```sh\npytest --contest\n```\n\n## Usage\n\n```python\npytest = 1\n```\n"
            ),
            "CONTRIBUTING.md": (
                "# Contributing\n\n```sh\n## Testing is fun\nmake test-none\n```\n\n## Running the tests\n\n"
                "Install it first:\n\n```sh\npip install -e .\n```\n\n"
                "Then:\n\n```console\n$ tox -e py  # all\nok\n```\n\n"
                "## Building\n\nBuild with `make wheel`; `make clean` removes it.\n"
            ),
            "package-lock.json": '{\n  "cache.size": 5\n}\n',
        },
        "Add it",
    )
    return open_engine([repo.path], index=folder / "index", workers=1)


def _lead(engine: LocalEngine, question: str) -> str:
    return research(engine, question).text.split("\n")[0]


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        (
            "How do I run the tests?",
            "`CONTRIBUTING.md` has the command `tox -e py` below the heading “Running the tests”",
        ),
        ("how can we run the test suite locally", "`CONTRIBUTING.md` has the command `tox -e py` below"),
        (
            "How do I install barque?",
            "`README.md` has the command `pip install barque` below the heading “Installation”",
        ),
        (
            "How do I build it from source?",
            "`CONTRIBUTING.md` has the command `make wheel` below the heading “Building”",
        ),
    ],
)
def test_a_document_has_the_command(engine: LocalEngine, question: str, lead: str) -> None:
    assert _lead(engine, question).startswith(lead)


@pytest.mark.parametrize("question", ["How do I test a handler?", "How do I build URLs?", "How do I install plugins?"])
def test_a_question_about_something_else_has_no_command(engine: LocalEngine, question: str) -> None:
    assert "has the command" not in _lead(engine, question)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which Python versions are tested?", "`python-version`: `3.11`, `3.12`, `3.13` and `3.15` "),
        ("Which versions of Node are tested in CI?", "`node`: `20` and `22` "),
        ("Which operating systems are tested?", "`os`: `ubuntu-latest` and `windows-latest` "),
        ("Which Ruby versions does CI test?", "`ruby`: `3.3` "),
    ],
)
def test_matrices_list_what_is_tested(engine: LocalEngine, question: str, values: str) -> None:
    assert _lead(engine, question).startswith(f"`.github/workflows/test.yml` has the matrix {values}")


@pytest.mark.parametrize("question", ["Which Go versions are tested?", "Which Java versions are tested?"])
def test_an_expression_or_a_step_is_no_matrix(engine: LocalEngine, question: str) -> None:
    assert "has the matrix" not in _lead(engine, question)


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("What is server.port set to?", "`server.port` is set on 2 lines: `8080` in `config/application.yml`, line 4"),
        ("What is ssl.port set to?", "`ssl.port` is set to `9443` in `config/application.yml`, line 3"),
        ("What is other.server.port set to?", "`other.server.port` is set to `7000`"),
        ("What is cache.size set to?", "`cache.size` is set to `100` in `config/app.properties`, line 1"),
        ("What is fail-fast set to in test.yml?", "`fail-fast` is set to `false` in `.github/workflows/test.yml`"),
        ("What is name set to in test.yml?", "`name` is set to `Test` in `.github/workflows/test.yml`, line 1; blocks"),
        ("what is the name setting in test.yml", "`name` is set to `Test` in `.github/workflows/test.yml`, line 1"),
    ],
)
def test_a_key_is_that_of_its_tables(engine: LocalEngine, question: str, lead: str) -> None:
    assert _lead(engine, question).startswith(lead)


@pytest.mark.parametrize(
    "question",
    ["What is permissions set to in test.yml?", "What is `permissions` set to?", "value of permissions in test.yml"],
)
def test_a_comment_is_no_value(engine: LocalEngine, question: str) -> None:
    assert "none of them" not in _lead(engine, question)


@pytest.mark.parametrize(
    ("path", "text", "number", "keys"),
    [
        ("a.yml", _APPLICATION, 3, ["server", "ssl"]),
        ("a.yml", _APPLICATION, 4, ["server"]),
        ("a.yml", _APPLICATION, 8, []),
        ("a.json", '{\n  "a": {\n    "b": [\n      1\n    ],\n    "c": 2\n  }\n}\n', 6, ["a"]),
        ("a.toml", '[tool.x]\na = 1\n\n[[y."z"]] # z\nb = 1\n', 5, ["y", "z"]),
        ("a.ini", "a = 1\n", 1, []),
    ],
)
def test_keys_around_a_line(path: str, text: str, number: int, keys: list[str]) -> None:
    assert keys_around(path, text.split("\n"), number) == keys


def test_hostile_documents_and_workflows_are_read_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    repo = RepositoryBuilder(folder / "reef")
    wide = " " * 390
    repo.commit(
        {
            "CONTRIBUTING.md": f"# test{wide}x\n" * 2_000 + "## tests\n" + "`" * 300_000 + f"\n $ a{wide}#\n" * 2_000,
            "README.md": "A=" + "B= " * 100_000 + "\n====\n```\n" + "make test # # #\n" * 20_000,
            ".github/workflows/ci.yml": "matrix:\n" + " python:\n - [\n" * 20_000 + "  python: [" + "1, " * 100_000,
        },
        "Add it",
    )
    engine = open_engine([repo.path], index=folder / "index", workers=1)
    start_s = time.process_time()
    for question in ("How do I run the tests?", "How do I build it?", "Which Python versions are tested?"):
        assert research(engine, question).text
    assert time.process_time() - start_s < 20.0


_BSD = (
    "Copyright (c) 2020 Someone\n\nRedistribution and use in source and binary forms, with or without modification,\n"
    "are permitted:\n\n1. Redistributions of source code must retain it.\n2. Redistributions in binary form must\n"
    "reproduce it.\n"
)
_ENDORSE = "3. Neither the name may be used to endorse or promote\nproducts derived from this software.\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_BSD, "has the words of the `BSD-2-Clause` license: “Redistribution and use"),
        (_BSD + _ENDORSE, "has the words of the `BSD-3-Clause` license: “Redistribution and use"),
        (_BSD + _ENDORSE + "4. All advertising materials must say so.\n", "says “Redistribution and use"),
        ("Permission is hereby granted, free of charge, to anyone.\n", "says “Permission is hereby granted"),
    ],
)
def test_a_license_is_named_by_its_own_sentences(
    tmp_path_factory: pytest.TempPathFactory, text: str, words: str
) -> None:
    folder = tmp_path_factory.mktemp("license")
    repo = RepositoryBuilder(folder / "punt")
    repo.commit({"LICENSE": text, "punt.c": "int punt;\n"}, "Add it")
    engine = open_engine([repo.path], index=folder / "index", workers=1)
    assert _lead(engine, "What license is it under?").startswith(f"`LICENSE` {words}")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("which Java versions does the CI test job run on", "java"),
        ("which JDKs are the tests run on", "jdk"),
        ("which go versions do our pipelines test against", "go"),
        ("on how many Go versions do we run CI", "go"),
        ("which rspec do the tests use", ""),
        ("which versions of hspec do the tests need", ""),
        ("which pytest version does CI use", ""),
    ],
)
def test_a_matrix_is_asked_for_with_the_preposition_at_either_end(words: str, name: str) -> None:
    assert read_tested(words) == name
