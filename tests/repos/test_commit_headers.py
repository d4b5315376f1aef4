"""Commits are read from their bytes as git shows them, whatever they claim."""

from __future__ import annotations

import pytest

from engines.history.hostile import ADA, raw_commit
from sourcelight.core.batches import CommitId
from sourcelight.repos import Catalog, ObjectReader
from sourcelight.repos.objects.commits import read_commit
from sourcelight.testing import RepositoryBuilder

MESSAGES = [
    b"subject\n",
    b"subject\nover two lines\n\nbody\n\nwith a gap\n",
    b"\n\n  blank lines first\n\nbody\n",
    b"",
    b"one line without end",
    b"caf\xe9 that is no UTF-8\n",
]
ZONES = [b"+0000", b"-0730", b"+1400", b"+051800", b"junk"]


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("zone", ZONES)
def test_a_commit_reads_as_git_shows_it(tmp_path_factory: pytest.TempPathFactory, message: bytes, zone: bytes) -> None:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("raw") / "repo")
    author = b"Ada  Lovelace <ada@example.org> 1700000000 " + zone
    raw_commit(repo, message, author=author, committer=ADA, files={b"a": b"1\n"})
    (repository,) = Catalog.open([repo.path]).repositories
    with ObjectReader(repository) as reader:
        header = read_commit(reader, repo.head)
        assert read_commit(reader, CommitId("0" * 40)) is None
    assert header is not None
    subject = repo.git("log", "-1", "--format=%s").strip()
    assert header.subject == subject.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    assert header.body.split() == repo.git("log", "-1", "--format=%b").split()
    assert header.author[:2] == ("Ada  Lovelace", "ada@example.org")
    if zone in {b"+0000", b"-0730", b"+1400"}:
        assert header.author[2] == repo.git("log", "-1", "--format=%aI").strip().replace("Z", "+00:00")


def test_a_message_in_another_encoding_is_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("raw") / "repo")
    repo.commit({"a": "1\n"}, "start")
    raw = repo.git("cat-file", "commit", "HEAD").encode()
    head = raw.partition(b"\n\n")[0] + b"\nencoding ISO-8859-1\n\ncaf\xe9\n"
    oid = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=head).strip()
    repo.git("update-ref", "HEAD", oid)
    (repository,) = Catalog.open([repo.path]).repositories
    with ObjectReader(repository) as reader:
        header = read_commit(reader, CommitId(oid))
    assert header is not None
    assert header.message == "caf\u00e9"
