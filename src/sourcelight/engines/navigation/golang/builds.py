"""Which files are built on Linux on an x86-64 machine: the ones to be asked first."""

from __future__ import annotations

import re

_SYSTEMS = frozenset(
    b"aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows"
    b" zos".split()
)
_MACHINES = frozenset(
    b"386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm".split()
)
_TRUE = frozenset({b"linux", b"amd64", b"unix", b"gc", b"cgo"})
_LINE = re.compile(rb"^//go:build[ \t]+(.+)$", re.MULTILINE)
_TOKEN = re.compile(rb"\(|\)|!|&&|\|\||[\w.]+")
_RELEASE = re.compile(rb"go1(\.\d+)?")


def built(path: bytes, head: bytes) -> bool:
    """Tell whether a file is built there, by its name and by the constraint before its package clause."""
    stem = path.rpartition(b"/")[2].removesuffix(b".go").removesuffix(b"_test")
    marks = stem.split(b"_")[1:]
    for mark in marks[-2:]:
        if (mark in _SYSTEMS or mark in _MACHINES) and mark not in _TRUE:
            return False
    line = _LINE.search(head)
    return line is None or _Constraint(_TOKEN.findall(line[1])).holds()


class _Constraint:
    """A boolean expression of build tags."""

    def __init__(self, tokens: list[bytes]) -> None:
        self._tokens = tokens[:200]
        self._at = 0

    def holds(self) -> bool:
        value = self._all()
        while self._take(b"||"):
            value = self._all() or value
        return value

    def _all(self) -> bool:
        value = self._one()
        while self._take(b"&&"):
            value = self._one() and value
        return value

    def _one(self) -> bool:
        negated = False
        while self._take(b"!"):
            negated = not negated
        if self._take(b"("):
            value = self.holds()
            self._take(b")")
        else:
            word = self._tokens[self._at] if self._at < len(self._tokens) else b""
            self._at += 1
            value = word in _TRUE or _RELEASE.fullmatch(word) is not None
        return value is not negated

    def _take(self, token: bytes) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == token:
            self._at += 1
            return True
        return False
