"""Structured content says nothing twice and nothing empty, over all tools and many answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from engines.tools.past import ADA, BO, Past
from sourcelight.core.batches.commit_messages import co_authors
from sourcelight.core.batches.patches import patch_facts
from sourcelight.core.batches.persons import is_bot
from sourcelight.core.tools.catalog import is_conversation, mcp_tools
from sourcelight.testing import RepositoryBuilder
from sourcelight.testing.repositories import identity

# Keys of the form that services send, which clients of other makers read; what they repeat is theirs.
RECORDED = {
    *("blocks[].chunks", "blocks[].type", "blocks[].chunks[].endLine"),
    *("definitions[].chunks[].endLine", "references[].chunks[].endLine"),
}
# No value, and yet a fact: a first commit has no parents.
FACTS = {"commits[].parents"}

CALLS: Mapping[str, list[dict[str, Any]]] = {
    "read_file": [
        {"repo": "one", "path": "src/lib/b.py"},
        {"repo": "one", "path": "src/a.py"},
        {"repo": "one", "path": "src/lib/b.py", "startLine": 2, "endLine": 2, "revision": "main~1"},
    ],
    "list_files": [{"repo": "one"}, {"repo": "one", "path": "src"}, {"repo": "two"}, {"repo": "mixed"}],
    "list_repos": [
        {"query": ""},
        {"query": "", "limit": 1},
        {"query": "", "after": base64.b64encode(b"1:one").decode().rstrip("=")},
    ],
    "keyword_search": [{"query": "TODO"}, {"query": "import"}, {"query": "repo:one file:b.py rev:main~1 import"}],
    "nls_search": [{"query": "where is the todo"}, {"query": "import a"}],
    "go_to_definition": [
        {"repo": "mixed", "path": "use.py", "symbol": "Lamp"},
        {"repo": "mixed", "path": "use.py", "symbol": "light"},
        {"repo": "one", "path": "src/lib/b.py", "symbol": "a"},
    ],
    "find_references": [
        {"repo": "mixed", "path": "lamp.py", "symbol": "Lamp"},
        {"repo": "mixed", "path": "lamp.py", "symbol": "light"},
    ],
    "commit_search": [{"repos": ["one"]}, {"repos": ["mixed", "two"]}, {"repos": ["one"], "count": 2}],
    "diff_search": [
        {"repos": ["one"], "pattern": "TODO"},
        {"repos": ["mixed"], "pattern": "light"},
        {"repos": ["one", "mixed"], "pattern": "import", "count": 1},
    ],
    "compare_revisions": [
        {"repo": "one", "base": "main~5", "head": "main"},
        {"repo": "mixed", "base": "main~2", "head": "main"},
        {"repo": "one", "base": "main~5", "head": "main", "first": 2},
    ],
    "get_contributor_repos": [{"author": "bo@"}, {"author": "ada"}, {"author": "ada", "limit": 1}],
    "count": [
        {"query": "TODO", "by": ["repository"]},
        {"query": "import"},
        {"query": "TODO", "by": ["path"], "limit": 1},
    ],
    "explain": [{"query": "repo:one TODO"}, {"query": "import OR light"}],
    "list_refs": [{"repo": "one"}, {"repo": "mixed"}, {"repo": "one", "limit": 1}],
    "history_of": [
        {"repo": "one", "text": "TODO"},
        {"repo": "mixed", "text": "light"},
        {"repo": "mixed", "path": "lamp.py", "startLine": 1, "endLine": 3},
    ],
    "api_changes": [{"repo": "mixed", "base": "HEAD~2", "head": "HEAD"}],
    "complexity": [{"repo": "mixed"}, {"repo": "mixed", "by": "file"}, {"repo": "one"}, {"repo": "one", "by": "file"}],
    "related_tests": [{"repo": "mixed", "path": "lamp.py"}],
    "symbol_history": [{"repo": "mixed", "symbol": "main"}],
    "blame": [{"repo": "one", "path": "src/lib/b.py"}, {"repo": "mixed", "path": "new.txt"}],
    "outline": [{"repo": "mixed", "path": "lamp.py"}, {"repo": "one", "path": "src/a.py"}],
    "callers": [{"repo": "mixed", "path": "lamp.py", "symbol": "light"}],
    "callees": [{"repo": "mixed", "path": "use.py", "symbol": "main"}],
    "repo_map": [{"repo": "mixed"}, {"repo": "one"}],
    "contributors": [{"repos": ["one"]}, {"repos": ["mixed"]}],
    "hotspots": [{"repos": ["one", "mixed"]}, {"repos": ["two"]}],
    "dependency_graph": [{"repos": ["mixed"]}, {"repos": ["one", "mixed"]}],
    "verify": [{"markdown": "See `lamp.py:1-3` and `lamp.py:99`.", "repo": "mixed"}],
}


class Key(NamedTuple):
    """One key of a payload: its path, its value, and the other values that a reader has beside and above it."""

    path: str
    value: Any
    siblings: dict[str, Any]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    folder = tmp_path_factory.mktemp("past")
    mixed = RepositoryBuilder(folder / "mixed")
    lamp = "class Lamp:\n    @property\n    def light(self):\n        return 1\n\n\n"
    lamp += "@cache\ndef light():\n    if Lamp:\n        return 1\n    if light:\n        return 2\n"
    lamp += "    return Lamp().light()\n"
    mixed.commit({"lamp.py": lamp, "old.txt": "".join(f"{n}\n" for n in range(40))}, "start", author=ADA)
    use = "from lamp import Lamp, light\n\n\ndef main():\n    light()\n    return Lamp()\n"
    mixed.commit({"use.py": use}, f"use the lamp\n\nWhy not.\n\nCo-authored-by: {BO}", author=BO, date=1_650_000_000)
    mixed.git("mv", "old.txt", "new.txt")
    (mixed.path / "link").symlink_to("lamp.py")
    mixed.commit({"lamp.py": f"{lamp}# light\n", "new.txt": "".join(f"{n}\n" for n in range(41))}, "rename and link")
    mixed.git("commit", "-q", "--amend", "--no-edit", env=identity(ADA, BO, 1_700_000_000))
    return Past(folder, tmp_path_factory.mktemp("index"), mixed.path)


def keys_of(value: Any, path: str = "", siblings: Mapping[str, Any] | None = None) -> Iterator[Key]:
    """Yield all keys of a payload; rows of a table are objects with the names of its columns."""
    if isinstance(value, dict):
        if "columns" in value:
            rows = [dict(zip(value["columns"], row, strict=True)) for row in value["rows"]]
            value = {key: item for key, item in value.items() if key not in {"columns", "rows"}} | {"rows": rows}
        inner = {**(siblings or {}), **{f"{path}{key}": item for key, item in value.items()}}
        for key, item in value.items():
            yield Key(f"{path}{key}", item, {name: other for name, other in inner.items() if name != f"{path}{key}"})
            yield from keys_of(item, f"{path}{key}.", inner)
    elif isinstance(value, list):
        for item in value:
            yield from keys_of(item, f"{path.removesuffix('.')}[].", siblings)


def recomputations(key: Key) -> Iterator[tuple[str, Any]]:
    """Yield what can be computed of the other values that are known where a key is."""
    name = key.path.rpartition(".")[2]
    for other, value in key.siblings.items():
        yield f"the same as {other}", value
        if isinstance(value, bool):
            yield f"not {other}", not value
        if isinstance(value, list) and not key.path.startswith(f"{other}[]"):
            yield f"the length of {other}", len(value)
            yield f"whether there is {other}", bool(value)
            inner = [item[name] for item in value if isinstance(item, dict) and name in item]
            if inner and all(isinstance(item, int) for item in inner):
                yield f"the sum of {other}", sum(inner)
                yield f"whether all of {other}", all(inner)


@pytest.mark.parametrize("name", sorted(name for name in mcp_tools("all") if not is_conversation(name)))
def test_no_key_is_empty_or_repeats_others(past: Past, name: str) -> None:
    assert name in CALLS, "add calls of the new tool to CALLS"
    by_path: dict[str, list[Key]] = {}
    for arguments in CALLS[name]:
        payload, _ = past.render(name, **arguments)
        for key in keys_of(payload):
            if not key.path.startswith("rows[]."):
                assert key.path in RECORDED | FACTS or key.value not in (None, "", [], {}) or key.path == "rows"
            by_path.setdefault(key.path, []).append(key)
    for path, keys in by_path.items():
        values = {repr(key.value) for key in keys}
        assert not path.startswith("rows[].") or values - {"None", "''", "[]"}, f"{path} is empty"
        if len(values) > 1 and path not in RECORDED:
            ways = set.intersection(
                *({way for way, value in recomputations(key) if _equal(value, key.value)} for key in keys)
            )
            assert not ways, f"{path} is {ways}"


def _equal(first: Any, second: Any) -> bool:
    return type(first) is type(second) and first == second


def test_what_a_message_or_a_patch_says_is_not_said_again(past: Past) -> None:
    commits = past.render("commit_search", repos=["one", "mixed"])[0]["commits"]
    assert not {"bot", "coAuthors"} & {key for commit in commits for key in commit}
    rows = past.rows("commit_search", repos=["one", "mixed"])
    assert any(row["co_authors"] for row in rows)
    assert any(row["bot"] for row in rows)
    for row in rows:
        assert row["co_authors"] == [f"{name} <{email}>" for name, email in co_authors(row["message"])]
        assert row["bot"] == is_bot(row["author"], row["author_email"])
    payload, _ = past.render("compare_revisions", repo="mixed", base="main~2", head="main")
    files = {file["newPath"]: file for file in payload["fileDiffs"]}
    assert set(files["use.py"]) == set(files["lamp.py"]) == {"newPath", "status", "patch"}
    assert set(files["new.txt"]) == {"oldPath", "newPath", "status", "patch"}
    for row in past.rows("compare_revisions", repo="mixed", base="main~2", head="main"):
        info = patch_facts(row["patch"])
        assert info == {name: row[name] for name in info}
        assert {"additions", "deletions", "mode", "object_id"} <= set(info)
    definition = past.render("go_to_definition", repo="mixed", path="use.py", symbol="Lamp")[0]["definitions"][0]
    assert {"precise", "text", "beginLine", "endLine"} & set(definition) == set()
