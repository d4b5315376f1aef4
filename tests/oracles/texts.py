"""Texts that code search gets wrong: encodings, line ends, letters that fold oddly, lines and files without end."""

from __future__ import annotations

from random import Random

WORDS = (
    "foo", "bar", "Foo", "FOO", "baz", "value", "Value", "TODO", "return", "x", "xx", "ab", "aab", "abc", "err", "nil",
    "kelvin", "\u212aelvin", "ski\u212a", "\u017fun", "sun", "mas\u017f", "stra\u00dfe", "STRASSE", "\u1e9e", "\u0130d",
    "\u0131d", "id", "ID", "caf\u00e9", "CAF\u00c9", "cafe\u0301", "\u03c3\u03c2\u03a3", "\u01c5", "\u65e5\u672c",
    "\U0001f600", "\ufb01n", "\u00b5", "\u03bc", "0", "1", "42", "_id", "a-b", "$x", "C:\\d", "a/b", "a.b", "[x]", "{}",
    "f(x)", '"q"', "'s'", "#!", "//", "--", "++", "=>", "\u00a0", "\u2028", "\u0085", "\ufeff", "\x1b", "\x7f",
)  # fmt: skip
SPACES = (" ", " ", " ", "  ", "\t", "", "", "\u3000", "\x0b", "\x0c")
BAD = (b"\xff", b"\xfe", b"\x80", b"\xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf0\x9f", b"\xe9", b"\xf5\x80", b"\xc3")


def line(rng: Random, max_words: int = 5) -> str:
    """A line of some words, often of one, sometimes of blanks alone or of nothing."""
    parts = []
    for _ in range(rng.randint(0, max_words)):
        parts.append(rng.choice(WORDS))
        parts.append(rng.choice(SPACES))
    if parts and rng.random() < 0.6:
        parts.pop()
    return rng.choice(("", "", "", " ", "  ", "\t")) + "".join(parts)


def lines(rng: Random, count: int) -> str:
    """Lines, each with its newline."""
    return "".join(f"{line(rng)}\n" for _ in range(count))


def small(rng: Random) -> bytes:  # noqa: PLR0911 - one form each
    """A text of a few lines, hostile in one of the ways that editors and other systems make."""
    text = lines(rng, rng.choice((0, 1, 1, 2, 3, 5, 8)))
    form = rng.randrange(14)
    if form <= 4:
        return text.encode()
    if form <= 6:
        return text.removesuffix("\n").encode()
    if form == 7:
        return text.replace("\n", "\r\n").encode()
    if form == 8:
        return text.replace("\n", rng.choice(("\r", "\n\r", "\r\n", "\n\n"))).encode()
    if form == 9:
        return b"\xef\xbb\xbf" + text.encode()
    if form == 10:
        return text.encode("latin-1", errors="replace")
    if form == 11:
        return spoil(rng, text.encode())
    if form == 12:
        return rng.choice((text.encode("utf-16"), text.encode("utf-16-le"), text.encode() + b"\0" + text.encode()))
    return b"\n" * rng.randint(0, 3) + text.encode() + b"\n" * rng.randint(0, 3)


def spoil(rng: Random, data: bytes) -> bytes:
    """Put bytes into a text that are no UTF-8."""
    for _ in range(rng.randint(1, 4)):
        position = rng.randint(0, len(data))
        data = data[:position] + rng.choice(BAD) + data[position:]
    return data


def large(rng: Random) -> bytes:
    """A text that an index cuts: many lines, or lines longer than any buffer, with few words between much filling."""
    form = rng.randrange(4)
    if form == 0:
        return "".join(f"{line(rng) if rng.random() < 0.02 else 'lorem ipsum dolor'}\n" for _ in range(6000)).encode()
    if form == 1:
        filling = rng.choice((b"y" * 70_000, b"\xc3\xa9" * 40_000, b"y " * 35_000))
        return b"".join(line(rng).encode() + filling for _ in range(2)) + line(rng).encode()
    if form == 2:
        return b"\n" * rng.choice((16_384, 16_385, 17_000)) + lines(rng, 5).encode()
    return (lines(rng, 300) + " " * 20_000 + "\n").encode() * 3


def data(rng: Random) -> bytes:
    """The content of a file, large once in a while."""
    return large(rng) if rng.random() < 0.0015 else small(rng)


def edited(rng: Random, former: bytes) -> bytes:
    """The content after a change of some lines."""
    if len(former) > 100_000 or rng.random() < 0.1:
        return data(rng)
    rows = former.split(b"\n")
    for _ in range(rng.randint(1, 3)):
        position = rng.randrange(len(rows) + 1)
        match rng.randrange(3):
            case 0:
                rows.insert(position, line(rng).encode())
            case 1 if position < len(rows):
                rows[position] = line(rng).encode()
            case 2 if position < len(rows):
                del rows[position]
    return b"\n".join(rows)


def path(rng: Random) -> bytes:
    """The path of a file: mostly plain, sometimes with bytes that shells, diffs, tables or tongues read otherwise."""
    folders = [rng.choice(FOLDERS) for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
    if rng.random() < 0.02:
        folders = [b"deep"] * 30
    name = rng.choice(STEMS)
    if rng.random() < 0.3:
        name += rng.choice(STEMS)
    return b"/".join([*folders, name + rng.choice(ENDINGS)])


FOLDERS = (
    b"src",
    b"src",
    b"lib",
    b"docs",
    b"Foo",
    b"a b",
    b"-x",
    b"+y",
    "caf\u00e9".encode(),
    b"[x]",
    b"test",
    b"\xe9d",
)
STEMS = (
    b"foo", b"bar", b"main", b"value", b"README", b"a", b"-", b"+plus", b"-minus", b"x y", b" lead", b'q"uote',
    b"q'uote", b"t\tab", b"n\newline", b"[a]", b"{b}", b"*", b"?",
    b"back\\slash", b"bad\xff", b"\xe9", "\u65e5\u672c".encode(),
    "\u212aelvin".encode(), "\u017f".encode(), b"HEAD", b"a:b", b"a@b", b"#h", b"$x", b"%s", b"..x", b"~", b"\x1b[1m",
    b"a\rb", b"dev null",
)  # fmt: skip
ENDINGS = (b"", b".txt", b".txt", b".py", b".py", b".go", b".java", b".rs", b".md", b".PY", b".json")
