"""Files beside those that a question is about: helpers of a package, lists for development, docstrings below code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engines.deepsearch.asking import research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder


def _open(tmp_path: Path, files: Mapping[str, str]) -> LocalEngine:
    repo = RepositoryBuilder(tmp_path / "harbor")
    repo.commit(dict(files), "Build a harbor")
    return open_engine([repo.path], index=tmp_path / "index", workers=1)


def test_the_description_of_a_package_of_java_is_none_of_its_parts(tmp_path: Path) -> None:
    files = {
        f"src/cache/decorators/{name}.java": f"package cache.decorators;\n\nclass {name} {{\n}}\n"
        for name in ("A", "B", "C", "D")
    }
    files["src/cache/decorators/package-info.java"] = "/** Decorators of caches. */\npackage cache.decorators;\n"
    text = research(_open(tmp_path, files), "How many cache decorators are there?").text
    assert text.startswith("**4** files in `src/cache/decorators/*.java`, besides `package-info.java`")


def test_a_list_whose_name_ends_with_requirements_is_read(tmp_path: Path) -> None:
    files = {
        "setup.py": "from setuptools import setup\n\nsetup(name='harbor', install_requires=['tide>=1.3'])\n",
        "dev.requirements.txt": "buoy==4.0.1\n",
    }
    assert "buoy==4.0.1" in research(_open(tmp_path, files), "Which buoy version is pinned for development?").text


def test_a_docstring_below_the_head_of_a_function_begins_no_file(tmp_path: Path) -> None:
    gate = (
        "(ns harbor.gate\n  (:require [harbor.tide :as tide]))\n\n(defn wrap-lock\n"
        '  "Middleware that wraps the ferry in the lock of the gate."\n  [ferry]\n  (tide/hold ferry))\n'
    )
    files = {"src/harbor/gate.clj": gate, "src/harbor/tide.clj": "(ns harbor.tide)\n\n(defn hold [ferry] ferry)\n"}
    text = research(_open(tmp_path, files), "which file has the middleware that wraps the ferry in the lock?").text
    assert "begins with" not in text.split("\n\n")[0]
    assert "src/harbor/gate.clj" in text.split("\n\n", 2)[0] + text.split("\n\n", 2)[1]
