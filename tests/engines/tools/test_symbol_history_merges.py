"""Behind a merge, each parent has a definition in its own file and under its own name."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import identity

ADA = "Ada <a@x>"
SLOTS = 12
ACTIONS = (("edit", "edit", "file", "beside"), ("edit", "edit", "move", "beside"), ("edit", "edit", "name", "beside"))
"""Actions of branches. One that moved and renamed it leaves nothing to find it by."""


def function(name: str = "area", **values: int) -> str:
    """A function of a few lines; `values` replaces those of some."""
    lines = {"width": 1, "height": 2, "depth": 3, "angle": 4} | values
    return f"def {name}():\n" + "".join(f"    {key} = {value}\n" for key, value in lines.items()) + "    return width\n"


OTHER = "def other():\n    for one in range(3):\n        yield one\n    yield 'done'\n"


def fork(path: Path) -> RepositoryBuilder:
    """A repository with the function, and a branch `side`."""
    builder = RepositoryBuilder(path)
    builder.commit({"old.py": function(), "b.py": OTHER}, "begin")
    builder.git("branch", "side")
    return builder


def merge_by_hand(builder: RepositoryBuilder, files: dict[str, str | None]) -> None:
    """Merge `side` into the current branch with files as they are after the conflicts."""
    builder.git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "side", env=identity(ADA, ADA, 1_800_000_000))
    builder.commit(files, "merge")


def history(builder: RepositoryBuilder, name: str = "area") -> list[tuple[str, str]]:
    with sl.open(builder.path, index_dir=builder.path.parent / "index", index_workers=1) as code:
        frame = code.symbol_history(builder.path.name, name)
    assert frame.attrs["status"] == "complete"
    return sorted(zip(frame["subject"], frame["status"], strict=True))


@pytest.mark.parametrize("renamed_by", ["ours", "theirs"])
def test_an_edit_in_a_file_that_the_other_parent_renamed_counts(tmp_path: Path, renamed_by: str) -> None:
    builder = fork(tmp_path / "fork")
    rename, edit = ("main", "side") if renamed_by == "ours" else ("side", "main")
    builder.switch(rename)
    builder.commit({"old.py": None, "src/new.py": function()}, "rename the file")
    builder.switch(edit)
    builder.commit({"old.py": function(height=5)}, "edit")
    builder.switch("main")
    builder.merge("side")
    assert builder.git("ls-files").split() == ["b.py", "src/new.py"]
    assert history(builder) == [("begin", "added"), ("edit", "modified"), ("rename the file", "file renamed")]


def test_each_parent_has_its_own_name_of_a_file_and_its_own_text(tmp_path: Path) -> None:
    """The text of the merge is that of the parent with the old file, and the other one has another text in the new."""
    builder = fork(tmp_path / "fork")
    builder.commit({"old.py": function(height=5)}, "edit")
    builder.switch("side")
    builder.commit({"old.py": None, "src/new.py": function()}, "rename the file")
    builder.commit({"src/new.py": function(depth=6)}, "an edit that the merge drops")
    builder.switch("main")
    merge_by_hand(builder, {"old.py": None, "src/new.py": function(height=5)})
    assert ("edit", "modified") in history(builder)


def test_an_edit_counts_of_a_definition_that_the_other_parent_moved_or_renamed(tmp_path: Path) -> None:
    moved = fork(tmp_path / "moved")
    moved.commit({"old.py": "x = 1\n", "b.py": OTHER + "\n\n" + function()}, "move")
    moved.switch("side")
    moved.commit({"old.py": function(height=5)}, "edit")
    moved.switch("main")
    merge_by_hand(moved, {"b.py": OTHER + "\n\n" + function(height=5)})
    assert history(moved) == [("begin", "added"), ("edit", "modified"), ("move", "moved")]
    renamed = fork(tmp_path / "renamed")
    renamed.commit({"old.py": function("surface")}, "rename")
    renamed.switch("side")
    renamed.commit({"old.py": function(height=5)}, "edit")
    renamed.switch("main")
    merge_by_hand(renamed, {"old.py": function("surface", height=5)})
    assert history(renamed, "surface") == [("begin", "added"), ("edit", "modified"), ("rename", "renamed")]


def test_a_file_that_only_the_merge_renamed_has_its_past(tmp_path: Path) -> None:
    """One parent renamed the directory, the other put a file into the old one: merges move it along."""
    builder = RepositoryBuilder(tmp_path / "folders")
    builder.commit({"old/a.py": OTHER, "old/b.py": OTHER.replace("one", "two")}, "begin")
    builder.git("branch", "side")
    builder.commit({"old": None, "new/a.py": OTHER, "new/b.py": OTHER.replace("one", "two")}, "rename the directory")
    builder.switch("side")
    builder.commit({"old/c.py": function()}, "add")
    builder.commit({"old/c.py": function(height=5)}, "edit")
    builder.switch("main")
    merge_by_hand(builder, {"new/c.py": function(height=5)})
    assert history(builder) == [("add", "added"), ("edit", "modified")]


def test_a_branch_without_the_definition_adds_nothing(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "late")
    builder.commit({"b.py": OTHER}, "begin")
    builder.git("branch", "side")
    builder.commit({"a.py": function()}, "add")
    builder.switch("side")
    builder.commit({"c.py": OTHER.replace("one", "two")}, "beside it")
    builder.switch("main")
    builder.merge("side")
    assert history(builder) == [("add", "added")]


@dataclass(frozen=True)
class State:
    """A commit of a drawn history: files with their other function, where the definition is, and its lines."""

    files: dict[str, int]
    path: str = "f0.py"
    name: str = "drawn"
    slots: tuple[int, ...] = (1,) * SLOTS

    def contents(self) -> Iterator[tuple[str, str]]:
        for path, number in self.files.items():
            text = "".join(f"    filler{number}_{line} = {number}\n" for line in range(8))
            yield path, f"def other{number}():\n{text}" + (f"\n\n{self.definition}" if path == self.path else "")

    @property
    def definition(self) -> str:
        # Half of the lines stay, so that two branches never have texts that are less alike than git's threshold.
        lines = "".join(f"    s{i} = 'from {n}.'\n    kept{i} = {i}\n" for i, n in enumerate(self.slots))
        return f"def {self.name}():\n{lines}"


@dataclass
class DrawnHistory:
    """Edits, renames of files and of the definition, moves of it, and merges of branches, as git reads them."""

    generator: random.Random
    actions: tuple[str, ...]
    states: list[State] = field(default_factory=list)
    stream: bytes = b""

    def draw(self, length: int) -> None:
        self._commit("add 1", State({f"f{number}.py": number for number in range(3)}), [])
        tips = [1, 1, 1]
        while len(self.states) < length:
            branch = self.generator.randrange(len(tips))
            tip = tips[branch]
            other = self.generator.choice(tips)
            if other != tip and self.generator.random() < 0.35:
                tips[branch] = self._merge(tip, other)
                continue
            tips[branch] = self._change(tip)
        for other in tips[1:]:
            tips[0] = self._merge(tips[0], other) if other != tips[0] else tips[0]

    def _change(self, tip: int) -> int:
        number, state = len(self.states) + 1, self.states[tip - 1]
        action = self.generator.choice(self.actions)
        if action == "edit":
            slots = list(state.slots)
            for _ in range(self.generator.randint(1, 2)):
                slots[self.generator.randrange(SLOTS)] = number
            state = replace(state, slots=tuple(slots))
        elif action == "file":
            files = {path: filler for path, filler in state.files.items() if path != state.path}
            new = f"g{number}.py"
            state = replace(state, files=files | {new: state.files[state.path]}, path=new)
        elif action == "move":
            state = replace(state, path=self.generator.choice([path for path in state.files if path != state.path]))
        elif action == "name":
            state = replace(state, name=f"drawn{number}")
        else:
            state = replace(state, files=state.files | {f"h{number}.py": number})
        return self._commit(f"{action} {number}", state, [tip])

    def _merge(self, tip: int, other: int) -> int:
        first, second = self.states[tip - 1], self.states[other - 1]
        layout = self.generator.choice([first, second])
        slots = tuple(max(pair) for pair in zip(first.slots, second.slots, strict=True))
        if self.generator.random() < 0.3:
            slots = self.generator.choice([first, second]).slots
        return self._commit(f"merge {len(self.states) + 1}", replace(layout, slots=slots), [tip, other])

    def _commit(self, subject: str, state: State, parents: list[int]) -> int:
        self.states.append(state)
        number = len(self.states)
        lines = [f"commit refs/heads/main\nmark :{number}\ncommitter {ADA} {1_700_000_000 + number} +0000\n"]
        lines += [f"data {len(subject)}\n{subject}\n"]
        lines += [f"{word} :{parent}\n" for word, parent in zip(("from", "merge"), parents, strict=False)]
        lines += ["deleteall\n"]
        for path, text in state.contents():
            lines.append(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n")
        self.stream += "".join(lines).encode()
        return number


def surviving_commits(builder: RepositoryBuilder, state: State) -> set[str]:
    """Subjects of the commits, without merges, that git shows to have brought a line that the definition has."""
    log = builder.git("log", "--no-merges", "--reverse", "--topo-order", "-p", "--format=%x01%s", "main")
    origins: dict[str, str] = {}
    for entry in log.split("\x01")[1:]:
        subject, _, patch = entry.partition("\n")
        for line in re.findall(r"^\+(    s\d+ = 'from \d+\.')$", patch, re.MULTILINE):
            origins.setdefault(line, subject)
    assert builder.git("show", f"main:{state.path}").endswith(state.definition.removesuffix("\n"))
    return {origins[line] for line in state.definition.split("\n") if line in origins}


def test_every_commit_of_a_surviving_line_is_in_a_drawn_history(tmp_path: Path) -> None:
    histories: dict[str, tuple[RepositoryBuilder, State]] = {}
    for seed in range(30):
        history = DrawnHistory(random.Random(seed), ACTIONS[seed % len(ACTIONS)])  # noqa: S311 - no secret
        history.draw(30)
        builder = RepositoryBuilder(tmp_path / "src" / f"drawn{seed}")
        builder.git("fast-import", "--quiet", "--force", stdin=history.stream)
        histories[f"drawn{seed}"] = builder, history.states[-1]
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        for name, (builder, state) in histories.items():
            frame = code.symbol_history(name, state.name, path=state.path)
            subjects = set(frame["subject"])
            assert surviving_commits(builder, state) <= subjects, name
            assert not [subject for subject in subjects if subject.startswith(("merge", "beside"))], name
            assert frame.attrs["status"] == "complete", name
