"""What growth must not undo: sizes, names, cycles and the cost of a small query stay within these limits.

A limit is what was reached. Lower it when the package gets better; raise it with a reason only.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import structure  # noqa: E402 - a script, not a module of the package

FOLDERS = tuple(ROOT / name for name in ("src", "tests", "benchmarks", "scripts"))

SHORT_MODULES = {
    "client.blocking_searches": "loads no tools, which `Client` does",
    "core.batches.git_names": "git quotes names in histories and patches too, which have no fenced text",
    "core.extras": "what is installed, for rooms from core to lab",
    "core.patterns.formula": "loads no scanner, so that a plan needs none",
    "core.answer_size": "settings and options are checked against it before tools load",
    "display.frames.list_dtype": "loads pandas when it is imported, which its neighbours don't",
    "engines.deepsearch.steps": "the steps that workers of a cluster run, above all that they call",
    "engines.navigation.navigator": "joins languages, indexes of compilers and the workspace",
    "repos.file_locks": "a lock between processes, for indexes, mirrors and the log of a service",
    "repos.viewer": "decides who may see what, for a service that has not loaded repositories yet",
    "server.http.listener": "listens before the framework loads",
}
"""Modules below 80 lines, with the reason why each is no part of another. Others have a neighbor to live in."""

SMALL_BEGINNINGS = ("engines.navigation.languages.", "lab.plots.")
"""Rooms in which a recipe of CONTRIBUTING.md begins a module, for a language or a kind of chart, which may be small."""

LONG_MODULES = {
    # Tables, and lists of what one thing can be.
    "core.errors": "all errors, so that one table restores them by name",
    "core.query.language_table": "a table: one language a line",
    "engines.deepsearch.facts.unparsed_definitions": "the forms of definitions, a line or two for each language",
    "engines.execution.advice.proposals": "all proposals to change a query, in the order in which they are tried",
    # One grammar, language or file format each.
    "engines.history.search.tables": "columns of commits and changed lines as record batches",
    "engines.navigation.languages.c": "C and C++",
    "engines.navigation.languages.go.inference": "types of Go expressions",
    "engines.navigation.languages.python.inference": "types of Python expressions",
    "engines.navigation.languages.rust.rules": "Rust",
    "engines.navigation.languages.typescript.inference": "types of TypeScript expressions",
    "engines.search.index.build": "the steps of one build, in the order that a crash must not break",
    # One class each: its methods share state.
    "client.methods.conversations": "one method a tool, documented; the awaited and the blocking form",
    "client.methods.navigation": "one method a tool, documented; the awaited and the blocking form",
    "client.search.result": "`SearchResult`, a public class",
    "engines.deepsearch.conversations.service": "`ConversationService`: who may do what with a conversation",
    "engines.history.blame.lineage": "the replay of one history, which updates the same arrays in each step",
    "engines.history.history": "columns of one mapped history, which refer to each other by row",
    "engines.search.scan.corpus": "`Corpus`: the numbers of files, documents and units over all shards",
    "engines.search.scan.evaluate": "one query over a corpus, from candidates to spans",
    "engines.search.store": "`IndexStore`: one folder, whose locks and caches all its methods share",
}
"""Modules above 400 lines without comments, with reasons. One that grows beyond has a second concept to leave it."""

DUPLICATE_CLASSES = {"And", "Or", "Scope"}
"""Nodes of the query language have positions, those of `core.boolean` have none; a scope is of a tool or of a query."""

MAX_ROOM = 15
"""Modules of a room, beside its `__init__` and the rooms in it: a list that is read at once."""

EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base"}

PROBES = {
    ("backends.cluster.transport.connections", "PollSelector"): "`selectors` has none on Windows",
    ("backends.remote.mcp.server_messages", "last_context"): "streams of the MCP SDK; others lack it",
    ("cli.app", "command_path"): "the command line's framework moves the class of its errors between versions",
    ("cli.app", "ctx"): "as `command_path`",
    ("cli.app", "format_message"): "as `command_path`",
    ("cli.app", "option_name"): "as `command_path`; errors of options alone have it",
    ("display.frames.sql", "attrs"): "tables of any library: those of pandas have them",
    ("display.frames.sql", "columns"): "tables of any library: a DataFrame of pandas, which may not be loaded",
    ("display.frames.sql", "index"): "as `columns`",
    ("display.frames.sql", "to_arrow"): "tables of any library: polars, and others with its method",
    ("display.frames.tables", "_from_fastpath"): "pandas may drop it; what is public then takes three times longer",
    ("display.notebook.cell_messages", "format_code_name"): "a shell of IPython, or of a front end that imitates it",
    ("display.notebook.cell_messages", "mode"): "as `format_code_name`",
    ("display.notebook.cell_messages", "user_ns"): "as `format_code_name`; there may be none",
    ("display.notebook.frame_views.cells", "tolist"): "a value of any column: arrays and scalars of numpy have it",
    ("engines.deepsearch.llm.researcher", "status_code"): "errors of whichever client a provider has",
    ("repos.state.database", "sqlite_errorcode"): "`sqlite3` sets it on errors of SQLite, not on its own",
}
"""Modules and names that `getattr` and `hasattr` ask for, all of objects of other packages, with reasons.

Objects of this package have ports and fields, which a type checker knows.
"""

MAX_PHRASES = 0
"""`_KNOWN_PHRASES` lists the words that are right in a module."""

ACROSS_ROOMS = {
    "attacks", "browser", "contract", "datasets", "docs", "faults", "frontends", "frozen", "notebooks", "oracles",
    "release",
}  # fmt: skip
"""Folders of tests about several rooms at once, or about what is outside of the package."""

OWN_ORDERS = {
    "engines.deepsearch.conversations.workers": "accounts that wait for a turn, in turn",
    "engines.search.open_index": "opened commits share shards and have two limits",
    "server.http.connections": "connections by the time of their last byte",
    "server.identity.fair_queue": "accounts that wait for a turn, in turn",
}
"""Modules with an `OrderedDict`, with the reason why it is no cache of `core.caching`."""

MIN_COMMENTS = {
    "": 2.45,
    "backends": 3.1,
    "backends.cluster": 4.3,
    "client": 1.7,
    "core": 2.0,
    "core.batches": 2.6,
    "core.patterns": 5.0,
    "engines.deepsearch.facts": 1.9,
    "engines.deepsearch.lookups": 1.5,
    "engines.execution": 2.9,
    "engines.history": 3.9,
    "engines.history.store": 6.0,
    "engines.navigation": 2.7,
    "engines.navigation.languages.typescript": 2.8,
    "engines.search": 3.4,
    "engines.search.index": 5.0,
    "engines.search.scan": 5.7,
    "engines.tools.history": 1.7,
    "lab": 1.4,
    "lab.reports": 1.6,
    "repos": 3.1,
    "server": 2.2,
    "server.identity": 4.0,
    "server.oauth": 3.6,
}
"""Percent of lines of a room (empty: the package). A comment that repeats the code is worse than none."""

MIN_REASONS = 2.9
"""Percent of lines of the package that are comments, or texts below constants and attributes."""


def test_names_of_classes_are_unique() -> None:
    assert set(structure.duplicate_classes()) <= DUPLICATE_CLASSES


def test_a_module_has_at_most_600_lines() -> None:
    assert {name: lines for name, lines in structure.sizes().items() if lines > 600} == {}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name for name in structure.sizes() if EMPTY_NAMES & set(name.split("."))] == []


def test_a_room_has_few_modules() -> None:
    counts = Counter(module.room for module in structure.modules() if not module.is_package)
    assert {room: count for room, count in counts.items() if count > MAX_ROOM} == {}


def test_few_modules_are_long() -> None:
    # Comments and blank lines between steps don't count: a module must not be split because somebody explained it.
    sizes = structure.sizes(comments=False)
    long = {name.removeprefix("sourcelight.") for name, lines in sizes.items() if lines > structure.MAX_LINES}
    assert long == set(LONG_MODULES)


def test_few_modules_are_short() -> None:
    sizes = {name.removeprefix("sourcelight."): lines for name, lines in structure.sizes().items()}
    short = {name for name, lines in sizes.items() if lines < structure.MIN_LINES}
    assert {name for name in short if not name.startswith(SMALL_BEGINNINGS)} == set(SHORT_MODULES)


def test_no_package_is_in_a_cycle() -> None:
    # Imports for type checkers count: what two modules say of each other can't be read in one order.
    assert structure.cycles() == []


def test_objects_are_not_asked_what_they_can_do() -> None:
    # Both ways: an entry that no code needs any more would allow a new probe.
    assert structure.probed_names() == set(PROBES)


def test_functions_are_named_by_verbs() -> None:
    assert structure.participles() == []


def test_data_is_named_by_nouns() -> None:
    assert [name for folder in FOLDERS for name in structure.odd_names(folder)] == []
    assert structure.stale_adjectives() == []


def test_limits_are_named_max_and_min() -> None:
    assert [name for folder in FOLDERS for name in structure.limit_names(folder)] == []


def test_folders_of_tests_are_named_after_rooms() -> None:
    tests = ROOT / "tests"
    folders = {file.parent.relative_to(tests) for file in tests.rglob("test_*.py")}
    rooms = {folder for folder in folders if not ACROSS_ROOMS.intersection(folder.parts)}
    assert [folder for folder in rooms if not (structure.SOURCE / "sourcelight" / folder).is_dir()] == []


def test_tests_use_the_public_interface() -> None:
    assert structure.private_names() == []


def test_caches_are_those_of_the_core() -> None:
    modules = {
        ".".join(file.relative_to(structure.ROOT / "src" / "sourcelight").with_suffix("").parts)
        for file in (structure.ROOT / "src" / "sourcelight").rglob("*.py")
        if "OrderedDict()" in file.read_text("utf-8")
    }
    assert modules == set(OWN_ORDERS)


def test_rooms_say_why() -> None:
    shares = {room: structure.comment_share(room) for room in MIN_COMMENTS}
    assert all(share >= MIN_COMMENTS[room] for room, share in shares.items()), shares
    # A limit or a table has its reason in the text below it, not in a comment.
    assert structure.comment_share(constants=True) >= MIN_REASONS


def test_summaries_name_the_thing() -> None:
    assert structure.question_summaries() == []


def test_summaries_of_functions_begin_with_a_verb() -> None:
    assert structure.fragments() == []


def test_texts_avoid_phrases_of_older_ones() -> None:
    assert len(phrases := structure.relapses()) <= MAX_PHRASES, phrases


def test_a_small_query_calls_few_functions() -> None:
    functions, modules, calls = structure.small_query()
    assert functions <= 350
    assert modules <= 64
    assert calls <= 650
