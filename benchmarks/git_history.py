"""A repository's history as plain git tells it, for `figures.py`: nothing of sourcelight is imported here.

Everything comes from commands that a reader can run: ``git log`` with and without ``--numstat``, ``ls-tree``,
``cat-file``, ``check-attr``, ``check-mailmap`` and ``blame``, with the configuration of the machine left out.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Person = tuple[str, str]
_SETTINGS = ("core.quotePath=false", "diff.renameLimit=1000", "diff.algorithm=myers", "core.bare=true",
             "mailmap.blob=HEAD:.mailmap", "core.attributesFile=/dev/null", "log.showSignature=false")  # fmt: skip
_REVIEWS = "key=Reviewed-by,key=Acked-by,key=Approved-by"
_FIELDS = ("%H", "%P", "%T", "%aN", "%aE", "%at", "%ct", "%ad", "%s",
           "%(trailers:key=Co-authored-by,valueonly=true,unfold=true,separator=%x1f)", "%cN", "%cE",
           f"%(trailers:{_REVIEWS},valueonly=true,unfold=true,separator=%x1f)")  # fmt: skip
_TRAILER = re.compile(r"\s*(.*?)\s*<([^<>]*)>")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit; times in seconds, `zone` in minutes east of UTC, people as the mailmap has them."""

    oid: str
    parents: tuple[str, ...]
    tree: str
    author: Person
    author_time: int
    time: int
    zone: int
    subject: str
    co_authors: tuple[Person, ...]
    committer: Person
    reviewers: tuple[Person, ...]

    @property
    def is_merge(self) -> bool:
        """Whether it has two parents or more."""
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class Change:
    """One file in one commit that is no merge."""

    commit: str
    status: str
    old_path: str
    path: str
    additions: int
    deletions: int
    binary: bool


@dataclass(slots=True)
class GitHistory:
    """What git says of the commits behind one revision."""

    git_dir: str
    revision: str = "HEAD"
    without: str = ""
    _memory: dict[str, object] = field(default_factory=dict)

    def git(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Standard output of a git command."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
                        "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1"}  # fmt: skip
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = ["git", *settings, "--git-dir", self.git_dir, *arguments]
        with tempfile.TemporaryDirectory() as nowhere:
            run = subprocess.run(command, input=stdin, capture_output=True, check=True, env=environment, cwd=nowhere)
        return run.stdout

    def text(self, *arguments: str, stdin: bytes | None = None) -> str:
        """Standard output as text."""
        return self.git(*arguments, stdin=stdin).decode("utf-8", "replace")

    @property
    def _range(self) -> list[str]:
        return [self.revision, f"^{self.without}"] if self.without else [self.revision]

    def commits(self) -> dict[str, Commit]:
        """All commits by name, children before their parents."""
        if "commits" not in self._memory:
            form = "%x00".join(_FIELDS)
            texts = self.text("log", "-z", "--topo-order", "--date=raw", f"--format={form}", *self._range).split("\0")
            size = len(_FIELDS)
            rows = [texts[index : index + size] for index in range(0, len(texts) - size + 1, size)]
            mapped = self._mapped([pair for row in rows for pair in _people(row[9])])
            result = {}
            for row in rows:
                oid, parents, tree, name, email, author_time, committed, date, subject, trailers, *review_fields = row
                committer, committer_email, reviews = review_fields
                sign, hours, minutes = date[-5], int(date[-4:-2]), int(date[-2:])
                zone = (hours * 60 + minutes) * (-1 if sign == "-" else 1)
                helpers = tuple(dict.fromkeys(mapped[pair] for pair in _people(trailers)))
                result[oid] = Commit(oid, tuple(parents.split()), tree, (name, email), int(author_time), int(committed),
                                   zone, subject, helpers, (committer, committer_email),
                                   tuple(dict.fromkeys(_people(reviews))))  # fmt: skip
            self._memory["commits"] = result
        return self._memory["commits"]  # type: ignore[return-value]

    def _mapped(self, pairs: Sequence[Person]) -> dict[Person, Person]:
        distinct = [pair for pair in dict.fromkeys(pairs) if not re.search(r"[<>\n\0]", pair[0] + pair[1])]
        if not distinct:
            return {pair: pair for pair in pairs}
        stdin = "".join(f"{name} <{email}>\n" for name, email in distinct).encode()
        lines = self.text("check-mailmap", "--stdin", stdin=stdin).splitlines()
        results = {}
        for pair, line in zip(distinct, lines, strict=True):
            name, _, email = line.rpartition("<")
            results[pair] = name.removesuffix(" "), email.removesuffix(">")
        return {pair: results.get(pair, pair) for pair in pairs}

    def changes(self) -> list[Change]:
        """All changed files of commits that are no merges, renames paired as git pairs them."""
        if "changes" not in self._memory:
            raw = self.git("log", "-z", "-M", "--root", "--raw", "--numstat", "--no-abbrev", "--no-ext-diff",
                           "--no-textconv", "--format=%x01%H", *self._range)  # fmt: skip
            self._memory["changes"] = list(_changes(raw))
        return self._memory["changes"]  # type: ignore[return-value]

    def tree(self, commit: str) -> dict[str, str]:
        """Blob of each regular file of a commit by path."""
        results = {}
        for row in self.text("ls-tree", "-r", "-z", "--full-tree", commit).split("\0")[:-1]:
            mode, _, remaining = row.partition(" ")
            if mode.startswith("100"):
                results[remaining.partition("\t")[2]] = remaining.split()[1]
        return results

    def contents(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Contents by blob."""
        requests = list(dict.fromkeys(blobs))
        data = self.git("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in requests).encode())
        contents, position = {}, 0
        for blob in requests:
            end = data.index(b"\n", position)
            size = int(data[position:end].rsplit(b" ", 1)[1])
            contents[blob] = data[end + 1 : end + 1 + size]
            position = end + size + 2
        return contents

    def blame(self, path: str) -> list[str]:
        """The commit of each line of a file of the revision."""
        out = self.git("blame", "--porcelain", "--no-textconv", self.revision, "--", path)
        lines, commit = [], ""
        for line in out.split(b"\n"):
            if line.startswith(b"\t"):
                lines.append(commit)
            elif re.match(rb"[0-9a-f]{40} \d+ \d+", line):
                commit = line[:40].decode()
        return lines


def _people(trailers: str) -> list[Person]:
    results = [_TRAILER.match(value) for value in trailers.split("\x1f")]
    return [(match[1], match[2].strip()) for match in results if match]


def _changes(raw: bytes) -> Iterable[Change]:
    commit, pending, tokens = "", list[tuple[str, str, str]](), iter(raw.split(b"\0"))
    location = 0
    for token in tokens:
        token = token.lstrip(b"\n")  # noqa: PLW2901 - git puts an empty line before the first record of a commit
        if token.startswith(b"\1"):
            commit, pending, location = token[1:41].decode(), [], 0
        elif token.startswith(b":"):
            status = token.split()[4][:1].decode()
            old = next(tokens).decode("utf-8", "replace")
            new = next(tokens).decode("utf-8", "replace") if status in "RC" else old
            pending.append((status, old, new))
        elif token:
            added, removed, path = token.split(b"\t", 2)
            if not path:
                next(tokens), next(tokens)
            status, old, new = pending[location]
            location += 1
            lines = (0, 0) if added == b"-" else (int(added), int(removed))
            yield Change(commit, status, old, new, *lines, added == b"-")


class Layout:
    """Paths of changes where the merges of unrelated histories put them: ``deps/lib/x.c`` for the ``x.c`` of a subtree.

    A commit without a common ancestor with the line that it was merged into has its files below a directory there.
    """

    def __init__(self, history: GitHistory) -> None:
        self._prefixes: dict[str, str] = {}
        commits = history.commits()
        roots = [oid for oid, commit in commits.items() if not commit.parents]
        if len(roots) < 2 or history.without:
            return
        first = next(iter(commits))
        while commits[first].parents:
            first = commits[first].parents[0]
        descendants = set(history.text("rev-list", "--ancestry-path", f"{first}..{history.revision}").split()) | {first}
        for oid in reversed(list(commits)):
            if oid not in descendants:
                continue
            for parent in commits[oid].parents:
                if parent not in descendants and parent not in self._prefixes:
                    prefix = _directory(history.tree(oid), history.tree(parent))
                    for name in history.text("rev-list", parent).split():
                        self._prefixes.setdefault(name, prefix)

    def __call__(self, commit: str, path: str) -> str:
        """The path of a file of a commit as the main line has it."""
        return self._prefixes.get(commit, "") + path


def _directory(full: Mapping[str, str], part: Mapping[str, str]) -> str:
    by_blob = defaultdict(list)
    for path, blob in full.items():
        by_blob[blob].append(path)
    votes = Counter(path.removesuffix(suffix) for suffix, blob in part.items() for path in by_blob[blob]
                    if path == suffix or path.endswith(f"/{suffix}"))  # fmt: skip
    return min(votes, key=lambda prefix: (-votes[prefix], len(prefix), prefix), default="")


_LIBRARIES = [
    "vendor", "vendors", "_vendor", "_vendors", "node_modules", "bower_components", "jspm_packages", "third_party",
    "third-party", "thirdparty", "3rd_party", "3rd-party", "3rdparty", "external", "externals", "extern", "pods",
    "site-packages", "dist",
]  # fmt: skip
_LIBRARY_PATHS = ["godeps/_workspace/", "carthage/checkouts/", "carthage/build/", "gradle/wrapper/", ".yarn/releases/",
                  ".yarn/plugins/", ".yarn/sdks/", ".yarn/versions/"]  # fmt: skip
_LIBRARY_FILES = [
    "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "config.guess", "config.sub", "install-sh", "ltmain.sh",
    "libtool.m4", "ltoptions.m4", "ltsugar.m4", "ltversion.m4", "lt~obsolete.m4", "aclocal.m4", "depcomp", "missing",
    "jquery.js", "jquery-*.js", "jquery.*.js",
]  # fmt: skip
_LOCKS = [
    "bun.lock", "bun.lockb", "cabal.project.freeze", "cargo.lock", "cartfile.resolved", "composer.lock",
    "conda-lock.yml", "deno.lock", "flake.lock", "gemfile.lock", "glide.lock", "go.sum", "gopkg.lock",
    "gradle.lockfile", "mix.lock", "module.bazel.lock", "npm-shrinkwrap.json", "package-lock.json",
    "package.resolved", "packages.lock.json", "pdm.lock", "pipfile.lock", "pixi.lock", "pnpm-lock.yaml",
    "podfile.lock", "poetry.lock", "pubspec.lock", "rebar.lock", "renv.lock", "stack.yaml.lock", "uv.lock",
    "yarn.lock", ".terraform.lock.hcl",
]  # fmt: skip
_GENERATED = [
    "*.min.js", "*-min.js", "*.min.css", "*-min.css", "*.js.map", "*.css.map", "*.ts.map", "*.pb.go", "*.pb.cc",
    "*.pb.h", "*.pb.swift", "*.pb.gw.go", "*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi", "*_grpc.pb.go",
    "*.g.dart", "*.freezed.dart", "*.mocks.dart", "*.designer.cs", "*.designer.vb", "*.g.cs", "*.g.i.cs",
    "*.xcworkspacedata", "zz_generated*.go", "*.pyc", "*.pyo",
]  # fmt: skip
_MARKS = [
    r"code generated .*do not (edit|modify)", r"@generated\b", r"generated by the protocol buffer compiler",
    r"autogenerated by thrift", r"made by gnu bison", r"generated by (cython|flex|bison|re2c|gperf|swig|ragel|antlr)\b",
    r"(auto[- ]?generated|generated (automatically|file|by)).*do not (edit|modify|change)",
    r"do not (edit|modify).*(auto[- ]?generated|generated by)",
]  # fmt: skip


_STYLES = [f"{name}{middle}.{ending}" for name in ("bootstrap", "modernizr", "normalize", "font-awesome", "fontawesome")
           for middle in ("", "-*", ".*") for ending in ("js", "css", "less", "scss")]  # fmt: skip


class Kinds:
    """The kind of each path: source, documentation, vendored, generated or lock."""

    def __init__(self, history: GitHistory, paths: Iterable[str]) -> None:
        distinct = sorted(set(paths))
        self._tree = history.tree(history.revision)
        self._attributes = self._attributes_of(history, distinct)
        code = [path for path in distinct if path in self._tree]
        self._contents = history.contents(self._tree[path] for path in code)

    def _attributes_of(self, history: GitHistory, paths: Sequence[str]) -> dict[str, dict[str, str]]:
        """What git check-attr says, with the ``.gitattributes`` of the revision in a work tree of their own."""
        files = {path: blob for path, blob in self._tree.items() if path.rpartition("/")[2] == ".gitattributes"}
        results: dict[str, dict[str, str]] = defaultdict(dict)
        if not files:
            return results
        names = ["linguist-vendored", "linguist-generated", "linguist-documentation", "diff"]
        contents = history.contents(files.values())
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", folder], check=True, capture_output=True)
            for path, blob in files.items():
                target = Path(folder, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                # The macro `binary` says how a file is stored: it counts as if it were not there.
                target.write_bytes(re.sub(rb"(?m)(?<=\s)binary\b", b"", contents[blob]))
            request = "\0".join(path for path in paths) + "\0"
            run = subprocess.run(["git", "-C", folder, "check-attr", "-z", "--stdin", *names], input=request.encode(),
                                 capture_output=True, check=True)  # fmt: skip
        texts = run.stdout.decode("utf-8", "replace").split("\0")
        for path, name, value in zip(texts[::3], texts[1::3], texts[2::3], strict=False):
            results[path][name] = {"true": "set", "false": "unset"}.get(value, value)
        return results

    def __call__(self, path: str) -> str:
        """The kind of one path."""
        attributes = self._attributes.get(path, {})
        lower = path.lower()
        folders, name = lower.split("/")[:-1], lower.rpartition("/")[2]
        library = (
            any(folder in _LIBRARIES for folder in folders)
            or folders[:1] in (["deps"], ["dependencies"])
            or any(f"/{lower}".find(f"/{part}") >= 0 for part in _LIBRARY_PATHS)
            or any(fnmatch.fnmatchcase(name, pattern) for pattern in (*_LIBRARY_FILES, *_STYLES))
        )
        if attributes.get("linguist-vendored") == "set" or (library and attributes.get("linguist-vendored") != "unset"):
            return "vendored"
        reply = attributes.get("linguist-generated")
        if name in _LOCKS and reply != "unset":
            return "lock"
        if reply == "set" or (reply != "unset" and (attributes.get("diff") == "unset" or self._generated(lower, name))):
            return "generated"
        if attributes.get("linguist-documentation") == "set":
            return "documentation"
        if reply is None or reply == "unspecified":
            data = self._contents.get(self._tree.get(path, ""))
            if data is not None and len(data) <= 1 << 20 and _marks(name, data):
                return "generated"
        return "source"

    def _generated(self, lower: str, name: str) -> bool:
        in_folder = any(f"/{folder}/" in f"/{lower}" for folder in ("__generated__", "__pycache__"))
        return in_folder or any(fnmatch.fnmatchcase(name, pattern) for pattern in _GENERATED)


def _marks(name: str, data: bytes) -> bool:
    head = data[:4096].decode("latin-1").split("\n")[:20]
    if any(re.search(mark, line, re.IGNORECASE) for mark in _MARKS for line in head):
        return True
    return name.endswith((".js", ".css")) and len(data) > 110 * (data.count(b"\n") + 1)
