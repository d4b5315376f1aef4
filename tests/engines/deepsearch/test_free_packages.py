"""Questions for packages whose subject no form knows: what chooses a manifest, and what is then left unsaid."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import engine_with, research
from sourcelight.engines.deepsearch.question.lookups import read_lookup
from sourcelight.engines.execution import LocalEngine

FILES: dict[str | bytes, str | bytes | None] = {
    "package.json": '{\n  "name": "loom",\n  "dependencies": {\n    "needle": "^2.0.0",\n    "felt": "1.0.0"\n  },\n'
    '  "devDependencies": {\n    "bobbin": "^3.1.0",\n    "shears": "1.1.0"\n  }\n}\n',
    "parts/listener/package.json": '{\n  "name": "ear",\n  "dependencies": {\n    "felt": "2.5.0"\n  }\n}\n',
    "parts/listener/src/ear.js": "export const ear = 1;\n",
    "examples/weaver/package.json": '{\n  "name": "weaver",\n  "dependencies": {\n    "loops": "^4.0.0"\n  }\n}\n',
    ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - uses: mill/setup-yarn@v3\n",
    "src/index.js": "export const support = 1;\n",
}


@pytest.fixture(scope="module")
def loom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "loom", FILES)


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        # One version in all manifests needs no subject that is known.
        ("Which version of needle does the weaving machine reference?", "`package.json` lists `needle` `^2.0.0`"),
        ("Which version of needle ships with the desktop client?", "`package.json` lists `needle` `^2.0.0`"),
        ("Does package.json depend on needle, and in which version?", "`package.json` lists `needle` `^2.0.0`"),
        # A word that a directory is named by chooses one of two.
        ("Which version of felt does the fast listener need?", "`parts/listener/package.json` lists `felt` `2.5.0`"),
        ("Does the weaver example depend on loops?", "`examples/weaver/package.json` lists `loops` `^4.0.0`"),
        # A file that the question names, and an adjective of the list.
        (
            "Which version of felt is bundled in parts/listener/package.json?",
            "`parts/listener/package.json` lists `felt`",
        ),
        ("Is bobbin a dev-only dependency?", "Yes: `package.json` lists `bobbin` `^3.1.0` (devDependencies)"),
        # The purpose of a list is known.
        ("Which version of bobbin is a dev dependency?", "`package.json` lists `bobbin` `^3.1.0` (devDependencies)"),
        ("Is bobbin only used in development?", "Yes: `package.json` lists `bobbin` `^3.1.0` (devDependencies)"),
        ("Which version of setup-yarn does the CI workflow use?", "`.github/workflows/ci.yml` lists `mill/setup-yarn`"),
    ],
)
def test_a_subject_of_no_form_leaves_the_line_that_answers(loom: LocalEngine, question: str, lead: str) -> None:
    assert research(loom, question).text.startswith(lead)


@pytest.mark.parametrize(
    "question",
    [
        # Two versions, and no word that chooses one.
        "Which version of felt does the weaving machine need?",
        # Whether that part uses what another manifest lists is open.
        "Does the logger use bobbin?",
        "Does the weaving machine need loops?",
        # Another package of the list may need its own version.
        "Which version of needle does felt need?",
        # No "No" without a form: "support" isn't the package that is asked for.
        "Does the weaving machine include support for silk?",
        "Does the weaving machine use silk?",
        "Is the silk required to weave?",
    ],
)
def test_what_the_words_leave_open_is_not_said(loom: LocalEngine, question: str) -> None:
    lead = research(loom, question).text.split("\n\n")[0]
    assert not lead.startswith(("Yes", "`package.json`", "`parts", "No: "))


@pytest.mark.parametrize(
    ("question", "name", "asks", "group", "subject"),
    [
        ("Which Scala Native version does build with?", "Scala-Native", "version", "", ()),
        ("Does the test suite depend on the tasty package?", "tasty", "listed", "test", ()),
        (
            "what exact version of the `left-pad` library do our old examples use",
            "left-pad",
            "version",
            "",
            ("old", "examples"),
        ),
        ("Is hackney only used in tests?", "hackney", "use", "test", ()),
    ],
)
def test_words_of_a_free_question(question: str, name: str, asks: str, group: str, subject: tuple[str, ...]) -> None:
    lookup = read_lookup(question)
    assert lookup is not None
    assert lookup.is_free
    assert (lookup.name, lookup.asks, lookup.group, lookup.subject) == (name, asks, group, subject)


@pytest.mark.parametrize(
    "question",
    ["Which version is this?", "Is it required?", "Does it use a", "Which version of the is", "is the of needed"],
)
def test_a_question_without_a_package_is_none(question: str) -> None:
    lookup = read_lookup(question)
    assert lookup is None or not lookup.is_free
