"""Measures of functions are those of naive counters on Python's own tree, and of the examples of the papers."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from sourcelight.engines.complexity import measure_file
from sourcelight.testing import RepositoryBuilder

PACKAGE = Path(sl.__file__).parent
NESTED = ast.FunctionDef | ast.AsyncFunctionDef


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions within it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, NESTED):
            yield node
            yield from own_nodes(node)


def naive_cyclomatic(function: ast.AST) -> int:
    """1 and 1 for each decision, counted on Python's own tree."""
    total = 1
    for node in own_nodes(function):
        if isinstance(node, ast.If | ast.For | ast.AsyncFor | ast.While | ast.IfExp | ast.ExceptHandler):
            total += 1
        elif isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        elif isinstance(node, ast.match_case):
            total += not (
                isinstance(node.pattern, ast.MatchAs) and node.pattern.name is None and not node.pattern.pattern
            )
            # `case x if y` decides twice, as `[x for x in z if y]` does.
            total += node.guard is not None
    return total


def test_functions_of_python_are_measured_as_its_own_parser_and_tokenizer_see_them() -> None:
    checked = 0
    for path in sorted(PACKAGE.rglob("*.py"))[::8]:
        data = path.read_bytes()
        measures = measure_file("Python", data)
        tree = ast.parse(data)
        functions = [node for node in ast.walk(tree) if isinstance(node, NESTED)]
        expected = sorted(
            (node.lineno, node.end_lineno, naive_cyclomatic(node),
             sum(len(part) for part in (node.args.posonlyargs, node.args.args, node.args.kwonlyargs))
             + (node.args.vararg is not None) + (node.args.kwarg is not None))
            for node in functions
        )  # fmt: skip
        assert expected == sorted(
            (function.begin_line, function.end_line, function.cyclomatic, function.parameters)
            for function in measures.functions
        ), path
        tokens = list(tokenize.tokenize(io.BytesIO(data).readline))
        comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
        layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
                  tokenize.ENCODING, tokenize.ENDMARKER}  # fmt: skip
        blank = {number for number, line in enumerate(data.split(b"\n"), 1) if not line.strip()}
        docstrings = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)
                      and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)]  # fmt: skip
        comments |= {line for node in docstrings for line in range(node.lineno, (node.end_lineno or 0) + 1)}
        docstring_starts = {node.lineno for node in docstrings}
        code = {
            line for token in tokens if token.type not in layout for line in range(token.start[0], token.end[0] + 1)
            if token.type != tokenize.STRING or token.start[0] not in docstring_starts
        }  # fmt: skip
        code, comments = code - blank, comments - blank
        assert (measures.comment_lines, measures.code_lines) == (len(comments), len(code)), path
        assert measures.lines == len(data.splitlines())
        checked += len(expected)
    assert checked > 500


# The examples of the paper on cognitive complexity, with its own numbers, and one for each form of a language.
PRIMES = (
    "class A { int sumOfPrimes(int max) { int total = 0; OUT: for (int i = 1; i <= max; ++i) { "
    "for (int j = 2; j < i; ++j) { if (i % j == 0) { continue OUT; } } total += i; } return total; } }"
)
WORDS = (
    'class A { String getWords(int number) { switch (number) { case 1: return "one"; case 2: return "a"; '
    'case 3: return "few"; default: return "lots"; } } }'
)
CATCH = "class A { void m() { try { if (a) { for (;;) { while (b) {} } } } catch (E e) { if (c) {} } } }"
ELSE = (
    "def f(a):\n    if a:\n        pass\n    elif b:\n        pass\n    else:\n        for x in a:\n            pass\n"
)
COMMENTS = (
    "def f(a):\n    return (  # why\n        (a and b)\n        or (  # this\n            c and d\n        )\n    )\n"
)
SELECT = "package p\nfunc F() { if a {} else if b {} else { for { if c {} } } ; select { case <-d: } }\n"
SWITCH = "const f = (a) => { switch (a) { case 1: case 2: break; default: } return a ?? b ? 1 : 2 }\n"


@pytest.mark.parametrize(
    ("language", "text", "cyclomatic", "cognitive"),
    [
        ("Java", PRIMES, 4, 7),
        ("Java", WORDS, 4, 1),
        ("Java", "class A { void m() { if (a && b && c || d || e && f) {} } }", 7, 4),
        ("Java", "class A { void m() { if (a && !(b && c)) {} } }", 4, 3),
        ("Java", CATCH, 6, 9),
        ("Java", "class A { void m() { Runnable r = () -> { if (a) {} }; } }", 2, 2),
        ("Python", "def f(n):\n    return 1 if n < 2 else n * f(n - 1)\n", 2, 2),
        ("Python", ELSE, 4, 5),
        ("Python", COMMENTS, 4, 3),
        ("Java", "class A { void m() { if (a || ( /* why */ b && c)) {} } }", 4, 3),
        ("Go", SELECT, 6, 9),
        ("JavaScript", SWITCH, 4, 2),
        ("TypeScript", "class A { m(a: number): number { do { if (a) { break } } while (b); return 1 } }\n", 3, 3),
        ("Rust", "fn f(a: i32) { if a && b {} else { match a { 1 => {}, _ => {} } } loop { break 'o; } }\n", 5, 7),
        ("C", "int f(int a) { for (;;) { if (a) goto out; } out: return a ? 1 : 2; }\n", 4, 5),
        ("C++", "int f(int a) { try { for (auto x : y) {} } catch (...) {} return 0; }\n", 3, 2),
    ],
)
def test_examples_have_the_complexities_of_the_papers(
    language: str, text: str, cyclomatic: int, cognitive: int
) -> None:
    (function,) = measure_file(language, text.encode()).functions
    assert (function.cyclomatic, function.cognitive) == (cyclomatic, cognitive)


def test_rows_have_the_changes_the_age_and_the_place_of_git(tmp_path: Path) -> None:
    day, text = 86_400, "def f(a):\n    if a:\n        return 1\n    return 2\n\n\ndef g():\n    return 3\n"
    builder = RepositoryBuilder(tmp_path / "src" / "lib")
    builder.commit({"a.py": text, "tests/test_a.py": "def test_a():\n    assert 1\n"}, "one", date=1_700_000_000)
    builder.commit({"a.py": None, "b.py": text}, "move", date=1_700_000_000 + day)
    builder.tag("moved")
    builder.commit({"b.py": text.replace("return 3", "return 4 and 5")}, "edit g", date=1_700_000_000 + 2 * day)
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        rows = code.complexity("lib", dates=True)
        files = code.complexity("lib", by="file")
        earlier = code.complexity("lib", by="file", revision="moved")
        part = code.complexity("lib", "b.py", limit=1)
        behind = {path: code.drill_down(files, row) for row, path in enumerate(files["path"])}
        behind_g = code.drill_down(rows, rows["symbol"].tolist().index("g"))
        with pytest.raises(sl.PathNotFound):
            code.complexity("lib", "absent")
    columns = ["path", "symbol", "line_number", "end_line", "cyclomatic", "cognitive", "test"]
    assert rows[columns].values.tolist() == [
        ["b.py", "f", 1, 4, 2, 1, False], ["b.py", "g", 7, 8, 2, 1, False],
        ["tests/test_a.py", "test_a", 1, 2, 1, 0, True],
    ]  # fmt: skip
    stamps = [str(date)[:10] for date in rows["newest_date"]]
    blame = builder.git("blame", "--line-porcelain", "-L7,8", "b.py")
    newest = max(int(line.split()[1]) for line in blame.split("\n") if line.startswith("committer-time"))
    assert newest == 1_700_000_000 + 2 * day
    assert stamps == ["2023-11-14", "2023-11-16", "2023-11-14"]
    follow = builder.git("log", "--follow", "--format=%H", "--", "b.py").split("\n")
    hot = files.set_index("path").loc["b.py"]
    assert hot["commits"] == len(follow)
    assert behind["b.py"]["commit"].tolist() == follow
    assert behind_g["subject"].tolist() == ["edit g", "move", "one"]
    assert hot["hotspot"] == hot["cognitive"] * hot["commits"] == 6
    assert earlier.set_index("path").loc["b.py", "commits"] == 2
    assert (part.attrs["total"], len(part)) == (2, 1)


def test_a_trend_is_what_each_commit_measures_alone(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "lib")
    day = 86_400
    for number in range(6):
        body = "".join(f"    if a > {step}:\n        return {step}  # step\n" for step in range(number + 1))
        files = {"lib/a.py": f"def f(a):\n{body}", "tests/test_a.py": "def test_a():\n    pass\n" * (number > 2)}
        builder.commit(files, f"c{number}", date=1_700_000_000 + number * number * day)
    builder.tag("last")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1) as code:
        trend = code.complexity_trend("lib", points=4)
        revision_trend = code.complexity_trend("lib", revisions=["last", "last~3"], by="function", path="tests")
        single_frames: dict[str, Any] = {
            commit: code.complexity("lib", by="file", revision=commit) for commit in trend["commit"]
        }
        parts = code.drill_down(trend, -1)
        functions = code.drill_down(revision_trend, 0)
        wrongs: list[dict[str, Any]] = [{"points": 1}, {"revisions": ["last"] * 201}, {"by": "class"}]
        for wrong in wrongs:
            with pytest.raises(sl.SourcelightError):
                code.complexity_trend("lib", **wrong)
        with pytest.raises(sl.RevisionNotFound):
            code.complexity_trend("lib", revisions=["absent"])
    log = [line.split() for line in builder.git("log", "--first-parent", "--reverse", "--format=%H %ct").split("\n")]
    first, last = int(log[0][1]), int(log[-1][1])
    moments = [first + (last - first) * step / 3 for step in range(4)]
    expected = dict.fromkeys(max((int(time), oid) for oid, time in log if int(time) <= moment)[1] for moment in moments)
    assert trend["commit"].tolist() == list(expected)
    rows: list[dict[str, Any]] = [{str(name): value for name, value in row.items()} for row in trend.to_dict("records")]
    for row in rows:
        files = single_frames[row["commit"]]
        code_files, tests = files[~files["test"]], files[files["test"]]
        for name in ("lines", "code_lines", "comment_lines", "cyclomatic", "cognitive", "functions"):
            assert row[name] == code_files[name].sum(), name
        assert (row["files"], row["test_files"]) == (len(code_files), len(tests))
        assert row["test_code_lines"] == tests["code_lines"].sum()
        assert row["comment_ratio"] == row["comment_lines"] / row["code_lines"]
        assert row["test_ratio"] == row["test_code_lines"] / row["code_lines"]
    assert parts.equals(single_frames[trend["commit"].iloc[-1]])
    assert functions["symbol"].tolist() == ["test_a"]
    assert revision_trend[["revision", "path", "symbol", "line_number"]].values.tolist() == [
        ["last", "tests/test_a.py", "test_a", 1]
    ]


def test_blank_lines_count_as_nothing_and_docstrings_as_comments() -> None:
    # radon: 4 sloc, 3 multi, 4 blank lines.
    python = b'def f():\n    """One.\n\n    Two.\n\n    """\n    x = """a\n\nb"""\n\n    return x\n'
    (function,) = measure_file("Python", python).functions
    assert (function.code_lines, function.comment_lines, function.end_line) == (4, 3, 11)
    only_docstring = b'def f():\n    """One.\n\n    Two."""\n'
    (function,) = measure_file("Python", only_docstring).functions
    assert (function.code_lines, function.comment_lines, function.end_line) == (1, 2, 4)
    java = measure_file("Java", b"/**\n * One.\n\n * Two.\n */\nclass A {\n\n}\n")
    assert (java.code_lines, java.comment_lines) == (2, 4)
    # A directive is code: a string alone is documentation in Python only.
    assert measure_file("JavaScript", b'"use strict";\n').code_lines == 1


def test_hostile_code_is_measured_in_bounds() -> None:
    deep = "def f(a):\n" + "".join(f"{' ' * (n + 1)}if a:\n" for n in range(90)) + " " * 95 + "pass\n"
    (function,) = measure_file("Python", deep.encode()).functions
    assert (function.nesting, function.cognitive) == (90, 90 * 91 // 2)
    chain = "def f(a):\n    return " + " and ".join(["a"] * 5_000) + "\n"
    assert measure_file("Python", chain.encode()).functions[0].cyclomatic == 5_000
    assert measure_file("Go", b"x" * (2 << 20)).incomplete == "too-large"
    for language in ("C", "Go", "Java", "JavaScript", "Python", "Rust", "TypeScript"):
        measure_file(language, b"{([<" * 20_000)


def test_related_tests_import_a_file_or_change_with_it(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "lib")
    builder.commit({
        "lib/__init__.py": "", "lib/old.py": "def f():\n    return 1\n", "lib/other.py": "",
        "tests/test_f.py": "import os\nfrom lib.old import f\n", "tests/test_far.py": "x = 1\n",
        "tests/test_none.py": "y = 1\n",
    }, "one")  # fmt: skip
    builder.commit({
        "lib/old.py": None, "lib/new.py": "def f():\n    return 1\n", "tests/test_far.py": "x = 2\n",
        "tests/test_f.py": "import os\nfrom lib.new import f\n",
    }, "move")  # fmt: skip
    builder.commit({"tests/test_far.py": "x = 3\n"}, "alone")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1) as code:
        rows = code.related_tests("lib", "lib/new.py")
        extra = code.related_tests("lib", "lib/new.py", min_commits=1)
        behind = [set(code.drill_down(rows, row)["commit"]) for row in range(len(rows))]
        with pytest.raises(sl.PathNotFound):
            code.related_tests("lib", "absent.py")
    file, far = (set(builder.git("log", "--follow", "--format=%H", "--", path).split("\n"))
                 for path in ("lib/new.py", "tests/test_far.py"))  # fmt: skip
    assert behind == [file, file & far]
    columns = ["path", "imports", "shared_commits", "commits"]
    assert rows[columns].values.tolist() == [
        ["tests/test_f.py", 1, 2, 2], ["tests/test_far.py", 0, len(file & far), len(far)]
    ]  # fmt: skip
    assert rows["line_number"].tolist()[0] == 2
    assert extra["path"].tolist() == ["tests/test_f.py", "tests/test_far.py", "tests/test_none.py"]


def test_tests_of_every_language_are_told_from_code(tmp_path: Path) -> None:
    """Directories that begin with a capital, as those of PHP and Swift, counted as code."""
    builder = RepositoryBuilder(tmp_path / "src" / "mill")
    tests = ["Tests/WheelTest.php", "Tests/MillTests/Wheel.swift", "Mill.Tests/Wheel.cs", "Tests/wheel.js"]
    code_files = ["src/Wheel.php", "Sources/Wheel.swift", "Mill/Wheel.cs", "src/wheel.js"]
    builder.commit(dict.fromkeys(tests + code_files, "function turn() { return 1; }\n"), "begin")
    builder.commit(dict.fromkeys(tests + code_files, "function turn() { return 2; }\n"), "change")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1) as code:
        related = code.related_tests("mill", "src/Wheel.php")
        rows = code.complexity("mill", by="file")
    assert sorted(related["path"]) == sorted(tests)
    assert dict(zip(rows["path"], rows["test"], strict=True)) == {"Tests/wheel.js": True, "src/wheel.js": False}


def test_related_tests_use_a_file_through_exports_and_packages(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "lib")
    builder.commit({
        "lib/__init__.py": "from ._client import Client\n", "lib/_client.py": "class Client:\n    pass\n",
        "lib/other.py": "class Client:\n    pass\n",
        "tests/test_client.py": "import lib\n\n\ndef test():\n    lib.Client()\n",
        "tests/test_other.py": "from lib.other import Client\n\n\ndef test():\n    Client()\n",
        "mux.go": "package mux\n\nfunc NewRouter() int { return 1 }\n",
        "mux_test.go": "package mux\n\nfunc TestRouter() { NewRouter() }\n",
        "other_test.go": "package mux\n\nfunc TestOther() { NewRouter := 1; _ = NewRouter }\n",
        "web/index.ts": 'export * from "./schema";\n', "web/schema.ts": "export function parse() {}\n",
        "web/schema.test.ts": 'import { parse } from "./index";\nparse();\n',
    }, "one")  # fmt: skip
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1) as code:
        rows = {
            path: code.related_tests("lib", path)[["path", "imports", "names", "line_number"]].to_dict("split")["data"]
            for path in ("lib/_client.py", "mux.go", "web/schema.ts")
        }
    assert rows == {
        "lib/_client.py": [["tests/test_client.py", 0, ["Client"], 5]],
        "mux.go": [["mux_test.go", 0, ["NewRouter"], 3]],
        "web/schema.ts": [["web/schema.test.ts", 0, ["parse"], 1]],
    }
