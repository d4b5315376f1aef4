"""Defaults that code assigns, names in prose, and lists that name what they list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.lookups.initial_values import normal_words
from sourcelight.engines.deepsearch.question.lookups import Lookup, read_lookup
from sourcelight.engines.deepsearch.source.values import parameter_names, parameters_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

SERVER = """#define MAX_KEY_LENGTH 250
static void settings_init(void) {
    settings.port = 11311;
    settings.num_workers = 4;         /* N workers */
    settings.path = find_path();
}

void set_port(int port) {
    settings.port = 7;
}

void conn_new(conn *c) {
    c->depth = 3;
}
"""
SOCKETS = """/**
 * Listens.
 */
class SocketServer {
  /**
   * @param {Number} [options.idleTime=30] Seconds
   */
  constructor(options, callback) {
    options = {
      maxPayload: 100 * 1024,
      handler: callback,
      ...options
    };
    const other = { maxPayload: 5 };
  }
}
"""
APP = """class Relay {
  constructor(options) {
    this.proxyHeader = options.proxyHeader || 'X-Forwarded-For'
    this.relayDepth = options.relayDepth || measure()
  }

  /**
   * @return {String} what a relay is called
   */
  relayTitle() {
    return ''
  }

  /**
   * @brief Closes a relay for good.
   * @param {Number} code of the reason
   */
  closeRelay(code) {
  }
}
"""
LINK = """export function batchLink(opts) {
  const maxLinkLength = opts.maxLinkLength ?? 2083;
  return open(opts.retryCount, maxLinkLength);
}
"""
ERRORS = '''class LeakError(Exception):
    """Water is where none should be."""


def check_seal(seal):
    if seal.wet:
        raise LeakError("wet")
'''
HEADER = """#if defined(WIRE_FAST)
#  define WIRE_STEP 2
#endif
int wire_step(int from) {
  return from + WIRE_STEP;
}
"""
BUFFERS = """package wire

const defaultReadBufferSize = 4096

const HTTPReadTimeout = 10
const ReadTimeout = 20
"""
TOOL = """def register(core):
    core.add_config(
        keys=["skip_missing", "skip"],
        default=False,
        desc="skip",
    )


LIMIT = _LIMIT_OF_ITEMS
_LIMIT_OF_ITEMS = 12
"""
STUBS = "class Logger:\n    def bind(self) -> None: ...\n    def patch(self) -> None: ...\n"
LOGGER = '''class Logger:
    def bind(self):
        """Attach values to a record."""
        return self

    def patch(self):
        """Change a record by a function."""
        return self
'''
HEIRS = "public class Name implements Comparable<Name> {\n  public Name(int size) {\n  }\n}\n"
LABEL = "public class Label {\n  public Label(String text) {\n  }\n}\n"
POINT = "pub trait Shape {}\npub struct Dot;\nimpl Shape for Dot {}\n"
KEYS = """NAMES = [
    "DEPTH_LIMIT",
    "OTHER",
]


def limit_depth(settings):
    return settings.getint("DEPTH_LIMIT")
"""


ENVIRONMENT = """import os

MIN_LINES = 2
COLORS = "WIRE_COLOR" in os.environ
PORT = os.environ.get("WIRE_PORT", "1")


def env_of(key, default=None):
    return os.environ[key] if key in os.environ else default


def all_of(prefix):
    for name in os.environ:
        yield os.environ[name]


LEVEL = env_of("WIRE_LEVEL", 3)
CI = env_of("WIRE_CI")
"""


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("wire")
    repo = RepositoryBuilder(root / "wire")
    repo.commit(
        {
            "server.c": SERVER,
            "lib/sockets.js": SOCKETS,
            "lib/relay.js": APP,
            "lib/link.js": LINK,
            "errors.py": ERRORS,
            "step.h": HEADER,
            "packages/core/package.json": '{"dependencies": {"qs": "^6.0"}}\n',
            "buffers.go": BUFFERS,
            "tool.py": TOOL,
            "logger.pyi": STUBS,
            "logger.py": LOGGER,
            "Name.java": HEIRS,
            "Label.java": LABEL,
            "shape.rs": POINT,
            "keys.py": KEYS,
            "env.py": ENVIRONMENT,
            "pyproject.toml": "[tool.lint]\nmax-width = 90\n\n[tool.other]\nmax-width = 1\n",
        },
        "Build wires",
    )
    return open_engine([repo.path], index=root / "index", workers=1)


STATED = [
    ("What is the default port of wire?", ["`settings.port` is set to `11311`", "(in `settings_init`)"]),
    ("What is the default number of workers in wire?", ["`settings.num_workers` is set to `4`"]),
    ("What is the maximum key length?", ["`MAX_KEY_LENGTH` is set to `250`"]),
    ("What is the default read buffer size in acme/wire?", ["`defaultReadBufferSize` is set to `4096`"]),
    ("What is the default maxPayload of the wire SocketServer?", ["is set to `100 * 1024`", "sockets.js`, line 10"]),
    ("What is the default idleTime of SocketServer?", ["documentation says that the default of `idleTime` is `30`"]),
    ("What is the default value of proxyHeader?", ["`proxyHeader` is `'X-Forwarded-For'`", "relay.js`, line 3"]),
    ("What does closeRelay do?", ["`closeRelay` is a method in `lib/relay.js`, line 18: “Closes a relay for good.”"]),
    ("What is the default of skip_missing?", ["The default of `skip_missing` is `False`, in `tool.py`"]),
    ("What is the value of LIMIT?", ["is set to `_LIMIT_OF_ITEMS`", "`_LIMIT_OF_ITEMS` is set to `12` in"]),
    ("Which file defines the Logger class?", ["`Logger` is defined in `logger.py`, line 1"]),
    ("What is the difference between bind and patch?", ["`bind` is a method in `logger.py`", "“Change a record"]),
    (
        "Which classes implement Comparable?",
        ["**1** class names `Comparable` as a base in its declaration: `Name`", "#L1"],
    ),
    ("Which structs implement Shape?", ["`Dot`", "shape.rs#L3"]),
    ("Where is the setting DEPTH_LIMIT read?", ["in `limit_depth` of `keys.py`, line 8"]),
    ("Where is the Shape trait defined?", ["as a trait"]),
    ("What does the bind method do?", ["`bind` is a method in `logger.py`, line 2: “Attach values to a record.”"]),
    ("What parameters does register take?", ["`register` has the parameter `core`, in `tool.py`, line 1"]),
    ("What is the minimum number of lines by default?", ["`MIN_LINES` is set to `2`"]),
    (
        "Which environment variables does wire read?",
        ["these environment", "`WIRE_CI`, `WIRE_COLOR`, `WIRE_LEVEL` and `WIRE_PORT`; other reads use names that no"],
    ),
    (
        "What is the default value of maxLinkLength in batchLink?",
        ["`maxLinkLength` of `batchLink` is `2083`", "link.js`, line 2"],
    ),
    ("Where is LeakError raised?", ["`LeakError` is raised by name on 1 line of 1 file: `check_seal` of `errors.py`"]),
    ("Which environment variable sets the wire port?", ["`WIRE_PORT` is read from the environment in `env.py`"]),
    ("How do I change the wire level from an environment variable?", ["`WIRE_LEVEL` is read from the environment"]),
    ("Does the core package depend on qs?", ["Yes: `packages/core/package.json` lists `qs` `^6.0`"]),
    ("Does the core package depend on lodash?", ["No: `packages/core/package.json` does not list `lodash`"]),
    ("Where is the Frobnicator class?", ["No searched file has `Frobnicator`"]),
    ("Where's the LeakError class?", ["`LeakError` is defined in `errors.py`, line 1, as a class"]),
    ("What is the max-width of lint set to?", ["`lint.max-width` is set to `90`"]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "parts"), STATED)
def test_the_first_sentence_states_what_a_line_assigns(wire: LocalEngine, question: str, parts: list[str]) -> None:
    answer = research(wire, question)
    lead = re.sub(r"\\([_*])", r"\1", answer.text.split("\n\n")[0])
    for part in parts:
        assert part in lead, answer.text
    assert answer.finished.rejected == ()


@pytest.mark.parametrize(
    "question",
    [
        "What is the default depth of wire?",  # set where a connection is made, to whatever is right there
        "What is the default path of wire?",  # a call, whose value no line has
        "What is the default handler of SocketServer?",
        "What is the default relayDepth?",  # a call replaces an absent option
        "What is the default retryCount of batchLink?",  # a member of its options, which is no parameter
        "What throws batchLink?",
        "Which environment variable sets the wire?",  # the names of several have the word
        "Which classes implement Runnable?",  # none says so, which proves nothing
    ],
)
def test_what_may_be_something_else_is_not_stated(wire: LocalEngine, question: str) -> None:
    assert research(wire, question).text.startswith(("Most relevant", "No direct answer", "No searched file has"))


def test_a_tag_of_a_comment_is_no_description(wire: LocalEngine) -> None:
    assert "“@return" not in research(wire, "What does relayTitle do?").text


def test_a_directive_of_the_preprocessor_is_no_description(wire: LocalEngine) -> None:
    assert "“define" not in research(wire, "What does wire_step do?").text


def test_dependencies_are_those_of_the_package_and_not_of_its_documents(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "reed")
    manifest = '[project]\nname = "reed"\ndependencies = ["idna"]\n\n[build-system]\nrequires = ["hatchling"]\n'
    repo.commit({"docs-requirements.in": "sphinx\n", "pyproject.toml": manifest}, "Plant reed")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "What does reed depend on?")
    assert answer.text.startswith("`pyproject.toml` lists 1 dependency: `idna`"), answer.text


def test_of_two_long_docstrings_the_first_paragraphs_are_quoted(tmp_path: Path) -> None:
    functions = [
        f'def {name}(seconds):\n    """{title} after some seconds.\n\n' + "    Raises\n" * 14 + '    """\n'
        for name, title in (("stop_after", "Stop"), ("fail_after", "Fail"))
    ]
    repo = RepositoryBuilder(tmp_path / "reed")
    repo.commit({"limits.py": "\n\n".join(functions), "MockJUnit.java": "class MockJUnit {}\n", "tests/run.py": "\n"})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    text = research(engine, "What is the difference between stop_after and fail_after?").text
    assert "Stop after some seconds." in text
    assert "Raises" not in text
    # `JUnit` doesn't end with `IT`, although filters of files ignore case.
    assert research(engine, "How many test files are there?").text.startswith(
        "**1** file of code in directories of tests"
    )


def test_a_runtime_is_asked_for_with_a_pronoun_too() -> None:
    assert read_lookup("Which minimum Rust version does it need?") == Lookup("runtime", "rust")


def test_a_verb_that_no_file_has_is_not_called_absent(wire: LocalEngine) -> None:
    assert "`chosen`" not in research(wire, "How is the proxy header chosen?").text.split("\n\n")[0]


def test_absent_is_what_no_line_has_also_within_other_words(wire: LocalEngine) -> None:
    assert "`num_work`" not in research(wire, "How is `num_work` set?").text.split("\n\n")[0]
    assert research(wire, "Does wire support HTTP/9?").text.startswith(
        "No searched file has `HTTP/9`: no line and no path"
    )


def test_a_constructor_is_no_second_thing_of_the_name_of_its_class(wire: LocalEngine) -> None:
    text = research(wire, "What is the difference between Name and Label?").text
    assert text.startswith("`Name` is a class in `Name.java`, line 1; `Label` is a class in `Label.java`, line 1")


def test_the_default_of_a_count_is_no_number_of_things(wire: LocalEngine) -> None:
    assert "can't be counted" not in research(wire, "What is the default of count in register?").text


def test_a_name_that_was_not_applied_leaves_no_number(wire: LocalEngine) -> None:
    answer = research(wire, "How many functions in server.c are called by `zzz_loop`?")
    assert "**" not in answer.text.split("\n\n")[0]


@pytest.mark.parametrize(
    ("path", "head", "names"),
    [
        ("a.go", "f(closeCode int, text string)", ["closeCode", "text"]),
        ("a.go", "f(a, b int, rest ...string)", ["a", "b", "rest"]),
        ("a.go", "f(int, string)", None),
        ("a.c", "f(const char *name, int **out, char buffer[])", ["name", "out", "buffer"]),
        ("a.c", "f(void)", []),
        ("a.c", "f(int (*callback)(int), void *data)", None),
        ("a.c", "f(int, char *)", None),
        ("A.java", "f(final Map<String, List<Integer>> map, String... rest)", ["map", "rest"]),
        ("a.cpp", "f(const std::string& name, std::vector<int> items = {})", ["name", "items"]),
        ("a.rs", "f(&self, mut count: usize, name: &str)", ["count", "name"]),
        ("a.ts", "f(first?: string, { a, b }: Options = {})", None),
        ("a.ts", "f(first?: string, second: Map<string, number> = new Map())", ["first", "second"]),
        ("a.py", "f(self, a, /, b=1, *args, key: int = 2, **rest)", ["a", "b", "args", "key", "rest"]),
        ("a.rb", "f(a, b = nil, *rest, key: 1, &block)", ["a", "b", "rest", "key", "block"]),
        ("a.js", "f(options, callback)", ["options", "callback"]),
    ],
)
def test_names_of_parameters_are_those_of_the_language(path: str, head: str, names: list[str] | None) -> None:
    read = parameters_of([head], "f", 1, path)
    assert read is not None
    assert parameter_names(read[0], path) == names


def test_a_call_in_a_comment_is_none(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "ruby")
    comment = "  # Example:\n  #   boil_water(3)\n"
    code = f"module Kettle\n{comment}  def boil_water(cups)\n  end\n\n  def brew\n    boil_water(2)\n  end\nend\n"
    repo.commit({"kettle.rb": code}, "Boil")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert "is called by `brew` (1 call in 1 file)" in research(engine, "What calls boil_water?").text


def test_words_of_names_and_of_prose_meet() -> None:
    assert normal_words("num_threads") == normal_words("number of threads") == normal_words("threadCount")
    assert normal_words("DEFAULT_READ_TIMEOUT_SECS") == normal_words("default read timeout seconds")
