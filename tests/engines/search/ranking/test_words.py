"""Words of code and of questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.engines.search.ranking.question import analyze
from sourcelight.engines.search.ranking.terms import chunker, tokenizer
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of, terms_of


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getEnvironProxies", ["get", "environ", "proxies"]),
        ("get_environ_proxies", ["get", "environ", "proxies"]),
        ("HTTPServer2", ["http", "server", "2"]),
        ("parseIDs", ["parse", "ids"]),
        ("sha256sum", ["sha", "256", "sum"]),
        ("größe_max", ["grösse", "max"]),
    ],
)
def test_names_are_cut_at_case_digits_and_signs(name: str, parts: list[str]) -> None:
    """Every way of writing a name of several words gives these words."""
    assert parts_of(name) == parts


@given(st.lists(st.sampled_from(["read", "write", "header", "lock", "file"]), min_size=2, max_size=5))
def test_camel_and_snake_give_the_same_terms(parts: list[str]) -> None:
    """The spelling of a name makes no difference."""
    camel = parts[0] + "".join(part.title() for part in parts[1:])
    assert terms_of(camel) == terms_of("_".join(parts)) == terms_of("_".join(parts).upper())


@given(st.text(min_size=1).filter(lambda text: bool(text.strip())))
def test_any_text_gives_terms_or_none(text: str) -> None:
    """No text is an error."""
    analyze(text)
    for word in text.split():
        terms_of(word)


@given(st.lists(st.from_regex(r"[0-9A-Za-z_é]{2,12}", fullmatch=True)))
def test_names_read_together_have_the_terms_of_each(names: list[str]) -> None:
    """Reading many names at once, as building a table does, gives what reading one gives."""
    assert list(tokenizer.terms_of_names(names)) == [terms_of(name) for name in names]


@given(st.binary())
def test_tokens_of_tables_are_those_of_the_pattern(text: bytes) -> None:
    """What is counted after all other bytes became spaces is what the pattern of a token finds."""
    words = text.translate(tokenizer.ONLY_WORDS).split()
    assert [word for word in words if len(word) >= tokenizer.MIN_TOKEN_BYTES] == tokenizer.TOKEN.findall(text)


@pytest.mark.parametrize("name", ["0xdeadbeef", "1234567890", "9f8e7d6c5b"])
def test_numbers_that_are_no_words_give_no_terms(name: str) -> None:
    """Checksums and times fill no table."""
    assert terms_of(name) == ()


def test_a_question_gives_names_files_and_phrases() -> None:
    """Marked and recognisable names, paths and quoted texts are told from prose."""
    question = analyze(
        'Why does `Session.send` in src/http/client.py raise "connection reset" from resolve_redirects()?'
    )
    assert question.names == ("Session", "send", "resolve_redirects")
    assert question.files == ("src/http/client.py",)
    assert question.phrases == ("connection reset",)
    assert {"session", "send", "resolv", "redirect", "=resolveredirects", "client", "connect", "reset"} <= set(
        question.terms
    )
    assert "why" not in question.terms


@pytest.mark.parametrize("prefix", ["docs: ", "fix(tests)!: ", "feat: "])
def test_the_type_of_a_commit_is_no_word_of_its_subject(prefix: str) -> None:
    """Its scope is; and a colon in another place is left alone."""
    question = analyze(f"{prefix}close the session twice")
    assert {"doc", "fix", "feat"}.isdisjoint(question.terms)
    assert ("test" in question.terms) == ("(tests)" in prefix)
    assert not question.asks_docs
    assert "fix" in analyze("how is the fix: close the session").terms


def test_neighbouring_words_meet_joined_names() -> None:
    """`write ahead log` finds WriteAheadLog, at less weight, and not finding it says nothing."""
    question = analyze("where is the write ahead log truncated")
    assert question.terms["=writeaheadlog"] == pytest.approx(0.6)
    assert "=writeaheadlog" in question.optional
    assert "=writeaheadlog" in terms_of("WriteAheadLog")


@given(
    st.lists(st.sampled_from([b"", b"# word", b"// word", b"def f():", b"    return 1"]), max_size=300),
    st.sets(st.integers(0, 299)),
    st.booleans(),
)
def test_chunks_cover_every_line_once(lines: list[bytes], starts: set[int], prose: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    """Whatever the definitions are, the chunks of a file join up, and none is too long."""
    chunk_starts = [start for start in sorted(starts) if start < len(lines)]
    ranges = chunker.cut_chunks(lines, chunk_starts, prose=prose)
    count = len(lines) - (1 if lines and not lines[-1] else 0)
    assert [line for low, high in ranges for line in range(low, high)] == list(range(count))
    assert all(0 < high - low <= chunker.MAX_CHUNK_LINES for low, high in ranges)


def test_comments_stay_with_their_definition() -> None:
    """A chunk begins where the comment above a definition does."""
    lines = [b"x = 1"] * 10 + [b"", b"# Says why.", b"# Twice.", b"def f():", *[b"    y()"] * 9]
    assert chunker.cut_chunks(lines, [13]) == [(0, 11), (11, 23)]


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("How long is waited before a failed request is tried again?", "retri"),
        ("When is the connection opened again?", "reopen"),
        ("Who sends it again after an error?", "resend"),
    ],
)
def test_a_verb_done_again_is_the_verb_with_its_prefix(question: str, term: str) -> None:
    """Code says retry, reopen and resend. Not finding such a word says nothing."""
    read = analyze(question)
    assert term in read.terms
    assert term in read.optional
    assert "again" in read.terms  # a comment may say "try again"


def test_how_long_asks_for_no_long() -> None:
    """The grammar of a question is nothing to look for; the same word of code is."""
    assert set(analyze("How long does a retry wait?").terms) == {"retri", "wait", "=retrywait"}
    assert "long" in analyze("parse a long number").terms


def test_a_long_report_that_mentions_tests_does_not_ask_for_them() -> None:
    assert analyze("which tests cover the ledger").asks_tests
    assert analyze("where is the manual of the ledger").asks_docs
    words = ("account", "balance", "close", "entry", "invoice", "journal", "ledger", "period", "report", "sum", "tax")
    report = f"The tests fail and the manual is wrong: {' '.join(words)} {' '.join(f'un{word}' for word in words)}"
    assert not analyze(report).asks_tests
    assert not analyze(report).asks_docs
