"""Everyday questions that were read as another one, and answered with a sentence beside the point."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ADA, BEN = "Ada <ada@example.org>", "Ben <ben@example.org>"


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("misread")
    builder = RepositoryBuilder(root / "mill")
    builder.commit({"docs/start.md": "A simple mill setup.\n", "docs/a": "b\n"}, "Start")
    builder.commit({"docs/plan.md": "Later, `mill set` chooses a stone.\n"}, "Write a plan", author=ADA)
    builder.commit({"rye": "1\n"}, "Added rye4j-oat6 and rye4j-grain-bin3", author=ADA)
    builder.commit({"rye": "2\n"}, "Add rye4j-grain-bin4 to the list", author=BEN)
    builder.commit({"rye": "3\n"}, "Add rye4j-oat-bin7", author=BEN)
    locals_of_main = 'locals {\n  span_length = max(1)\n}\n\nmodule "a" {\n  n = local.span_length\n}\n'
    builder.commit({"main.tf": locals_of_main}, "Terraform")
    builder.commit(
        {
            "cmd/stone.go": 'package cmd\n\nconst use = "mill set"\n\nfunc NewStone() *Stone { return &Stone{} }\n',
            "src/Mill.java": "class Mill {\n  Object make() {\n    return new NamedMill();\n  }\n}\n",
            "src/NamedMill.java": "class NamedMill {\n}\n",
            "mill.py": (
                'class Mill:\n    def __init__(self, grain_key="#grain"):\n        self.grain_key = grain_key\n\n\n'
                "def emit(item, grain_key='#grain'):\n    return item, grain_key\n"
            ),
        },
        "Add the command `mill set`",
        author=BEN,
    )
    builder.commit({f"test/test_{number}.bats": "@test\n" for number in range(3)}, "Test")
    builder.commit({f"test/test_{number}.sh": "true\n" for number in range(5)}, "Test more")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def test_the_first_line_of_a_document_adds_no_command(mill: LocalEngine) -> None:
    lead = lead_of(mill, "When was the `mill set` command added and by whom?")
    assert "Ada" not in lead.partition("Most relevant:")[0]
    assert "Ben" in lead
    assert "Ada" in lead_of(mill, "Who first mentioned `mill set`?")


@pytest.mark.parametrize("question", ["Who creates a NamedMill?", "What creates a NamedMill?"])
def test_who_creates_an_object_asks_for_code(mill: LocalEngine, question: str) -> None:
    lead = lead_of(mill, question)
    assert lead.startswith("`NamedMill` is called")
    assert "make" in lead


def test_a_number_is_not_that_of_another_name(mill: LocalEngine) -> None:
    assert lead_of(mill, "When did oat bin 7 support land?").startswith("The commit “Add rye4j-oat-bin7” is by Ben")
    assert "bin3" not in lead_of(mill, "When did grain bin 4 support land?")


def test_a_local_value_is_used_where_it_is_not_given(mill: LocalEngine) -> None:
    assert "line 6 of `main.tf`" in lead_of(mill, "What makes use of the span_length local?")
    assert "line 2" not in lead_of(mill, "What makes use of the span_length local?")


def test_an_ending_before_test_files_counts(mill: LocalEngine) -> None:
    assert lead_of(mill, "How many bats test files are there?").startswith("**3** files of `*.bats`")


def test_two_quotation_marks_make_one_value(mill: LocalEngine) -> None:
    assert "several values" not in lead_of(mill, "What is the default of grain_key?")


@pytest.fixture(scope="module")
def kiln(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("kiln")
    builder = RepositoryBuilder(root / "kiln")
    builder.commit(
        {
            "builders/arm/Dockerfile": "FROM a\n",
            "builders/x86/Dockerfile": "FROM b\n",
            "builders/x86/build": "true\n",
            "Makefile": "all:\n",
            "builders/Makefile": "all:\n",
            "Dockerfile.dev": "FROM c\n",
            "setup.py": (
                "from setuptools import setup\n\nsetup(\n    name='kiln',\n"
                "    install_requires=['clockdata; platform_system==\"Windows\"'],\n)\n"
            ),
            "main.tf": "locals {\n  bricks_as_list_of_maps = [for k in keys(local.bricks) : { key = k }]\n}\n",
            "outputs.tf": 'output "bricks_as_list_of_maps" {\n  value = local.bricks_as_list_of_maps\n}\n',
            "serve.dart": (
                "void serve(int port, {String? poweredByHeader = 'Kiln for Dart'}) {}\n\n"
                "/// Common header to advertise the server technology being used.\n"
                "const _xPoweredByResponseHeader = 'X-Powered-By';\n"
            ),
        },
        "Start",
    )
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many Dockerfiles live under builders?", "**2** files in `builders/**/Dockerfile`"),
        ("how many Makefiles are in builders/", "**1** file in `builders/**/Makefile`"),
        ("How many Makefiles are there?", "**2** files in `**/Makefile`"),
    ],
)
def test_files_of_a_name_are_counted_in_their_directory(kiln: LocalEngine, question: str, number: str) -> None:
    assert lead_of(kiln, question).startswith(number)


def test_a_dependency_under_a_condition_says_so(kiln: LocalEngine) -> None:
    lead = lead_of(kiln, "What does it need installed at runtime?")
    assert '`clockdata` under the condition `platform_system=="Windows"`' in lead


def test_an_output_of_terraform_is_no_place_that_makes_a_value(kiln: LocalEngine) -> None:
    assert lead_of(kiln, "Where do bricks get turned into a list of maps?").startswith("Most relevant")


def test_a_value_in_the_question_is_not_what_it_asks_for(kiln: LocalEngine) -> None:
    lead = lead_of(kiln, "what does the server call itself in X-Powered-By if I leave it alone?")
    assert "is set to `'X-Powered-By'`" not in lead


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("forge")
    builder = RepositoryBuilder(root / "forge")
    builder.commit(
        {
            "package.json": '{"name": "forge-infra", "version": "0.0.0"}\n',
            "DBI.pm": 'package DBI;\n$VERSION = "1.652";\n$DBI::dial_maxlen = 1000;\n1;\n',
            "lib/Bundle/DBI.pm": 'package Bundle::DBI;\nour $VERSION = "12.008696";\n1;\n',
            "lib/DBI/PurePerl.pm": "package DBI;\n$DBI::dial_maxlen ||= 400;\n1;\n",
            "Core.xs": 'forge_setup(pTHX_ SV *a)\n{\n  inner("forge_setup");\n}\n  forge_setup(aTHX_ b);\n',
            "src/values.hpp": "struct Value {\n  int color;\n};\n",
            "src/fn_colors.cpp": "int mix() { return 1; }\n",
            "loaders.py": "class Loader:\n    @property\n    def vocab(self):\n        return 1\n",
            "writer.cs": "class Writer {\n  void Write(string layout = null) { }\n}\n",
            "test/unit/a.c": "static void test_body(int a) {}\nTEST_BEGIN(test_a) {\n}\n",
        },
        "Start",
    )
    builder.commit({"a": "1\n"}, "Add gzip to the network target", author=ADA)
    builder.commit({"a": "2\n"}, "Add a gzip target for files", author=BEN)
    builder.tag("old-pages")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What's the latest version?", "old-pages"),
        ("What's the latest version?", "0.0.0"),
        ("What is $DBI::VERSION set to?", "12.008696"),
        ("What is the default maximum length of the dial?", "`400`"),
        ("what calls forge_setup", "quoted key"),
        ("which file implements the color functions", "values.hpp"),
        ("where is the vocab class", "property"),
        ("what is the default layout?", "`null`"),
        ("when was the gzip target added", "Ada"),
        ("how many unit tests are there", "**1**"),
    ],
)
def test_what_only_looks_like_the_answer_is_not_stated(forge: LocalEngine, question: str, text: str) -> None:
    assert text not in lead_of(forge, question).partition("Most relevant:")[0]


def test_a_tag_without_a_number_is_named_where_tags_are_asked_for(forge: LocalEngine) -> None:
    assert "`old-pages`" in lead_of(forge, "What's the newest tag?")


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("bakery")
    builder = RepositoryBuilder(root / "bakery")
    builder.commit({"LICENSE": "each of the bakers\n", "Package.swift": "a\n", "Templates/Swift/a": "b\n"}, "Start")
    builder.commit({"lib/each.js": "function each(list) {}\n"}, "Loop", author=ADA)
    builder.commit({"Templates/Swift/a": "c\n"}, "Add the file oven to the bread system", author=BEN)
    builder.commit({"Templates/Swift/a": "d\n"}, "Add async project template", author=BEN)
    builder.commit({"packages/lib/bread-oven.js": "1\n"}, "Refactor into packages", author=BEN)
    builder.commit({"bake.h": "#define bake z_bake\n", "Bake.java": "class Bake {\n  int port = -1;\n}\n"}, "Bake")
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("who last changed Package.swift", "Templates/Swift"),
        ("when was each() added", "LICENSE"),
        ("who added the bread oven?", "Ben"),
        ("When was the project template added?", "async"),
        ("which file implements bake", "bake.h"),
        ("what's the default port", "`-1`"),
    ],
)
def test_a_commit_or_a_line_of_something_else_is_not_stated(bakery: LocalEngine, question: str, text: str) -> None:
    assert text not in lead_of(bakery, question).partition("Most relevant:")[0]


@pytest.fixture(scope="module")
def dairy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    root = tmp_path_factory.mktemp("dairy")
    builder = RepositoryBuilder(root / "dairy")
    builder.commit(
        {
            "rebar.config": (
                '{deps, [{churn, "1.8.0"}]}.\n{post_hooks, [{"win32", run, "copy \\"%DIR%/bin\\" ./"}]}.\n'
                '{profiles, [{test, [{deps, [{curd, "0.8.13"}]}]}]}.\n'
            ),
            "Churn.swift": "func turn() {\n  let resolver = Resolver()\n}\n",
            "types/dairy.d.ts": "export interface Dairy {\n  milkLogger(app: string): void;\n}\n",
            "lib/file.js": "class Sink {\n  constructor(file, maxLogSize) {\n    this.currentSize = 0;\n  }\n}\n",
        },
        "Start",
    )
    engine = open_engine([root], index=root / "index", workers=1)
    yield engine
    engine.close()


def test_a_sign_of_comments_in_a_text_begins_none(dairy: LocalEngine) -> None:
    assert "`curd` `0.8.13` (profile test)" in lead_of(dairy, "Does it depend on curd?")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("where's the milk logger", "dairy.d.ts"),
        ("which file implements the resolver", "Churn.swift"),
        ("default max log size for the file sink?", "currentSize"),
    ],
)
def test_a_value_or_a_place_of_something_near_is_not_stated(dairy: LocalEngine, question: str, text: str) -> None:
    assert text not in lead_of(dairy, question).partition("Most relevant:")[0]
