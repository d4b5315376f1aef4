"""No match is lost: every pattern of a grammar on every small text, and seeded ones on longer text, against RE2.

The reader knows nothing of the package: google-re2 is asked about each document by itself, and a document has a match
where its search finds a span that is not empty.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import re2

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns import bulk, compile_pattern, compiled, texts
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.engines import PatternEngines, weaker_patterns
from sourcelight.core.patterns.ranges import BufferList

PINNED = [
    (r"\d$", b"# TODO\nvalue = 1\n"),
    (r"\d$", b"x = 1"),
    (r"^ *}", b"func f() {\n\treturn\n}\n"),
    (r"^ *}", b"if x {\n    }\n"),
    (r"^\s+$", b"a\n\n  \nb\n"),
    (r"^\s+$", b"\n"),
    (r"^x*y", b"y\n"),
    (r"^x*y", b"a\nxxy"),
    (r"(?:a|\d)$", b"no\nva\n"),
    (r"(?:ab|c)$", b"no\nxc\nyab"),
    (r"[ab]+$|^$", b"b\n\nba"),
    (r"\w$", b"- x\n"),
    (r"[^a]$", b"a\nb"),
    (r"(?i)[k-m]$", "a\n\u212a\n".encode()),
    (r"\d$", b"1\r\n2\r\n3"),
    (r"\d\r$", b"1\r\n2\r\n3"),
    (r"\x00$", b"a\n\x00\n"),
    (r"^\S*$", b"\xff\xfe\nab\n"),
    (r"a\z", b"a\nb\na"),
    (r"\Ab|c\z", b"b\nc"),
]

LETTERS = (b"a", b"1", b" ", b"\n")
MAX_LENGTH = 4
ATOMS = ("a", r"\d", " ", ".", r"\w", "[a1]", "[^a]", r"\s", "(?:a|1)", "(?:a1| )")
COUNTS = ("", "*", "+", "?", "{2}")
PLACES = (("", ""), ("^", ""), ("", "$"), ("^", "$"), (r"\b", ""), ("", r"\b"), (r"\B", "$"), (r"\A", ""), ("", r"\z"))


def every_text() -> list[bytes]:
    return [b"".join(text) for size in range(MAX_LENGTH + 1) for text in itertools.product(LETTERS, repeat=size)]


def every_pattern() -> Iterator[str]:
    ones = [atom + count for atom in ATOMS for count in COUNTS]
    twos = [a + b for a, b in itertools.product(ones[::3], ones[1::4])]
    branches = [f"(?:{a}|{b})" for a, b in itertools.product(ones[::7], ones[::5])]
    for body in [*ones, *twos, *branches]:
        for head, tail in PLACES:
            yield head + body + tail


def matching(source: str, documents: Sequence[bytes], *, case_sensitive: bool = True) -> list[int]:
    """The documents with a match that is not empty, by google-re2 alone."""
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = case_sensitive
    regexp = re2.compile(b"(?m)" + source.encode(), options)
    return [index for index, text in enumerate(documents) if _holds(regexp, text)]


def _holds(regexp: Any, text: bytes) -> bool:
    first = regexp.search(text)
    if first is None:
        return False
    return first.end() > first.start() or any(m.end() > m.start() for m in regexp.finditer(text))


def side_by_side(documents: Sequence[bytes]) -> tuple[bytes, np.ndarray]:
    """Documents as an index keeps them, and where each begins and ends."""
    sizes = np.array([len(text) for text in documents], dtype=np.int64)
    ends = np.cumsum(sizes + 1)
    return b"\n" + b"\n".join(documents) + b"\n", np.stack((ends - sizes, ends), axis=1)


def find_indices(pattern: CompiledPattern, documents: Sequence[bytes]) -> list[int]:
    """The documents in which a pattern has a match, by its candidates and what these hold."""
    buffer, locations = side_by_side(documents)
    ranges = locations if pattern.multi_line else locations + np.array([0, 1])
    offsets = pattern.lines(buffer, ranges)
    candidates = np.unique(np.searchsorted(locations[:, 0], offsets, side="right") - 1).tolist()
    if pattern.multi_line:
        return [position for position in candidates if pattern.find_document(documents[position])]
    view = memoryview(buffer)
    lines = np.flatnonzero(np.frombuffer(view, np.uint8) == ord("\n"))
    numbers = np.unique(np.searchsorted(lines, offsets))
    starts, ends = lines[numbers - 1] + 1, lines[numbers]
    rows = np.unique(pattern.spans(buffer, starts, ends)[0])
    numbers = np.searchsorted(locations[:, 0], starts[rows], side="right") - 1
    return sorted({int(number) for number in numbers})


@pytest.mark.parametrize(("source", "text"), PINNED)
def test_matches_that_a_scanner_lost_are_found(source: str, text: bytes) -> None:
    pattern = compile_pattern(source, kind="regexp", case_sensitive=True)
    documents = [b"", text, b"none\n", text * 2, b""]
    assert find_indices(pattern, documents) == matching(source, documents)
    assert find_indices(pattern, [text]) == [0]


@pytest.mark.parametrize("source", sorted({source for source, _ in PINNED}))
def test_each_small_text_alone(source: str) -> None:
    pattern = compile_pattern(source, kind="regexp", case_sensitive=True)
    letters = (b"a", b"1", b" ", b"}", b"x", b"y", b"c", b"\n")
    small = [b"".join(text) for size in range(4) for text in itertools.product(letters, repeat=size)]
    single_texts = [before + text for before in (b"", b"# TODO\nvalue ") for text in small]
    expected = matching(source, single_texts)
    assert [index for index, text in enumerate(single_texts) if find_indices(pattern, [text])] == expected


def test_every_small_text_and_every_pattern_of_a_grammar() -> None:
    documents = every_text()
    draw = random.Random(3)  # noqa: S311 - a seed for the test
    wrong = []
    for number, source in enumerate(every_pattern()):
        part = documents[number % 2 :: 2]
        pattern = compile_pattern.__wrapped__(source, kind="regexp", case_sensitive=True)
        if find_indices(pattern, part) != matching(source, part):
            wrong.append(source)
        single_texts = [b"# TODO\n" + text for text in draw.sample(documents, 3)]
        if [index for index, text in enumerate(single_texts) if find_indices(pattern, [text])] != matching(
            source, single_texts
        ):
            wrong.append(f"{source} alone")
    assert wrong == []


FRAGMENTS = ("abc", "Kit", "kiss", "foo(", "  ", "x", "1", "é", "World", "_", "\u212a", "\u017f", "日本", "\t", "a1")
PARTS = (
    r"\w+",
    r"\d",
    ".*",
    ".",
    "[^a]",
    r"\s",
    "[a-k]",
    r"\W?",
    "[^\\n]{2}",
    "x*",
    r"\b",
    "^",
    "$",
    r"(?i:KIT)",
    r"\pL",
)
RAW = (b"\n", b"\n", b"\r\n", b" ", b"\xff", b"\xe2\x84", b"\x00", b"ABC", b"kit", b"KISS", b"}", b"-", b"world")


def random_pattern(draw: random.Random, depth: int = 0) -> str:
    blocks = []
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        if kind < 0.45:
            blocks.append(re2.escape(draw.choice(FRAGMENTS)))
        elif kind < 0.8 or depth > 1:
            blocks.append(draw.choice(PARTS))
        else:
            inner = "|".join(random_pattern(draw, depth + 1) for _ in range(draw.randint(1, 3)))
            blocks.append(f"({inner})" + draw.choice(("", "", "?", "*", "+", "{1,2}")))
    return "".join(blocks)


def random_document(draw: random.Random) -> bytes:
    blocks = [fragment.encode() for fragment in FRAGMENTS] + list(RAW)
    return b"".join(draw.choice(blocks) for _ in range(draw.randint(0, 40)))


ROUTES = ("as ever", "needed texts always", "needed texts never", "tiny pieces", "weaker patterns")


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ways that a scan can take, on text that is too small to make it choose."""
    if request.param == "needed texts always":
        monkeypatch.setattr(texts, "MIN_BYTES_PER_MATCH", 0)
    elif request.param == "needed texts never":
        monkeypatch.setattr(compiled, "prefilters", lambda _tree: ())
    elif request.param == "weaker patterns":
        monkeypatch.setattr(compiled, "prefilters", lambda _tree: ())
        monkeypatch.setattr(bulk, "SLOW_S", -1.0)
        monkeypatch.setattr(bulk, "SLOW_BYTES", 10**18)
        monkeypatch.setattr(bulk, "FIRST_CALL_BYTES", 64)
        monkeypatch.setattr(bulk, "MAX_CALL_BYTES", 64)
    elif request.param == "tiny pieces":
        monkeypatch.setattr(texts, "MIN_BYTES_PER_MATCH", 4)
        monkeypatch.setattr(texts, "SAMPLE_BYTES", 8)
        monkeypatch.setattr(compiled, "PORTION", 64)
        monkeypatch.setattr(bulk, "BLOCK_BYTES", 8)
        monkeypatch.setattr(bulk, "FIRST_CALL_BYTES", 32)
        monkeypatch.setattr(bulk, "MAX_CALL_BYTES", 128)
        monkeypatch.setattr(texts, "BLOCK_BYTES", 8)
    return str(request.param)


@pytest.mark.parametrize("seed", range(4))
def test_seeded_patterns_on_seeded_text(route: str, seed: int) -> None:
    draw = random.Random(f"{route} {seed}")  # noqa: S311 - a seed for the test
    documents = [random_document(draw) for _ in range(40)]
    wrong = []
    for _ in range(60):
        source, case_sensitive = random_pattern(draw), draw.random() < 0.5
        try:
            pattern = compile_pattern.__wrapped__(source, kind="regexp", case_sensitive=case_sensitive)
        except PatternError:
            continue
        if find_indices(pattern, documents) != matching(source, documents, case_sensitive=case_sensitive):
            wrong.append((source, case_sensitive))
    assert wrong == []


@pytest.mark.parametrize("seed", range(2))
def test_seeded_texts_without_case(route: str, seed: int) -> None:
    draw = random.Random(f"text {route} {seed}")  # noqa: S311 - a seed for the test
    documents = [random_document(draw) for _ in range(60)]
    buffer, locations = side_by_side(documents)
    for _ in range(100):
        text = "".join(draw.choice(FRAGMENTS) for _ in range(draw.randint(1, 2)))
        pattern = compile_pattern.__wrapped__(text, kind="literal", case_sensitive=False)
        source = re2.escape(text)
        assert find_indices(pattern, documents) == matching(source, documents, case_sensitive=False)
        starts = pattern.starts(BufferList.of(buffer), locations + np.array([0, 1]))
        if starts is not None:
            expected = [
                start + offset
                for (start, _), item in zip(locations.tolist(), documents, strict=True)
                for offset, _ in pattern.find(item)
            ]
            assert starts.tolist() == expected


def test_a_weaker_pattern_matches_wherever_the_pattern_does() -> None:
    draw = random.Random(11)  # noqa: S311 - a seed for the test
    documents = [random_document(draw) for _ in range(40)]
    count = 0
    for _ in range(300):
        source, case_sensitive = random_pattern(draw), draw.random() < 0.5
        try:
            pattern = compile_pattern.__wrapped__(source, kind="regexp", case_sensitive=case_sensitive)
        except PatternError:
            continue
        tree = PatternEngines.of(source, "regexp", case_sensitive=case_sensitive, whole_text=False).tree
        exact = {index for index, text in enumerate(documents) if pattern.find_document(text)}
        for weak in weaker_patterns(tree):
            count += 1
            assert exact <= {index for index, text in enumerate(documents) if re2.search(weak, text)}, (source, weak)
    assert count > 200


@pytest.mark.timeout(60)
@pytest.mark.parametrize("source", [r"\w.{50}x", r"\pL{30}", r"\w.{20}x"])
def test_what_is_slow_in_re2_is_asked_of_few_lines(source: str) -> None:
    text = b"".join(b"%d lines of words, exactly as they %s stand; \n" % (n, b"x" * (n % 7)) for n in range(60_000))
    pattern = compile_pattern.__wrapped__(source, kind="regexp", case_sensitive=True)
    offsets = pattern.lines(text, [[0, len(text)]])
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    candidates = np.unique(np.searchsorted(ends, offsets))
    regexp = re2.compile(source.encode())
    lines = text.split(b"\n")
    assert {index for index in range(0, len(lines), 97) if regexp.search(lines[index])} <= set(candidates.tolist())


def test_a_text_goes_on_in_no_other() -> None:
    documents = [b"foo", b"bar", b"foo\nbar", b"", b"1", b"x"]
    for source in (r"foo\nbar", r"foo\s+bar", r"o\W*b", r"\A\n*1", r"1\s*x"):
        pattern = compile_pattern(source, kind="regexp", case_sensitive=True)
        assert find_indices(pattern, documents) == matching(source, documents)
    pattern = compile_pattern("foo\nbar", kind="literal", case_sensitive=False)
    assert find_indices(pattern, documents) == [2]


def test_several_buffers_are_several_texts() -> None:
    views = [memoryview(b"\nfoo"), memoryview(b"bar\n1"), memoryview(b"\nvalue = 1")]
    buffers = BufferList(views, np.array([0, 10_000, 20_000]))
    ranges = np.array([[1, 4], [10_000, 10_005], [20_001, 20_010]])
    for source, expected in ((r"o$", [1]), (r"\d$", [10_004, 20_001]), (r"^bar", [10_000]), ("foobar", [])):
        pattern = compile_pattern(source + "|#none", kind="regexp", case_sensitive=True)
        starts = pattern.lines(buffers, ranges)
        assert len(starts) == len(expected)


@pytest.mark.parametrize("whole_text", [True, False])
def test_many_texts_are_asked_one_by_one(*, whole_text: bool) -> None:
    draw = random.Random(5)  # noqa: S311 - a seed for the test
    paths = [random_document(draw).replace(b"\n", b"/") for _ in range(200)]
    sizes = np.array([len(path) for path in paths], dtype=np.int64)
    for gap in (1, 0, 30):
        text = b"".join(path + b"\n" * gap for path in paths)
        ends = np.cumsum(sizes + gap) - gap
        for source in (r"\d$", "^ *}", r"^\s+$", "^x*y", r"(?:a|t)$", "kit", r"\w$", "^$", r"[^a]\z", r"\Qkit"):
            pattern = compile_pattern(source, kind="regexp", case_sensitive=False, whole_text=whole_text)
            flags = "(?i)" if whole_text else "(?im)"
            expected = [re2.search((flags + source).encode(), path) is not None for path in paths]
            assert pattern.match_many(text, ends - sizes, ends).tolist() == expected
            order = np.arange(len(paths))[::-1]
            assert pattern.match_many(text, (ends - sizes)[order], ends[order]).tolist() == expected[::-1]
