"""Questions that a line of code answers: the sentence is proven by the line it cites, or is not said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engines.deepsearch.asking import Researched, research
from sourcelight.backends.embedded import open_engine
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.deepsearch.evidence import FileEvidence
from sourcelight.engines.deepsearch.lookups.manifests import is_same, read_requirements, read_runtime
from sourcelight.engines.deepsearch.question.lookups import Lookup, read_lookup
from sourcelight.engines.deepsearch.source.class_heads import Subtype, read_subtype
from sourcelight.engines.deepsearch.source.line_kinds import COMMENT, DOCUMENTS
from sourcelight.engines.deepsearch.source.values import parameters_of, value_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

HTTP = '''"""A client."""

DEFAULT_TIMEOUT_CONFIG = 5.0  # seconds
DEFAULT_RETRIES = 3
_TEMPLATE = {
    "a": 1,
}


class Session:
    """Sends requests."""

    verify: bool = True

    def __init__(self, base, *, follow=False, retries: int = DEFAULT_RETRIES):
        self.base = base

    def send_request(self, url, /, timeout=DEFAULT_TIMEOUT_CONFIG, mark="a,b)"):
        return encode_path(url)


def encode_path(path: str, safe: str = "/~") -> str:
    """Encode a path."""
    return path


def call_twice(path):
    return encode_path(path), encode_path(path)


def lonely_helper():
    return None
'''
SERVER = """#define CONFIG_DEFAULT_HZ 10 /* ticks */
#define createIntConfig(name, alias, lower, upper, addr, default, flags) \\
    { name, alias, default }
int dictExpand(dict *d, unsigned long size);

static config configs[] = {
    createIntConfig("max-samples", NULL, 1, 64, server.samples, 5, INTEGER_CONFIG),
    createIntConfig("hz", NULL, 0, INT_MAX, server.hz, CONFIG_DEFAULT_HZ, INTEGER_CONFIG),
};

int dictExpand(dict *d, unsigned long size) {
    return 0;
}
"""
FILES: dict[str | bytes, str | bytes | None] = {
    "client/http.py": HTTP,
    "tests/test_http.py": "from client.http import encode_path\n\n\ndef test_it():\n    assert encode_path('a')\n",
    "src/server.c": SERVER,
    "src/server.h": "int dictExpand(dict *d, unsigned long size);\n",
    "lib/app.js": "var compile = require('./utils').compile;\napp.set('subdomain offset', 2);\n",
    "lib/utils.js": "exports.compile = compile;\nfunction compile(value) {\n  return value;\n}\n",
    "History.md": "- add `app.set('subdomain offset', 7)`\n",
    "cmd/main.go": 'package main\n\nvar at = flag.String("listen", ":6070", "address")\n\nconst MaxSize = 1 << 20\n',
    "pyproject.toml": (
        '[project]\nname = "wire"\nrequires-python = ">=3.9"\ndependencies = ["idna>=2.5,<4", "certifi"]\n'
        '[project.optional-dependencies]\nhttp2 = ["h2>=3,<5"]\n'
    ),
}


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("wire")
    repo = RepositoryBuilder(root / "wire")
    repo.commit({"client/http.py": "DEFAULT_TIMEOUT_CONFIG = 5.0\n"}, "Start", author="Ada <ada@example.org>")
    repo.commit(FILES, "Write the client", author="Grace <grace@example.org>")
    return open_engine([repo.path], index=root / "index", workers=1)


def lead_of(answer: Researched) -> str:
    return re.sub(r"\\([_*])", r"\1", answer.text.split("\n\n")[0])


MARKET = {
    "src/fruit.rs": """pub trait Fresh {}
pub struct Crate;
#[derive(Clone, Fresh)]
pub struct Fig;
pub enum Stall { A }
impl Fresh for Crate {}
impl Fresh for Stall {}
impl<T: Fresh> Clone for Fig {}
""",
    "rack.py": """class Shelf:
    pass


class Rack(Shelf):
    def pick(self, rounding=3):
        return rounding

    def pack(self):
        return 1


def pack(box):
    return box


def weigh(unit):
    return unit
""",
    "scales.py": """def weigh(scale, unit, *, rounding=3):
    return scale
""",
}


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Definitions that share names."""
    path = tmp_path_factory.mktemp("market")
    RepositoryBuilder(path / "market").commit(MARKET, "Open the market")
    return open_engine([path], index=path / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Where is Session defined?", ["`Session` is defined in `client/http.py`, line 10, as a class", "#L10"]),
        ("Where is dictExpand implemented in wire?", ["`src/server.c`, line 11,"]),
        ("Which file defines the compile function?", ["`compile` is defined in `lib/utils.js`, line 2, as a function"]),
        ("What is the value of CONFIG_DEFAULT_HZ?", ["is set to `10`, in `src/server.c`"]),
        ("What is MaxSize in wire?", ["is set to `1 << 20`, in `cmd/main.go`, line 5"]),
        ("What is the default timeout?", ["`DEFAULT_TIMEOUT_CONFIG` is set to `5.0`"]),
        ("What is the default of safe in encode_path?", ['of `encode_path` is `"/~"`', "line 22"]),
        ("What does the mark parameter of send_request default to?", ['is `"a,b)"`']),
        ("What is the default of follow in wire's Session?", ["of `Session` is `False`"]),
        ("What is the default retries of Session?", ["is `DEFAULT_RETRIES`", "`DEFAULT_RETRIES` is set to `3` in"]),
        ("What is the default of verify in Session?", ["`Session` is `True`"]),
        ("What is the default of base in Session?", ["has no default"]),
        ("What is the default value of max-samples?", ["The default of `max-samples` is `5`", "src/server.c"]),
        ("What does hz default to in wire?", ["`CONFIG_DEFAULT_HZ`"]),
        ("What is the default of the -listen flag?", ['is `":6070"`']),
        ("What is the default value of 'subdomain offset'?", ["`subdomain offset` is set to `2`, in `lib/app.js`"]),
        ("What calls encode_path?", ["is called by `send_request` and `call_twice` (3 calls in 1 file"]),
        ("Which functions call lonely_helper in wire?", ["No searched line has `lonely_helper` except its definition"]),
        ("Which Python version does wire require?", ["`pyproject.toml` requires Python `>=3.9`"]),
        ("Does wire depend on h2?", ["`pyproject.toml` lists `h2>=3,<5` (optional: http2)", "pyproject.toml#L6"]),
        ("What version of idna does wire require?", ["lists `idna>=2.5,<4`"]),
        ("Does wire depend on lodash?", ["No: no searched manifest lists `lodash` (`pyproject.toml`)"]),
        ("Where is QuicTransport defined?", ["No searched file has `QuicTransport`"]),
        ("Is there a class called YamlReader in wire?", ["No searched file has `YamlReader`"]),
        ("Who last changed line 3 of client/http.py?", ["was last changed by Grace", "“Write the client”"]),
        ("Who last changed line 300 of client/http.py?", ["`client/http.py` has no line 300"]),
    ],
)
def test_the_first_sentence_states_the_fact(wire: LocalEngine, question: str, parts: list[str]) -> None:
    answer = research(wire, question)
    for part in parts:
        assert part in lead_of(answer), answer.text
    assert all(citation.accepted for citation in answer.finished.citations)


def test_a_stated_value_stands_on_the_lines_that_are_cited(wire: LocalEngine) -> None:
    """Each code span of the sentence that is no path is on a cited line."""
    for question in ("What is the value of DEFAULT_RETRIES?", "What is the default of follow in Session?"):
        answer = research(wire, question)
        citation_list = "\n".join(
            c.evidence.text for c in answer.finished.citations if isinstance(c.evidence, FileEvidence)
        )
        spans = [span for span in re.findall(r"`([^`]+)`", lead_of(answer)) if "/" not in span]
        assert spans
        assert all(span in citation_list or span in {"Session", "__init__"} for span in spans), answer.text


@pytest.mark.parametrize(
    "question",
    [
        "Where is authentication implemented?",
        "What is the default behaviour when a request fails?",
        "What calls are made when the session closes?",
        "How does the session encode paths?",
    ],
)
def test_what_no_line_proves_is_not_stated(wire: LocalEngine, question: str) -> None:
    answer = research(wire, question)
    assert answer.text.startswith(("Most relevant:", "No searched file has", "No direct answer")), answer.text
    assert "unit" not in answer.finished.stats


def test_a_text_without_a_definition_is_told_apart_from_one_that_is_nowhere(wire: LocalEngine) -> None:
    lead = lead_of(research(wire, "Where is the INTEGER_CONFIG constant defined?"))
    assert lead.startswith("No constant definition of `INTEGER_CONFIG` was found in `wire`; 2 lines have the text")


def test_no_definition_is_not_stated_of_a_language_without_a_grammar(tmp_path: Path) -> None:
    """A line of Prolog, which nothing here reads, may define what is asked for."""
    repo = RepositoryBuilder(tmp_path / "reader")
    repo.commit({"reader.prolog": "compose_all(Yaml, [Yaml]) :-\n    nonvar(Yaml).\n"})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "Where is compose_all defined?")
    assert answer.text.startswith("Most relevant:"), answer.text
    assert "reader.prolog" in answer.text.partition("\n## ")[0]
    assert lead_of(research(engine, "Where is compose_none defined?")).startswith("No searched file has")


def test_a_question_about_one_repository_reads_no_history_of_others(tmp_path: Path) -> None:
    for name in ("alpha", "bravo", "delta"):
        repo = RepositoryBuilder(tmp_path / name)
        repo.commit({"a.py": f"def {name}_tool(price):\n    return price\n"}, f"Add the {name} tool")
    engine = open_engine([tmp_path], index=tmp_path / "index", workers=1)
    for question in ("How does bravo price its tool?", "When was bravo_tool first added to bravo?"):
        assert "alpha" not in research(engine, question).text
    read = []
    for repository in engine.catalog.visible(Viewer.owner()):
        try:
            engine.history.open(repository)
        except SourcelightError:
            continue
        read.append(repository.name)
    assert read == ["bravo"]


@pytest.mark.parametrize(
    ("question", "lookup"),
    [
        ("Where is the `Client` class defined?", Lookup("definition", "Client", symbol_kind="class")),
        ("What's the default value of x in make()?", Lookup("default", "x", "make")),
        ("who wrote line 12 of a/b.py?", Lookup("line", path="a/b.py", line=12)),
        ("which version of body-parser does · use?", Lookup("dependency", "body-parser", asks="version")),
        ("What does http2 default to in · in HTTPTransport", Lookup("default", "http2", "HTTPTransport")),
        ("What is the encoding setting in · by default?", Lookup("default", "encoding")),
        ("in ·, which file in defines Session?", Lookup("definition", "Session")),
        ("What is authentication?", None),
        ("Who calls it?", None),
    ],
)
def test_questions_are_read_as_lookups(question: str, lookup: Lookup | None) -> None:
    assert read_lookup(question) == lookup


@pytest.mark.parametrize(
    ("line", "name", "path", "value"),
    [
        ("LIMIT = 10  # ten", "LIMIT", "a.py", "10"),
        ("const limit = 3; // three", "limit", "a.js", "3"),
        ("    static final int LIMIT = 255;", "LIMIT", "A.java", "255"),
        ("pub const SIZE: usize = 64 * (1 << 10); // 64 KB", "SIZE", "a.rs", "64 * (1 << 10)"),
        ("#define LEN 1024 /* most */", "LEN", "a.h", "1024"),
        ("#define MAX(a, b) (a)", "MAX", "a.h", None),
        ('NAME = "a # b"', "NAME", "a.py", '"a # b"'),
        ("if LIMIT == 10:", "LIMIT", "a.py", None),
        ("LIMIT += 1", "LIMIT", "a.py", None),
        ("f(LIMIT, other=1)", "LIMIT", "a.py", None),
        ("fn = lambda x: x", "fn", "a.py", None),
        ("handler = function () {", "handler", "a.js", None),
    ],
)
def test_values_are_read_as_they_are_written(line: str, name: str, path: str, value: str | None) -> None:
    read = value_of([line], name, 1, path)
    assert (read.text if read is not None else None) == value


def test_parameters_are_read_over_lines_comments_and_brackets() -> None:
    lines = [
        "def f(",
        "    a,  # first, really",
        "    b: dict[str, int] = {'x': (1, 2)},",
        "    *, c='),',",
        ") -> None:",
    ]
    read = parameters_of(lines, "f", 1, "a.py")
    assert read is not None
    assert [(entry.name, entry.value, entry.line) for entry in read[0] if entry.name] == [
        ("a", "", 2), ("b", "{'x': (1, 2)}", 3), ("c", "'),'", 4),
    ]  # fmt: skip
    assert read[1] == 5


def test_manifests_of_all_kinds_are_read() -> None:
    cases = {
        "go.mod": ("module x\n\ngo 1.15\n\nrequire (\n\tgithub.com/a/pflag/v2 v2.0.9\n)\n", "pflag", "v2.0.9", 6),
        "package.json": ('{\n  "dependencies": {\n    "qs": "^6.1"\n  }\n}\n', "qs", "^6.1", 3),
        "Cargo.toml": ('[dependencies]\nanyhow = "1.0.75"\n', "anyhow", "1.0.75", 2),
        "x.gemspec": ("s.add_dependency 'tilt', '~> 2.0'\n", "tilt", "~> 2.0", 1),
        "pom.xml": (
            ("<dependency>\n<groupId>junit</groupId>\n<artifactId>junit</artifactId>\n<version>4.13</version>\n"
            "</dependency>\n"),
            "junit", "4.13", 4,
        ),
        "setup.py": ("setup(\n  install_requires=[\n    'six>=1.0',\n  ],\n)\n", "six", ">=1.0", 3),
        "requirements-dev.txt": ("# tools\npytest==7.0\n", "pytest", "==7.0", 2),
    }  # fmt: skip
    for path, (text, name, version, line) in cases.items():
        read = read_requirements(path, text.split("\n"))
        assert read is not None, path
        assert [(dependency.version, dependency.line) for dependency in read if is_same(dependency.name, name)] == [
            (version, line)
        ], path
    assert read_requirements("pyproject.toml", ["not = = toml"]) is None
    assert read_runtime("go.mod", ["module x", "go 1.15"], "go") == ("1.15", 2)
    assert not is_same("github.com/a/pflag-extra", "pflag")


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Which structs implement Fresh?",
            ["**2** structs name `Fresh` as a base in their declarations", "`Crate`", "`Fig`"],
        ),
        ("Which classes extend Shelf?", ["**1** class names `Shelf` as a base in its declaration", "`Rack`"]),
        (
            "What is the difference between pick and pack?",
            ["`pick` is a method of `Rack`", "`pack` is a method of `Rack`"],
        ),
        (
            "What parameters does weigh take?",
            ["is the name of several functions", "`unit`", "`scale`, `unit` and `rounding`"],
        ),
        (
            "What is the default of rounding?",
            ["The default of the parameter `rounding` is `3`", "and the same in another place"],
        ),
        ("What is the default of `salt` in `Rack.pick`?", ["`pick` has no parameter `salt`", "`rounding`"]),
        ("What is the default of the rounding parameter of Rack's pick?", ["The default of `rounding`", "`3`"]),
        ("What parameters does `Shel` take?", ["No definition of `Shel`", "always within other names"]),
    ],
)
def test_names_of_several_things_are_answered_by_what_they_share(
    market: LocalEngine, question: str, parts: list[str]
) -> None:
    lead = " ".join(lead_of(research(market, question)).split())
    assert all(part in lead for part in parts), lead


def test_bounds_and_parameters_name_no_base() -> None:
    names = frozenset({"Node"})
    assert read_subtype("class A<T extends Node> extends B<Node> {", names, "A.java") is None
    assert read_subtype("impl<T: Node> Show for Tree<T> {", names, "a.rs") is None
    assert read_subtype("class A(x: Node) : B(x) {", names, "a.kt") is None
    assert read_subtype("class A(B, metaclass=Node):", names, "a.py") is None
    assert read_subtype("class A(b.Node):", names, "a.py") == Subtype("A", "class")
    assert read_subtype("class A < Node", names, "a.rb") == Subtype("A", "class")
    assert read_subtype("  A = Class.new(Tree::Node)", names, "a.rb") == Subtype("A", "class")
    assert read_subtype("  A = Class.new(Tree) { Node }", names, "a.rb") is None
    assert read_subtype("impl tree::Node for &Leaf {", names, "a.rs") == Subtype("Leaf", "")
    assert read_subtype("#[derive(Node)]", names, "a.rs", ["#[x]", "pub enum E {"]) == Subtype("E", "enum")


COMMENTS = ["    # load it", "// load", "/* load */", "/** Loads.", " * load", " */", "-- load", "; load"]
STATEMENTS = ["#define LOAD(x) load(x)", "#[test]", "*p = load();", "--load;"]


def test_comments_are_no_uses_and_attributes_and_pointers_are_no_comments() -> None:
    assert [line for line in COMMENTS if not COMMENT.match(line)] == []
    assert [line for line in STATEMENTS if COMMENT.match(line)] == []


def test_documents_are_told_from_code_by_their_paths() -> None:
    paths = ["docs/a.mdx", "CHANGELOG", "pkg/NEWS", "src/changes.py", "news/models.py"]
    assert [path for path in paths if DOCUMENTS.search(path)] == paths[:3]
