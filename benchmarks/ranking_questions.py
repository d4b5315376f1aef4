"""How well ranking answers questions that people wrote, by file and by chunk, beside BM25 over the same chunks.

Run: ``python benchmarks/ranking_questions.py --corpus FOLDER [--questions FILE] [--half tune|report] [--index FOLDER]``

FOLDER holds clones, each named and checked out as FILE says; others are left out. FILE is
``truth/ranking_questions.json``, or one of the caller's in the same form: for each repository its commit, its half, and
questions, each with the lines that answer it (path, first and last line; several if any of them will do). Its questions
were written by reading the code, before any was asked, and have few of its names. What is measured:

- *file*: the first file has an answer (hit@1), the share of files with an answer among the first ten (r@10), and MRR;
- *chunk*: the first chunk has a line of an answer (hit@1), any of the first ten has one, and MRR.

Methods: *nls_search* is the public call, whose files are in the order of their best chunks; *files* ranks files by
their own scores, as answers of deep search do; *own words* is *nls_search* without related words; *bm25* is BM25 over
the same chunks and stems. The second table has *nls_search* by repository.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from corpus import Corpus, machine, markdown
from ranking import Answer, Space, bm25, ours

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking.question import RankQuery, analyze
from sourcelight.engines.search.ranking.ranker import Ranker

_QUESTIONS = Path(__file__).parent / "truth" / "ranking_questions.json"
_DEPTH = 10
_CHUNKS = 20
_COLUMNS = ("file hit@1", "file r@10", "file MRR", "chunk hit@1", "chunk in 10", "chunk MRR")
_Measures = dict[str, list[list[float]]]


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--questions", type=Path, default=_QUESTIONS)
    parser.add_argument("--half", default="report", choices=("tune", "report"))
    parser.add_argument("--index")
    options = parser.parse_args()
    sets: Mapping[str, Any] = json.loads(options.questions.read_text("utf-8"))
    by_method: _Measures = defaultdict(list)
    by_repository: _Measures = defaultdict(list)
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Corpus(options.corpus, options.index or temporary)
        for repository in corpus.repositories:
            entry = sets.get(repository.name)
            if entry is None or entry["half"] != options.half:
                continue
            target = corpus.engine.target_of(repository)
            corpus.engine.update_terms([target], Cancellation())
            chunk_space = Space(corpus.engine.terms.open(target))
            if chunk_space.terms_index.commit != entry["commit"]:
                print(f"{repository.name} isn't at {entry['commit'][:12]}", file=sys.stderr)
            for question in entry["questions"]:
                for name, method in methods_of(corpus, repository.name, chunk_space).items():
                    values = measure(question["answers"], method(question["text"]))
                    by_method[name].append(values)
                    if name == "nls_search":
                        by_repository[repository.name].append(values)
    print(f"{machine()}\n")
    for title, measures in (("method", by_method), ("repository", by_repository)):
        rows = [[name, str(len(all_values)), *(f"{value:.3f}" for value in np.mean(all_values, axis=0))]
                for name, all_values in measures.items()]  # fmt: skip
        print(markdown([title, "questions", *_COLUMNS], rows) + "\n")


def methods_of(corpus: Corpus, repository: str, chunk_space: Space) -> Mapping[str, Callable[[str], Answer]]:
    """Return every method by its name."""

    def nls_search(text: str) -> Answer:
        table = corpus.client.nls_search(f"repo:^{repository}$ {text}", limit=_CHUNKS)
        rows = zip(table["path"], table["start_line"], table["end_line"], strict=True)
        return _in_order_of_chunks([(path, int(first), int(last)) for path, first, last in rows])

    def own_words(text: str) -> RankQuery:
        return replace(analyze(text), is_asked=False)

    return {
        "nls_search": nls_search,
        "files": ours(chunk_space, Ranker()),
        "own words": lambda text: _in_order_of_chunks(ours(chunk_space, Ranker(), own_words)(text).chunks),
        "bm25": bm25(chunk_space),
    }


def _in_order_of_chunks(chunks: Sequence[tuple[str, int, int]]) -> Answer:
    return Answer(list(dict.fromkeys(path for path, _, _ in chunks)), chunks)


def measure(answers: Sequence[tuple[str, int, int]], answer: Answer) -> list[float]:
    """Give the measures of one answer, in the order of the columns."""
    expected = {path for path, _, _ in answers}
    files = [index for index, path in enumerate(answer.files[:_DEPTH]) if path in expected]
    chunks = [
        index
        for index, (path, first, last) in enumerate(answer.chunks[:_DEPTH])
        if any(path == expected_path and first <= end and start <= last for expected_path, start, end in answers)
    ]
    return [
        *(float(0 in files), len(files) / len(expected), 1.0 / (files[0] + 1) if files else 0.0),
        *(float(0 in chunks), float(bool(chunks)), 1.0 / (chunks[0] + 1) if chunks else 0.0),
    ]


if __name__ == "__main__":
    main()
