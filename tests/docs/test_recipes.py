"""The recipes of CONTRIBUTING.md: each names the files that a small change touches, and that change works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sourcelight.testing import make_repo

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "sourcelight"
Edits = Mapping[str, str | Sequence[tuple[str, str]]]
"""Files of the package: the text of a new one, or what is put in place of which text of an old one."""

CHART: Edits = {
    "lab/plots/counters.py": """
from typing import Any

from sourcelight.lab.plots.data import plot_data
from sourcelight.lab.plots.figure import Figure
from sourcelight.lab.plots.labels import format_amount
from sourcelight.lab.plots.sheet import new_sheet
from sourcelight.lab.plots.themes import theme_of


def counter(source: Any) -> Figure:
    \"\"\"Draw the total as one number.\"\"\"
    data = plot_data(source)
    text = format_amount(data.total, data.unit)

    def draw() -> Any:
        figure, axes = new_sheet(theme_of("light"), 2.0, "Total", text)
        axes.text(0.5, 0.5, text, ha="center")
        return figure

    return Figure("counter", "Total", text, draw)
""",
    "lab/plots/__init__.py": [
        ("from sourcelight.lab.plots.figure import Figure\n",
         "from sourcelight.lab.plots.counters import counter\nfrom sourcelight.lab.plots.figure import Figure\n"),
        ('"calendar",', '"calendar", "counter",'),
    ],
}  # fmt: skip
CHART_PROGRAM = """
import sys
import sourcelight as sl
with sl.open(sys.argv[1]) as code:
    figure = sl.plots.counter(code.search("greet", progress=False))
    assert figure.description == "4 matches", figure.description
    assert figure.to_png().startswith(b"\\x89PNG")
"""

FILTER: Edits = {
    "core/query/fields.py": [
        ('        Field("rule",', """\
        Field("topic", FilterScope.REPOSITORY, "repositories of a topic", repeat=True, negatable=True,
              values=("tides",)),
        Field("rule","""),
    ],
    "engines/execution/scope/selection.py": [
        ("_AS_PREDICATES = {", '_AS_PREDICATES = {\n    "topic": ("has.topic", "topic"),'),
    ],
}  # fmt: skip
FILTER_PROGRAM = """
import sys
import sourcelight as sl
from sourcelight.client.search.exhaustive import listing_query
from sourcelight.core.query import parse
from sourcelight.lab.magics.suggestions import suggest
with sl.open(sys.argv[1]) as code:
    names = lambda query: set(code.search(query, progress=False).matches["repository"])
    assert names("greet topic:tides") == {"one"}, names("greet topic:tides")
    assert names("greet -topic:tides") == {"two"}
    assert names("greet") == {"one", "two"}
    assert names("type:repo topic:tides") == {"one"}
    ranked = code.nls_search("greet end topic:tides")
    assert set(ranked["repository"]) == {"one"}, ranked
    assert "topic:tides: repositories of a topic" in str(code.explain("greet topic:tides"))
    assert [item.text for item in suggest("greet -top", lambda kind: ())[1]] == ["-topic:"]
    assert [item.text for item in suggest("topic:", lambda kind: ())[1]] == ["tides"]
    assert "topic:tides" in listing_query(parse("greet topic:tides"))
"""

FILE_FILTER: Edits = {
    "core/query/fields.py": [
        ('        Field("rule",', """\
        Field("ending", FilterScope.FILE, "files whose names end so", repeat=True, negatable=True,
              path_regexp=lambda ending: rf"\\.{ending}$"),
        Field("rule","""),
    ],
}  # fmt: skip
FILE_FILTER_PROGRAM = """
import sys
import sourcelight as sl
from sourcelight.lab.magics.suggestions import suggest
with sl.open(sys.argv[1]) as code:
    def paths(query):
        return set(code.search(f"repo:one {query}", progress=False).matches["path"])
    for kind in ("type:file greet", "type:path rb", "type:diff greet", "type:symbol greet"):
        assert "a.rb" in paths(kind), kind
        assert paths(f"{kind} ending:rb") == paths(kind), kind
        assert paths(f"{kind} -ending:rb") == paths(f"{kind} ending:py") == set(), kind
    commits = lambda query: len(code.search(f"type:commit repo:one {query}", progress=False).matches)
    assert (commits("ending:rb"), commits("ending:c")) == (1, 0)
    assert set(code.nls_search("greet end")["path"]) == {"a.rb"}
    assert len(code.nls_search("greet end ending:py")) == 0
    text = str(code.explain("greet -ending:py"))
    assert "not files whose names end so" in text, text
    assert [item.text for item in suggest("greet -end", lambda kind: ())[1]] == ["-ending:"]
"""

COLUMN: Edits = {
    "core/tools/files.py": [
        ('        Column("kind", "dict8", "file, directory',
         """        Column("extension", "dict32", "text after the last dot of the name", "none"),
        Column("kind", "dict8", "file, directory"""),
    ],
    "engines/tools/files.py": [
        ("        is_directory=", """\
        extension=[entry.path.rpartition(".")[2] for entry in entries],
        is_directory="""),
    ],
}  # fmt: skip
COLUMN_PROGRAM = """
import sys
import sourcelight as sl
with sl.open(sys.argv[1]) as code:
    files = code.list_files("one")
    assert files["extension"].tolist() == ["rb", "rb"], files
"""

MATCH_COLUMN: Edits = {
    "core/batches/schema.py": [
        ('    Column("side",', """\
    Column("subject", "dict32", "first paragraph of the message", "other rows", commit_key="subject"),
    Column("side","""),
    ],
    "core/batches/records.py": [
        ("    author_name:", "    subject: str | None = None\n    author_name:"),
    ],
    "engines/history/search/commit_columns.py": [
        ('        "message": dictionary(messages),', """\
        "message": dictionary(messages),
        "subject": dictionary(tables.subject_texts(history, commits)),"""),
    ],
}  # fmt: skip
MATCH_COLUMN_PROGRAM = """
import sys
import sourcelight as sl
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.codecs.decode import MatchDecoder
from sourcelight.core.batches.codecs.encode import encode_matches
with sl.open(sys.argv[1]) as code:
    result = code.search("repo:one type:commit .*", pattern_type="regexp", progress=False)
    subjects = result.matches["subject"].tolist()
    assert subjects == [result.matches["message"][0].splitlines()[0]], result.matches
    batch = result.arrow.combine_chunks().to_batches()[0]
    events = list(encode_matches(MatchBatch(batch), {}))
    (decoded,) = MatchDecoder().decode(*events)
    assert decoded.batch.column("subject").to_pylist() == subjects
assert "subject" in [column.name for column in sl.columns_of("matches")]
"""

FILE_COLUMN: Edits = {
    "core/batches/schema.py": [
        ('    Column(\n        "line_number",', """\
    Column("blob", "dict32", "object name of the file", "not told by the service", file_key="blob", optional=True),
    Column(
        "line_number","""),
    ],
    "core/batches/records.py": [
        ("    author_name:", "    blob: str | None = None\n    author_name:"),
    ],
    "engines/search/scan/columns.py": [
        ('    return {"language": (corpus.language_names, corpus.language[files])}', """\
    members = zip(corpus.member_of(files).tolist(), files.tolist())
    blobs = [corpus.members[member].view.blob_ids()[file - int(corpus.file_base[member])].hex()
             for member, file in members]
    return {"language": (corpus.language_names, corpus.language[files]), "blob": (blobs, np.arange(len(files)))}"""),
    ],
}  # fmt: skip
LINE_COLUMN: Edits = {
    "core/batches/schema.py": [
        ('    Column("start", "list",', """\
    Column("indent", "int32", "spaces before the text of the line", "not told by the service", line_key="indents"),
    Column("start", "list","""),
    ],
    "core/batches/records.py": [
        ("    author_name:", "    indents: list[int | None] | None = None\n    author_name:"),
    ],
    "engines/search/scan/columns.py": [
        ('of notebooks, see `cells.rows`.\n    """\n    return {}\n', """\
of notebooks, see `cells.rows`.
    \"\"\"
    import pyarrow as pa

    texts = [bytes(line_bytes(corpus, lines.line_start[i : i + 1], lines.line_end[i : i + 1]))
             for i in range(len(lines))]
    return {"indent": pa.array([len(text) - len(text.lstrip(b" ")) for text in texts], pa.int32())}
"""),
    ],
    "engines/search/cells/rows.py": [
        ('            "line": text_line,', """\
            "line": text_line,
            "indent": len(text_line) - len(text_line.lstrip(" ")),"""),
    ],
}  # fmt: skip
_SERVED = """
import sys
from pathlib import Path
import sourcelight as sl
from server.served import serving

def rows(code, query, column, **options):
    result = code.search(query, progress=False, **options).matches
    return [(r.repository, r.path, str(r.line), value if value == value else None)
            for r, value in zip(result.itertuples(), result[column].astype(object).where(result[column].notna(), None))]

def compare(column, queries):
    # Each row of a service has the value of the same row here, whichever codec wrote it. The service
    # may answer before its index is built, in the order in which it reads the files.
    folder, home, answers = sys.argv[1], Path(sys.argv[2]) / column, []
    service = serving(folder, home=home, token="slo_the-owner-of-a-recipe")
    with sl.open(folder, background_index=False) as code, service as (_, address):
        with sl.connect(address, "slo_the-owner-of-a-recipe") as remote:
            for query in queries:
                for options in ({}, {"context_lines": 1}):
                    here, there = (rows(client, query, column, **options) for client in (code, remote))
                    assert here and sorted(here, key=str) == sorted(there, key=str), (query, options, here, there)
                answers.append([row[-1] for row in here])
    return answers
"""
FILE_COLUMN_PROGRAM = (
    _SERVED
    + """
queries = ["greet", "greet or x", "type:path rb$ patternType:regexp", "type:symbol greet", "select:file greet",
           "cell:code print"]
(blob, *_), *others = compare("blob", queries)
assert len(blob) == 40, blob
assert all(value and len(value) == 40 for values in others for value in values), others
"""
)
LINE_COLUMN_PROGRAM = (
    _SERVED
    + """
by_name, in_lines, both, in_cells = compare("indent", ["type:path rb$ patternType:regexp", "repo:one greet",
                                                       "repo:one greet or end", "cell:code print"])
assert set(by_name) == {None}, by_name
assert in_lines == [0, 0], in_lines
assert both == [0, 0, 0], both
assert in_cells == [2], in_cells
"""
)

LANGUAGE: Edits = {
    "engines/navigation/languages/ruby.py": """
from sourcelight.engines.navigation.language import Language, Ref, Usage
from sourcelight.engines.navigation.parsed_file import ParsedFile
from sourcelight.engines.symbols import parse_tree


class RubyLanguage(Language):
    names = ("Ruby",)
    identifiers = frozenset({"identifier", "constant"})

    def parse(self, name, text, deadline):
        tree = parse_tree(name, text, deadline)
        return None if tree is None else ParsedFile(text, tree)

    def usage(self, cursor):
        return Usage("name", cursor.parent.type == "method")

    def lookup(self, document, cursor, session):
        methods = [node for node in cursor.path[0].children if node.type == "method"]
        names = [node.child_by_field_name("name") for node in methods]
        names = [name for name in names if name.text == cursor.name]
        return [Ref(document, name.start_byte, name.end_byte, "method", "scope") for name in names]

    def bindings(self, ref, session):
        return [ref]

    def module_names(self, document):
        return ()

    def import_target(self, document, module, member, session):
        return None

    def exports(self, project):
        return {}
""",
    "engines/navigation/languages/__init__.py": [
        ('    "C#": _csharp,\n', '    "C#": _csharp,\n    "Ruby": _ruby,\n'),
        ("LANGUAGES: Mapping", """\
def _ruby() -> Language:
    from sourcelight.engines.navigation.languages.ruby import RubyLanguage

    return RubyLanguage()


LANGUAGES: Mapping"""),
    ],
}  # fmt: skip
LANGUAGE_PROGRAM = """
import sys
import sourcelight as sl
with sl.open(sys.argv[1]) as code:
    definition = code.go_to_definition("one", "a.rb", "greet", line=4)
    assert definition[["path", "line_number"]].values.tolist() == [["a.rb", 1]], definition
    assert definition["how"].tolist() == ["scope"], definition
"""

AGENT: Edits = {
    "core/batches/agents.py": [
        ("AGENT_RULES: tuple[AgentRule, ...] = (", """\
AGENT_RULES: tuple[AgentRule, ...] = (
    AgentRule("Marvin", "address", r"marvin@example\\.org", "https://example.org/marvin"),"""),
    ],
}  # fmt: skip
AGENT_PROGRAM = """
from sourcelight.core.batches.agents import agents_text, traces_of
message = "Add\\n\\nCo-authored-by: Marvin <marvin@example.org>"
assert agents_text(traces_of("Ada", "ada@example.org", message)) == "Marvin"
"""

RECIPES = {
    "coding assistant": (AGENT, AGENT_PROGRAM),
    "chart": (CHART, CHART_PROGRAM),
    "filter": (FILTER, FILTER_PROGRAM),
    "filter on files": (FILE_FILTER, FILE_FILTER_PROGRAM),
    "column": (COLUMN, COLUMN_PROGRAM),
    "column of `matches`": (MATCH_COLUMN, MATCH_COLUMN_PROGRAM),
    "column of `matches` for files": (FILE_COLUMN, FILE_COLUMN_PROGRAM),
    "column of `matches` for lines": (LINE_COLUMN, LINE_COLUMN_PROGRAM),
    "language": (LANGUAGE, LANGUAGE_PROGRAM),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repositories")
    text = "def greet\\nend\\n\\ngreet\\n".replace("\\n", "\n")
    make_repo(folder / "one", {"a.rb": text, "b.rb": "x = 1\n"})
    notebook = {"cells": [{"cell_type": "code", "source": ["if x:\n", "  print(x)"], "metadata": {}, "outputs": []}],
                "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}  # fmt: skip
    make_repo(folder / "two", {"a.rb": text, "c.ipynb": json.dumps(notebook, indent=1)})
    (folder / "repos.toml").write_text('[repositories.one]\ntopics = ["tides"]\n', "utf-8")
    return folder


_ALL = """
import json, sys, traceback
errors = {}
for name, program in json.loads(sys.stdin.read()).items():
    errors[name] = ""
    try:
        exec(compile(program, name, "exec"), {"__name__": name})
    except BaseException:
        errors[name] = traceback.format_exc()
print("\\n" + json.dumps(errors))
"""


@pytest.fixture(scope="module")
def errors(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What went wrong in each program, in one process and one copy of the package that follows all recipes."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, copy / "src" / "sourcelight")  # with compiled modules
    for edits, _ in RECIPES.values():
        change(copy / "src" / "sourcelight", edits)
    path = os.pathsep.join([str(copy / "src"), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", _ALL, str(folder), str(copy / "service")],
        input=json.dumps({name: program for name, (_, program) in RECIPES.items()}),
        env={**os.environ, "PYTHONPATH": path, "SOURCELIGHT_HOME": str(copy / "home")},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answered: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return answered


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_works(name: str, errors: dict[str, str]) -> None:
    assert errors[name] == ""


def test_recipes_touch_few_files() -> None:
    """A recipe that needs more files than this has a list that is not derived."""
    files = {name: len(edits) for name, (edits, _) in RECIPES.items()}
    assert files == {
        "coding assistant": 1,
        "chart": 2,
        "filter": 2,
        "filter on files": 1,
        "column": 2,
        "column of `matches`": 3,
        "column of `matches` for files": 3,
        "column of `matches` for lines": 4,
        "language": 2,
    }


@pytest.mark.parametrize("name", RECIPES)
def test_contributing_names_these_files(name: str) -> None:
    edits, _ = RECIPES[name]
    (row,) = (
        line for line in (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines() if line.startswith(f"| a {name} |")
    )
    for path in edits:
        generic = re.sub(r"(languages|plots)/[a-z]+\.py", r"\1/<name>.py", path)
        generic = re.sub(r"tools/files\.py", "tools/<domain>.py", generic)
        assert f"`{generic}`" in row, (generic, row)


def change(package: Path, edits: Edits) -> None:
    """Change a copy of the package."""
    for path, edit in edits.items():
        file = package / path
        if isinstance(edit, str):
            assert not file.exists()
            file.write_text(edit, "utf-8")
            continue
        text = file.read_text("utf-8")
        for old, new in edit:
            assert text.count(old) == 1, f"{path}: {old!r}"
            text = text.replace(old, new)
        file.write_text(text, "utf-8")
