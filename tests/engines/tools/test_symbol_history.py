"""The changes of a definition are those of ``git log -L`` in each file that had it, joined where it moved."""

from __future__ import annotations

from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder

HEAD = "import math\n\n\n"
BODY = "def area(r):\n    total = math.pi\n    total *= r\n    total *= r\n    return total\n"
OTHER = "\n\ndef other():\n    a = 1\n    b = 2\n    c = 3\n    return a + b + c\n"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """A function that is changed, moved within its file, to another one, and renamed."""
    builder = RepositoryBuilder(tmp_path_factory.mktemp("src") / "shapes")
    builder.commit({"shapes.py": HEAD + OTHER}, "other things first")
    builder.tag("before")
    builder.commit({"shapes.py": HEAD + OTHER + "\n\n" + BODY}, "add area (#3)")
    builder.tag("added")
    builder.commit({"shapes.py": HEAD + BODY + "\n\n" + OTHER}, "only its place in the file")
    doc = BODY.replace("(r):\n", '(r):\n    """Of a circle."""\n')
    builder.commit({"shapes.py": HEAD + doc + "\n\n" + OTHER}, "document area")
    builder.tag("documented")
    builder.commit({"shapes.py": HEAD + OTHER.replace("3", "4"), "circle.py": HEAD + doc}, "give circles a file")
    builder.tag("moved")
    builder.commit({"circle.py": None, "round/circle.py": HEAD + doc}, "a folder for it")
    builder.tag("folder")
    renamed = doc.replace("area", "circle_area")
    builder.commit({"round/circle.py": HEAD + renamed}, "a better name")
    builder.tag("renamed")
    builder.commit({"round/circle.py": HEAD + renamed.replace("total", "sum_")}, "better names inside")
    builder.commit({"round/circle.py": HEAD + renamed.replace("total", "sum_") + OTHER}, "not in it")
    return builder


def lines_log(repo: RepositoryBuilder, first: int, last: int, path: str, revision: str) -> list[str]:
    return repo.git("log", "-s", "--format=%s", f"-L{first},{last}:{path}", revision).split("\n")


def test_a_definition_is_followed_through_moves_and_names(repo: RepositoryBuilder, code: sl.Client) -> None:
    frame = code.symbol_history("shapes", "circle_area")
    rows = list(zip(frame["status"], frame["subject"], frame["additions"], frame["deletions"], strict=True))
    assert rows == [
        ("modified", "better names inside", 4, 4),
        ("renamed", "a better name", 1, 1),
        ("file renamed", "a folder for it", 0, 0),
        ("moved", "give circles a file", 0, 0),
        ("modified", "document area", 1, 0),
        ("added", "add area (#3)", 5, 0),
    ]
    # git follows the lines of each file that had it, and shows the same changes there.
    last = len(BODY.split("\n"))
    later = lines_log(repo, 4, 3 + last, "round/circle.py", "HEAD")
    assert later == ["better names inside", "a better name", "give circles a file"]
    earlier = lines_log(repo, 4, 3 + last, "shapes.py", "documented")
    assert earlier[0] == "document area"
    assert set(later + earlier) >= {subject for status, subject, *_ in rows if status != "file renamed"} - {
        "add area (#3)"
    }
    moved = frame[frame["status"] == "moved"].iloc[0]
    assert (moved["old_path"], moved["path"], moved["score"]) == ("shapes.py", "circle.py", 100)
    assert frame["references"].tolist()[-1] == ["#3"]


def test_lines_are_those_of_the_file_in_the_commit(repo: RepositoryBuilder, code: sl.Client) -> None:
    for row in code.symbol_history("shapes", "circle_area").to_dict("records"):
        text = repo.git("show", f"{row['commit']}:{row['path']}").split("\n")
        assert text[row["line_number"] - 1].startswith(f"def {row['symbol'].rpartition('.')[2]}(")
        assert text[row["end_line"] - 1].strip().startswith("return")


def test_a_name_that_several_definitions_bear_is_refused_with_their_places(code: sl.Client) -> None:
    with pytest.raises(sl.ToolError, match="no definition of 'nobody'"):
        code.symbol_history("shapes", "nobody")
    choices = r"2 definitions of 'other': round/circle.py:\d+ other and shapes.py:\d+ other"
    with pytest.raises(sl.ToolError, match=choices):
        code.symbol_history("shapes", "other")
    assert len(code.symbol_history("shapes", "other", path="shapes.py")) == 2


def test_methods_of_one_name_are_told_apart(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "twins")
    text = "class A:\n    def run(self):\n        return 1\n\n\nclass B:\n    def run(self):\n        return 1\n"
    builder.commit({"m.py": text.split("\n\n\n", maxsplit=1)[0] + "\n"}, "A")
    builder.commit({"m.py": text}, "B, with a method of the same text")
    builder.commit({"m.py": text[:-2] + "2\n"}, "change that of B")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        histories = {name: code.symbol_history("twins", name)["subject"].tolist() for name in ("A.run", "B.run")}
    assert histories == {"A.run": ["A"], "B.run": ["change that of B", "B, with a method of the same text"]}


def test_a_line_tells_a_getter_from_its_setter(tmp_path: Path) -> None:
    getter = "    @property\n    def size(self):\n        return self._size\n"
    setter = "\n    @size.setter\n    def size(self, value):\n        self._size = value\n"
    builder = RepositoryBuilder(tmp_path / "src" / "box")
    builder.commit({"box.py": "class Box:\n" + getter}, "a getter")
    builder.commit({"box.py": "class Box:\n" + getter + setter}, "a setter")
    builder.commit({"box.py": "class Box:\n" + getter + setter.replace("= value", "= int(value)")}, "an integer")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        with pytest.raises(sl.ToolError, match=r"or a line after it, as in 'Box.size:2'"):
            code.symbol_history("box", "Box.size")
        with pytest.raises(sl.ToolError, match="no definition of 'size' at line 40"):
            code.symbol_history("box", "size:40")
        subjects = {line: code.symbol_history("box", f"Box.size:{line}")["subject"].tolist() for line in (2, 3, 7)}
    assert subjects == {2: ["a getter"], 3: ["a getter"], 7: ["an integer", "a setter"]}


def test_a_definition_without_a_likeness_is_new(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "new")
    builder.commit({"a.py": "def run():\n    x = 1\n    y = 2\n    return x + y\n"}, "one")
    builder.commit({"a.py": "z = 0\n", "b.py": "def run():\n    for q in w():\n        yield q\n"}, "another")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        frame = code.symbol_history("new", "run")
    assert frame[["status", "subject"]].values.tolist() == [["added", "another"]]


def test_a_method_is_followed_through_a_renamed_class(tmp_path: Path) -> None:
    def content(name: str, body: str) -> str:
        return f"class {name}:\n    def run(self):\n        first = 1\n        second = 2\n{body}        return first\n"

    builder = RepositoryBuilder(tmp_path / "src" / "classes")
    builder.commit({"a.py": content("Old", "")}, "begin")
    builder.commit({"a.py": content("Old", "        third = 3\n")}, "edit")
    builder.commit({"a.py": content("New", "        third = 3\n")}, "rename the class")
    builder.commit({"a.py": content("New", "        third = 4\n")}, "edit again")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1) as code:
        frame = code.symbol_history("classes", "New.run")
    # The class is another definition: its new name changes no line of the method.
    assert list(zip(frame["subject"], frame["status"], frame["symbol"], strict=True)) == [
        ("edit again", "modified", "New.run"), ("edit", "modified", "Old.run"), ("begin", "added", "Old.run"),
    ]  # fmt: skip
