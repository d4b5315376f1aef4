"""Ranking over real repositories: exact at every revision, the same on every run, and only for those who may see."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.results import ToolProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, QueryError
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.natural_language import RankedSearch, rank, split_filters
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.bm25 import Weights, score
from sourcelight.engines.search.ranking.chunk_definitions import definition_names
from sourcelight.engines.search.ranking.collection import make_collection
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN, terms_of
from sourcelight.repos import Viewer, resolve
from sourcelight.testing import RepositoryBuilder

LEDGER = '''"""Keeps accounts."""


class Ledger:
    """Balances of accounts."""

    def post_entry(self, account, amount):
        """Post an entry and update the balance of the account."""
        self.balances[account] += amount
        self.log.append((account, amount))
        return self.balances[account]

    def close_period(self):
        """Close the period, carrying balances forward."""
        for account in self.balances:
            self.carry(account)
        self.period += 1
        self.log.clear()
        return self.period
'''
MAIL = '''"""Sends mail."""


def send_reminder(address, text):
    """Send a reminder about an unpaid invoice."""
    connection = connect(address)
    connection.write(text)
    return connection.close()
'''
FILES: dict[str | bytes, str | bytes | None] = {
    "books/ledger.py": LEDGER,
    "books/mail.py": MAIL,
    "tests/test_ledger.py": "def test_post_entry():\n    assert Ledger().post_entry('a', 1) == 1\n",
    "docs/ledger.md": "# Ledger\n\nHow to post an entry to the ledger and close a period.\n",
    "CHANGELOG.md": "# Changes\n\nThe ledger can post an entry; the ledger closes periods.\n",
    "empty.py": "",
    "blob.bin": b"\0ledger",
}


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("code") / "books", origin="https://example.org/team/books.git")
    repo.commit(FILES)
    repo.tag("v1")
    repo.commit({"books/ledger.py": LEDGER.replace("post_entry", "record_entry"), "copy.py": MAIL})
    return repo


@pytest.fixture(scope="module")
def engine(builder: RepositoryBuilder, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return open_engine([builder.path], index=tmp_path_factory.mktemp("index"), workers=1)


def ask(engine: LocalEngine, text: str, *, viewer: Viewer | None = None, limit: int | None = None) -> Ranking:
    return rank(engine, RankedSearch(text, limit=limit), viewer or Viewer.owner(), Cancellation())


def paths(ranking: Ranking) -> list[str]:
    return [file.path for file in ranking.files]


def test_code_comes_before_tests_docs_and_change_logs(engine: LocalEngine) -> None:
    """Of files with the same words the code wins, and a change log comes last."""
    ranking = ask(engine, "rev:v1 repo:books how does the ledger post an entry")
    assert paths(ranking)[0] == "books/ledger.py"
    assert paths(ranking)[-1] == "CHANGELOG.md"
    best = ranking.chunks[0]
    assert (best.path, best.score, best.kind) == ("books/ledger.py", 1.0, "code")
    assert "post_entry" in best.symbols
    text = engine.store.read(best.target, best.path) or b""
    assert b"self.balances[account] += amount" in b"\n".join(text.split(b"\n")[best.begin_line - 1 : best.end_line])
    assert [file.score for file in ranking.files] == sorted((file.score for file in ranking.files), reverse=True)


def test_stems_meet(engine: LocalEngine) -> None:
    """Other forms of a word find it too."""
    assert paths(ask(engine, "sending reminders"))[:2] == ["books/mail.py", "copy.py"]


def test_the_same_blob_at_two_paths_is_two_files(engine: LocalEngine) -> None:
    """Equal files come in the order of their paths, each with its own chunks."""
    ranking = ask(engine, "unpaid invoice")
    assert {chunk.path for chunk in ranking.chunks} == {"books/mail.py", "copy.py"}


def naive_scores(engine: LocalEngine, target: Target, terms: dict[str, float]) -> dict[tuple[str, int], float]:
    """BM25F as the formula says, over the chunks that ranking cut, from their text and paths alone."""
    weights = Weights()
    terms_index = engine.terms.open(target)
    view = terms_index.snapshot.view
    chunks: dict[tuple[str, int], tuple[Counter[str], int, Counter[str]]] = {}
    for file in range(view.files):
        if int(view.reason[file]):
            continue
        path = view.path(file)
        shard, document = int(view.shard[file]), int(view.document[file])
        table = terms_index.terms[shard]
        assert table is not None
        lines = terms_index.snapshot.shards[shard].text(document).split(b"\n")
        for row in range(int(table.doc_chunk[document]), int(table.doc_chunk[document + 1])):
            start, end = int(table.begin_line[row]), int(table.end_line[row])
            words = [w.decode() for w in TOKEN.findall(b"\n".join(lines[start - 1 : end]))]
            body = Counter(term for word in words for term in terms_of(word))
            name_terms: Counter[str] = Counter()
            definitions = engine.store.definitions_of(target, path)
            assert definitions is not None
            for definition in definitions.definitions():
                is_outer = definition.kind in {"class", "function", "method"} and (
                    definition.parent < 0 or definition.container == "Ledger"
                )
                weight = (
                    2 if start <= definition.line <= end else 1 if definition.line < start <= definition.end_line else 0
                )
                if is_outer and weight:
                    for term in terms_of(definition.name):
                        name_terms[term] += weight
            chunks[path, start] = body, sum(n for term, n in body.items() if term[0] != "="), name_terms
    mean = sum(length for _, length, _ in chunks.values()) / len(chunks)
    scores: dict[tuple[str, int], float] = dict.fromkeys(chunks, 0.0)
    for term, factor in terms.items():
        times: dict[tuple[str, int], float] = {}
        for (path, start), (body, length, name_terms) in chunks.items():
            folder, _, name = path.rpartition("/")
            in_path = float(term in {t for w in name.split(".") for t in terms_of(w)})
            in_path += 0.5 * (term in {t for part in folder.split("/") if part for t in terms_of(part)})
            norm = 1 - weights.b + weights.b * length / mean
            tf = body[term] / norm + weights.definition * name_terms[term] / 2 + weights.path * in_path
            if tf:
                times[path, start] = tf
        idf = math.log(1 + (len(chunks) - len(times) + 0.5) / (len(times) + 0.5))
        for location, tf in times.items():
            scores[location] += factor * idf * (weights.k1 + 1) * tf / (weights.k1 + tf)
    return scores


@pytest.mark.parametrize("revision", ["", "v1"])
def test_scores_are_those_of_the_formula(engine: LocalEngine, revision: str) -> None:
    """The tables give, at any revision, what counting words in the text of that revision gives."""
    repository = engine.catalog.repositories[0]
    target = Target(repository, revision, resolve(repository, revision or "HEAD"))
    engine.update_terms([target], Cancellation())
    terms_index = engine.terms.open(target)
    collection = make_collection([terms_index], [None])
    terms = {"ledger": 1.0, "entri": 2.0, "=postentry": 1.0, "post": 1.0, "invoic": 1.0, "close": 1.0, "book": 0.5}
    scores = score(collection, terms, Weights(), Cancellation())
    mine: dict[tuple[str, int], float] = {}
    for number, block in enumerate(collection.blocks):
        for chunk in range(block.chunks):
            row = block.row_of(chunk)
            path = terms_index.snapshot.view.path(int(block.files[block.file_of[chunk]]))
            mine[path, int(block.table.begin_line[row])] = float(scores.chunks[collection.chunk_base[number] + chunk])
    expected = naive_scores(engine, target, terms)
    assert mine.keys() == expected.keys()
    assert np.allclose(
        [mine[location] for location in sorted(mine)], [expected[location] for location in sorted(mine)], rtol=1e-12
    )


@pytest.mark.parametrize("revision", ["", "v1"])
def test_chunks_have_the_definitions_that_begin_in_their_lines(engine: LocalEngine, revision: str) -> None:
    repository = engine.catalog.repositories[0]
    target = Target(repository, revision, resolve(repository, revision or "HEAD"))
    engine.update_terms([target], Cancellation())
    collection = make_collection([engine.terms.open(target)], [None])
    names = definition_names(collection, np.arange(collection.chunks))
    assert len(names) == collection.chunks
    for number, block in enumerate(collection.blocks):
        symbols = collection.symbols_of(number)
        assert symbols is not None
        for chunk in range(block.chunks):
            row = block.row_of(chunk)
            first, last = block.lines_of(row)
            definitions = symbols.definitions(int(block.table.chunk_doc[row]))
            expected = [
                name
                for name, line in zip(definitions.names, definitions.rows[:, 1], strict=True)
                if first <= line <= last
            ]
            assert list(names[collection.chunk_base[number] + chunk]) == expected
    assert b"Ledger" in {name for of_chunk in names for name in of_chunk}


def test_a_revision_ranks_as_a_repository_that_has_only_it(
    engine: LocalEngine, builder: RepositoryBuilder, tmp_path: Path
) -> None:
    """Other revisions in the index change no score."""
    copy = RepositoryBuilder(tmp_path / "alone", origin="https://example.org/team/books.git")
    copy.commit(FILES)
    fresh = open_engine([copy.path], index=tmp_path / "index", workers=1)
    question = "how is an entry posted to the ledger"
    old, new = ask(engine, f"repo:books rev:v1 {question}"), ask(fresh, question)
    assert [(c.path, c.begin_line, c.end_line, c.score) for c in old.chunks] == [
        (c.path, c.begin_line, c.end_line, c.score) for c in new.chunks
    ]
    assert old.chunks[0].target.commit == builder.git("rev-parse", "v1^{commit}").strip()


def test_a_blob_is_read_once_for_all_revisions(tmp_path: Path) -> None:
    """After a commit only the changed file's words are read, and damage to a table is mended."""
    repo = RepositoryBuilder(tmp_path / "books")
    repo.commit(FILES)
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    target = engine.target_of(engine.catalog.repositories[0])
    engine.store.update([target])
    assert engine.terms.update([target]).files == len(FILES) - 1
    repo.commit({"books/mail.py": MAIL + "\n\ndef extra():\n    return 1\n"})
    engine.refresh()
    target = engine.target_of(engine.catalog.repositories[0])
    assert not engine.terms.is_current(target)
    assert engine.terms.update([target]).files == 1
    before = ask(engine, "extra reminder")
    assert paths(before)[0] == "books/mail.py"
    folder = engine.store.repository_folder(target.repository.key)
    for name in folder.side_tables("terms").values():
        data = bytearray((folder.path / name).read_bytes())
        data[-40] ^= 255
        (folder.path / name).unlink()
        (folder.path / name).write_bytes(data)
    second_engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    assert ask(second_engine, "extra reminder").chunks == before.chunks


def test_filters_choose_repositories_files_and_languages(engine: LocalEngine) -> None:
    """The filters of the query language hold, alternatives in parentheses included."""
    assert split_filters('(repo:a OR repo:b) file:"x y" -lang:go how does it work: a test') == (
        '(repo:a OR repo:b) file:"x y" -lang:go',
        "how does it work: a test",
    )
    assert split_filters("what does File::Spec need of Path::Tiny") == ("", "what does File::Spec need of Path::Tiny")
    assert {f.path for f in ask(engine, "lang:markdown ledger").files} == {"docs/ledger.md", "CHANGELOG.md"}
    assert "docs/ledger.md" not in paths(ask(engine, "-file:^docs/ ledger entry"))
    assert {f.path for f in ask(engine, "(file:^docs/ OR file:^tests/) ledger").files} == {
        "docs/ledger.md",
        "tests/test_ledger.py",
    }
    assert ask(engine, "repo:books rev:nosuch ledger").failed == {"example.org/team/books@nosuch": "no such revision"}
    with pytest.raises(QueryError):
        ask(engine, "repo:books is it the")


def test_unknown_words_and_coverage(engine: LocalEngine) -> None:
    """What no file has is named; words that nobody wrote cover nothing."""
    ranking = ask(engine, "how does `QuantumFlux` regulate plumbum")
    assert ranking.unknown == ("QuantumFlux", "regulate", "plumbum")
    assert ranking.coverage == 0.0
    assert ranking.chunks == ()
    assert ask(engine, "post an entry to the ledger").coverage > 0.6


def test_a_declaration_counts_less_than_the_definition(tmp_path: Path) -> None:
    """A name asked for is looked for where it is defined with a body, not in the header that declares it."""
    repo = RepositoryBuilder(tmp_path / "books")
    body = "int post_entry(int amount)\n{\n    return amount;\n}\n"
    repo.commit({"ledger.h": "int post_entry(int amount);\n", "ledger.c": body})
    ranking = ask(open_engine([repo.path], index=tmp_path / "index", workers=1), "what does `post_entry` do")
    shares = {file.path: file.lists["definitions"] for file in ranking.files}
    assert shares["ledger.c"] > 2 * shares["ledger.h"]


def test_an_invisible_repository_changes_nothing(
    engine: LocalEngine, builder: RepositoryBuilder, tmp_path: Path
) -> None:
    """For one who may not see a private repository, not even a score tells that it is there."""
    secret = RepositoryBuilder(tmp_path / "secret", origin="https://example.org/team/secret.git")
    secret.commit({"ledger.py": LEDGER})
    config = tmp_path / "repos.toml"
    config.write_text('[repositories."example.org/team/secret"]\nprivate = true\n')
    both = open_engine([builder.path, secret.path], index=tmp_path / "index", config=config, workers=1)
    question = "ledger entry"
    seen = ask(both, question)
    assert {file.target.repository.name for file in seen.files} == {"example.org/team/books", "example.org/team/secret"}
    hidden = ask(both, question, viewer=Viewer.anonymous())
    public_ranking = ask(engine, question, viewer=Viewer.anonymous())
    assert [(c.path, c.score) for c in hidden.chunks] == [(c.path, c.score) for c in public_ranking.chunks]
    ranking = rank(
        both,
        RankedSearch(question, targets=[both.target_of(r) for r in both.catalog.repositories]),
        Viewer.anonymous(),
        Cancellation(),
    )
    assert {file.target.repository.name for file in ranking.files} == {"example.org/team/books"}


def test_limits_of_chunks_files_and_chunks_of_a_file(engine: LocalEngine) -> None:
    """Fewer are the first of more; a limit of files keeps the others out."""
    full_ranking = ask(engine, "ledger entry period")
    fewer = ask(engine, "ledger entry period", limit=3)
    assert [(c.path, c.begin_line, c.score) for c in fewer.chunks] == [
        (c.path, c.begin_line, c.score) for c in full_ranking.chunks[:3]
    ]
    assert [fewer.files[c.file].path for c in fewer.chunks] == [c.path for c in fewer.chunks]
    request = RankedSearch("ledger entry period", limit=10, files=2, per_file=1)
    ranking = rank(engine, request, Viewer.owner(), Cancellation())
    assert [len(ranking.chunks), len(ranking.files)] == [2, 2]


def test_limits_take_chunks_one_by_one(tmp_path: Path) -> None:
    """Whatever the limits are, best first, equal ones and files with the same text included."""
    repo = RepositoryBuilder(tmp_path / "many")
    long = "\n\n".join(
        f"def close_{number}():\n" + "    ledger = 1\n" * 9 + f"    period = {number}" for number in range(6)
    )
    files = {"a/one.py": long, "b/one.py": long, "c/two.py": f"{long}\nledger\n", "d/three.py": LEDGER, "e.py": MAIL}
    repo.commit(dict(files))
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    chunks = ask(engine, "close the ledger period").chunks
    assert len({chunk.score for chunk in chunks}) < len(chunks)
    for limits in itertools.product((None, 1, 5), (None, 1, 3), (None, 1, 2)):
        max_chunks, most_files, per_file = limits
        expected: list[tuple[str, int]] = []
        chunk_counts: Counter[str] = Counter()
        for chunk in chunks:
            over = len(expected) == max_chunks
            over = over or (chunk.path not in chunk_counts and len(chunk_counts) == most_files)
            if not over and (per_file is None or chunk_counts[chunk.path] < per_file):
                chunk_counts[chunk.path] += 1
                expected.append((chunk.path, chunk.begin_line))
        request = RankedSearch("close the ledger period", limit=max_chunks, files=most_files, per_file=per_file)
        ranking = rank(engine, request, Viewer.owner(), Cancellation())
        assert [(chunk.path, chunk.begin_line) for chunk in ranking.chunks] == expected, limits


def test_few_are_the_first_of_all(tmp_path: Path) -> None:
    """With a limit only files that can hold the best chunks are looked at: chunks, scores and counts are the same."""
    repo = RepositoryBuilder(tmp_path / "wide")
    words = ("ledger", "period", "account", "balance")
    repo.commit(
        {
            f"{'tests' if number % 3 == 0 else 'src'}/part{number % 7}/{words[number % 4]}_{number}.py": "".join(
                f"def close_{number}_{part}():\n"
                + f"    {words[(number * part) % 4]} = {words[number % 3]}\n" * (1 + number * part % 11)
                for part in range(1 + number % 5)
            )
            for number in range(400)
        }
    )
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    for question in ("close the ledger period", "balance", "`close_7_1` of ledger_10.py", "account period test"):
        full_ranking = ask(engine, question)
        scores = {file.path: (file.score, file.lists) for file in full_ranking.files}
        for limit in (1, 10, 40):
            few = ask(engine, question, limit=limit)
            assert few.chunks == tuple(
                replace(chunk, file=few.chunks[index].file) for index, chunk in enumerate(full_ranking.chunks[:limit])
            )
            assert {file.path: (file.score, file.lists) for file in few.files}.items() <= scores.items()
            assert (few.matched_files, few.matched_chunks) == (full_ranking.matched_files, full_ranking.matched_chunks)
            assert (few.coverage, few.unknown) == (full_ranking.coverage, full_ranking.unknown)


def test_first_use_tells_how_far_it_is_and_can_be_stopped(builder: RepositoryBuilder, tmp_path: Path) -> None:
    """Words that are missing are read with progress; a stopped caller gets `Cancelled`."""
    engine = open_engine([builder.path], index=tmp_path / "index", workers=1)
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        rank(engine, RankedSearch("ledger"), Viewer.owner(), cancellation)
    events: list[ToolProgress] = []
    rank(engine, RankedSearch("ledger"), Viewer.owner(), Cancellation(), events.append)
    assert events
    assert events[-1].stage == "reading words"


SCRIPT = """
import sys
from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution.natural_language import (RankedSearch, rank)
from sourcelight.repos import Viewer
engine = open_engine([sys.argv[1]], index=sys.argv[2], workers=1)
found = rank(engine, RankedSearch("how does `Ledger` post an entry, close a period"), Viewer.owner(), Cancellation())
print([(c.path, c.begin_line, c.score.hex()) for c in found.chunks], [f.lists for f in found.files], found.unknown)
"""


@pytest.mark.timeout(320)  # two processes that import and index: seconds, or minutes where many others run
def test_two_runs_give_the_same_bytes(builder: RepositoryBuilder, tmp_path: Path) -> None:
    """The seed of hashes makes no difference, with an index of each one's own."""
    outputs = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(builder.path), str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=150,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
