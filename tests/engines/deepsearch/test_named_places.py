"""A file that is named for what a question describes, and first in the ranking, is stated; one of two such is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.described_places.file_names import RankedName, first_by_name
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedFile
from sourcelight.repos.catalog import Catalog
from sourcelight.testing import RepositoryBuilder

_FILES = {
    "filter/owner.py": "LIMIT = 3\n\ndef accept(entry, user):\n    return entry.uid == user and entry.file < LIMIT\n",
    "filter/size.py": "def accept(entry, most):\n    return entry.bytes < most\n",
    "sort/sorters.py": "def fuzzy():\n    # a sorter by the fzy algorithm: the fzy sorter\n    return 'sorter'\n",
    "sort/algorithm/fzy.py": "def score(text):\n    return len(text)  # the algorithm\n",
    "plan.py": "class Plan:\n    def steps(self):\n        return ['walk', 'accept']\n",
    "shell/quoting_rules.py": "class QuotingRules:\n    def apply(self, words):\n        return map(repr, words)\n",
    "shell/words.py": "def split(line):\n    return line.split()\n",
}


def _headline(tmp_path: Path, question: str) -> str:
    repo = RepositoryBuilder(tmp_path / "pebbles")
    repo.commit(_FILES, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    return research(engine, question).text.split("\n## ")[0]


@pytest.mark.parametrize(
    "question",
    ["Which file lets only files of one user, by their owner, pass?", "where are files checked for their owner"],
)
def test_the_first_file_of_the_ranking_is_stated_if_it_is_named_for_the_place(tmp_path: Path, question: str) -> None:
    text = _headline(tmp_path, question)
    assert "Most relevant" not in text
    assert "`filter/owner.py` is named for `owner`, and is the first file of the ranking" in text


def test_a_file_is_not_stated_if_another_one_is_named_for_a_further_word(tmp_path: Path) -> None:
    assert "is named for" not in _headline(tmp_path, "where is the sorter with the fzy algorithm")


def test_an_implementation_comes_before_the_header_that_declares_it(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "pebbles")
    body = "{\n  /* decode and encode utf8 */\n  return data;\n}\n"
    files = {
        "unicode.h": "/* decode and encode utf8 */\nint utf8_decode(int data);\nint utf8_encode(int data);\n",
        "unicode.c": f"int utf8_decode(int data) {body}\nint utf8_encode(int data) {body}",
        "print.c": "int print_all(int data) {\n  return data;\n}\n",
    }
    repo.commit(files, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    text = research(engine, "Which file does the utf8 decoding and encoding?").text
    assert "unicode.h" not in text.split("\n\n")[0]


def test_words_of_a_name_that_are_written_as_one_are_two(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "pebbles")
    files = {
        "views/resetpassword.nim": "proc show*(name: string) =\n  # a forgotten password\n  echo name\n",
        "views/login.nim": "proc show*(name: string) =\n  # the password\n  echo name\n",
        "mail.nim": "proc send*(text: string) =\n  echo text\n",
    }
    repo.commit(files, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    text = research(engine, "where does somebody reset a password that was forgotten?").text
    assert text.startswith("`views/resetpassword.nim` is named for `reset` and `password`, and is the first file of")


def test_what_a_place_is_not_names_no_file(tmp_path: Path) -> None:
    assert "is named for" not in _headline(
        tmp_path, "where are files checked for something else instead of their owner"
    )


def test_a_class_is_stated_if_the_file_is_named_as_it_is(tmp_path: Path) -> None:
    text = _headline(tmp_path, "Which class wraps shell arguments by quoting them?")
    assert "Most relevant" not in text
    assert "`QuotingRules`" in text


@pytest.mark.parametrize(
    ("viewer", "editor", "is_first"),
    [
        # The name of the better file has no word of the question.
        ((1.0, [], 0.0), (0.75, [2], 0.1), True),
        ((1.0, [], 0.0), (0.65, [2], 0.1), False),
        # Both names have some; that of the other one has more.
        ((1.0, [1], 0.1), (0.65, [2], 0.4), True),
        ((1.0, [1], 0.3), (0.65, [2], 0.4), False),
        ((1.0, [1], 0.1), (0.5, [2], 0.4), False),
    ],
)
def test_a_file_that_is_named_for_the_place_comes_before_a_slightly_better_one(
    tmp_path: Path, viewer: tuple[float, list[int], float], editor: tuple[float, list[int], float], *, is_first: bool
) -> None:
    repo = RepositoryBuilder(tmp_path / "pebbles")
    repo.commit({"README.md": "Pebbles\n"}, "Start")
    target = Target(Catalog.open([str(repo.path)]).repositories[0])
    names = [
        RankedName(RankedFile(target, path, score, "code"), frozenset(concepts), frozenset(), 0, share)
        for path, (score, concepts, share) in (("panes/viewer.py", viewer), ("panes/editor.py", editor))
    ]
    assert first_by_name(names) == (names[1].file if is_first else None)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Where does it find the root of the project?", "`find_project_root` is defined in `paths.py`"),
        ("Where does it not find the root of the project?", ""),
        # The class within it has one of the words alone.
        ("Which class builds query clauses?", ""),
    ],
)
def test_a_name_that_the_question_spells_is_stated_and_a_part_of_a_type_is_not(
    tmp_path: Path, question: str, start: str
) -> None:
    repo = RepositoryBuilder(tmp_path / "pebbles")
    files = {
        "paths.py": "def find_project_root(names):\n    return names[0]\n\n\ndef is_root(name):\n    return not name\n",
        "words.py": "def split(line):\n    return line.split()\n",
        "sql/builder.py": "class QueryBuilder:\n    class Clauses:\n        def add(self):\n            return 1\n",
    }
    repo.commit(files, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    text = research(engine, question).text
    assert text.startswith(start) if start else " is defined in " not in text.split("\n\n")[0]


@pytest.mark.parametrize(
    "question",
    [
        "where are encryption keys rotated",
        "where is an elf header read",
        "where are tabs expanded",
        "Where are arguments escaped for printing?",
        "Where are bytes printed as hex?",
        "Which file has the waiting strategies?",
    ],
)
def test_a_definition_beside_the_place_is_not_stated(tmp_path: Path, question: str) -> None:
    repo = RepositoryBuilder(tmp_path / "pebbles")
    files = {
        # What the rotation lasts, what calls the reader of the header, and what calls the function of tabs.
        "options.py": "def with_encryption_key_rotation_duration(span):\n    return span\n",
        "manylinux.py": "def _parse_elf(path):\n    return open_file(path)\n",
        "rotate.py": "def run(old, new):\n    # encryption keys are rotated: encryption, key\n    return old, new\n",
        "elffile.py": "class ELFFile:\n    def start(self):\n        # the ELF header is read: ELF\n        pass\n",
        "grep.py": "def expand_tabs(line):\n    return tabs.expand(line)\n",
        "tabs.py": "def expand(line):\n    return line.replace('\\t', ' ')\n",
    }
    files |= {
        "commandfile.py": "def escape_argument(text):\n    return text\n\n\ndef print_all(text):\n    return text\n",
        "arguments/escape.py": "def escape_lines(lines):\n    # arguments for printing\n    return lines\n",
        "format.py": "def write_bytes(stream):\n    return stream\n",
        "to_hex.py": "def to_hex(data):\n    # bytes are printed as hex: bytes, hex\n    return data\n",
        "releasenotes/wait-strategies.yaml": "fixes:\n  - waiting strategies\n",
        "delays.py": "def sleep(seconds):\n    # waiting strategies: a waiting strategy\n    return seconds\n",
    }
    repo.commit(files, "Start")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "wait-strategies" not in research(engine, question).text.split("\n\n")[0]
    assert " is defined in " not in research(engine, question).text.split("\n\n")[0]
