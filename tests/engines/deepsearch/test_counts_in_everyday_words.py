"""Counts in everyday wording: parts of a project that are directories, ends of names, and questions for no number."""

from __future__ import annotations

import pytest

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

FILES: dict[str | bytes, str | bytes | None] = {
    **{f"modules/{name}/build.gradle": "plugins {}\n" for name in ("kafka", "mysql", "redis")},
    **{f"modules/{name}/src/Main.java": "class Main {}\n" for name in ("kafka", "mysql", "redis")},
    "modules/docs/a.md": "text\n",
    **{f"charts/{name}/Chart.yaml": f"name: {name}\n" for name in ("web", "queue")},
    "charts/web/templates/a.yaml": "a: 1\n",
    **{f"plugins/{name}.py": "def run():\n    return 1\n" for name in ("a", "b", "c", "d")},
    "src/core/one.py": "LIVE_COUNT = 1\n",
    "src/core/two.py": "X = 2\n",
    "src/core/deep/three.py": "X = 3\n",
    "spec/a_spec.lua": "it('x')\n",
    "spec/deep/b_spec.lua": "it('y')\n",
    "spec/helper.lua": "return 1\n",
    "snapshots/x.snap": "x\n",
    "snapshots/y.snap": "y\n",
    "themes/dark/a.css": "a {}\n",
    "themes/dark/b.css": "a {}\n",
    "themes/light/a.css": "a {}\n",
    **{f"pkgs/{name}/pubspec.yaml": f"name: {name}\n" for name in ("shelf", "router", "proxy")},
    "lib/publish.rb": "class UIState\n  def publish\n    RabbitMQ.send\n  end\nend\n",
}


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    root = tmp_path_factory.mktemp("harbor")
    repo = RepositoryBuilder(root / "harbor")
    repo.commit(FILES, "Start")
    return open_engine([repo.path], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How many packages live under pkgs?", "**3** directories directly in `pkgs/` have a manifest of their own"),
        ("How many .py files are directly in src/core?", "**2** files in `src/core/*.py`"),
        ("How many py files right in src/core?", "**2** files in `src/core/*.py`"),
        ("How many tests (it blocks) are in spec/a_spec.lua?", "**1** test is defined in `spec/a_spec.lua`"),
        ('How many `it "..."` examples are in spec/a_spec.lua?', "**1** test is defined in `spec/a_spec.lua`"),
        (
            "How many modules are there in the modules directory?",
            "**3** directories directly in `modules/` have a manifest of their own (`build.gradle`); 1 more has none",
        ),
        (
            "How many charts does this repo contain under charts/?",
            "**2** directories directly in `charts/` have a manifest of their own (`Chart.yaml`)",
        ),
        ("How many plugins ship in the plugins directory?", "**4** files in `plugins/`"),
        ("How many modules sit directly in src/core?", "**2** files in `src/core/*.py`"),
        ("How many _spec.lua test files are there?", "**2** files in `**/*_spec.lua`"),
        ("How many insta snapshot files (.snap) are checked in?", "**2** files of `*.snap`"),
    ],
)
def test_everyday_counts(harbor: LocalEngine, question: str, start: str) -> None:
    assert research(harbor, question).text.startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "How many packages are in the themes directory?",
        "How many themes are in the themes directory?",
        "How often does publishing to `RabbitMQ` get retried on a closed connection?",
        "Which directories are searched for shared libraries of plugins?",
    ],
)
def test_no_number_is_said_of_another_question(harbor: LocalEngine, question: str) -> None:
    text = research(harbor, question).text
    assert not text.startswith(("**", "Without that"))
    assert "Without that" not in text
    assert "0 folders" not in text


@pytest.mark.parametrize("question", ["Where does struct UIState reside?", "Where does the class UIState belong?"])
def test_a_verb_of_the_question_is_no_absent_word(harbor: LocalEngine, question: str) -> None:
    assert not research(harbor, question).text.startswith("No searched file has")
