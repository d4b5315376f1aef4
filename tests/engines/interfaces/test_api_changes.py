"""Public symbols are those that naive readers of each language find, and differences are told one by one."""

from __future__ import annotations

import ast
import inspect
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.engines.interfaces import PythonExports, is_public_file, public_symbols, read_module
from sourcelight.engines.interfaces.model import MAX_SIGNATURE
from sourcelight.engines.interfaces.python_exports import MAX_SYMBOLS
from sourcelight.testing import RepositoryBuilder

PACKAGE = Path(sl.__file__).parent


def naive_python(tree: ast.AST, around: str = "") -> Iterator[tuple[str, str]]:
    """Names and signatures of a module by Python's own parser."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{around}{node.name}", "".join(ast.unparse(node.args).split())
        elif isinstance(node, ast.ClassDef):
            yield f"{around}{node.name}", ""
            yield from naive_python(node, f"{around}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from ((f"{around}{name.id}", "") for name in names if isinstance(name, ast.Name))
                if around and isinstance(target, ast.Name) and target.id == "__slots__":
                    yield from ((f"{around}{slot}", "") for slot in ast.literal_eval(node.value or ast.List([])))
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            yield from naive_python(node, around)


def inherited(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Members that classes of a module get from its internal classes."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in classes.values():
        names = {name.split(".")[1] for name, _ in naive_python(node, f"{node.name}.")}
        bases = [classes.get(base.id) for base in node.bases if isinstance(base, ast.Name)]
        while bases:
            base = bases.pop(0)
            if base is None or base.name[0] != "_":
                continue
            members = list(naive_python(base))
            yield from ((f"{node.name}.{name}", text) for name, text in members if name.split(".")[0] not in names)
            names |= {name.split(".")[0] for name, _ in members}
            bases += [classes.get(item.id) for item in base.bases if isinstance(item, ast.Name)]


def is_named_public(name: str) -> bool:
    first, *remaining = name.split(".")
    return first[0] != "_" and all(part[0] != "_" or part[:2] == part[-2:] == "__" for part in remaining)


def arguments_of(signature: str) -> str:
    """Parameters of a signature in the words of Python's own parser, white space left out; empty for no function."""
    text = re.sub(r"^(?:@\w+ )*", "", signature)
    if not re.match("(?:async )?def ", text):
        return ""
    (function,) = ast.parse(f"{text}: ...").body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    return "".join(ast.unparse(function.args).split())


def test_python_is_read_as_its_own_parser_reads_it() -> None:
    checked = 0
    for path in sorted(PACKAGE.rglob("*.py"))[::3]:
        data = path.read_bytes()
        if b"\n__all__" in data:
            continue
        symbols, incomplete = public_symbols("pkg/module.py", data)
        assert not incomplete
        ours = [(symbol.name, arguments_of(symbol.signature)) for symbol in symbols]
        tree = ast.parse(data)
        theirs = [pair for pair in (*naive_python(tree), *inherited(tree)) if is_named_public(pair[0])]
        assert sorted(ours) == sorted(theirs), path
        lines = data.split(b"\n")
        assert all(symbol.name.rpartition(".")[2].encode() in lines[symbol.line - 1] for symbol in symbols)
        checked += len(ours)
    assert checked > 300


def symbols_of(path: str, text: str) -> dict[str, str]:
    return {symbol.name: symbol.signature for symbol in public_symbols(path, text.encode())[0]}


def test_all_says_what_a_python_module_exports() -> None:
    text = "from a import b, c\n__all__ = ['b', 'run']\n__all__ += ['late']\ndef run(): ...\ndef walk(): ...\n"
    assert symbols_of("p/__init__.py", text) == {"run": "def run()", "b": "b", "late": "late"}


@pytest.mark.parametrize(
    ("path", "is_public"),
    [
        ("src/p/m.py", True), ("p/_m.py", False), ("p/_q/m.py", False), ("p/__init__.py", True), ("tests/m.py", False),
        ("p/test_m.py", False), ("p/conftest.py", False), ("setup.py", False), ("a/b.go", True), ("a/b_test.go", False),
        ("internal/b.go", False), ("a/vendor/b.go", False), ("src/main/java/A.java", True),
        ("src/test/java/A.java", False), ("src/ATest.java", False), ("lib/a.ts", True), ("lib/a.spec.ts", False),
        ("lib/a.js", False), ("README.md", False), ("configs/vitest.config.mts", False), ("docs/app/page.tsx", False),
        ("packages/docs/app/page.tsx", False), ("packages/core/docs/page.ts", True), ("scripts/write.ts", False),
        ("packages/integration/fixtures/index.ts", False), ("org/integration/src/main/java/A.java", True),
        ("test_helpers.go", True), ("testdata/b.go", False), ("examples/b.go", False),
        ("src/main/java/org/lib/test/A.java", True), ("src/main/java/org/lib/Test.java", True),
        (".github/run.py", False), ("tools/cache/store.go", True), ("src/config.ts", True), ("docs/conf.py", False),
    ],
)  # fmt: skip
def test_files_that_no_other_code_uses_are_left_out(path: str, is_public: bool) -> None:  # noqa: FBT001 - of a table
    assert is_public_file(path) == is_public


def test_go_is_read_as_a_naive_reader_of_gofmt_reads_it(fleet: Path) -> None:
    names: set[tuple[str, str]] = set()
    naive: set[tuple[str, str]] = set()
    for path in sorted((fleet / "hub").rglob("*.go")):
        relative_path = path.relative_to(fleet / "hub").as_posix()
        text = path.read_text("utf-8")
        if not is_public_file(relative_path) or "\npackage main\n" in f"\n{text}":
            continue
        names |= {(relative_path, symbol.name) for symbol in public_symbols(relative_path, text.encode())[0]}
        naive |= {(relative_path, name) for name in re.findall(r"^func ([A-Z]\w*)", text, re.MULTILINE)}
        naive |= {(relative_path, f"{holder}.{name}") for holder, name in
                  re.findall(r"^func \((?:\w+ )?\*?([A-Z]\w*)\) ([A-Z]\w*)", text, re.MULTILINE)}  # fmt: skip
        naive |= {(relative_path, name) for name in re.findall(r"^(?:type|var|const) ([A-Z]\w*)", text, re.MULTILINE)}
        for group in re.findall(r"^(?:const|var) \((.*?)^\)", text, re.MULTILINE | re.DOTALL):
            naive |= {(relative_path, name) for name in re.findall(r"^\t([A-Z]\w*)", group, re.MULTILINE)}
        for name, body in re.findall(
            r"^type ([A-Z]\w*) (?:struct|interface) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL
        ):
            naive |= {(relative_path, f"{name}.{inner}") for inner in re.findall(r"^\t([A-Z]\w*)", body, re.MULTILINE)}
    assert len(naive) > 10
    assert names == naive


def test_java_has_public_and_protected_members() -> None:
    text = """package a.b;
public class A<T> extends B implements C {
  public static final int X = 1, Y[] = {};
  protected String s; int hidden; private int own;
  @Deprecated
  // why
  public A(int a) throws E {}
  static final public int Z = 2;
  @Override public <Q> List<Q> m(final String a, /* why */ int... b) { return null; }
  public enum En { ONE, TWO(1); public int v() { return 1; } }
}
class Hidden { public void m() {} }
interface Own { void m(); }
public interface I extends J { int m(); private void p() {} int K = 1; }
public record R(int a, String b) { public R { } }
"""
    assert symbols_of("x/A.java", text) == {
        "A": "public class A<T> extends B implements C", "A.X": "public static final int X",
        "A.Y": "public static final int Y[]", "A.s": "protected String s", "A.A": "public A(int a) throws E",
        "A.Z": "public static final int Z",
        "A.m": "public <Q> List<Q> m(String a, int... b)", "A.En": "public enum En", "A.En.ONE": "ONE",
        "A.En.TWO": "TWO", "A.En.v": "public int v()", "I": "public interface I extends J", "I.m": "int m()",
        "I.K": "int K", "R": "public record R(int a, String b)",
    }  # fmt: skip


def test_typescript_has_what_a_module_exports() -> None:
    text = """export async function f<T>(a: string, b?: number): Promise<T> { return 1 }
export default class A { private x: number; readonly y?: string = "a"; #z = 1; get v(): number { return 1 } }
export interface I extends J { a: string; m(x: number): void }
export type T1 = string | number;
export const c: number = 1, d = (x: number): string => "";
export enum E { A, B = 2 }
export { h as k } from "./other";
export * from "./all";
function g(a: number) {}
class Local { run(a: number): void {} }
function hidden() {}
export { g as gg, Local };
export declare function over(a: string): void;
export type U = | { a: 1; b: 2; }
  | "c";
export const w: Map<
  string,
  number,
> = new Map();
export class Both { own(): void {} }
export interface Both { other: string }
function twice(a: string): void;
function twice(a: number): void;
function twice(a: any) {}
export { Both as Pair, twice };
export namespace N { export const q = 1; const own = 2 }
"""
    assert symbols_of("x/index.ts", text) == {
        "f": "async function f<T>(a: string, b?: number): Promise<T>", "default": "class A",
        "default.y": "readonly y?: string", "default.v": "get v(): number", "I": "interface I extends J",
        "I.a": "a: string", "I.m": "m(x: number): void", "T1": "type T1 = string | number", "c": "const c: number",
        "d": "const d = (x: number): string", "E": "enum E", "E.A": "A", "E.B": "B", "k": 'h as k from "./other"',
        '* from "./all"': '* from "./all"', "gg": "function g(a: number)", "Local": "class Local",
        "Local.run": "run(a: number): void", "over": "function over(a: string): void", "N": "namespace N",
        "N.q": "const q",
        "U": 'type U = { a: 1; b: 2 } | "c"', "w": "const w: Map<string, number>", "Both": "interface Both",
        "Both.own": "own(): void", "Both.other": "other: string", "Pair": "interface Both", "Pair.own": "own(): void",
        "Pair.other": "other: string", "twice": "function twice(a: any)",
    }  # fmt: skip
    module, _ = public_symbols("x/index.ts", text.encode())
    assert [symbol.signature for symbol in module if symbol.name == "twice"] == [
        "function twice(a: string): void", "function twice(a: number): void", "function twice(a: any)",
    ]  # fmt: skip


def test_differences_are_told_one_by_one(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "lib")
    builder.commit({
        "lib/a.py": "def same(x): ...\ndef gone(): ...\ndef other(a, b=1): ...\ndef mover(x, y): ...\n",
        "lib/b.py": "B = 1\n",
        "go/one.go": "package p\n\nfunc Kept() {}\n\nfunc Platform() {}\n",
        "go/two.go": "package p\n\nfunc Platform() {}\n",
        "tests/test_a.py": "def helper(): ...\n",
    }, "old")  # fmt: skip
    builder.tag("v1")
    builder.commit({
        "lib/a.py": "def same(\n    x,  # a comment\n): return 1\n\n\ndef other(a, *, b=2): ...\n\nnew: int = 3\n",
        "lib/b.py": "B = 2\n\n\ndef mover(x, y): return 1\n",
        "go/one.go": "package p\n",
        "go/three.go": "package p\n\nfunc Kept() { return }\n",
        "tests/test_a.py": "def helper(x): ...\n",
    }, "new")  # fmt: skip
    builder.tag("v2")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        api = code.api_changes("lib", "v1", "v2")
        part = code.api_changes("lib", "v1", "v2", path="go")
        report = sl.reports.changes(code, "lib", "v1", "v2")
    columns = ["status", "module", "symbol", "old_signature", "signature", "old_path", "path"]
    rows = api[columns].astype(object).where(api[columns].notna(), None).values.tolist()
    assert rows == [
        ["removed", "lib.a", "gone", "def gone()", None, "lib/a.py", None],
        ["added", "lib.a", "new", None, "new: int", None, "lib/a.py"],
        ["changed", "lib.a", "other", "def other(a, b=1)", "def other(a, *, b=2)", "lib/a.py", "lib/a.py"],
        ["moved", "lib.b", "mover", "def mover(x, y)", "def mover(x, y)", "lib/a.py", "lib/b.py"],
    ]
    assert len(part) == 0  # a name that another file of the Go package has is not removed
    assert report.tables["api"]["status"].tolist() == ["removed", "changed", "moved", "added"]


def changes_of(folder: Path, *versions: dict[str, str], path: str | None = None) -> list[list[str | None]]:
    builder = RepositoryBuilder(folder / "src" / "lib")
    for number, files in enumerate(versions):
        builder.commit(files, f"version {number}")
        builder.tag(f"v{number}")
    with sl.open(folder / "src", index_dir=folder / "index", index_workers=1, background_index=False) as code:
        api = code.api_changes("lib", "v0", "v1", path)
    assert len(api.attrs["notices"]) == 1
    columns = ["status", "module", "symbol", "old_path", "path"]
    return api[columns].astype(object).where(api[columns].notna(), None).values.tolist()


CLIENT = """class _Base:
    def close(self): ...
    def _own(self): ...

class Client(_Base):
    def get(self, {}): ...
"""


@pytest.mark.parametrize(
    "init",
    [
        "from ._client import Client\n", "from ._client import *\n", "from lib._client import Client\n",
        "from ._client import Client as Other, Client\n__all__ = ['Client']\n",
        "from ._more import *\n", "try:\n    from ._client import Client\nexcept ImportError:\n    pass\n",
    ],
)  # fmt: skip
def test_what_a_package_exports_from_internal_modules_is_public_there(tmp_path: Path, init: str) -> None:
    package = {"lib/__init__.py": init, "lib/_more.py": "from ._client import Client as Client\n", "tests/_data.py": ""}
    rows = changes_of(
        tmp_path,
        {**package, "lib/_client.py": CLIENT.format("proxies")},
        {
            "lib/_client.py": CLIENT.format("proxy").replace("def close(self)", "def close(self, now)"),
            "tests/_data.py": "A = 2",
        },
    )
    file = "lib/_client.py"
    assert rows == [
        ["changed", "lib", "Client.close", file, file],  # of a base that callers don't see
        ["changed", "lib", "Client.get", file, file],
    ]


def test_a_name_that_two_public_modules_have_has_its_members_where_it_is_defined(tmp_path: Path) -> None:
    rows = changes_of(
        tmp_path,
        {"lib/__init__.py": "from .client import Client\n", "lib/client.py": CLIENT.format("proxies")},
        {
            "lib/__init__.py": "from .client import Client, late\n",
            "lib/client.py": CLIENT.format("proxy") + "late = 1\n",
        },
    )
    client = "lib/client.py"
    assert rows == [
        ["added", "lib", "late", None, client],
        ["changed", "lib.client", "Client.get", client, client],
        ["added", "lib.client", "late", None, client],
    ]


def test_a_name_keeps_its_definition_when_its_public_module_becomes_internal(tmp_path: Path) -> None:
    api = "from .bases import Open\n\ndef get(url{}): ...\n\nclass Client(Open):\n    def send(self{}): ...\n"
    bases = "class Open:\n    def close(self{}): ...\n    def open(self): ...\n"
    status = "class Status:\n    OK = 1\n\ncodes = Status\n"
    init = "from json import dumps, loads\nfrom .{0}api import Client, get\nfrom .{0}status import codes\n"
    old = {
        "lib/__init__.py": init.format("") + "__all__ = ['Client', 'get', 'codes', 'dumps', 'loads']\n",
        "lib/api.py": api.format("", "") + "    def drop(self): ...\n",
        "lib/bases.py": bases.format(""),
        "lib/status.py": status,
    }
    new = {
        "lib/__init__.py": init.format("_").replace("dumps, ", "")
        + "def dumps(x): ...\n__all__ = ['Client', 'get', 'codes', 'dumps', 'loads']\n",
        "lib/_api.py": api.replace(".bases", "._bases").format(", timeout=5", ", request"),
        "lib/_bases.py": bases.format(", now"),
        "lib/_status.py": status,
    }
    builder = RepositoryBuilder(tmp_path / "src" / "lib")
    builder.commit(old, "public modules")
    builder.tag("v0")
    builder.commit({**dict.fromkeys(old), **new}, "internal modules")
    builder.tag("v1")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        there, back = code.api_changes("lib", "v0", "v1"), code.api_changes("lib", "v1", "v0")
    columns = ["status", "symbol", "old_signature", "signature", "old_path", "path"]
    of_package = there[there["module"] == "lib"][columns]
    assert of_package.astype(object).where(of_package.notna(), None).values.tolist() == [
        ["changed", "Client.close", "def close(self)", "def close(self, now)", "lib/bases.py", "lib/_bases.py"],
        ["removed", "Client.drop", "def drop(self)", None, "lib/api.py", None],
        ["changed", "Client.send", "def send(self)", "def send(self, request)", "lib/api.py", "lib/_api.py"],
        ["changed", "get", "def get(url)", "def get(url, timeout=5)", "lib/api.py", "lib/_api.py"],
    ]  # `dumps` of another package has no definition to compare with
    assert set(there.loc[there["module"] != "lib", "status"]) == {"removed"}
    reverse = {"added": "removed", "removed": "added", "changed": "changed"}
    assert sorted(zip(back["symbol"], back["module"], back["status"], strict=True)) == sorted(
        (symbol, module, reverse[status])
        for symbol, module, status in zip(there["symbol"], there["module"], there["status"], strict=True)
    )


def test_a_name_that_only_a_package_exports_is_compared_there(tmp_path: Path) -> None:
    init = "from .client import run, walk\nfrom .testing.client import check\n"
    files = {
        "lib/__init__.py": init,
        "lib/client.py": "__all__ = ['walk']\ndef run({0}): ...\ndef walk({0}): ...\n",
        "lib/testing/client.py": "def check({0}): ...\n",
    }
    versions = [{path: text.replace("{0}", value) for path, text in files.items()} for value in ("a", "b")]
    versions[1]["lib/__init__.py"] += "\n"
    rows = [(status, module, symbol) for status, module, symbol, *_ in changes_of(tmp_path, *versions)]
    assert rows == [("changed", "lib", "check"), ("changed", "lib", "run"), ("changed", "lib.client", "walk")]


def test_internal_names_that_nothing_exports_are_left_out(tmp_path: Path) -> None:
    files = {
        "lib/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ._client import Client\n",
        "lib/tools.py": "from ._client import Client\nimport json\n",
        "lib/json.py": "from json import dumps\n",
    }
    assert changes_of(tmp_path, {**files, "lib/_client.py": "class Client: ...\n"}, {"lib/_client.py": "A = 1\n"}) == []


def test_a_path_selects_names_by_their_definition_too(tmp_path: Path) -> None:
    old = {
        "lib/__init__.py": "from ._a import a\nfrom ._b import b\n",
        "lib/_a.py": "def a(): ...\n",
        "lib/_b.py": "def b(): ...\n",
    }
    new = {"lib/_a.py": "def a(x): ...\n", "lib/_b.py": "def b(x): ...\n"}
    assert changes_of(tmp_path, old, new, path="lib/_a.py") == [["changed", "lib", "a", "lib/_a.py", "lib/_a.py"]]


@pytest.mark.parametrize("seed", range(30))
def test_exports_are_the_names_that_python_binds(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages drawn by the seed, imported for real: every public name that `from module import *` gives, no other."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    package = f"drawn_{seed}"
    order = ["_a", "_b", "c", "_d", "__init__"]
    texts: dict[str, str] = {}
    for number, name in enumerate(order):
        lines = [f"def {letter}_{number}(): ...\n" for letter in "pq"]
        lines += [f"class K{number}:\n    def run(self): ...\n", f"_hidden_{number} = 1\n"]
        names = {f"p_{number}", f"q_{number}", f"K{number}"}
        for source in draw.sample(order[:number], k=min(number, 2)):
            dot = draw.choice([".", f"{package}."])
            target = f"{draw.choice('pq')}_{order.index(source)}"
            lines.insert(0, draw.choice([
                f"from {dot}{source} import *\n", f"from {dot}{source} import {target} as {target}\n",
            ]))  # fmt: skip
            if name == "__init__" and draw.random() < 0.5:
                lines.insert(0, f"from .{source} import K{order.index(source)}\n")
        if draw.random() < 0.4:
            listing = sorted(draw.sample(sorted(names), k=2)) + draw.choice([[], [f"_hidden_{number}"]])
            lines.append(f"__all__ = {listing}\n")
        texts[f"{package}/{name}.py"] = "".join(lines)
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    exports = PythonExports(texts, lambda path: read_module(path, texts[path].encode())[0])
    for name, module in ((f"{package}.c", f"{package}/c.py"), (package, f"{package}/__init__.py")):
        bound: dict[str, object] = {}
        exec(f"from {name} import *", bound)  # noqa: S102 - text of this test
        modules = {key for key, value in bound.items() if inspect.ismodule(value)}
        ours = {symbol.name for _, symbol in exports.public_symbols(module) if "." not in symbol.name}
        assert ours == bound.keys() - modules - {"__builtins__"}, texts


def test_hostile_sources_are_bounded() -> None:
    deep = "class A:\n" + "".join(f"{' ' * n}class A{n}:\n" for n in range(1, 300)) + " " * 300 + "x = 1\n"
    assert len(public_symbols("a.py", deep.encode())[0]) < 100
    wide = f"def f({', '.join(f'a{n}' for n in range(5_000))}): ...\n"
    assert len(symbols_of("a.py", wide)["f"]) <= MAX_SIGNATURE + 1
    assert public_symbols("a.go", b"x" * (2 << 20)) == ([], "too-large")
    circle = {f"p/_m{n}.py": f"from ._m{(n + 1) % 50} import *\nfrom ._m{(n + 2) % 50} import *\n" for n in range(50)}
    circle["p/_m7.py"] += "".join(f"def f{n}(): ...\n" for n in range(200))
    circle["p/__init__.py"] = "from ._m0 import *\n" + "from ._m1 import f1\n" * 500
    exports = PythonExports(circle, lambda path: read_module(path, circle[path].encode())[0])
    assert len(exports.public_symbols("p/__init__.py")) == 200
    chain = {f"p/_m{n}.py": f"from ._m{n + 1} import *\n" for n in range(3_000)}
    chain |= {"p/__init__.py": "from ._m0 import *\nfrom ._m0 import a\n", "p/_m3000.py": "def a(): ...\n"}
    exports = PythonExports(chain, lambda path: read_module(path, chain[path].encode())[0])
    assert exports.public_symbols("p/__init__.py")
    assert exports.limited
    many = "class A:\n" + "    x = 1\n" * 1_000
    spread = {"p/_a.py": many, "p/__init__.py": "".join(f"from ._a import A as A{n}\n" for n in range(100))}
    exports = PythonExports(spread, lambda path: read_module(path, spread[path].encode())[0])
    assert len(exports.public_symbols("p/__init__.py")) == MAX_SYMBOLS
    assert exports.limited == {"p/__init__.py"}
    for path in ("a.py", "a.go", "a.ts", "A.java"):
        public_symbols(path, b"{([<" * 20_000)
        public_symbols(path, bytes(range(256)) * 50)


def test_an_alias_has_the_declaration_of_what_it_is_bound_to(tmp_path: Path) -> None:
    code = "def define(a{}): ...\n\nmutable = define\n\nclass _Own:\n    def m(self): ...\n\nOwn = _Own\nlimit = 1\n"
    init = "from ._next import define, mutable, Own\nfrom .public import Far\n\ns = t = define\nnear = Far\n"
    versions = [
        {"lib/_next.py": code.format(value), "lib/__init__.py": init, "lib/public.py": "class Far:\n    x = 1\n"}
        for value in ("", ", b=1")
    ]
    builder = RepositoryBuilder(tmp_path / "src" / "lib")
    for number, files in enumerate(versions):
        builder.commit(files, f"version {number}")
        builder.tag(f"v{number}")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as client:
        api = client.api_changes("lib", "v0", "v1")
    assert api["symbol"].tolist() == ["define", "mutable", "s", "t"]
    assert api["signature"].tolist() == [f"{name}def define(a, b=1)" for name in ("", "mutable = ", "s = ", "t = ")]
    symbols = PythonExports(set(versions[0]), lambda path: read_module(path, versions[0][path].encode())[0])
    public = {symbol.name: symbol.signature for _, symbol in symbols.public_symbols("lib/__init__.py")}
    assert public["Own"] == "Own = class _Own"
    assert public["near"] == "near = class Far"
    assert "near.x" not in public  # they are listed where the class is
    assert "Own.m" in public


def test_aliases_in_a_circle_end() -> None:
    names = symbols_of(
        "lib/a.py", "a = b\nb = a\nc = c\nclass A:\n    __slots__ = ('x', \"_y\")\n    __slots__ += ('z',)\n"
    )
    assert names == {"a": "a", "b": "b", "c": "c", "A": "class A", "A.__slots__": "__slots__", "A.x": "x"}


def test_equal_types_of_go_are_no_change(tmp_path: Path) -> None:
    text = "package p\n\nfunc (r *R) F(v {}) error {{ return nil }}\n\ntype R struct{{}}\n"
    assert changes_of(tmp_path, {"go/a.go": text.format("interface{}")}, {"go/a.go": text.format("any")}) == []


def test_equal_declarations_of_python_and_typescript_are_no_change(tmp_path: Path) -> None:
    files = {
        "lib/a.py": "class A(object):\n    def f(self, mode='r', sep=\"'\"): ...\n",
        "lib/a.ts": "export type Kind = 'a' | 'b';\n",
    }
    same = {
        "lib/a.py": 'class A:\n    def f(self, mode="r", sep="\'"): ...\n',
        "lib/a.ts": 'export type Kind = "a" | "b";\n',
    }
    assert changes_of(tmp_path, files, same) == []


def test_a_name_that_a_module_still_imports_is_neither_removed_nor_added(tmp_path: Path) -> None:
    rows = changes_of(
        tmp_path,
        {
            "lib/a.py": "class Gone:\n    def m(self): ...\n\nclass Kept:\n    def m(self): ...\n\ndef other(): ...\n",
            "lib/b.py": "try:\n    import fast as json\nexcept ImportError:\n    import json\nimport x.y\n",
            "lib/listed.py": "def run(): ...\n",
        },
        {
            "lib/a.py": "from base import Gone, Kept\n\nclass Kept(Kept):\n    pass\n",
            "lib/b.py": "json = load()\nx = 1\ny = 2\n",
            "lib/listed.py": "from base import run\n__all__ = []\n",
        },
    )
    assert [row[:3] for row in rows] == [
        ["changed", "lib.a", "Kept"],
        ["removed", "lib.a", "Kept.m"],
        ["removed", "lib.a", "other"],
        ["added", "lib.b", "y"],
        ["removed", "lib.listed", "run"],  # its list says that it isn't for callers
    ]
