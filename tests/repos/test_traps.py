"""What the contents of one repository can do to others: nothing. Each trap is one that git itself falls into."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pygit2
import pytest

from repos.traps import EVIL, HOSTILE_TEXT, PAYMENTS, Trapped, set_traps
from sourcelight.core.errors import NoRepositories, RepositoryError
from sourcelight.repos import Catalog, ObjectReader, Repository, ServicePolicy, Viewer, resolve
from sourcelight.repos.state import State
from sourcelight.repos.worktree_changes import worktree_status
from sourcelight.testing import RepositoryBuilder, make_repo
from sourcelight.testing.repositories import BareBuilder

ANYONE = Viewer("ann", sees_private=False)


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    return set_traps(tmp_path)


def open_for_others(root: Path, *other_roots: Path, trusted: tuple[str, ...] = ()) -> Catalog:
    return Catalog.open([root, *other_roots], policy=ServicePolicy(State().repositories, trusted_paths=trusted))


def text_of(repository: Repository) -> str:
    """All text of the files at the commit that is searched."""
    with ObjectReader(repository) as reader:
        tree = reader.tree(resolve(repository, ""))
        read = [reader.read(tree.blob_id(index)) or b"" for index in range(len(tree))]
    return b"".join(read).decode(errors="replace")


def seen_by(catalog: Catalog, viewer: Viewer) -> str:
    return "".join(map(text_of, catalog.visible(viewer)))


@pytest.mark.parametrize("is_service", [False, True])
def test_contents_are_no_repositories_and_expose_none(trapped: Trapped, *, is_service: bool) -> None:
    trapped.allow()
    catalog = open_for_others(trapped.root) if is_service else Catalog.open(trapped.root)
    assert [repository.name for repository in catalog.repositories] == [PAYMENTS, EVIL]
    payments = catalog.get(PAYMENTS)
    assert payments.git_dir == str(trapped.payments.path / ".git")
    assert text_of(payments) == HOSTILE_TEXT[0] + "\n"
    assert [repository for repository in catalog.visible(ANYONE) if repository.name != EVIL] == []
    assert not [text for text in HOSTILE_TEXT[:2] if text in seen_by(catalog, ANYONE)]
    granted = Viewer("bob", sees_private=False, canonical_paths=frozenset({payments.canonical_path}))
    assert HOSTILE_TEXT[0] in seen_by(catalog, granted)
    assert HOSTILE_TEXT[1] not in seen_by(catalog, Viewer.owner())
    assert "git directories inside a work tree" in " ".join(catalog.warnings)


def test_a_repository_inside_a_work_tree_that_is_named_too_is_no_trap(tmp_path: Path) -> None:
    outer = RepositoryBuilder(tmp_path / "outer")
    outer.commit({"a.txt": "one\n"})
    for name in ("samples/hub.git", "other/hub.git"):
        BareBuilder(outer.path / name)
    warnings = " ".join(Catalog.open([outer.path / "samples", outer.path]).warnings)
    assert "1 directory looks like a git directory inside a work tree" in warnings
    assert f"{outer.path / 'other' / 'hub.git'};" in warnings


def test_a_trap_that_arrives_while_the_service_runs_is_none_either(trapped: Trapped) -> None:
    shutil.move(trapped.evil, trapped.root.parent / "later")
    trapped.allow()
    catalog = open_for_others(trapped.root)
    shutil.move(trapped.root.parent / "later", trapped.evil)
    assert catalog.refresh(thorough=True)
    assert text_of(catalog.get(PAYMENTS)) == HOSTILE_TEXT[0] + "\n"
    assert not [text for text in HOSTILE_TEXT[:2] if text in seen_by(catalog, ANYONE)]


def test_a_part_of_a_hostile_work_tree_as_the_named_folder_finds_no_trap(trapped: Trapped) -> None:
    deep = RepositoryBuilder(trapped.evil)
    (trapped.evil / "sub").mkdir()
    for name in ("takeover.git", "lender.git", "common.git"):
        shutil.move(trapped.evil / name, trapped.evil / "sub" / name)
    (trapped.evil / "sub" / "rel").symlink_to("../../../outside")
    deep.commit(None, "moved")
    (repository,) = Catalog.open(trapped.evil / "sub").repositories
    assert (repository.name, repository.worktree) == (EVIL, str(trapped.evil))


def test_a_link_is_content_as_long_as_the_index_has_it(trapped: Trapped) -> None:
    """A pushed commit without the link moves HEAD; the link stays in the index and in the work tree."""
    evil = RepositoryBuilder(trapped.evil)
    empty = evil.git("commit-tree", "-m", "x", evil.git("hash-object", "-w", "-t", "tree", os.devnull),
                     env={"GIT_AUTHOR_NAME": "m", "GIT_AUTHOR_EMAIL": "m@x", "GIT_COMMITTER_NAME": "m",
                          "GIT_COMMITTER_EMAIL": "m@x"})  # fmt: skip
    evil.git("update-ref", "refs/heads/main", empty)
    catalog = Catalog.open(trapped.root)
    assert [repository.name for repository in catalog.repositories] == [PAYMENTS, EVIL]


def test_a_link_is_content_when_its_repository_cant_be_read(trapped: Trapped) -> None:
    (trapped.evil / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\1")
    assert [r.name for r in Catalog.open(trapped.root).repositories] == [PAYMENTS, EVIL]


def test_a_link_with_an_odd_name_is_content_too(tmp_path: Path) -> None:
    make_repo(tmp_path / "outside", {"a": "1"})
    evil = RepositoryBuilder(tmp_path / "root" / "evil")
    for number, name in enumerate((b"\xff\xfe", "Ünï".encode(), b" ", b"a\nb", b"..."), start=1):
        evil.file(name).symlink_to("../../outside")
        evil.commit({"n": str(number)})
    assert [r.name for r in Catalog.open(tmp_path / "root").repositories] == ["evil"]


def test_a_tracked_link_is_not_reached_through_an_untracked_one(trapped: Trapped) -> None:
    (trapped.root / "aside").symlink_to(trapped.evil)
    (trapped.evil / "loop").symlink_to(".")
    assert [r.name for r in Catalog.open(trapped.root).repositories] == [PAYMENTS, EVIL]


def test_links_that_people_make_themselves_are_followed(tmp_path: Path) -> None:
    make_repo(tmp_path / "elsewhere" / "lib", {"a": "1"})
    app = make_repo(tmp_path / "root" / "app", {"a": "1"})
    (tmp_path / "root" / "lib").symlink_to(tmp_path / "elsewhere" / "lib")
    make_repo(tmp_path / "elsewhere" / "inner", {"a": "1"})
    (app.path / "untracked").symlink_to(tmp_path / "elsewhere" / "inner")
    assert [r.name for r in Catalog.open(tmp_path / "root").repositories] == ["app", "lib", "untracked"]


def test_an_ordinary_folder_of_checkouts_is_found_without_a_warning(tmp_path: Path) -> None:
    lib = make_repo(tmp_path / "other" / "lib", {"l": "1"})
    app = make_repo(tmp_path / "src" / "app", {"a": "1"})
    app.git("submodule", "--quiet", "add", str(lib.path), "deps/lib")
    app.commit()
    make_repo(tmp_path / "src" / "app" / "nested", {"n": "1"})
    app.git("worktree", "add", "-q", "-b", "side", "../app-side")
    app.clone(tmp_path / "src" / "mirror.git", "--mirror")
    app.git("clone", "-q", "--shared", str(lib.path), "../shared")
    catalog = Catalog.open(tmp_path / "src")
    assert {(r.name, r.worktree.removeprefix(str(tmp_path))) for r in catalog.repositories} == {
        ("app", "/src/app"),
        ("lib", "/src/app/deps/lib"),
        ("nested", "/src/app/nested"),
        ("mirror", ""),
        ("shared", "/src/shared"),
    }
    assert catalog.warnings == ()
    assert [Path(item.path).name for item in catalog.skipped] == ["app-side"]
    # The objects of the shared clone lie outside: fine for somebody's own files, and for a service that names the path.
    for_others = open_for_others(tmp_path / "src")
    assert "shared" not in [repository.name for repository in for_others.repositories]
    (skipped,) = (item for item in for_others.skipped if item.reason == "outside")
    assert str(lib.path / ".git" / "objects") in skipped.message
    assert "repositories.trustedPaths" in skipped.message
    trusting = open_for_others(tmp_path / "src", trusted=(str(tmp_path / "other"),))
    assert "shared" in [repository.name for repository in trusting.repositories]
    by_path = open_for_others(tmp_path / "src" / "shared")
    assert [repository.name for repository in by_path.repositories] == ["shared"]


# What somebody can do who writes into a served folder, git directories included (an unpacked archive, a shared disk).


def write_git_dir(path: Path, **files: str) -> Path:
    for name in ("refs/heads", "objects/info", "objects/pack"):
        (path / name).mkdir(parents=True, exist_ok=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    for name, text in files.items():
        (path / name.replace("__", "/")).write_text(text)
    return path


def test_a_git_file_that_points_out_is_told_to_the_operator(trapped: Trapped) -> None:
    trap = trapped.root / "pointing"
    trap.mkdir()
    (trap / ".git").write_text(f"gitdir: {trapped.outside.path / '.git'}\n")
    catalog = open_for_others(trapped.root)
    assert HOSTILE_TEXT[1] not in seen_by(catalog, Viewer.owner())
    assert [(Path(s.path).name, s.reason) for s in catalog.skipped] == [("pointing", "outside")]


@pytest.mark.parametrize("way", ["link", "commondir", "alternates", "object link", "pack link", "chain"])
def test_a_git_directory_that_reads_outside_is_told_to_the_operator(trapped: Trapped, way: str) -> None:
    victim = trapped.outside.path / ".git"
    trapped.outside.git("gc", "-q")
    trap = trapped.root / "trap"
    head = trapped.outside.head
    if way == "link":
        trap.mkdir()
        (trap / ".git").symlink_to(victim)
    elif way == "commondir":
        write_git_dir(trap / ".git", commondir=str(victim), HEAD=head + "\n")
    else:
        git_dir = write_git_dir(trap / ".git", refs__heads__main=head + "\n")
        if way == "alternates":
            (git_dir / "objects" / "info" / "alternates").write_text(f"{victim / 'objects'}\n")
        elif way == "chain":
            inner = write_git_dir(git_dir / "inner")
            (git_dir / "objects" / "info" / "alternates").write_text("../inner/objects\n")
            (inner / "objects" / "info" / "alternates").write_text(f"# x\n{victim / 'objects'}\n")
        else:
            for pack in (victim / "objects" / "pack").iterdir():
                (git_dir / "objects" / "pack" / pack.name).symlink_to(pack)
    if way == "object link":
        git_dir = write_git_dir(trap / ".git")
        shutil.rmtree(git_dir / "objects" / "pack")
        (git_dir / "objects" / "pack").symlink_to(victim / "objects" / "pack")
    assert HOSTILE_TEXT[1] in seen_by(Catalog.open(trapped.root), Viewer.owner())  # one's own files
    catalog = open_for_others(trapped.root)
    assert HOSTILE_TEXT[1] not in seen_by(catalog, Viewer.owner())
    assert any("outside the served directories" in skip.message for skip in catalog.skipped)


@pytest.mark.parametrize("section", ["include", 'includeIf "onbranch:main"', 'includeif "gitdir:**"'])
def test_a_configuration_that_includes_a_file_outside_is_told_to_the_operator(trapped: Trapped, section: str) -> None:
    """The address of its origin is the name that readers see, and may come from anybody's configuration."""
    secret = trapped.outside.path / "secret.cfg"
    secret.write_text('[remote "origin"]\n\turl = https://h/confidential/name\n')
    trap, chained = (make_repo(trapped.root / name, {"a": "1"}) for name in ("trap", "chained"))
    (trapped.root / "inner.cfg").write_text(f'[{section}]\n\tpath = "{secret}"\n')
    for repository, path in ((trap, str(secret)), (chained, "../../inner.cfg")):
        with (repository.path / ".git" / "config").open("a") as config:
            config.write(f"[{section}] path = {path}\n")
    catalog = open_for_others(trapped.root)
    assert not any("confidential" in repository.name for repository in catalog.repositories)
    skipped = {Path(skip.path).name: (skip.reason, skip.message) for skip in catalog.skipped}
    for name in ("trap", "chained"):
        assert skipped[name][0] == "outside"
        assert f"its configuration includes {secret}" in skipped[name][1]
    assert {"h/confidential/name", "h/confidential/name-2"} & {
        repository.name for repository in Catalog.open(trapped.root).repositories
    }  # one's own files


@pytest.mark.parametrize("line", ["/", '"/tmp/\\157bjects"', "{0}", "\n".join(f"{{0}}/{n}" for n in range(200))])
def test_no_list_of_alternates_has_directories_outside_looked_through(
    trapped: Trapped, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    trap = make_repo(trapped.root / "trap", {"a": "1"})
    (trap.path / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (trap.path / ".git" / "objects" / "info" / "alternates").write_text(line.format(trapped.outside.path) + "\n")
    looked_at: list[str] = []
    scan = os.scandir

    def watched(path: str = ".") -> Any:
        looked_at.append(str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", watched)
    catalog = open_for_others(trapped.root)
    assert [(Path(skip.path).name, skip.reason) for skip in catalog.skipped] == [("trap", "outside")]
    assert [path for path in looked_at if not path.startswith(str(trapped.root))] == []


def test_a_ref_that_is_a_link_to_a_file_outside_is_told_to_the_operator(trapped: Trapped) -> None:
    trap = make_repo(trapped.root / "trap", {"a": "1"})
    (trap.path / ".git" / "refs" / "heads" / "deep").mkdir()
    (trap.path / ".git" / "refs" / "heads" / "deep" / "er").symlink_to(trapped.outside.path / "out.txt")
    catalog = open_for_others(trapped.root)
    assert [(Path(skip.path).name, skip.reason) for skip in catalog.skipped] == [("trap", "outside")]


@pytest.mark.parametrize("way", ["alternates", "pack link"])
def test_who_reads_private_objects_is_as_private(trapped: Trapped, way: str) -> None:
    trapped.allow()
    trapped.payments.git("gc", "-q")
    objects = trapped.payments.path / ".git" / "objects"
    git_dir = write_git_dir(trapped.root / "trap" / ".git", refs__heads__main=trapped.payments.head + "\n")
    if way == "alternates":
        (git_dir / "objects" / "info" / "alternates").write_text("../../../payments/.git/objects\n")
    else:
        for pack in (objects / "pack").iterdir():
            (git_dir / "objects" / "pack" / pack.name).symlink_to(pack)
    catalog = open_for_others(trapped.root)
    trap = catalog.get("trap")
    assert HOSTILE_TEXT[0] in text_of(trap)
    assert trap.info.private
    assert HOSTILE_TEXT[0] not in seen_by(catalog, ANYONE)
    only_trap = Viewer("bob", sees_private=False, canonical_paths=frozenset({trap.canonical_path}))
    assert HOSTILE_TEXT[0] not in seen_by(catalog, only_trap)
    both = Viewer(
        "bob",
        sees_private=False,
        canonical_paths=frozenset({trap.canonical_path, catalog.get(PAYMENTS).canonical_path}),
    )
    assert HOSTILE_TEXT[0] in seen_by(catalog, both)


def test_alternates_that_come_later_are_noticed(trapped: Trapped) -> None:
    trapped.allow()
    trap = make_repo(trapped.root / "trap", {"a": "1"})
    catalog = open_for_others(trapped.root)
    (trap.path / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (trap.path / ".git" / "objects" / "info" / "alternates").write_text(f"{trapped.outside.path}/.git/objects\n")
    assert catalog.refresh()
    assert "trap" not in [repository.name for repository in catalog.repositories]


def test_a_link_that_takes_the_place_of_a_git_directory_is_not_read(trapped: Trapped) -> None:
    app = make_repo(trapped.root / "app", {"a": "1"})
    catalog = open_for_others(trapped.root)
    shutil.move(app.path / ".git", app.path / "moved")
    (app.path / ".git").symlink_to(trapped.outside.path / ".git")
    assert catalog.refresh()
    assert HOSTILE_TEXT[1] not in seen_by(catalog, Viewer.owner())


def test_a_folder_that_only_names_a_private_git_directory_opens_nothing(trapped: Trapped) -> None:
    """`private = false` for a folder counts for the repository that stands there, not for one that it points to."""
    trap = trapped.root / "a-trap"
    trap.mkdir()
    (trap / ".git").write_text("gitdir: ../payments/.git\n")
    trapped.allow('[repositories."./a-trap"]\nprivate = false\n')
    catalog = open_for_others(trapped.root)
    assert catalog.get(PAYMENTS).worktree == str(trapped.payments.path)
    assert catalog.get(PAYMENTS).info.private


def test_a_description_is_no_link_to_a_secret(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the operator's key\n")
    app = make_repo(tmp_path / "root" / "app", {"a": "1"})
    (app.path / ".git" / "description").unlink(missing_ok=True)
    (app.path / ".git" / "description").symlink_to(tmp_path / "secret")
    assert Catalog.open(tmp_path / "root").get("app").info.description == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize(
    "name",
    [
        "description", "commondir", "objects/info/alternates", "HEAD", "config", "packed-refs", "refs/heads/main",
        "objects/info/commit-graph", "objects/pack/multi-pack-index", f"objects/pack/pack-{'0' * 40}.idx",
        "refs/heads/other", "refs/tags/v1",
    ],
)  # fmt: skip
def test_a_pipe_in_a_git_directory_holds_nobody_up(tmp_path: Path, name: str) -> None:
    app = make_repo(tmp_path / "root" / "app", {"a": "1"})
    (app.path / ".git" / name).parent.mkdir(exist_ok=True)
    (app.path / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(app.path / ".git" / name)
    make_repo(tmp_path / "root" / "other", {"a": "1"})
    assert "other" in [repository.name for repository in open_for_others(tmp_path / "root").repositories]
    assert "other" in [repository.name for repository in Catalog.open(tmp_path / "root").repositories]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_a_link_to_a_pipe_among_objects_holds_nobody_up(tmp_path: Path) -> None:
    app = make_repo(tmp_path / "root" / "app", {"a": "1"})
    blob = app.git("rev-parse", "HEAD:a").strip()
    loose = app.path / ".git" / "objects" / blob[:2]
    pipes = app.path / "pipes"
    loose.rename(pipes)
    (pipes / blob[2:]).unlink()
    os.mkfifo(pipes / blob[2:])
    loose.symlink_to(pipes)
    make_repo(tmp_path / "root" / "other", {"a": "1"})
    catalog = open_for_others(tmp_path / "root")
    assert "other" in [repository.name for repository in catalog.repositories]
    assert {Path(skip.path).name: skip.reason for skip in catalog.skipped} == {"app": "unreadable"}


_INCLUDES = {
    "quoted": '[include]\n\tpath = "../"pipe\n',
    "escaped": "[include]\n\tpath = ../\\\npipe\n",
    "after a bracket": "[include]\n\tx = [\n\tpath = ../pipe\n",
    "on one line": "[INCLUDE] PATH=../pipe ; comment\n",
    "through a link": "[include]\n\tpath = link/../pipe\n",
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("text", _INCLUDES.values(), ids=_INCLUDES.keys())
def test_a_configuration_that_includes_a_pipe_holds_nobody_up(tmp_path: Path, text: str) -> None:
    app = make_repo(tmp_path / "root" / "app", {"a": "1", "folder/b": "2"})
    (app.path / ".git" / "link").symlink_to(app.path / "folder")
    os.mkfifo(app.path / "pipe")
    with (app.path / ".git" / "config").open("a") as config:
        config.write(text)
    make_repo(tmp_path / "root" / "other", {"a": "1"})
    assert [repository.name for repository in open_for_others(tmp_path / "root").repositories] == ["other"]


def test_configurations_that_include_each_other_hold_nobody_up(tmp_path: Path) -> None:
    app = make_repo(tmp_path / "root" / "app", {"a": "1"})
    for depth in range(9):
        name = f"config-{depth}" if depth else "config"
        with (app.path / ".git" / name).open("a") as config:
            config.write(f"[include]\n\tpath = config-{depth + 1}\n" * 20)
    (app.path / ".git" / "config-9").write_text("[user]\n\tname = x\n")
    make_repo(tmp_path / "root" / "other", {"a": "1"})
    assert [repository.name for repository in open_for_others(tmp_path / "root").repositories] == ["other"]


def test_a_plain_include_goes_on_working(tmp_path: Path) -> None:
    app = make_repo(tmp_path / "root" / "app", {"a": "1", ".gitconfig": '[remote "origin"]\n\turl = https://h/o/n\n'})
    app.git("config", "include.path", "../.gitconfig")
    assert [repository.name for repository in open_for_others(tmp_path / "root").repositories] == ["h/o/n"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("name", ["core.excludesFile", "core.attributesFile", ".gitignore", ".gitattributes"])
def test_rules_that_are_a_pipe_hold_no_comparison_up(tmp_path: Path, name: str) -> None:
    app = make_repo(tmp_path / "app", {"a": "1"})
    folder = app.path / "untracked"
    folder.mkdir()
    (folder / "x").write_text("x")
    if name.startswith("."):
        os.mkfifo(folder / name)
    else:
        os.mkfifo(tmp_path / "pipe")
        app.git("config", name, str(tmp_path / "pipe"))
    with pytest.raises(RepositoryError, match="is not a regular file"):
        worktree_status(Catalog.open(app.path).get("app"))


def test_variables_of_a_surrounding_git_lead_nowhere(trapped: Trapped, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = str(trapped.outside.path / ".git" / "objects")
    write_git_dir(trapped.root / "trap" / ".git", refs__heads__main=trapped.outside.head + "\n")
    monkeypatch.setenv("GIT_DIR", str(trapped.outside.path / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", objects)
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
    monkeypatch.setenv("GIT_COMMON_DIR", str(trapped.outside.path / ".git"))
    catalog = Catalog.open(trapped.root)
    assert HOSTILE_TEXT[1] not in seen_by(catalog, Viewer.owner())
    assert {Path(skip.path).name: skip.reason for skip in catalog.skipped} == {"trap": "corrupt"}


def test_settings_that_a_repository_tracks_are_content(tmp_path: Path) -> None:
    mono = make_repo(tmp_path / "mono", {"packages/repos.toml": "[repositories.inner]\nprivate = false\n"})
    make_repo(mono.path / "packages" / "inner", {"a": "1"})
    catalog = Catalog.open(mono.path / "packages")
    assert catalog.get("inner")
    assert "is content" in " ".join(catalog.warnings)


def test_a_lookalike_is_searched_when_it_is_named(tmp_path: Path) -> None:
    app = make_repo(tmp_path / "app", {"a": "1"})
    bare = BareBuilder(app.path / "fixtures" / "sample.git")
    app.git("push", "-q", str(bare.path), "main")
    assert [r.worktree for r in Catalog.open(tmp_path).repositories] == [str(app.path)]
    assert [r.name for r in Catalog.open(bare.path).repositories] == ["sample"]
    with pytest.raises(NoRepositories):
        Catalog.open(tmp_path / "nothing")


@pytest.mark.parametrize(
    "name", ["core.excludesFile", "core.attributesFile", "info/exclude", ".gitignore", "d/.gitignore"]
)
def test_a_served_work_tree_is_not_compared_by_rules_from_elsewhere(tmp_path: Path, name: str) -> None:
    """Which new files were ignored said which lines a file had that the service's user can read."""
    secret = tmp_path / "private" / "passwords"
    secret.parent.mkdir()
    secret.write_text("hunter2\n")
    app = make_repo(tmp_path / "root" / "app", {"a": "1"})
    (app.path / "d").mkdir()
    for guess in ("hunter2", "d/hunter2", "wrong"):
        (app.path / guess).write_text("x")

    if name.startswith("core."):
        app.git("config", name, str(secret))
    else:
        link = app.path / (f".git/{name}" if name.startswith("info") else name)
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(secret)
    with pytest.raises(RepositoryError, match="is outside of the repository; its work tree isn't compared"):
        worktree_status(open_for_others(tmp_path / "root").get("app", Viewer.owner()))

    # A user who searches files of their own may keep rules anywhere.
    assert worktree_status(Catalog.open(app.path).get("app")).untracked >= 1


@pytest.mark.parametrize("owner", ["work tree", "git directory", "user"])
def test_a_served_work_tree_is_compared_by_rules_of_its_own_and_of_the_user(
    tmp_path: Path, request: pytest.FixtureRequest, owner: str
) -> None:
    app = make_repo(tmp_path / "root" / "app", {"a": "1"})
    (app.path / "rubbish").write_text("x")
    rules = {"work tree": app.path / "rules", "git directory": app.path / ".git" / "rules", "user": tmp_path / "rules"}
    rules[owner].write_text("rubbish\nrules\n.gitignore\n")
    if owner == "user":
        level, search_path = pygit2.enums.ConfigLevel.GLOBAL, pygit2.settings.search_path
        (tmp_path / ".gitconfig").write_text(f"[core]\n\texcludesFile = {rules[owner]}\n")
        request.addfinalizer(partial(search_path.__setitem__, level, search_path[level]))
        search_path[level] = str(tmp_path)
    else:
        app.git("config", "core.excludesFile", str(rules[owner]))
    if owner == "work tree":
        (app.path / ".gitignore").symlink_to("rules")
    assert worktree_status(open_for_others(tmp_path / "root").get("app", Viewer.owner())).untracked == 0
