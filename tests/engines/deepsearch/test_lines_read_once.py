"""What only looks like a call, a second value or a name in a line: messages, fallbacks, metadata and attributes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.passages import candidates
from sourcelight.engines.deepsearch.source.calls.bare_code import without_shell_texts
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

SHELL = """#!/bin/sh
# MILL_URL="https://mill.example" (required)
mill_send() {
  MILL_URL="${MILL_URL:-$(read_url MILL_URL)}"
  if [ -z "$MILL_URL" ]; then
    return 1
  fi
  save_url MILL_URL "$MILL_URL"
}

turn_wheel() {
  _debug "Calling: turn_wheel() '$1'"
}

stop_wheel() {
  echo "stop_wheel() stops"
}

run_mill() {
  stop_wheel "$1"
}

lift_sack() {
  trap "drop_sack" EXIT
  echo "$(drop_sack)"
}

drop_sack() {
  true
}
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder: Path = tmp_path_factory.mktemp("mill")
    repository = RepositoryBuilder(folder / "mill")
    repository.commit({"mill.sh": SHELL}, "Add a mill")
    return open_engine([repository.path], index=folder / "index", workers=1)


def test_the_message_of_a_shell_script_is_no_call(mill: LocalEngine) -> None:
    assert "is called by" not in lead_of(mill, "What calls turn_wheel?")
    sentence = lead_of(mill, "What calls stop_wheel?")
    assert "`run_mill`" in sentence
    assert "by `stop_wheel`" not in sentence
    assert "`lift_sack`" in lead_of(mill, "What calls drop_sack?")


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ('log "turn() $x"', 'log ""'),
        ("log 'turn()'", 'log ""'),
        ('x="$(turn)"', 'x="$(turn)"'),
        ('trap "turn" EXIT', 'trap "turn" EXIT'),
        ('sh -c "turn"', 'sh -c "turn"'),
        ('turn "a" "turn"', 'turn "" ""'),
    ],
)
def test_texts_that_a_shell_runs_stay(line: str, bare: str) -> None:
    assert without_shell_texts(line) == bare


def test_a_fallback_and_its_assignment_are_one_value(mill: LocalEngine) -> None:
    lead = lead_of(mill, "What is MILL_URL set to?")
    assert "several values" not in lead
    assert lead.startswith("The default of `MILL_URL` is `$(read_url MILL_URL)`, in `mill.sh`, line 4")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("(def ^{:dynamic true :private true} *wheel-size* nil)", "*wheel-size*"),
        ("(def ^:private ^:const wheel-size 5)", "wheel-size"),
        ("(defn ^String turn! [x])", "turn!"),
        ("(s/defn turn :- s/Int [x])", "turn"),
        ("(defmethod turn :slow [x])", "turn"),
        ("(turn ^{:dynamic true} x)", ""),
        ("let [<Literal>] wheelSize = 26", "wheelSize"),
        ('let [<Literal; Obsolete("x")>] wheelSize = 26', "wheelSize"),
        ("let mutable wheelSize = 26", "wheelSize"),
    ],
)
def test_the_name_is_behind_metadata_and_attributes(line: str, name: str) -> None:
    assert candidates.declared_name(line) == name


@pytest.mark.parametrize("part", ["(def ^{", "^:a ", "[<", "^{} ", "(def ", "^a", '"', "'", "trap ", " -c"])
def test_hostile_lines_take_linear_time(part: str) -> None:
    text = "(def " + part * 20_000
    began_at = time.process_time()
    candidates.declared_name(text)
    candidates.declared_name("let " + text)
    without_shell_texts(text[:1_000])
    assert time.process_time() - began_at < 2
