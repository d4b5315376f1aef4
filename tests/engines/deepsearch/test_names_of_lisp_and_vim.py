"""Names of Emacs Lisp, Clojure, Vim script and PowerShell: their definitions, values and callers."""

from __future__ import annotations

import time

import pytest

from engines.deepsearch.asking import lead_of
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.source.call_forms import has_call
from sourcelight.engines.deepsearch.source.values import lisp_value
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

ELISP = """;;; mill.el --- Grind -*- lexical-binding: t -*-
(defgroup mill nil "Grinding." :group 'tools)

(defcustom mill-max-sacks 200
  "How many sacks there may be.
When there are more, mill--turn is not called."
  :type 'natnum)

(defconst mill--no-grain "*no grain*")

(defvar mill-stones '("granite"
                      "basalt"))

;;;###autoload
(defun mill--turn (sack)
  "Turn.  See `mill--turn-back'."
  (message "mill--turn %s" sack))

(defun mill--turn-back (sack)
  ;; (mill--turn sack)
  (mill--turn sack))

(define-minor-mode mill-mode "Grind." :lighter " mill")
(defvar mill-last nil)
(defvar mill-queue nil)
(defgroup mill-grind nil "Grinding." :group 'mill)
(defun mill-grind (x)
  (setq mill-last x)
  (push x mill-queue))
(deflever mill-lever 3)
(cl-defun mill-stop (&key hard) hard)
"""
CLOJURE = """(ns mill.core)
(def ^:dynamic ^Character *grain* \\g)
(def ^{:dynamic true} *grain-size* 12)
(defn turn [] (println *grain-size*))
(def ^:dynamic *dry* true)
(defn wet! [] (alter-var-root #'*dry* (constantly false)))
"""
VIM = """let g:MillStones = get(g:, 'MillStones', 2)
let s:Mill = {}
" FUNCTION: s:Mill._turnBack() {{{1
function! s:Mill._turnBack()
  call self._turn(1)
endfunction
function! s:Mill._turn(x)
endfunction
let g:MillMap['x'] = 1
function! mill#Load(x)
  return s:Load(a:x)
endfunction
function! s:Load(x)
  return mill#Load(1)
endfunction
function! mill#Drop(x)
endfunction
call s:Drop(1)
"""
POWERSHELL = """function Get-MillStone([int]$Size = 3) {
    return 1
}
function Start-Mill {
    # Get-MillStone
    Write-Host "Get-MillStone"
    $stone = Get-MillStone 4
    return Get-MillStone -Size 2
}
Set-Alias gms Get-MillStone
"""


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """A repository with a file of each language."""
    root = tmp_path_factory.mktemp("names")
    repository = RepositoryBuilder(root / "mill")
    repository.commit(
        {"mill.el": ELISP, "src/mill/core.clj": CLOJURE, "plugin/mill.vim": VIM, "src/Mill.ps1": POWERSHELL},
        "Add the mill",
    )
    return open_engine([root], index=root / "index", workers=1)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Where is mill--turn-back defined?", "`mill--turn-back` is defined in `mill.el`, line 19, as a function"),
        ("Where is mill-stop defined?", "`mill-stop` is defined in `mill.el`, line 31"),
        ("Where is mill-grind defined?", "`mill-grind` is defined in `mill.el`, line 27, as a function"),
        ("Where is mill-lever defined?", "`mill-lever` is defined in `mill.el`, line 30 "),
        (
            "What is mill-last set to?",
            "`mill-last` is set to `nil`, in `mill.el`, line 24; other lines of the file set it",
        ),
        (
            "What is mill-queue set to?",
            "`mill-queue` is set to `nil`, in `mill.el`, line 25; other lines of the file set it",
        ),
        ("What is mill--no-grain?", '`mill--no-grain` is set to `"*no grain*"`, in `mill.el`, line 9'),
        ("What is mill-max-sacks set to?", "`mill-max-sacks` is set to `200`, in `mill.el`, line 4"),
        ("What is mill-stones?", '`mill-stones` is set to `\'("granite" "basalt")`, in `mill.el`, line 11'),
        ("What calls mill--turn?", "`mill--turn` is called by name in `mill--turn-back` (line 21 of `mill.el`)"),
        ("What is *grain*?", r"`*grain*` is set to `\g`, in `src/mill/core.clj`, line 2"),
        ("Where is s:Mill._turnBack defined?", "`s:Mill._turnBack` is defined in `plugin/mill.vim`, line 4"),
        ("What calls _turn?", "`_turn` is called by name in `s:Mill._turnBack` (line 5 of `plugin/mill.vim`)"),
        ("What calls mill#Load?", "`mill#Load` is called by name in `s:Load` (line 14 of `plugin/mill.vim`)"),
        ("What calls mill#Drop?", "No searched line has `mill#Drop` except its definition in `plugin/mill.vim`"),
        ("What's the default of MillStones?", "The default of `MillStones` is `2`, in `plugin/mill.vim`, line 1"),
        (
            "What is *dry* by default?",
            "`*dry*` is set to `true`, in `src/mill/core.clj`, line 5; other lines of the file set it, too",
        ),
        ("What is the default of g:MillStones?", "The default of `MillStones` is `2`, in `plugin/mill.vim`, line 1"),
        ("What is *grain-size* by default?", "`*grain-size*` is set to `12`, in `src/mill/core.clj`, line 3"),
        ("What is g:MillStones set to?", "`g:MillStones` is set to `get(g:, 'MillStones', 2)`"),
        (
            "What calls Get-MillStone?",
            "`Get-MillStone` is called by name in `Start-Mill` (line 7 and line 8 of `src/Mill.ps1`)",
        ),
    ],
)
def test_signs_are_part_of_a_name(mill: LocalEngine, question: str, text: str) -> None:
    """Two hyphens, stars, scopes and dots belong to the name, and its definition is found by the form of the line."""
    assert lead_of(mill, question).startswith(text), lead_of(mill, question)


def test_a_form_of_lisp_alone_is_a_call() -> None:
    """A name that another one begins with, a text, a comment and a quoted name are none."""
    assert has_call("  (mill--turn sack)", "mill--turn", "Emacs Lisp")
    assert not has_call("  (mill--turn-back sack)", "mill--turn", "Emacs Lisp")
    assert not has_call('  (message "(mill--turn)")', "mill--turn", "Emacs Lisp")
    assert not has_call("  x ; (mill--turn)", "mill--turn", "Emacs Lisp")
    assert not has_call("  (mapc #'mill--turn sacks)", "mill--turn", "Emacs Lisp")


def test_a_command_alone_is_a_call_in_powershell() -> None:
    """An argument, a longer name, a text and an alias are none."""
    assert has_call("    $x = get-millstone 4", "Get-MillStone", "PowerShell")
    assert has_call("    $y | Get-MillStone", "Get-MillStone", "PowerShell")
    assert not has_call("    Set-Alias gms Get-MillStone", "Get-MillStone", "PowerShell")
    assert not has_call("    Get-MillStones", "Get-MillStone", "PowerShell")
    assert not has_call('    Write-Host "Get-MillStone"', "Get-MillStone", "PowerShell")


def test_the_value_of_an_option_precedes_its_documentation() -> None:
    """A text behind the value of an option of Emacs is documentation, and one alone is the value of a variable."""
    assert lisp_value(['(defcustom a nil "Doc." :type t)'], "a", 1) is not None
    value = lisp_value(["(defcustom a", '  "x" "Doc.")'], "a", 1)
    assert value is not None
    assert value.text == '"x"'
    assert lisp_value(["(defvar a)"], "a", 1) is None
    assert lisp_value(['(setq b "', '(defvar a 1)")'], "a", 2) is None


def test_names_are_read_in_linear_time() -> None:
    """Text of repositories is hostile."""
    for line in ("(" * 50_000, "(defvar a " + "'" * 50_000, "(defvar a " + '"' * 50_000):
        start = time.process_time()
        lisp_value([line], "a", 1)
        has_call(line, "a", "Emacs Lisp")
        has_call(line, "a", "PowerShell")
        assert time.process_time() - start < 0.5
