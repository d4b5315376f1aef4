"""Finds the text in a call that a cursor stands in: ``code.search("repo:re|``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPENING = re.compile(r"(?P<prefix>[rbfuRBFU]{0,2})(?P<quote>\"\"\"|'''|\"|')")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*$")
_CLOSING = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class Literal:
    """A string that is not closed yet: the call it is an argument of, where it stands there, and its text so far.

    `callee` is a dotted name; `argument` the parameter's name if it is given, else its position from 0 as text;
    `in_value` tells whether it is the value of a mapping, or an item of a list, within that argument.
    """

    callee: str
    argument: str
    text: str
    quote: str
    raw: bool


@dataclass(slots=True)
class _Bracket:
    sign: str
    callee: str
    commas: int = 0


def literal_at(code: str) -> Literal | None:
    """The string that `code` ends in, if it is an argument of a call; None elsewhere, in comments too."""
    open_: list[_Bracket] = []
    at = 0
    while at < len(code):
        found = _OPENING.match(code, at)
        if found and (at == 0 or not (code[at - 1].isalnum() or code[at - 1] == "_")):
            raw = "r" in found["prefix"].lower()
            end = _end(code, found.end(), found["quote"])
            if end < 0:
                if "b" in found["prefix"].lower():
                    return None
                return _literal(code, at, open_, code[found.end() :], found["quote"], raw=raw)
            at = end
            continue
        char = code[at]
        if char == "#":
            newline = code.find("\n", at)
            if newline < 0:
                return None
            at = newline
        elif char in "([{":
            name = _NAME.search(code, 0, at) if char == "(" else None
            open_.append(_Bracket(char, re.sub(r"\s", "", name[0]) if name else ""))
        elif char in _CLOSING:
            while open_ and open_.pop().sign != _CLOSING[char]:
                pass
        elif char == "," and open_:
            open_[-1].commas += 1
        elif char == "\n" and not open_:
            pass
        at += 1
    return None


def _end(code: str, at: int, quote: str) -> int:
    """Where a string ends, behind its last quote; -1 when it does not; a short one ends with its line."""
    while at < len(code):
        if code[at] == "\\":
            at += 2
        elif code.startswith(quote, at):
            return at + len(quote)
        elif code[at] == "\n" and len(quote) == 1:
            return at
        else:
            at += 1
    return -1


def _literal(code: str, at: int, open_: list[_Bracket], text: str, quote: str, *, raw: bool) -> Literal | None:
    inner = [bracket for bracket in open_ if bracket.sign == "("]
    if not inner or not inner[-1].callee:
        return None
    call = inner[-1]
    if open_[-1].sign == "{" and not re.search(r":\s*$", code[:at]):
        return None
    named = re.search(r"([A-Za-z_]\w*)\s*=\s*$", code[:at]) if open_[-1] is call else None
    return Literal(call.callee, named[1] if named else str(call.commas), text, quote, raw)


def decoded(text: str, *, raw: bool) -> str:
    """What the text of a literal stands for, as far as queries need it."""
    return text if raw else re.sub(r"\\([\\\"'])", r"\1", text)


def written(text: str, quote: str, *, raw: bool) -> str | None:
    """`text` as it must be written in such a literal; None when it can't be."""
    if raw:
        return None if quote in text or text.endswith("\\") else text
    escaped = text.replace("\\", "\\\\")
    return escaped if len(quote) == 3 and quote not in escaped else escaped.replace(quote[0], f"\\{quote[0]}")
