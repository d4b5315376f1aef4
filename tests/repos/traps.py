"""A hostile repository, as its author commits it and an operator clones it, beside a private one."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sourcelight.testing import RepositoryBuilder, make_repo
from sourcelight.testing.repositories import git_environment

PAYMENTS = "git.example.org/acme/payments"
EVIL = "git.example.org/mallory/evil"
PRIVATE_TEXT = "needle of the payments"
OUTSIDE_TEXT = "needle outside of the served folder"
ATTACKER_TEXT = "needle that mallory wrote"
HOSTILE_TEXT = (PRIVATE_TEXT, OUTSIDE_TEXT, ATTACKER_TEXT)


@dataclass(frozen=True)
class Trapped:
    """A served folder `root` with a private repository and the clone of a hostile one; `outside` is not served."""

    root: Path
    payments: RepositoryBuilder
    outside: RepositoryBuilder
    evil: Path

    def allow(self, text: str = "") -> None:
        """Write a `repos.toml` that makes the payments private."""
        (self.root / "repos.toml").write_text(f'[repositories."{PAYMENTS}"]\nprivate = true\n{text}', encoding="utf-8")


def set_traps(folder: Path) -> Trapped:
    """Build everything below `folder`; the traps are tracked files and links of the hostile repository."""
    root = folder / "root"
    origin = f"https://{PAYMENTS}.git"
    payments = make_repo(root / "payments", {"pay.txt": PRIVATE_TEXT + "\n"}, origin=origin)
    outside = make_repo(folder / "outside", {"out.txt": OUTSIDE_TEXT + "\n"}, origin="https://git.example.org/o/ther")
    evil = root / "evil"

    source = RepositoryBuilder(folder / "mallory")
    (source.path / "readme.txt").write_text("harmless\n")
    _takeover(folder, source.path / "takeover.git", origin)
    # Links and paths as they must be in the clone, which is what the operator serves.
    _links(source.path / "linked.git", evil / "linked.git", payments.path / ".git")
    _alternates(source.path / "lender.git", outside)
    _alternates(source.path / "lender2.git", payments)
    _commondir(source.path / "common.git", outside)
    _commondir(source.path / "common2.git", payments)
    (source.path / "rel").symlink_to("../../outside")
    source.commit(None, "traps")
    source.git("clone", "-q", "--no-hardlinks", str(source.path), str(evil))
    RepositoryBuilder(evil).git("remote", "set-url", "origin", f"https://{EVIL}")
    assert (evil / "linked.git" / "objects").resolve() == (payments.path / ".git" / "objects").resolve()
    assert (evil / "rel" / ".git").is_dir()
    assert _git_reads(evil / "lender.git")
    assert _git_reads(evil / "takeover.git")
    return Trapped(root, payments, outside, evil)


def _git_reads(git_dir: Path) -> bool:
    """Whether git itself takes the trap for a repository: else it would prove nothing."""
    done = subprocess.run(
        ["git", "-c", "safe.bareRepository=all", "--git-dir", str(git_dir), "cat-file", "-e", "HEAD^{tree}"],
        env=git_environment(),
        check=False,
        timeout=60,
    )
    return done.returncode == 0


def _takeover(folder: Path, target: Path, origin: str) -> None:
    """A bare repository with text of its own that calls itself the payments."""
    created = make_repo(folder / "made", {"pay.txt": ATTACKER_TEXT + "\n"})
    created.git("clone", "-q", "--bare", "--no-hardlinks", str(created.path), str(target))
    RepositoryBuilder.git(_At(target), "remote", "set-url", "origin", origin)
    _keep_folders(target)


class _At(RepositoryBuilder):
    def __init__(self, path: Path) -> None:
        self.path = path


def _keep_folders(git_dir: Path) -> None:
    """Git tracks no empty folders: one file in each of those that make a git directory."""
    for name in ("refs", "refs/heads", "refs/tags", "objects", "objects/info"):
        (git_dir / name).mkdir(parents=True, exist_ok=True)
        (git_dir / name / "keep").touch()
    shutil.rmtree(git_dir / "hooks", ignore_errors=True)


def _links(source: Path, clone: Path, victim: Path) -> None:
    source.mkdir()
    for name in ("objects", "refs", "HEAD"):
        (source / name).symlink_to(Path("..") / ".." / victim.relative_to(clone.parent.parent) / name)
    (source / "config").write_text("[core]\n\tbare = true\n")


def _alternates(target: Path, victim: RepositoryBuilder) -> None:
    _keep_folders(target)
    (target / "HEAD").write_text("ref: refs/heads/main\n")
    (target / "config").write_text("[core]\n\tbare = true\n")
    (target / "refs" / "heads" / "main").write_text(victim.head + "\n")
    (target / "objects" / "info" / "alternates").write_text(f"{victim.path / '.git' / 'objects'}\n")


def _commondir(target: Path, victim: RepositoryBuilder) -> None:
    target.mkdir()
    (target / "HEAD").write_text(victim.head + "\n")
    (target / "commondir").write_text(f"{victim.path / '.git'}\n")
    (target / "gitdir").write_text(f"{target / '.git'}\n")
