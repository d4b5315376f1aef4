"""Regular expressions of RE2's syntax, drawn so that they match the generated texts as often as not."""

from __future__ import annotations

import re
from random import Random

import re2

from oracles import texts

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False
CLASSES = (
    r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "[a-z]", "[A-Z]", "[^a-z]", "[^x]",
    r"[^\n]", r"[^\s]", r"[\w-]", r"[\d.]",
    "[[:alpha:]]", "[[:^alpha:]]", "[[:space:]]", "[[:punct:]]", r"\pL", r"\PL", r"\p{Lu}", r"\p{Greek}", r"[\pN_]",
    ".", "[)]", "[^)]", "[(]", "[]]", "[^]a]", r"[\]]", r"[\\]", "[^\u00e9]", "[\u00e0-\u00ff]", "[k]",
    "[s-t]", "[^k]", "[ -~]",
    r"[\x00-\x7f]", r"[^\x00-\x7f]", r"[\r\n]", r"[ \t]", "[#-/]", "[^/]",
)  # fmt: skip
ANCHORS = ("^", "$", r"\b", r"\B", "^", "$", r"\A", r"\z", "(?m:^)", "(?-m:$)", "(?-m:^)")
REPEATS = ("*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,2}?")
FLAGS = ("(?i)", "(?s)", "(?U)", "(?-i)", "(?is)", "(?i-s)", "(?m)", "(?-m)")


def quoted(character: str) -> str:
    """One character as an expression that means it."""
    if character == "\n":
        return r"\n"
    if character == "\t":
        return r"\t"
    if ord(character) < 32 or ord(character) == 127:
        return f"\\x{ord(character):02x}"
    if character.isascii() and not character.isalnum() and character != "_":
        return f"\\{character}" if character not in " /\"'<>%&,;:=@`~!#-" else character
    return character


def compiles(expression: str) -> bool:
    """Whether RE2 takes an expression."""
    try:
        re2.compile(expression.encode(), _OPTIONS)
    except (re2.error, UnicodeEncodeError):
        return False
    return True


def is_empty_match(expression: str) -> bool:
    """Whether an expression matches a text of nothing."""
    return re2.compile(b"(?m)" + expression.encode(), _OPTIONS).search(b"") is not None


def expression(rng: Random, samples: list[str]) -> str:
    """An expression that RE2 takes; `samples` are texts from which most are derived."""
    while True:
        drawing = (
            _derived(rng, rng.choice(samples)) if samples and rng.random() < 0.65 else _node(rng, rng.randint(0, 3))
        )
        if rng.random() < 0.12:
            drawing = rng.choice(FLAGS) + drawing
        if drawing.strip() and compiles(drawing) and re.search(r"\S", drawing):
            return drawing


def literal(rng: Random, samples: list[str]) -> str:
    """A text that is looked for as it is: a word, or a piece of a sample."""
    while True:
        if rng.random() < 0.3 or not samples:
            drawing = rng.choice(texts.WORDS)
        else:
            sample = rng.choice(samples)
            position = rng.randrange(len(sample) + 1)
            drawing = sample[position : position + rng.choice((1, 2, 3, 4, 5, 8, 12))]
        if rng.random() < 0.15:
            drawing = drawing.swapcase()
        drawing = drawing.replace("\0", "").replace("\ufffd", "")
        if drawing.strip():
            return drawing


def _derived(rng: Random, sample: str) -> str:
    position = rng.randrange(len(sample) + 1)
    block = sample[position : position + rng.choice((1, 2, 3, 4, 6, 9))]
    anchors = rng.random() < 0.5
    out = []
    if anchors and (position == 0 or sample[position - 1] == "\n" or rng.random() < 0.2):
        out.append(rng.choice(("^", "^", "^", r"\b", r"^\s*", "^ *")))
    previous = ""
    for character in block:
        token = _token(rng, character)
        if token.endswith(("+", "*")) and token == previous:
            continue
        out.append(token)
        previous = token
    end = position + len(block)
    if anchors and (end >= len(sample) or sample[end] == "\n" or rng.random() < 0.2):
        out.append(rng.choice(("$", "$", "$", r"\b", r"\s*$", r"\r?$", " *$")))
    drawing = "".join(out)
    if rng.random() < 0.15:
        drawing = f"{rng.choice(('(?:', '(', '(?P<n>'))}{drawing}|{_node(rng, 1)})"
    return drawing


def _token(rng: Random, character: str) -> str:  # noqa: PLR0911 - a table of chances
    roll = rng.random()
    token = quoted(character)
    if roll < 0.55:
        return token
    if roll < 0.62:
        return token + rng.choice(REPEATS)
    if roll < 0.72:
        kinds = (
            [r"\w", r"\w+"] if character.isascii() and (character.isalnum() or character == "_") else [r"\W", r"\W*"]
        )
        kinds += [r"\s", r"\s+", r"\s*"] if character in " \t\n\r\f" else [r"\S", r"\S+", r"[^\s]"]
        return rng.choice([*kinds, r"\d" if character in "0123456789" else r"\D"])
    if roll < 0.8:
        return "." if character != "\n" else r"[^x]"
    if roll < 0.86:
        other = quoted(rng.choice(texts.WORDS)[0])
        return f"(?:{token}|{other})" if rng.random() < 0.5 else f"[{token}{other}]"
    if roll < 0.9:
        return f"(?i:{quoted(character.swapcase()[0])})"
    if roll < 0.95:
        return rng.choice((".*", ".*?", r"[^\n]*", r"\S*", r"\s*", r"[^)]*"))
    return token + rng.choice(("?", "*", r"\b", r"\B", "$", "^", "()"))


def _node(rng: Random, depth: int) -> str:
    if depth <= 0:
        return _leaf(rng)
    kind = rng.randrange(8)
    if kind <= 3:
        return "".join(_node(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    if kind == 4:
        options = "|".join(_node(rng, depth - 1) for _ in range(rng.randint(2, 3)))
        return f"{rng.choice(('(', '(?:', '(?i:', '(?s:'))}{options})"
    if kind == 5:
        return f"(?:{_node(rng, depth - 1)}){rng.choice(REPEATS)}"
    if kind == 6:
        return rng.choice(ANCHORS) + _node(rng, depth - 1)
    return _node(rng, depth - 1) + rng.choice(ANCHORS)


def _leaf(rng: Random) -> str:
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(CLASSES) + (rng.choice(REPEATS) if rng.random() < 0.4 else "")
    if roll < 0.8:
        word = rng.choice(texts.WORDS)
        return "".join(quoted(character) for character in word[: rng.randint(1, 4)])
    if roll < 0.9:
        return quoted(rng.choice("ksKS x1\n\t.{")) + (rng.choice(REPEATS) if rng.random() < 0.5 else "")
    return rng.choice(ANCHORS)
