"""Whether a file imports a module, and which files do, in languages with a grammar and by the forms of lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engines.deepsearch.asking import engine_with, research
from sourcelight.engines.deepsearch.facts.declared.import_forms import imports_in
from sourcelight.engines.execution import LocalEngine

FILES: dict[str | bytes, str | bytes | None] = {
    "src/core.clj": "(ns mill.core\n  (:require [clojure.string :as str]\n            (mill [wheel :as w])))\n"
    ";; (require '[clojure.data :as d])\n",
    "src/Wheel.hs": "module Wheel where\n\nimport qualified Data.Map as M\n-- import Data.Set\n",
    "src/Gear.hs": "module Gear where\n\nimport Data.Map (Map)\nimport Data.MapOther\n",
    "src/wheel.c": '#include <stdio.h>\n#include "gear.h"\n/* #include "old.h" */\n',
    "src/app.py": "import json\nfrom mill import wheel\n\nNAME = 'requests'\n",
    "package.json": '{"name": "mill", "dependencies": {"left": "1.0.0"}}\n',
}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    yield from engine_with(tmp_path_factory, "mill", FILES)


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Does src/core.clj require clojure.string?", "Yes: `src/core.clj` imports `clojure.string`"),
        ("Does src/wheel.c include gear.h?", 'Yes: `src/wheel.c` imports `"gear.h"`'),
        ("Is json imported in src/app.py?", "Yes: `src/app.py` imports `json`"),
        ("Does src/app.py import numpy?", "No: no line of `src/app.py` has `numpy`"),
        ("Does src/wheel.c include math.h?", "No: no line of `src/wheel.c` has `math.h`"),
        ("Which modules import Data.Map?", "**2** files import `Data.Map`"),
        ("Who imports json?", "**1** file imports `json`"),
        # A manifest lists packages, and a name without an ending is one.
        ("Does `mill` depend on left?", "Yes: `package.json` lists `left` `1.0.0`"),
        ("Does package.json require left?", "Yes: `package.json` lists `left` `1.0.0`"),
    ],
)
def test_lines_that_import_a_module_answer(mill: LocalEngine, question: str, lead: str) -> None:
    assert research(mill, question).text.startswith(lead)


@pytest.mark.parametrize(
    "question",
    [
        # A comment, a text, a list of a prefix and a use without its name: neither yes nor no.
        "Does src/core.clj require clojure.data?",
        "Does src/core.clj require mill.wheel?",
        "Does src/wheel.c include old.h?",
        "Does src/app.py import requests?",
        "Does src/app.py use recursion?",
    ],
)
def test_neither_yes_nor_no_without_a_form(mill: LocalEngine, question: str) -> None:
    assert not research(mill, question).text.startswith(("Yes", "No:"))


@pytest.mark.parametrize(
    ("language", "text", "modules"),
    [
        (
            "Erlang",
            '-include_lib("kernel/include/file.hrl").\n-import(lists, [map/2]).',
            ["kernel/include/file.hrl", "lists"],
        ),
        ("F#", "open System.IO\nlet opened = 1", ["System.IO"]),
        ("Nim", "import std/os, strutils", ["std/os", "strutils"]),
        ("Julia", "using StatsBase, PDMats\nimport Base: size", ["StatsBase", "PDMats", "Base"]),
        ("PowerShell", "Import-Module -Name Pester\n. ./tools.ps1", ["Pester", "./tools.ps1"]),
        ("D", "public import std.array : array;", ["std.array"]),
        ("Fortran Free Form", "use, intrinsic :: iso_c_binding\nuser = 1", ["iso_c_binding"]),
        ("Starlark", 'load("//lib:dicts.bzl", "dicts")', ["//lib:dicts.bzl"]),
        ("Emacs Lisp", "(require 'cl-lib)", ["cl-lib"]),
        ("Brainfuck", "+++", None),
    ],
)
def test_forms_by_language(language: str, text: str, modules: list[str] | None) -> None:
    imports = imports_in(list(enumerate(text.splitlines(), 1)), language)
    assert (None if imports is None else [module.name for module in imports]) == modules
