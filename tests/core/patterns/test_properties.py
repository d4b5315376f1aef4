# ruff: noqa: FBT001  (hypothesis draws the flags)
"""Every analysis against google-re2 on generated patterns and text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import re2
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns import FOLD_HAZARDS, RequiredText, compile_pattern, lower_ascii, satisfies
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.ranges import BufferList
from sourcelight.core.patterns.required import drops_hazards
from sourcelight.core.patterns.syntax import literal_tree
from sourcelight.core.patterns.texts import owners_holding
from sourcelight.core.patterns.tree import literal_of, matches_newline, nullable

CHARS = [
    "a",
    "b",
    "A",
    "k",
    "K",
    "s",
    "S",
    "1",
    " ",
    "_",
    "-",
    "é",
    "É",
    "\u017f",
    "\u212a",
    "\u03c3",
    "\u03c2",
    "世",
    "😀",
    "/",
    "\t",
]
RAW = [*(c.encode() for c in CHARS), b"\xff", b"\xe2\x84", b"\xc3", b"\x00", b"\r\n", b"\n", b"\n", b"ab", b"kss"]
ATOMS = [
    *(c for c in CHARS),
    *(
        [
            r"\w",
            r"\W",
            r"\d",
            r"\D",
            r"\s",
            r"\S",
            r".",
            r"\pL",
            r"\PL",
            r"\p{Greek}",
            r"\p{^Lu}",
            r"[[:alpha:]]",
            r"[[:^alpha:]]",
            r"[a-k]",
            r"[^a-k]",
            r"[^\n]",
            r"[é-ü]",
            r"[^é]",
            r"\x41",
        ]
    ),
    *(
        [
            r"[\]a]",
            r"[]k]",
            r"[^]k]",
            r"[[:]",
            r"[a\-k]",
            r"[\d_]",
            r"[^\s\w]",
            r"\x{212a}",
            r"\x{1F600}",
            r"\101",
            r"\.",
            r"\/",
            r"\t",
            r"\n",
            r"\b",
            r"\B",
            r"^",
            r"$",
            r"\A",
            r"\z",
            r"\C",
        ]
    ),
    *(
        [
            r"(?i)",
            r"(?i:k)",
            r"(?-i:S)",
            r"(?s:.)",
            r"(?m:^)",
            r"(?-m:$)",
            r"(?U:a*)",
            r"\Qa.b\E",
            r"\Qk*",
            r"(?P<x>a)",
            r"(?:)",
            r"()",
            r"[kK\x{212a}]",
            r"{1",
            r"a{,2}",
        ]
    ),
]
REPEATS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1,}", "{0,2}", "{2,3}?", "{6,9}"]


def _fragments(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouped = inner.map(lambda s: f"({s})") | inner.map(lambda s: f"(?:{s})")
    repeated = st.tuples(grouped, st.sampled_from(REPEATS)).map("".join)
    return (
        repeated
        | st.lists(inner, min_size=1, max_size=4).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map("|".join)
    )


SOURCES = st.recursive(
    st.tuples(st.sampled_from(ATOMS), st.sampled_from(REPEATS)).map("".join), _fragments, max_leaves=8
) | st.text(st.sampled_from("ak\\QE[]^$()?:|*+{}1,2-iPsx.<>"), max_size=8)
TEXTS = st.lists(st.sampled_from(RAW), max_size=24).map(b"".join)


def _compiled(source: str, *, case_sensitive: bool, whole_text: bool = False) -> CompiledPattern:
    try:
        return compile_pattern.__wrapped__(source, kind="regexp", case_sensitive=case_sensitive, whole_text=whole_text)
    except PatternError:
        assume(False)
        raise


def _matches(pattern: CompiledPattern, text: bytes) -> bool:
    """Whether google-re2 finds a match in a text, which may be empty."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = pattern.case_sensitive
    source = pattern.text.encode()
    return re2.compile(source if pattern.whole_text else b"(?m)" + source, options).search(text) is not None


def _lines(text: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split(b"\n"):
        yield start, start + len(line)
        start += len(line) + 1


@settings(max_examples=400, deadline=None)
@given(SOURCES, TEXTS, st.booleans())
def test_no_analysis_excludes_a_true_match(source: str, text: bytes, case_sensitive: bool) -> None:
    pattern = _compiled(source, case_sensitive=case_sensitive)
    result = pattern.find_document(text)
    if result:
        hazard = pattern.needs_fold_check and any(mark in text for mark in FOLD_HAZARDS)
        assert hazard or satisfies(pattern.required, lower_ascii(text))
        assert pattern.required_as_written is None or satisfies(pattern.required_as_written, text)
    assert pattern.multi_line or not any(b"\n" in text[start:end] for start, end in result)
    if _matches(pattern, b""):
        assert pattern.matches_empty
    if pattern.literal is not None:
        assert all(text[start:end] == pattern.literal for start, end in result)
        assert len(result) == text.count(pattern.literal)


@settings(max_examples=400, deadline=None)
@given(SOURCES, st.lists(TEXTS, min_size=1, max_size=4), st.booleans())
def test_candidates_hold_every_line_or_document_that_matches(
    source: str,
    documents: list[bytes],
    case_sensitive: bool,
) -> None:
    pattern = _compiled(source, case_sensitive=case_sensitive)
    buffer = b"\n" + b"\n".join(documents) + b"\n"
    ends = np.cumsum([len(d) + 1 for d in documents]) + 1
    ranges = np.stack((np.concatenate(([1], ends[:-1])), ends), axis=1)
    selection = ranges[:: 2 if len(documents) > 2 else 1]
    # A document by itself ends before the newline that stands behind it; lines have theirs.
    offsets = pattern.lines(buffer, selection - np.array([0, 1]) if pattern.multi_line else selection).tolist()
    assert offsets == sorted(offsets)
    assert all(any(lower <= position < upper for lower, upper in selection.tolist()) for position in offsets)
    for lower, upper in selection.tolist():
        document = buffer[lower : upper - 1]
        if pattern.multi_line:
            if pattern.find_document(document):
                assert any(lower <= position < upper for position in offsets)
            continue
        for start, end in _lines(document):
            if pattern.find(document[start:end]):
                assert any(lower + start <= position <= lower + end for position in offsets)
        # Line by line and the whole document at once are the same thing for these patterns.
        by_line = [
            (s + start, e + start) for start, end in _lines(document) for s, e in pattern.find(document[start:end])
        ]
        assert pattern.matches_empty or by_line == pattern.find_document(document)


@settings(max_examples=300, deadline=None)
@given(SOURCES, TEXTS, st.booleans(), st.sampled_from([1, 70]))
def test_spans_are_those_of_google_re2(source: str, text: bytes, case_sensitive: bool, copies: int) -> None:
    pattern = _compiled(source, case_sensitive=case_sensitive)
    _check_spans(pattern, text, copies)


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from(CHARS), min_size=1, max_size=4), TEXTS, st.booleans(), st.sampled_from([1, 70]))
def test_spans_of_literals_are_those_of_google_re2(
    literal: str,
    text: bytes,
    case_sensitive: bool,
    copies: int,
) -> None:
    pattern = compile_pattern.__wrapped__(literal, kind="literal", case_sensitive=case_sensitive)
    _check_spans(pattern, text, copies)
    hazard = pattern.needs_fold_check and any(mark in text for mark in FOLD_HAZARDS)
    assert not pattern.find(text) or hazard or satisfies(pattern.required, lower_ascii(text))


def _check_spans(pattern: CompiledPattern, text: bytes, copies: int) -> None:
    lines = list(_lines(text))
    buffer = text * copies
    starts = np.array([start + len(text) * n for n in range(copies) for start, _ in lines])
    ends = np.array([end + len(text) * n for n in range(copies) for _, end in lines])
    rows, lows, highs = pattern.spans(buffer, starts, ends)
    once = [
        (row, lower, upper) for row, (start, end) in enumerate(lines) for lower, upper in pattern.find(text[start:end])
    ]
    expected = [(row + len(lines) * n, lower, upper) for n in range(copies) for row, lower, upper in once]
    assert list(zip(rows.tolist(), lows.tolist(), highs.tolist(), strict=True)) == expected


@settings(max_examples=250, deadline=None)
@given(SOURCES, st.lists(TEXTS, max_size=5), st.booleans(), st.sampled_from([1, 30]), st.booleans())
def test_match_many_says_for_each_path_what_google_re2_says(
    source: str,
    paths: list[bytes],
    case_sensitive: bool,
    copies: int,
    tidy: bool,
) -> None:
    pattern = _compiled(source, case_sensitive=case_sensitive, whole_text=True)
    paths = [path.replace(b"\n", b"/") for path in paths] if tidy else paths
    expected = [_matches(pattern, path) for path in paths] * copies
    paths *= copies
    sizes = np.array([len(path) for path in paths], dtype=np.int64)
    starts = np.cumsum(sizes + 1) - sizes - 1
    mask = pattern.match_many(b"\n".join(paths) + b"\n", starts, starts + sizes)
    assert mask.tolist() == expected


@given(st.text(st.characters(max_codepoint=127), min_size=1, max_size=12), st.booleans(), st.booleans())
def test_a_short_text_says_of_itself_what_its_tree_says(text: str, sensitive: bool, whole_text: bool) -> None:
    pattern = CompiledPattern(text, "literal", case_sensitive=sensitive, whole_text=whole_text)
    tree = literal_tree(text, fold=not sensitive)
    assert pattern.multi_line == matches_newline(tree)
    assert pattern.matches_empty == nullable(tree)
    assert pattern.needs_fold_check == drops_hazards(tree)
    assert pattern.literal == literal_of(tree)
    assert pattern.required == RequiredText(text.encode().lower())
    assert pattern.find(text.encode()) == [(0, len(text))]


@given(st.binary(max_size=300), st.integers(0, 3))
def test_lowering_is_that_of_bytes(data: bytes, start: int) -> None:
    assert lower_ascii(memoryview(data)[start:]) == data[start:].lower()


@given(
    st.lists(
        st.sampled_from(["abc", "abd", "bca", "cab", "kss", "é b", "aab", "x世"]), min_size=2, max_size=4, unique=True
    ),
    st.lists(st.sampled_from([*RAW, b"abc", b"bca", b"cab", b"kss", "é b".encode(), "x世".encode()]), max_size=30),
)
def test_texts_that_are_looked_for_apart_are_the_matches_of_their_alternation(
    texts: list[str], blocks: list[bytes]
) -> None:
    data = b"\n" + b"".join(blocks) + b"\n"
    pattern = compile_pattern(f"({'|'.join(texts)})", kind="regexp", case_sensitive=True)
    literal_spans = pattern.text_spans(BufferList.of(data), np.array([[0, len(data)]]))
    assert literal_spans is not None
    spans: list[tuple[int, int]] = []
    for start, end in zip(*(side.tolist() for side in literal_spans), strict=True):
        if not spans or start >= spans[-1][1]:
            spans.append((start, end))
    assert spans == pattern.find(data)


@given(
    st.sampled_from(["kiosk", "sky", "lamp"]),
    st.lists(
        st.sampled_from(["kio", "sk", "KIOSK", "\u212aiosk", "kio\u017fk", "s\u212ay", "\u017f", "sky", "\n"]),
        max_size=40,
    ),
    st.integers(0, 300),
)
def test_letters_that_fold_to_ascii_need_re2_only_near_a_match(word: str, parts: list[str], copies: int) -> None:
    data = ("".join(parts) + "\n" + "stra\u017fe \u212a\n" * copies).encode()
    pattern = compile_pattern(word, kind="literal", case_sensitive=False)
    ranges = np.array([[0, len(data)]])
    starts = pattern.starts(BufferList.of(data), ranges)
    spans = pattern.find(data)
    if starts is not None:
        assert spans == [(start, start + len(word)) for start in starts.tolist()]
    elif copies < 50:
        # RE2 is asked only where such a letter is near a text that folds to the word.
        plain_text = data.decode().casefold()
        assert word in plain_text
        assert not data.isascii()


@given(st.lists(st.sampled_from(CHARS[:9]), min_size=1, max_size=4), st.binary(max_size=40))
def test_owners_that_hold_a_text_are_those_of_its_ranges(letters: list[str], data: bytes) -> None:
    text = "".join(letters).encode()
    data = text[:1] + data + text + data[::-1] + text
    bounds = list(range(0, len(data), 5))
    ranges = np.array([(start, min(start + 5, len(data))) for start in bounds])
    owners = np.arange(len(bounds)) // 3
    expected = {
        int(owner) for (start, end), owner in zip(ranges.tolist(), owners, strict=True) if text in data[start:end]
    }
    assert owners_holding(BufferList.of(data), text, ranges, owners).tolist() == sorted(expected)
