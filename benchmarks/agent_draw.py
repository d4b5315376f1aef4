"""Draw questions for `agent.py` by a seed, with answers from git and from syntax trees of Python.

Run: ``python benchmarks/agent_draw.py --corpus FOLDER --seed N NAME… > TASKS``, and then
``python benchmarks/agent.py --corpus FOLDER --tasks TASKS``.

FOLDER holds a directory with git objects for each NAME. Nobody reads the questions before they are asked: draw them
after the policies are fixed, from repositories that no policy was tried on. There are four of each kind:

- ``locate``: the lines of a function with a docstring, asked for by the words of its first sentence but its name;
- ``trace``: all calls of a function whose name is defined once, and is no attribute of anything;
- ``count``: how often a name is written in each file, by a plain scan;
- ``who``: the commit that brought a name, the oldest of ``git log -S``;
- ``compare``: the lines with a name that one release added to the one before, by ``git diff``.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

OF_EACH_KIND = 4
MAX_ATTEMPTS = 4_000
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{5,}")
_COMMON = frozenset(
    ["about", "after", "also", "been", "before", "between", "called", "does", "each", "from", "given", "have", "into",
     "only", "other", "return", "returns", "some", "such", "than", "that", "their", "them", "then", "there", "these",
     "they", "this", "used", "uses", "using", "value", "when", "where", "which", "while", "will", "with", "would"]
)  # fmt: skip
Draw = Callable[["Repository", random.Random], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Function:
    """A function of a file, with its first and last line and the words of its docstring."""

    path: str
    name: str
    first: int
    last: int
    sentence: str


class Repository:
    """A repository at one commit, read by git alone."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.commit = self.git("rev-parse", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        """Output of git; bytes that aren't UTF-8 are replaced."""
        command = ["git", "-c", "safe.directory=*", "-C", str(self.folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")

    @cached_property
    def texts(self) -> dict[str, str]:
        """Text of each file of text that has no hidden directory in its path."""
        paths = self.git("ls-tree", "-r", "--name-only", self.commit).splitlines()
        texts = {
            path: self.git("show", f"{self.commit}:{path}") for path in paths if path.endswith((".py", ".rst", ".md"))
        }
        return {path: text for path, text in texts.items() if "\0" not in text and not re.search(r"(^|/)\.", path)}

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Syntax tree of each Python file outside of tests, documentation and examples."""
        selected = [
            path for path in self.texts if path.endswith(".py") and not re.search(r"(^|/)(test|doc|example)", path)
        ]
        return {path: ast.parse(self.texts[path]) for path in selected}

    @cached_property
    def functions(self) -> list[Function]:
        """All functions, also those of classes."""
        return [
            Function(path, node.name, node.lineno, node.end_lineno or node.lineno, _sentence(node))
            for path, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]

    @cached_property
    def names(self) -> list[str]:
        """Words of Python files that look like names, each once."""
        words = {word for path in self.trees for word in _WORD.findall(self.texts[path])}
        return sorted(word for word in words if "_" in word.strip("_") or re.search("[a-z][A-Z]", word))

    @cached_property
    def releases(self) -> list[str]:
        """Tags of releases in the order of their history, without those of a first version."""
        tags = self.git("tag", "--merged", self.commit, "--sort=creatordate").splitlines()
        return [tag for tag in tags if re.fullmatch(r"v?\d+\.\d+(\.\d+)?", tag)]


def _sentence(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.get_docstring(node) or ""
    return " ".join(re.split(r"\.(?:\s|$)|\n\n", text)[0].split())


def draw_locate(repository: Repository, chance: random.Random) -> Mapping[str, Any] | None:
    """A function by the words of its docstring."""
    function = chance.choice(repository.functions)
    words = [word for word in re.findall("[a-z]{4,}", function.sentence.lower()) if word not in _COMMON]
    words = [word for word in dict.fromkeys(words) if word not in function.name.lower()][:5]
    if len(words) < 4 or not 5 <= function.last - function.first <= 60:
        return None
    gold = {"path": function.path, "first": function.first, "last": function.last}
    return {"question": f"Where is this done: {function.sentence}?", "terms": words, "gold": [gold]}


def draw_trace(repository: Repository, chance: random.Random) -> Mapping[str, Any] | None:
    """The calls of a function by its bare name."""
    name = chance.choice(repository.functions).name
    if sum(function.name == name for function in repository.functions) != 1 or len(name) < 6:
        return None
    calls = set()
    for path, tree in repository.trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == name:
                return None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                calls.add((path, node.lineno))
    if not 2 <= len(calls) <= 8:
        return None
    gold = [{"path": path, "first": line, "last": line} for path, line in sorted(calls)]
    return {"question": f"What calls {name}?", "terms": [name], "gold": gold}


def draw_count(repository: Repository, chance: random.Random) -> Mapping[str, Any] | None:
    """How often a name is in each file, in any case."""
    name = chance.choice(repository.names)
    counts = {path: text.lower().count(name.lower()) for path, text in repository.texts.items()}
    gold = [{"path": path, "count": count} for path, count in counts.items() if count]
    if not 2 <= len(gold) <= 10:
        return None
    return {"question": f"How often is {name} written in each file?", "terms": [name], "gold": gold}


def draw_who(repository: Repository, chance: random.Random) -> Mapping[str, Any] | None:
    """The commit that brought a name."""
    name = chance.choice(repository.names)
    commits = repository.git("log", "-S", name, "--format=%H", repository.commit).split()
    if not 1 <= len(commits) <= 8:
        return None
    return {
        "question": f"Who introduced {name}, and in which commit?",
        "terms": [name],
        "gold": [{"commit": commits[-1]}],
    }


def draw_compare(repository: Repository, chance: random.Random) -> Mapping[str, Any] | None:
    """The lines with a name that a release added."""
    base, head = chance.choice(list(pairwise(repository.releases)))
    added = list(_added(repository.git("diff", "-U0", base, head, "--", "*.py")))
    words = sorted({word for _, _, text in added for word in _WORD.findall(text) if "_" in word.strip("_")})
    if not words:
        return None
    name = chance.choice(words)
    lines = [(path, number) for path, number, text in added if name in text]
    if not 1 <= len(lines) <= 6:
        return None
    gold = [{"path": path, "first": number, "last": number, "revision": head} for path, number in lines]
    return {
        "question": f"What did {head} change for {name}?",
        "terms": [name],
        "gold": gold,
        "base": base,
        "head": head,
    }


def _added(patch: str) -> Iterator[tuple[str, int, str]]:
    """Path, number and text of each added line of a diff without context."""
    path, number = "", 0
    for line in patch.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ ").removeprefix("b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(match[1])
        elif line.startswith("+"):
            yield path, number, line[1:]
            number += 1


KINDS: Mapping[str, Draw] = {
    "locate": draw_locate,
    "trace": draw_trace,
    "count": draw_count,
    "who": draw_who,
    "compare": draw_compare,
}


def draw(repositories: Sequence[Repository], seed: int) -> dict[str, Any]:
    """The tasks of a seed, in the form that `agent.py` reads.

    Raises
    ------
    RuntimeError
        When the repositories have too few questions of a kind.
    """
    chance = random.Random(seed)  # noqa: S311 - a draw that anyone can repeat
    tasks: list[dict[str, Any]] = []
    for kind, draw_one in KINDS.items():
        drawing: dict[tuple[str, str], dict[str, Any]] = {}
        for _ in range(MAX_ATTEMPTS):
            repository = chance.choice(repositories)
            task = draw_one(repository, chance)
            if task is not None:
                drawing.setdefault(
                    (repository.name, task["question"]), {"repository": repository.name, "kind": kind, **task}
                )
            if len(drawing) == OF_EACH_KIND:
                break
        else:
            raise RuntimeError(f"only {len(drawing)} questions of kind {kind}")
        tasks += drawing.values()
    position = {repository.name: repository.commit for repository in repositories}
    return {"at": position, "tasks": [{**task, "group": f"drawn by seed {seed}"} for task in tasks]}


def main() -> None:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--corpus", type=Path, required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("names", nargs="+")
    request = arguments.parse_args()
    repositories = [Repository(request.corpus / name, name) for name in request.names]
    json.dump(draw(repositories, request.seed), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
