"""What the oracles once found wrong, pinned in its smallest form."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from oracles import calls, checks, fleets, git_history, repositories
from oracles.epoch import Epoch, Outcome
from oracles.git_reader import git
from oracles.questions import Atom, Filter, Question, Tree, Without

# False negatives of Vectorscan 5.4.12 (VectorCamp/vectorscan issues 358 and 402), and their kin.
ANCHORED = (
    r"\d$", r"^ *}", r"^\s+$", "^x*y", "[a-z]$", "[^a]$", r"\w$", r"(a|b)$", r"(?:foo|bar)$", r"^\s*\d", r"^[ \t]*x",
    r"(\d|x)$", r"\s$", r"\S$", r"^.?$", r"^[a-z]*1", r"^a?b", r"a?$", r"[)]$", r"^\W", r"\W$", r"^(a|b)+$", r"[\d}]$",
    r"^x{0,3}y", r"1\b$", r"^\b", r"e = \d$", r"^[^ ]* = ", r"(?i)[k-s]$", r"^(?:  )*}", r"\.?$",
    r"[[:alpha:]]$", r"\pL$",
)  # fmt: skip
TEXTS = {
    b"todo1.txt": b"# TODO\nvalue = 1\n",
    b"brace.go": b"func f() {\n    if x {\n    }\n}\n",
    b"blank.py": b"a\n   \n\t\nb\n\n",
    b"xy": b"y\nxy\nxxy\n zxy\nxxz",
    b"end": b"foo\nbar\nfoo 1",
    b"crlf.md": b"foo\r\n1\r\n \r\nK\r\n",
    b"kelvin": "K\u212a\n\u017f\ns\n".encode(),
    b"one": b"1",
    b"x9": b"}\n",
}
MESSAGES = (b"value = 1\n", b"fix }\n\n  }\ny\nxxy 9\n", b"foo\n\nbar 1")


def open_epoch(folder: Path, *samples: repositories.Made) -> Epoch:
    """An epoch over repositories that are there already."""
    epoch = Epoch("pinned", folder)
    epoch.__dict__["fleet"] = fleets.Fleet(folder / "fleet", list(samples))
    return epoch


def same(outcome: Outcome) -> None:
    """Refuse a difference."""
    assert not outcome.difference, f"{outcome.subject}\n{outcome.difference}"


@pytest.fixture(scope="module")
def anchored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Epoch]:
    folder = tmp_path_factory.mktemp("anchored")
    files: dict[bytes, bytes] = {}
    result = None
    for (path, data), message in zip(TEXTS.items(), itertools.cycle(MESSAGES), strict=False):
        files[path] = data
        result = repositories.make_simple(folder / "fleet" / "one", files, message)
    assert result
    epoch = open_epoch(folder, result, repositories.make_simple(folder / "fleet" / "two9", {b"x": b"y\n"}))
    yield epoch
    epoch.close()


@pytest.mark.parametrize("pattern", ANCHORED)
def test_anchored_patterns_find_what_re2_finds(anchored: Epoch, pattern: str) -> None:
    atom = Atom(pattern, regexp=True)
    trees: list[Tree | None] = [atom, Without(atom)]
    for tree, kinds in itertools.product(trees, ((), ("file",), ("path",), ("repo",))):
        same(checks.check_text(anchored, anchored.client, Question(tree, types=kinds)))
        same(checks.check_text(anchored, anchored.remote, Question(tree, types=kinds, case_sensitive=True)))
    for negated in (False, True):
        selected = (Filter("file", pattern, negated=negated),)
        same(checks.check_text(anchored, anchored.client, Question(None, selected)))
        for kind in ("commit", "diff"):
            same(checks.check_history(anchored, anchored.client, Question(atom, selected, (kind,))))
            same(
                checks.check_history(
                    anchored, anchored.client, Question(None, (Filter("message", pattern, negated),), (kind,))
                )
            )
    for kind in ("commit", "diff"):
        same(checks.check_history(anchored, anchored.client, Question(atom, (), (kind,))))


@pytest.mark.parametrize("pattern", ANCHORED)
def test_predicates_find_what_re2_finds(anchored: Epoch, pattern: str) -> None:
    matcher = calls.matchers([pattern], use_regex=True)[0]
    insensitive = anchored.reader.matcher(Atom(pattern, regexp=True), case_sensitive=False)
    commit = anchored.reader.commits[0]
    for predicate, want in (
        (f"repo:has.path({pattern})", [d for d in commit.documents if insensitive.any(d.path)]),
        (f"repo:has.content({pattern})", [d for d in commit.documents if insensitive.spans(d.data)]),
    ):
        if "(" not in pattern and ")" not in pattern and " " not in pattern:
            result = anchored.client.search(f"repo:/one$ {predicate} count:all", pattern_type="keyword")
            assert (len(result) > 0) == bool(want), predicate
    history = anchored.histories.histories[0]
    commits = {c.name for c in history.commits if matcher.any(c.message.strip())}
    assert (
        set(anchored.client.commit_search(history.repository, message_terms=[pattern], use_regex=True)["commit"])
        == commits
    )


@pytest.mark.parametrize("pattern", [p for p in ANCHORED if r"\s" not in p and r"\W" not in p and "[^" not in p])
def test_changed_lines_are_those_of_re2(anchored: Epoch, pattern: str) -> None:
    history = anchored.histories.histories[0]
    matcher = calls.matchers([pattern], use_regex=True)[0]
    want = Counter(
        (commit.name, line.side, line.number, line.text.decode())
        for commit in history.commits for change in commit.changes for line in change.lines if matcher.any(line.text)
    )  # fmt: skip
    frame = anchored.client.diff_search(pattern, history.repository, use_regex=True)
    assert Counter(zip(frame["commit"], frame["side"], frame["line_number"], frame["line"], strict=True)) == want


@pytest.mark.parametrize("pattern", [r"foo\s", r"\W1", "[^a]b", r"\s+$"])
def test_classes_that_hold_newlines_are_looked_for_in_changed_lines(anchored: Epoch, pattern: str) -> None:
    history = anchored.histories.histories[0]
    matcher = calls.matchers([pattern], use_regex=True)[0]
    want = Counter(
        (commit.name, line.number)
        for commit in history.commits for change in commit.changes for line in change.lines if matcher.any(line.text)
    )  # fmt: skip
    frame = anchored.client.diff_search(pattern, history.repository, use_regex=True)
    assert Counter(zip(frame["commit"], frame["line_number"], strict=True)) == want
    sums = anchored.client.pickaxe(pattern, history.repository, by=["repository"], use_regex=True)
    assert int(sums["added"].sum()) == sum(
        line.side == "added" and matcher.any(line.text)
        for commit in history.commits for change in commit.changes for line in change.lines
    )  # fmt: skip


def test_a_pattern_across_changed_lines_is_refused_or_told(anchored: Epoch) -> None:
    try:
        result = anchored.client.search(r"type:diff /foo\nbar/ count:all", pattern_type="keyword")
    except sl.QueryError:
        return
    assert len(result) or result.status != "complete" or len(result.alerts)


def test_one_message_that_is_not_utf8_breaks_no_history(tmp_path: Path) -> None:
    folder = tmp_path / "fleet" / "mixed"
    repositories.make_simple(folder, {b"a": b"foo\n"}, b"plain foo\n")
    epoch = open_epoch(tmp_path, repositories.make_simple(folder, {b"a": b"foo\nbar\n"}, b"second foo\n"))
    try:
        question = Question(Atom("foo"), (), ("commit",))
        same(checks.check_history(epoch, epoch.client, question))
        repositories.make_simple(folder, {b"a": b"bar\n"}, b"caf\xe9 foo\n")
        epoch.forget()
        for kind in ("commit", "diff"):
            same(checks.check_history(epoch, epoch.client, Question(Atom("foo"), (), (kind,))))
        assert len(epoch.client.commit_search(message_terms=["foo"])) == 3
        assert len(epoch.client.diff_search("foo")) == 2
        head = git_history.log(folder, "main")[0].name
        assert len(epoch.client.commit_details("example.org/zoo/mixed", head)) == 1
    finally:
        epoch.close()


@pytest.mark.parametrize(
    "expression", ["[)]", "[^)]", "[(]", "([)])", "a[)]b", "[)(]", r"\)", "[[:alpha:])]", "f([^)]*)"]
)
@pytest.mark.parametrize("pattern_type", ["keyword", "standard", "regexp"])
def test_parentheses_in_classes_stay_what_they_are(tmp_path: Path, expression: str, pattern_type: str) -> None:
    created = repositories.make_simple(tmp_path / "fleet" / "calls", {b"a.py": b"f(x)\na)b\n((\n", b"b": b""})
    epoch = open_epoch(tmp_path, created)
    try:
        question = Question(Atom(expression, regexp=True), (), ("file",), pattern_type=pattern_type)
        same(checks.check_text(epoch, epoch.client, question))
        built = sl.q.regexp(expression) & sl.q.result_type("file")
        assert len(epoch.client.search(built, pattern_type=pattern_type)) == sum(epoch.reader.rows(question).values())
        both = sl.q.result_type("file") & (sl.q.regexp(expression) | sl.q.text("no such text")) & sl.q.file("a")
        assert len(epoch.client.search(both)) == sum(epoch.reader.rows(question).values()), str(both)
    finally:
        epoch.close()


def test_folders_of_a_selection_are_given_once(tmp_path: Path) -> None:
    files = {f"d{number % 7}/e{number % 3}/f{number}.txt".encode(): b"foo\n" for number in range(60)}
    epoch = open_epoch(tmp_path, repositories.make_simple(tmp_path / "fleet" / "folders", files))
    try:
        question = Question(Atom("foo"), select="file.directory")
        same(checks.check_text(epoch, epoch.client, question))
        for typed in ("foo select:file.directory", "foo select:file.directory count:1000"):
            assert len(epoch.client.search(typed)) == epoch.client.search(typed).match_count == 21
    finally:
        epoch.close()


ODD_PATHS = (
    b"-minus",
    b"+plus",
    b"--- a",
    b"+++ b",
    b"n\newline",
    b"a b",
    b"\ttab",
    b"-x/+y/-z",
    b'"q"',
    b"back\\slash",
    b"dev/null",
)


def test_changed_lines_over_http_are_of_the_right_file(tmp_path: Path) -> None:
    folder = tmp_path / "fleet" / "odd"
    repositories.make_simple(folder, {path: b"foo %d\n" % index for index, path in enumerate(ODD_PATHS)})
    epoch = open_epoch(
        tmp_path,
        repositories.make_simple(folder, {path: b"- foo %d\n+ foo\n" % index for index, path in enumerate(ODD_PATHS)}),
    )
    try:
        for pattern in ("foo", "- foo", "+", "0"):
            for client in (epoch.client, epoch.remote):
                same(checks.check_history(epoch, client, Question(Atom(pattern), (), ("diff",))))
    finally:
        epoch.close()


@pytest.mark.parametrize(
    "date", [b"1500000000 +051800", b"1500000000 -9999", b"1500000000 +0060", b"0 +0000", b"4102444800 +0000"]
)
def test_odd_dates_are_read_as_git_reads_them(tmp_path: Path, date: bytes) -> None:
    created = repositories.make_simple(tmp_path / "fleet" / "dates", {b"a": b"foo\n"}, b"foo\n", date)
    epoch = open_epoch(tmp_path, created)
    try:
        logged = git_history.log(created.folder, "HEAD")[0]
        frame = epoch.client.commit_search()
        assert int(frame["commit_date"].iloc[0].timestamp()) == logged.commit_time
        assert int(frame["author_date"].iloc[0].timestamp()) == logged.author_time
        if logged.commit_time > 100_000:
            for name, delta in (("after", -1), ("before", 1), ("after", 0), ("before", 0)):
                selected = (Filter(name, str(logged.commit_time + delta)),)
                same(checks.check_history(epoch, epoch.client, Question(None, selected, ("commit",))))
    finally:
        epoch.close()


@pytest.mark.parametrize(
    "message", [b"\n\n  lead\nsecond\n\nbody\n", b"one\ntwo\n\nthree", b"", b"  \n", b"a \nb\t\n", b"\tx\n"]
)
def test_subjects_are_those_of_git(tmp_path: Path, message: bytes) -> None:
    created = repositories.make_simple(tmp_path / "fleet" / "subjects", {b"a": b"foo\n"}, message)
    epoch = open_epoch(tmp_path, created)
    try:
        assert epoch.client.commit_search()["subject"].tolist() == [
            git_history.log(created.folder, "HEAD")[0].subject.decode()
        ]
    finally:
        epoch.close()


@pytest.mark.parametrize("expression", ["(foo@bar)", "[a-z@]+", "(o@)?b", "[^@]b", "o@b"])
def test_an_at_sign_in_an_expression_breaks_no_query(tmp_path: Path, expression: str) -> None:
    epoch = open_epoch(tmp_path, repositories.make_simple(tmp_path / "fleet" / "mail", {b"a": b"foo@bar\n"}))
    try:
        same(checks.check_text(epoch, epoch.client, Question(Atom(expression, regexp=True))))
    finally:
        epoch.close()


def test_links_inside_a_repository_are_not_followed(tmp_path: Path) -> None:
    repositories.make_simple(tmp_path / "other", {b"a": b"secret foo\n"})
    folder = tmp_path / "fleet" / "one"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", ".")
    (folder / "link").symlink_to("../..")
    (folder / "a").write_bytes(b"foo\n")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "-m", "link")
    with sl.open(tmp_path / "fleet", index_dir=tmp_path / "index", background_index=False) as client:
        assert client.list_repos()["repository"].tolist() == ["one"]
        assert set(client.search("foo count:all").matches["repository"]) == {"one"}


def test_a_side_of_a_diff_is_selected_where_patterns_are_only_excluded(tmp_path: Path) -> None:
    folder = tmp_path / "fleet" / "sides"
    repositories.make_simple(folder, {b"a": b"foo\n", b"b": b"bar\n"})
    epoch = open_epoch(tmp_path, repositories.make_simple(folder, {b"a": b"foo\nmore\n"}))
    try:
        for side in ("added", "removed"):
            tree = Without(Atom("zzz"))
            question = Question(tree, (), ("diff",), select=f"commit.diff.{side}")
            same(checks.check_history(epoch, epoch.client, question))
    finally:
        epoch.close()


def test_a_newline_in_a_path_is_one(tmp_path: Path) -> None:
    files = {b"n\newline.txt": b"foo\n", b"n ewline.txt": b"foo\n", b"plain": b"foo\n"}
    epoch = open_epoch(tmp_path, repositories.make_simple(tmp_path / "fleet" / "newline", files))
    try:
        for pattern in (r"n\n", r"n\se", "n.e", "^n", "e$", r"^ewline", r"\.txt$", "n e"):
            selected = (Filter("file", pattern),)
            same(checks.check_text(epoch, epoch.client, Question(None, selected)))
            same(checks.check_text(epoch, epoch.client, Question(Atom(pattern, regexp=True), types=("path",))))
            same(checks.check_history(epoch, epoch.client, Question(Atom("foo"), selected, ("diff",))))
    finally:
        epoch.close()


def test_owners_in_a_clone_that_lacks_folders_are_told_as_inexact(tmp_path: Path) -> None:
    source = repositories.make_simple(tmp_path / "source", {b"a": b"one\n", b"b": b"b\n"}).folder
    repositories.make_simple(source, {b"a": b"one\ntwo\n", b"b": b"b\n"})
    git(source, "config", "uploadpack.allowFilter", "true")
    git(source, "config", "uploadpack.allowAnySHA1InWant", "true")
    folder = tmp_path / "fleet" / "latest"
    folder.parent.mkdir()
    git(folder.parent, "clone", "-q", "--bare", "--filter=tree:0", source.as_uri(), "latest")
    git(folder, "fetch", "-q", "--no-tags", "--no-filter", "origin", git(source, "rev-parse", "main^{tree}").strip())
    before = repositories.objects_of(folder)
    with sl.open(folder.parent, index_dir=tmp_path / "index", background_index=False) as client:
        name = client.list_repos()["repository"][0]
        with pytest.warns(sl.IncompleteResultWarning, match="partial clone"):
            frame = client.ownership(name, by="file", exact=True)
    assert frame.attrs["status"] == "limited"
    assert not frame["exact"].any()
    assert not any("older history" in notice for notice in frame.attrs["notices"])
    assert repositories.objects_of(folder) == before


@pytest.mark.parametrize("letter", ["\u017f", "\u212a"], ids=["long s", "kelvin sign"])
@pytest.mark.parametrize(
    "query", ["{}", "type:path {}", "type:repo {}", "type:commit {}", "type:diff {}", "file:{}", "type:repo repo:{}"]
)
def test_letters_that_fold_to_ascii_ones_match_them_everywhere(tmp_path: Path, query: str, letter: str) -> None:
    """`type:repo` compared literals by lower(), which leaves both letters as they are: repositories were lost."""
    created = repositories.make_simple(tmp_path / "fleet" / "sky", {b"sk.py": b"skip = 1\n"}, b"skill\n")
    with sl.open(created.folder, progress=False) as code:
        casefolded = code.search(f"{query.format(letter)} count:all", pattern_type="keyword")
        ascii_letter = {"\u017f": "s", "\u212a": "k"}[letter]
        ascii_result = code.search(f"{query.format(ascii_letter)} count:all", pattern_type="keyword")
    assert (casefolded.status, len(casefolded.matches)) == (ascii_result.status, len(ascii_result.matches))
    assert len(casefolded.matches) > 0
