"""Commits that git itself would not make: broken lines, odd encodings, odd dates, odd names of files."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

from sourcelight.testing import RepositoryBuilder

ADA = b"Ada <ada@example.org> 1700000000 +0100"

PEOPLE: tuple[bytes, ...] = (
    b"A U Thor <> 1700000000 +0000",
    b" <only@example.org> 1700000000 +0000",
    b"<bare@example.org> 1700000000 +0000",
    b"No Address 1700000000 +0000",
    b"Open <open@example.org 1700000000 +0000",
    b"Two <a<b@example.org> 1700000000 +0000",
    b"Twice <a@example.org> <b@example.org> 1700000000 +0000",
    b"Behind <a@example.org>> 1700000000 +0000",
    b"  Blanks   <  blanks@example.org  >   1700000000   +0000",
    b"Tab\tName <tab@example.org> 1700000000 +0000",
    b"Lat\xedn <lat\xedn@example.org> 1700000000 +0000",
    b"Br\xff\xfeken <br\xff\xfe@example.org> 1700000000 +0000",
    "Zoë Å <zoë@example.org> 1700000000 +0000".encode(),
    b"Return\rName <r@example.org> 1700000000 +0000",
    b"A. \"Quote\" 'n' \\ <q@example.org> 1700000000 +0000",
)

DATES: tuple[bytes, ...] = (
    b"1700000000 +051800",
    b"1700000000 -051800",
    b"1700000000 -0000",
    b"1700000000 +9999",
    b"1700000000 -1",
    b"1700000000 +1",
    b"1700000000 +130",
    b"1700000000 +99999999999999",
    b"1700000000 -99999999999999",
    b"1700000000 +2147483646",
    b"1700000000 CET",
    b"1700000000",
    b"1700000000.5 +0100",
    b"",
    b"+0100",
    b"-100 +0000",
    b"-1700000000 -0500",
    b"0 +0000",
    b"1 -1200",
    b"0001700000000 +0100",
    b"253402300799 +0000",
    b"253402300800 +0000",
    b"4102444800 +1400",
    b"99999999999999 +0000",
    b"9223372036854775807 +0000",
    b"9223372036854775808 +0000",
    b"99999999999999999999999999 +0000",
)

MESSAGES: tuple[bytes, ...] = (
    b"",
    b"\n",
    b"\n\n  \n",
    b"one line",
    b"first line\nsecond line\n\nbody\n",
    b"first line  \n   second line\t\n   \nbody\n",
    b"\n \n\t\n  indented subject  \nmore\n\nbody\n",
    b"return\r\nand newline\r\n\r\nbody\r\n",
    b"form\x0cfeed\x0b\n\x0b\nbody\n",
    b"lone\rreturn\n\nbody",
    b"nul \0 inside\n\nbody\n",
    b"latin caf\xe9 \xfc\xdf\n\ncaf\xe9\n",
    b"broken \xff\xfe bytes\nin two \xc3 lines\n\nbody \xe2\x82\n",
    "naïve → 漢字 \U0001f600\n\nnaïve\n".encode(),
    b"\xef\xbb\xbfmark of bytes\n",
    b"unassigned \xf4\x90\x80\x80 surrogate \xed\xa0\x80 overlong \xc0\xaf\n",
    b"separators \xe2\x80\xa8 and \xc2\x85 and \x1c\n\nbody\n",
    b"-- \n\nbody\n",
    b"x" * 5000 + b"\n\n" + b"y\n" * 3000,
)

ENCODED: tuple[tuple[bytes, bytes], ...] = (
    (b"ISO-8859-1", b"latin caf\xe9 \xfc\n\nbody \xe9\n"),
    (b"latin1", b"latin again caf\xe9\n"),
    (b"windows-1252", b"euro \x80 and \x81 none\n"),
    (b"Shift_JIS", "漢字\n\n本文\n".encode("shift_jis")),
    (b"UTF-16", b"caf\xe9 in no UTF-16\n"),
    (b"UTF-7", b"newline +AAo- and nul +AAA- end\n\nbody\n"),
    (b"utf8", b"named but broken \xe9\n"),
    (b"no-such-encoding", b"unknown caf\xe9\n"),
    (b"", b"empty name caf\xe9\n"),
)

NAMES: tuple[bytes, ...] = (
    b"-dash", b"+plus", b" blank", b"@@ -1 +1 @@", b"tab\there", b"new\nline", b'"quoted"', b"back\\slash", b"caf\xe9",
    b"\xff\xfe", "naïve".encode(), b"a b c", b"\\ ", b"dev/null", b"-x -y", b"+ +", b"\x01mark", b"end\n", b"\n",
    b"cr\r", b"#hash", b"bell\a", b"del\x7f", b":colon", b"diff --git a", b"\\", b"'", b"```", b"-dir/+x/ y",
)  # fmt: skip


def write_object(repo: RepositoryBuilder, kind: bytes, data: bytes) -> str:
    """Write an object byte by byte, as git would refuse to; give its name."""
    raw = b"%b %d\0" % (kind, len(data)) + data
    name = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    path = repo.path / ".git/objects" / name[:2] / name[2:]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(raw))
    return name


def write_tree(repo: RepositoryBuilder, files: dict[bytes, bytes], mode: bytes = b"100644") -> str:
    """Write a tree of files and folders."""
    entries: dict[bytes, tuple[bytes, str]] = {}
    folders: dict[bytes, dict[bytes, bytes]] = {}
    for path, content in files.items():
        name, slash, remaining = path.partition(b"/")
        if slash:
            folders.setdefault(name, {})[remaining] = content
        else:
            entries[name] = mode, write_object(repo, b"blob", content)
    entries |= {name: (b"40000", write_tree(repo, inside, mode)) for name, inside in folders.items()}
    ordered = sorted(entries.items(), key=lambda item: item[0] + (b"/" if item[1][0] == b"40000" else b""))
    data = b"".join(b"%b %b\0" % (kind, name) + bytes.fromhex(oid) for name, (kind, oid) in ordered)
    return write_object(repo, b"tree", data)


def raw_commit(
    repo: RepositoryBuilder,
    message: bytes,
    *,
    author: bytes = ADA,
    committer: bytes = ADA,
    headers: bytes = b"",
    files: dict[bytes, bytes] | None = None,
    mode: bytes = b"100644",
) -> str:
    """Write a commit byte by byte on top of the branch main, which then leads to it; give its name."""
    branch = repo.path / ".git/refs/heads/main"
    parent = b"parent %b\n" % branch.read_bytes().strip() if branch.exists() else b""
    tree = write_tree(repo, files or {}, mode)
    text = b"tree %b\n%bauthor %b\ncommitter %b\n%b\n%b"
    commit = write_object(repo, b"commit", text % (tree.encode(), parent, author, committer, headers, message))
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(f"{commit}\n")
    return commit


def build_hostile(path: Path) -> RepositoryBuilder:
    """A history of such commits, one file changing in each."""
    repo = RepositoryBuilder(path)
    number = 0

    def add(message: bytes, **lines: bytes) -> None:
        nonlocal number
        number += 1
        raw_commit(repo, message, files={b"file": b"".join(b"line %d\n" % n for n in range(number))}, **lines)

    for message in MESSAGES:
        add(message)
    for encoding, message in ENCODED:
        add(message, headers=b"encoding %b\n" % encoding, author=b"Caf\xe9 <caf\xe9@example.org> 1700000000 +0000")
    for person in PEOPLE:
        add(b"a person\n", author=person)
        add(b"a committer\n", committer=person)
    for date in DATES:
        add(b"a date\n", author=b"Ada <ada@example.org> " + date, committer=b"Ada <ada@example.org> " + date)
    add(b"signed\n", headers=b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n")
    add(b"odd headers\n", headers=b"mergetag object 1\n type commit\nx-y z\n")
    return repo
