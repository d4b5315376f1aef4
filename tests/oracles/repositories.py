"""Hostile git repositories, written by `git fast-import` so that no porcelain tidies them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from oracles import sources, texts
from oracles.git_reader import git

PEOPLE = (
    b"Ada Example <ada@example.org>", b"ada <ADA@example.org>", b"Bob O'Neil <bob@corp.example>",
    b"K\xc3\xb6nig <k@x.org>",
    "\u212aarl <karl@example.org>".encode(), b"<nobody@example.org>", b"Mallory -x <m@x.org>",
    b"dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>", b"Latin\xe9 <latin@example.org>",
)  # fmt: skip
ZONES = (b"+0000", b"+0000", b"-0800", b"+0530", b"+1400", b"-1200", b"+0060")
ODD_DATES = (
    b"0 +0000",
    b"1 +0000",
    b"2147483648 +0000",
    b"4102444800 -0330",
    b"1500000000 +051800",
    b"1500000000 -9999",
)
OWNERS = b"CODEOWNERS"
RULES = b"*.py @py-team ada@example.org\n/src/ @Src\nlib/ @lib # note\n*.md\ndocs/* @docs\n"
Tree = dict[bytes, tuple[bytes, bytes]]  # path: mode and content


@dataclass(frozen=True, slots=True)
class Shape:
    """What is special about a repository.

    Parameters
    ----------
    name
        Its folder, and the last part of its name.
    commits
        How many there are.
    files
        About how many its first commit has.
    object_format
        ``sha1`` or ``sha256``.
    clone
        How it is cloned from the written one: empty (it is that one), ``shallow``, ``shared``, ``worktree``,
        ``blobless`` (some contents are fetched), ``treeless`` (no folder is) or ``latest`` (those of its HEAD are).
    head
        Where HEAD points: empty (to main), ``detached`` (to a tag), or ``unborn`` (to a branch that is not there).
    loose
        Whether its objects are files of their own.
    replace
        Whether a replace reference gives one of its commits another tree.
    sources
        How many files of definitions there are.
    odd
        Whether dates, messages and people are odd, too.
    attributes
        Whether there may be attributes, which convert files of a work tree.
    """

    name: str
    commits: int = 6
    files: int = 12
    object_format: str = "sha1"
    clone: str = ""
    loose: bool = False
    replace: bool = False
    sources: int = 0
    odd: bool = True
    head: str = ""
    attributes: bool = True


@dataclass
class Made:
    """A repository on disk: where, under which name, and which revisions are worth a question."""

    folder: Path
    name: str
    shape: Shape
    revisions: list[str] = field(default_factory=list)


def write(rng: Random, parent: Path, shape: Shape) -> Made:
    """Write a repository of a shape below a folder."""
    source = parent / shape.name if not shape.clone else parent.parent / f"{parent.name}-sources" / shape.name
    source.mkdir(parents=True)
    git(
        source,
        "init",
        "-q",
        "-b",
        "main",
        "--bare" if shape.clone else "-q",
        f"--object-format={shape.object_format}",
        ".",
    )
    stream, tags = Writer(rng, shape).stream()
    limit = "100000" if shape.loose else "1"
    git(source, "-c", f"fastimport.unpackLimit={limit}", "fast-import", "--quiet", "--date-format=raw-permissive",
        stdin=stream)  # fmt: skip
    folder = parent / shape.name
    match shape.clone:
        case "shallow":
            git(parent, "clone", "-q", "--bare", "--depth=2", "--no-single-branch", source.as_uri(), shape.name)
        case "shared":
            git(parent, "clone", "-q", "--bare", "--shared", str(source), shape.name)
        case "worktree":
            git(source, "worktree", "add", "-q", "--detach", str(folder), "main")
        case "blobless" | "treeless" | "latest":
            _partial(rng, source, folder, shape.clone)
    if shape.replace:
        _replace(folder)
    if shape.clone != "worktree":
        git(folder, "config", "remote.origin.url", f"https://example.org/zoo/{shape.name}.git")
    else:
        git(source, "config", "remote.origin.url", f"https://example.org/zoo/{shape.name}.git")
    if shape.head == "detached":
        git(folder, "update-ref", "--no-deref", "HEAD", "light^{commit}")
    elif shape.head == "unborn":
        git(folder, "symbolic-ref", "HEAD", "refs/heads/nowhere")
    revisions = [*tags, "topic", "HEAD~1"] if not shape.clone else ["HEAD"]
    return Made(folder, f"example.org/zoo/{shape.name}", shape, revisions)


def source_of(repository: Made) -> Path:
    """The whole repository that a clone was made from."""
    return repository.folder.parent.parent / f"{repository.folder.parent.name}-sources" / repository.folder.name


def _partial(rng: Random, source: Path, folder: Path, kind: str) -> None:
    """A clone that lacks objects; what it was promised stays within reach, so that a fetch would get it."""
    git(source, "config", "uploadpack.allowFilter", "true")
    git(source, "config", "uploadpack.allowAnySHA1InWant", "true")
    required = "blob:none" if kind == "blobless" else "tree:0"
    git(folder.parent, "clone", "-q", "--bare", f"--filter={required}", "-o", "promisor", source.as_uri(), folder.name)
    fetched = ["main^{tree}"] if kind == "latest" else []
    if kind == "blobless":
        rows = git(source, "ls-tree", "-r", "-z", "main").split(b"\0")[:-1]
        names = sorted({row.split()[2].decode() for row in rows if b" blob " in row})
        fetched = rng.sample(names, len(names) // 2)
    if fetched:
        names = [git(source, "rev-parse", name).decode().strip() for name in fetched]
        depth = () if kind == "blobless" else ("--no-filter",)
        extra = {"GIT_NO_LAZY_FETCH": "0"}
        git(folder, "fetch", "-q", "--no-tags", *depth, "promisor", *names, extra_env=extra)


def objects_of(folder: Path) -> frozenset[str]:
    """Names of all objects that a repository holds; asking for them fetches nothing."""
    out = git(folder, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered")
    return frozenset(out.decode().split())


def extend(rng: Random, repository: Made) -> None:
    """Add commits to the first branch of a repository that is no clone."""
    previous = git(repository.folder, "ls-tree", "-r", "-z", "main").split(b"\0")[:-1]
    paths = [row.partition(b"\t")[2] for row in previous if b" blob " in row and not row.startswith(b"120000")]
    paths = [path for path in paths if not path.startswith(sources.FOLDER) and path != OWNERS]
    writer = Writer(rng, repository.shape)
    stream = writer.head(b"refs/heads/main", writer.message(), [b"refs/heads/main^0"])
    selected = rng.sample(paths, min(2, len(paths)))
    for path in selected:
        stream += b"M 100644 inline " + quoted(path) + b"\n" + block(texts.data(rng))
    if len(paths) > 4:
        stream += b"D " + quoted(next(path for path in paths if path not in selected)) + b"\n"
    new = b"new-%d.txt" % rng.randrange(10_000)
    stream += b"M 100644 inline " + new + b"\n" + block(texts.data(rng)) + b"\n"
    git(repository.folder, "fast-import", "--quiet", "--force", "--date-format=raw-permissive", stdin=stream)


def _replace(folder: Path) -> None:
    tree = git(folder, "rev-parse", "topic^{tree}").decode().strip()
    parents = git(folder, "rev-parse", "main^@").decode().split()
    info = {"NAME": "r", "EMAIL": "r@x", "DATE": "1700000000 +0000"}
    person = {f"GIT_{role}_{name}": fact for role in ("AUTHOR", "COMMITTER") for name, fact in info.items()}
    result = (
        git(
            folder,
            "commit-tree",
            tree,
            *(x for parent in parents for x in ("-p", parent)),
            "-m",
            "replaced foo",
            extra_env=person,
        )
        .decode()
        .strip()
    )
    git(folder, "replace", "main", result)


def quoted(path: bytes) -> bytes:
    """A path as fast-import reads it."""
    return (
        b'"'
        + b"".join(b"\\%03o" % byte if byte < 33 or byte > 126 or byte in b'"\\' else bytes([byte]) for byte in path)
        + b'"'
    )


def block(data: bytes) -> bytes:
    """Data as fast-import reads it."""
    return b"data %d\n%s\n" % (len(data), data)


class Writer:
    """Draws a history and writes it as a stream of fast-import."""

    def __init__(self, rng: Random, shape: Shape) -> None:
        self.rng = rng
        self.shape = shape
        self.when = 1_600_000_000 + rng.randrange(10_000_000)
        self.mark = 0

    def stream(self) -> tuple[bytes, list[str]]:
        """The stream, and the names of tags."""
        rng = self.rng
        tree = self.first_tree()
        out = [self.commit(b"main", {}, tree, [])]
        tips: dict[bytes, tuple[int, Tree]] = {b"main": (self.mark, tree)}
        for _ in range(self.shape.commits - 1):
            branch = rng.choice((b"main", b"main", b"topic", b"side"))
            base, former = tips.get(branch, tips[b"main"])
            parents = [base]
            if branch == b"main" and len(tips) > 1 and rng.random() < 0.4:
                other_tips = [tips[name] for name in tips if name != b"main"][: rng.randint(1, 2)]
                parents += [mark for mark, _ in other_tips]
                after = dict(former)
                for _, other in other_tips:
                    after.update({path: entry for path, entry in other.items() if rng.random() < 0.5})
                after = sound(after)
            else:
                after = self.changed(former)
            out.append(self.commit(branch, former, after, parents))
            tips[branch] = (self.mark, after)
        if b"topic" not in tips:
            base, former = tips[b"main"]
            out.append(self.commit(b"topic", former, self.changed(former), [base]))
        if rng.random() < 0.5:
            out.append(self.commit(b"orphan", {}, self.first_tree(), []))
        out.append(b"reset refs/tags/light\nfrom :1\n\n")
        out.append(b"tag noted\nfrom :%d\ntagger T <t@x> 1600000000 +0000\n%s" % (tips[b"main"][0], block(b"note\n")))
        return b"".join(out) + b"done\n", ["light", "noted"]

    def first_tree(self) -> Tree:
        """Files of a first commit."""
        rng = self.rng
        tree: Tree = {}
        for _ in range(self.shape.files):
            tree[texts.path(rng)] = (rng.choice((b"100644", b"100644", b"100755")), texts.data(rng))
        for number in range(self.shape.sources):
            ending = rng.choice((b".py", b".go", b".java", b".rs"))
            tree[sources.FOLDER + b"f%d" % number + ending] = (b"100644", sources.source(rng, ending))
        if rng.random() < 0.5:
            tree[b"link"] = (b"120000", rng.choice((b"foo.txt", b"/etc/passwd", b"missing\xff")))
        if rng.random() < 0.3:
            size = 64 if self.shape.object_format == "sha256" else 40
            tree[b"module"] = (b"160000", b"1" * size)
        if rng.random() < 0.3:
            tree[b".mailmap"] = (b"100644", b"Ada Example <ada@example.org> ada <ADA@example.org>\n")
        if rng.random() < 0.4:
            tree[OWNERS] = (b"100644", RULES)
        if self.shape.attributes and rng.random() < 0.3:
            tree[b".gitattributes"] = (
                b"100644",
                b"*.txt -diff\n*.md text eol=crlf\n*.py working-tree-encoding=UTF-16\n",
            )
        return sound(tree)

    def changed(self, former: Tree) -> Tree:
        """The tree after some edits, renames, copies, removals and changes of mode."""
        rng = self.rng
        tree = dict(former)
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            # Definitions stay whole, so that they can be read line by line.
            files = [path for path, (mode, _) in tree.items() if mode.startswith(b"100")]
            files = [path for path in files if not path.startswith(sources.FOLDER) and path != OWNERS]
            if not files:
                break
            path = rng.choice(files)
            mode, data = tree[path]
            match rng.randrange(8):
                case 0:
                    tree[texts.path(rng)] = (mode, texts.data(rng))
                case 1:
                    tree[texts.path(rng)] = tree.pop(path)
                case 2:
                    tree[texts.path(rng)] = (mode, texts.edited(rng, tree.pop(path)[1]))
                case 3:
                    tree[texts.path(rng)] = (mode, data)
                case 4 if len(files) > 2:
                    del tree[path]
                case 5:
                    tree[path] = (b"100755" if mode == b"100644" else b"100644", data)
                case 6 if rng.random() < 0.3:
                    tree[path] = (b"120000", b"target foo")
                case _:
                    tree[path] = (mode, texts.edited(rng, data))
        return sound(tree)

    def commit(self, branch: bytes, former: Tree, tree: Tree, parents: list[int]) -> bytes:
        """One commit."""
        out = self.head(b"refs/heads/" + branch, self.message(), [b":%d" % parent for parent in parents])
        out += b"deleteall\n" if tree or former else b""
        for path, (mode, data) in tree.items():
            if mode == b"160000":
                out += b"M 160000 %s %s\n" % (data, quoted(path))
            else:
                out += b"M %s inline %s\n%s" % (mode, quoted(path), block(data))
        return out + b"\n"

    def head(self, branch: bytes, message: bytes, parents: list[bytes]) -> bytes:
        """Head of a commit: who, when, why, from where."""
        rng = self.rng
        self.mark += 1
        self.when += rng.choice((0, 1, 60, 3600, 86_400, -3600 if self.shape.odd else 0))
        author, committer = rng.choice(PEOPLE), rng.choice(PEOPLE)
        date = b"%d %s" % (self.when, rng.choice(ZONES) if self.shape.odd else b"+0000")
        date_text = rng.choice(ODD_DATES) if self.shape.odd and rng.random() < 0.1 else date
        out = b"commit %s\nmark :%d\nauthor %s %s\ncommitter %s %s\n" % (
            branch,
            self.mark,
            author,
            date_text,
            committer,
            date,
        )
        if self.shape.odd and rng.random() < 0.1:
            out += b"encoding %s\n" % rng.choice((b"ISO-8859-1", b"latin-1", b"bogus", b"UTF-8"))
        out += block(message)
        for index, parent in enumerate(parents):
            out += (b"from " if index == 0 else b"merge ") + parent + b"\n"
        return out

    def message(self) -> bytes:
        """A message: a line or more, at times empty or in bytes that are no UTF-8."""
        rng = self.rng
        text = rng.choice(("", "", "\n")) + texts.line(rng) + rng.choice(("", "\n", "\n\n" + texts.lines(rng, 2)))
        data = text.replace("\0", "").encode()
        if self.shape.odd:
            roll = rng.random()
            if roll < 0.06:
                return b""
            if roll < 0.12:
                return b"fix caf\xe9 foo\n"
            if roll < 0.16:
                return texts.spoil(rng, data)
        return data


def sound(tree: Tree) -> Tree:
    """The tree without files that stand where another path needs a folder, and without names git refuses."""
    folders = {path[:index] for path in tree for index, byte in enumerate(path) if byte == 47}
    return {path: entry for path, entry in tree.items() if path not in folders and b"/./" not in path}


def make_simple(
    folder: Path,
    files: dict[bytes, bytes],
    message: bytes = b"files\n",
    date: bytes = b"1600000000 +0000",
    person: bytes = b"Ada Example <ada@example.org>",
) -> Made:
    """A repository of one commit more than it has, with just these files."""
    if not folder.exists():
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main", "--bare", ".")
        git(folder, "config", "remote.origin.url", f"https://example.org/zoo/{folder.name}.git")
    previous = git(folder, "rev-parse", "--verify", "--quiet", "main", accept=(0, 1)).strip()
    who = person + b" " + date
    stream = b"commit refs/heads/main\nauthor %s\ncommitter %s\n%s" % (who, who, block(message))
    stream += (b"from " + previous + b"\n" if previous else b"") + b"deleteall\n"
    for path, data in files.items():
        stream += b"M 100644 inline " + quoted(path) + b"\n" + block(data)
    git(folder, "fast-import", "--quiet", "--date-format=raw-permissive", stdin=stream + b"\n")
    return Made(folder, f"example.org/zoo/{folder.name}", Shape(folder.name))
