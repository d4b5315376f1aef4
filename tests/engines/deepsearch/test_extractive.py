"""Answers without a model: what is in them, that they are checked, and that they say when there is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engines.deepsearch.asking import OPEN, SECRET, SHOP, research
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.evidence import FileEvidence
from sourcelight.engines.deepsearch.question import intents_of, is_follow_up, with_follow_up
from sourcelight.engines.deepsearch.research import PreviousTurn, ResearchBudget
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search.ranking.question import analyze
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

Fleet = tuple[RepositoryBuilder, RepositoryBuilder]

POLICY = '''"""When failed uploads are retried."""


def pause_before(attempt):
    """How long to pause before a failed upload is retried: twice as long each time."""
    return min(2 ** attempt, LONGEST)


def upload(item):
    """Upload; what failed is retried after a pause."""
    for attempt in range(ATTEMPTS):
        try:
            return send(item)
        except Fault as fault:
            pause(pause_before(attempt))
'''
REPORT = "def count_failed_uploads(uploads):\n    return sum(upload.failed for upload in uploads)\n"


def test_an_answer_has_its_sections(engine: LocalEngine) -> None:
    """Definition with its first sentence, code, tests and documents, all cited at the pinned commit."""
    answer = research(engine, f"repo:^{OPEN}$ how is the checkout total of a cart computed")
    text = answer.text
    assert text.startswith("Most relevant:\n\n1. `checkout_total` in `shop/cart.py`: “Add up the prices")
    assert "“Add up the prices of everything in the cart.”" in text
    assert "## Definition" not in text  # the first place says it
    for heading in ("## How it works", "## Tests", "## Documentation", "## Searched"):
        assert heading in text
    assert "total = sum(self.items.values())" in text
    assert "“The checkout total of a cart is the sum of its rounded prices.”" in text
    assert answer.draft.confident
    assert answer.finished.rejected == ()
    assert all(citation.status == "verified" for citation in answer.finished.citations)
    assert "?L" in text
    assert not any(name in text for name in ("[E1]", SECRET))


def test_two_runs_are_equal(engine: LocalEngine) -> None:
    """The same question over the same commits gives the same answer."""
    question = "when was the checkout total introduced, and where is `round_price` used?"
    assert research(engine, question).text == research(engine, question).text


def test_nonsense_gets_no_answer(engine: LocalEngine) -> None:
    """Words that nobody wrote are named, and no answer is claimed."""
    answer = research(engine, "how does `FluxCapacitor` regulate zorgblatt plumbing in the kubelet")
    assert answer.text.startswith("No searched file has ")
    assert not answer.draft.confident
    for word in ("FluxCapacitor", "zorgblatt", "kubelet"):
        assert f"`{word}`" in answer.text.split("\n\n")[0]
    assert "No direct answer found" in answer.text.split("\n\n")[1]


def test_a_name_that_is_nowhere_is_no_answer(engine: LocalEngine) -> None:
    """Though the other words are common, an absent name makes the answer a weak one."""
    answer = research(engine, "how does `Cart` compute the total")
    assert answer.draft.confident
    answer = research(engine, "how does `ShoppingBasket` compute the total price of the cart")
    assert answer.text.startswith("No searched file has `ShoppingBasket`.\n\nNo direct answer found")


def test_who_and_when_are_answered_from_history(engine: LocalEngine, fleet: Fleet) -> None:
    """The commit that first had the name comes first, with its author and day."""
    answer = research(engine, f"repo:^{OPEN}$ who introduced `checkout_total` and when")
    assert "Grace" in answer.text.split("\n")[0]
    assert fleet[0].head in answer.text
    assert "“Introduce carts with a checkout total”, first to add or remove a line with `checkout_total`" in answer.text
    assert any(citation.evidence.kind == "commit" for citation in answer.finished.citations)


def test_an_explanation_has_the_order_of_a_reader(engine: LocalEngine) -> None:
    """Overview, use, definition, test: each quotes what stands in the lines that it cites."""
    answer = research(engine, f"repo:^{OPEN}$ How is the checkout total of a cart computed?")
    steps = answer.text.split("## At a glance")[1].split("##")[0].strip().split("\n")
    kinds = [step.split(" ")[1].rstrip(":") for step in steps]
    assert kinds == [kind for kind in ("Overview", "Use", "Definition", "Test") if kind in kinds]
    assert {"Definition", "Test"} <= set(kinds)
    citation_list = [item.evidence for item in answer.finished.citations if isinstance(item.evidence, FileEvidence)]
    step = next(step for step in steps if "Definition:" in step)
    quoted = re.search(r"“([^”]+)”", step)
    assert quoted is not None
    assert any(quoted[1] in " ".join(item.text.split()) for item in citation_list)
    assert "## At a glance" not in research(engine, f"repo:^{OPEN}$ checkout total").text


def test_uses_are_listed_outside_tests(engine: LocalEngine) -> None:
    """Uses come from navigation: not the definition, not the import, not tests."""
    answer = research(engine, f"repo:^{OPEN}$ where is `round_price` called?")
    uses = answer.text.split("## Used by")[1].split("##")[0]
    assert "self.items[name] = round_price(price)" in uses.replace("\\", "")
    assert "import" not in uses
    assert "tests/" not in uses


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("How many functions are there in Python files?", None),
        ("how many calls of round_price are there?", 2),
        ("List all TODO comments", 2),
        ("which repositories contain `checkout_total`?", 2),
        ("find all files named cart.py", 1),
        ("List every function whose name starts with format_", 1),
    ],
)
def test_counted_questions_are_exact(engine: LocalEngine, fleet: Fleet, question: str, total: int | None) -> None:
    """The number is that of every match, as git counts it, and the table has a row for each."""
    answer = research(engine, question)
    if total is None:
        listing = "".join(builder.git("grep", "-hE", r"^def ", "--", "*.py") for builder in fleet)
        total = listing.count("def ")
    assert answer.text.startswith(f"**{total:,}** ")
    assert "count:all" in answer.text
    assert answer.finished.stats["count"] == total
    assert answer.finished.rejected == ()
    listed_tables = [table for table in answer.draft.tables if table.title in {"Lines", "Definitions"}]
    assert all(len(table.rows) == table.total == total for table in listed_tables)


def test_counted_questions_name_what_they_ignore(engine: LocalEngine) -> None:
    """A word that the query makes nothing of is said, and never silently dropped."""
    answer = research(engine, "how many calls of round_price are there in tests of the frontend?")
    assert "Not applied: `frontend`." in answer.text
    assert "complete" not in answer.text
    assert not answer.finished.stats["complete"]


def test_filters_that_a_count_has_no_use_for_are_named_with_the_reason(engine: LocalEngine) -> None:
    answer = research(engine, "How many tags are there in Python files?")
    assert "Not applied: the language `Python`, because a count of tags can't be narrowed" in answer.text, answer.text
    assert not answer.finished.stats["complete"]


HEIRS = {
    "a.py": "class Node:\n    pass\n\n\nclass Leaf(Node):\n    pass\n\n\nclass Twig(base.Node, Other):\n    pass\n",
    "b.ts": "export class Branch extends Node {}\nclass NodeList {}\nclass Holder { node: Node }\n",
    "c.cpp": "class Root : public Node {\n};\n// a class of its own, no Node\nNode make();\n",
    "guide.markdown": "    class Example extends Node {\n    }\n",
}


def test_heirs_are_counted_and_not_what_bears_the_name(tmp_path: Path) -> None:
    """Classes that name another one after their own name, in whatever language."""
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit(dict(HEIRS))
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    for question in ("How many classes inherit from `Node`?", "List all subclasses of Node"):
        answer = research(engine, question)
        assert answer.text.startswith("**4** classes")
        assert "Not applied" not in answer.text


def test_history_answers_what_was_asked_of_a_name(tmp_path: Path) -> None:
    """A question that says more than a name is led by the commit that says so; one of the name alone by its first."""
    repo = RepositoryBuilder(tmp_path / "raising")
    repo.commit({"raising.py": "def raises(kind):\n    return kind\n"}, "Begin")
    text = "def raises(kind, match=None):\n    return kind, match\n"
    repo.commit({"raising.py": text}, "Let raises take a match argument")
    repo.commit({"raising.py": text + "\n\nraises(1)\n"}, "Use it")
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    with_more = research(engine, "When and why did `raises` get the match argument?")
    assert "Let raises take a match argument" in with_more.text.partition("## History")[2].split("\n- ")[1]
    name_answer = research(engine, "Who introduced `raises`?")
    assert "Begin" in name_answer.text.partition("## History")[2].split("\n- ")[1]


def test_a_verb_of_the_question_leads_nowhere(tmp_path: Path) -> None:
    """A name elsewhere that shares one word with the question does not lead; prototypes are not quoted beside code."""
    repo = RepositoryBuilder(tmp_path / "ordering")
    head, body = "def reorder(items):\n    # the order in which fixtures are set up\n", "    fixtures = sorted(items)\n"
    repo.commit(
        {
            "fixtures.py": f"{head}{body}    return fixtures\n",
            "config.py": "def decide_args(args):\n    return list(args)\n",
            "fixtures.h": "".join(f"int fixtures_order_{number}(int up);\n" for number in range(9)),
        }
    )
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "How does it decide the order in which fixtures are set up?")
    assert "1. `decide_args`" not in answer.text
    assert "fixtures.h" not in answer.text.partition("## How it works")[2]
    only = research(engine, "repo:ordering file:h$ the order of fixtures")
    assert "fixtures.h" in only.text.partition("## How it works")[2]


@pytest.mark.parametrize(
    "question", ["How does the cart work?", "how many functions handle refunds?", "every time it starts, what happens?"]
)
def test_other_questions_are_not_counted(engine: LocalEngine, question: str) -> None:
    """What nothing counts gets no number; where a number was asked for, the first line says so."""
    answer = research(engine, question)
    assert "count" not in answer.finished.stats
    assert answer.text.startswith("This can't be counted exactly") is ("how many" in question)


def test_counts_keep_to_what_the_viewer_sees(engine: LocalEngine) -> None:
    """A private repository adds nothing to the number, and its name is nowhere."""
    answer = research(engine, "which repositories contain `checkout_total`?", viewer=Viewer.anonymous())
    assert answer.text.startswith("**1** repository contains `checkout_total`")
    assert SECRET not in answer.text


def test_private_code_is_in_no_answer(engine: LocalEngine) -> None:
    """The same question, asked by one who may not see a repository, is answered without it."""
    question = "add up the ledger of the vault checkout total"
    assert SECRET in research(engine, question).text
    answer = research(engine, question, viewer=Viewer.anonymous())
    assert SECRET not in answer.text
    assert "vault/ledger.py" not in answer.text


def test_intents_are_read() -> None:
    """Words that ask for history, uses, tests and documents are noticed."""
    assert intents_of(analyze("who changed the parser last?")).history
    assert intents_of(analyze("what calls parse()?")).usage
    assert intents_of(analyze("which tests cover parse?")).tests
    assert not intents_of(analyze("how are prices rounded?")).history
    for text in ("who wrote this?", "When was retry added?", "Why was it dropped?", "since when is it there?"):
        assert intents_of(analyze(text)).history, text
    for text in ("where is the commit that removed it?", "authors of the parser", "How did the history begin?"):
        assert intents_of(analyze(text)).history, text
    for text in ("Where is the commit cache invalidated?", "How are authors merged?", "how does blame read a file?"):
        assert not intents_of(analyze(text)).history, text
    for text in ("what happens when memory is full?", "Who calls `parse`?", "When are deleted entries freed?"):
        assert not intents_of(analyze(text)).history, text


def test_follow_ups_lean_on_what_was_cited() -> None:
    """A short or pointing question takes in what was cited before, at less weight; a whole one does not."""
    short = with_follow_up(analyze("and in tests?"), ["checkout_total"])
    assert 0 < short.terms["checkout"] < 1
    question = analyze("how does the server parse multipart uploads larger than memory limits")
    assert not is_follow_up(question.text)
    assert with_follow_up(question, ["checkout_total"]) == question


def test_a_follow_up_finds_what_it_points_at(engine: LocalEngine) -> None:
    """A pronoun means the function that the answer before was about."""
    before = PreviousTurn("how is the total computed", "", ("checkout_total", "cart.py"))
    answer = research(engine, f"repo:^{OPEN}$ and who wrote it?", previous=(before,))
    assert "Grace" in answer.text.split("\n")[0]


def test_a_follow_up_keeps_the_scope_of_the_answer_before(engine: LocalEngine) -> None:
    """A repository that an earlier question names holds until another is named, or all are asked about."""
    before = (PreviousTurn("How does shop compute the total?", ""), PreviousTurn("and who wrote it?", ""))
    answer = research(engine, "When and why was that changed?", previous=before)
    assert OPEN in answer.text
    assert SECRET not in answer.text
    assert not answer.draft.stats["confident"]
    assert f"the previous scope applies: `{OPEN}`" in answer.text
    count_answer = research(engine, "How many files are there?", previous=before)
    assert count_answer.finished.stats["count"] == len(SHOP)
    for question in ("How many files are there in vault?", "How many files are there in all repositories?"):
        other = research(engine, question, previous=before)
        assert SECRET in other.text
        assert "of the one before" not in other.text


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from engines.deepsearch.asking import engine_of, research
engine = engine_of(Path(sys.argv[1]), Path(sys.argv[2]))
sys.stdout.buffer.write(research(engine, "how is the checkout total of a `Cart` computed, who wrote it?").text.encode())
from sourcelight.engines.deepsearch.lookups.prose_values.names import search_words
from sourcelight.engines.deepsearch.lookups.prose_values.question import read_value_question
question = read_value_question("What is the maximum checkout total price and how many retries are allowed by default?")
print(" ".join(search_words(question)))
"""


@pytest.mark.timeout(320)  # two processes that import and index: seconds, or minutes where many others run
def test_processes_give_the_same_bytes(fleet: Fleet, tmp_path: Path) -> None:
    """The seed of hashes makes no difference, each with an index of its own."""
    root = Path(fleet[0].path).parent
    tests = Path(__file__).parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(root), str(tmp_path / seed), str(tests)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=150,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"checkout_total" in outputs.pop()


def test_budgets_of_quotes_hold(engine: LocalEngine) -> None:
    """No answer quotes more lines than its budget."""
    answer = research(engine, "cart price total item round format checkout ledger")
    files = [c.evidence for c in answer.finished.citations if isinstance(c.evidence, FileEvidence)]
    lines = sum(item.end_line - item.begin_line + 1 for item in files if item.role in {"body", "test", "doc"})
    assert 0 < lines <= ResearchBudget().quoted_lines


def test_the_first_sentence_is_of_the_best_file_and_of_a_name_that_is_asked_for(tmp_path: Path) -> None:
    """Not of the definition elsewhere that shares more words with the question."""
    repo = RepositoryBuilder(tmp_path / "tree")
    repo.commit({"upload/policy.py": POLICY, "upload/report.py": REPORT, "upload/names.py": 'NAMES = ["a"]\n'})
    engine = open_engine([repo.path], index=tmp_path / "index", workers=1)
    answer = research(engine, "uploads that failed with a fault")
    assert answer.text.startswith("Most relevant:\n\n1. `upload` in `upload/policy.py`")
    answer = research(engine, "what does `count_failed_uploads` do with a fault")
    assert answer.text.startswith("Most relevant:\n\n1. `count_failed_uploads` in `upload/report.py`")
