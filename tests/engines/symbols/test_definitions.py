from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engines.symbols.samples import SAMPLES
from sourcelight.engines.symbols import KINDS, LANGUAGES, FileDefinitions, definitions, kind_code
from sourcelight.engines.symbols.definition_parser import MAX_FILE_BYTES

any_text = st.one_of(
    st.binary(max_size=300),
    st.tuples(st.sampled_from(sorted(SAMPLES)), st.integers(0, 400), st.binary(max_size=20), st.integers(0, 400)).map(
        lambda sample: (
            SAMPLES[sample[0]][0].encode()[: sample[1]] + sample[2] + SAMPLES[sample[0]][0].encode()[sample[3] :]
        )
    ),
)


def _describe(table: FileDefinitions) -> list[str]:
    return [
        f"{d.kind}{'*' * d.declaration} {d.container or '-'} {d.name} {d.line} {d.begin_line}-{d.end_line}"
        for d in table.definitions()
    ]


def test_there_is_a_sample_for_every_language() -> None:
    assert sorted(SAMPLES) == sorted(LANGUAGES)


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_every_definition_is_found_with_its_kind_container_and_lines(language: str) -> None:
    text, expected = SAMPLES[language]
    table = definitions(language, text.encode())
    assert table.incomplete == ""
    assert _describe(table) == expected.split("\n")


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_lines_end_with_or_without_carriage_returns(language: str) -> None:
    text, expected = SAMPLES[language]
    data = text.replace("\n", "\r\n").encode()
    assert _describe(definitions(language, data)) == expected.split("\n")


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_a_name_stands_where_its_offset_and_column_say(language: str) -> None:
    data = SAMPLES[language][0].encode()
    lines = data.split(b"\n")
    for definition in definitions(language, data).definitions(data):
        name = definition.name.encode()
        assert data[definition.offset : definition.offset + len(name)] == name
        assert lines[definition.line - 1][definition.column : definition.column + len(name)] == name
        assert definition.begin_line <= definition.line <= definition.end_line


def test_parents_come_before_what_they_hold() -> None:
    rows = list(definitions("Python", SAMPLES["Python"][0].encode()).definitions())
    assert [(d.name, rows[d.parent].name) for d in rows if d.parent >= 0] == [
        ("attr", "Größe"),
        ("méthode", "Größe"),
        ("inner", "méthode"),
    ]


def test_other_languages_have_no_definitions() -> None:
    assert not definitions("Markdown", b"# def f(): pass\n")
    assert not definitions("", b"def f(): pass\n")


def test_a_header_that_reads_like_cpp_is_parsed_as_such() -> None:
    assert [d.name for d in definitions("C", b"namespace n {\nclass A { int b; };\n}\n").definitions()] == [
        "n",
        "A",
        "b",
    ]


def test_broken_text_gives_what_can_be_had() -> None:
    data = b"def good():\n    pass\n\nclass (:\n  ]]\n\ndef also():\n    pass\n"
    assert {"good", "also"} <= {d.name for d in definitions("Python", data).definitions()}


def test_a_large_file_is_marked_and_not_parsed() -> None:
    table = definitions("Python", b"x = 1\n" * (MAX_FILE_BYTES // 6 + 1))
    assert (len(table), table.incomplete) == (0, "too-large")


def test_a_slow_file_is_given_up() -> None:
    table = definitions("Python", b"def f():\n    pass\n" * 20_000, max_seconds=0.0)
    assert (len(table), table.incomplete) == (0, "timed-out")
    assert len(definitions("Python", b"def f(): pass\n")) == 1, "the parser is of use after that"


@pytest.mark.parametrize(
    "text", [b"(" * 20_000, b"[{" * 10_000, b"class A { " * 3_000, b"def f():\n" * 2_000, b"a<" * 9_000]
)
@pytest.mark.parametrize("language", ["Python", "C++", "JavaScript", "Rust", "Ruby"])
def test_deep_nesting_is_neither_a_crash_nor_a_hang(language: str, text: bytes) -> None:
    begun = time.monotonic()
    definitions(language, text)
    assert time.monotonic() - begun < 30


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(LANGUAGES), any_text)
@example("Python", b"class \xff\xfe:\n  def \x00(): pass\n")
@example("C++", b"int operator\n()\n(int a) {}")
@example("Ruby", b"def " + b"x" * 5000 + b"; end")
def test_no_bytes_crash_the_parser_and_answers_are_sound(language: str, data: bytes) -> None:
    table = definitions(language, data)
    repeat = definitions(language, data)
    assert (table.names, table.containers) == (repeat.names, repeat.containers)
    assert (table.rows == repeat.rows).all()
    lines = data.count(b"\n") + 1
    for location, entry in enumerate(table.definitions(data)):
        assert entry.kind in KINDS
        assert "\n" not in entry.name
        assert 1 <= entry.begin_line <= entry.line <= lines
        assert entry.begin_line <= entry.end_line <= lines
        assert -1 <= entry.parent < location
        assert data.startswith(table.names[location], entry.offset)


def test_kinds_are_known_in_the_spelling_of_select() -> None:
    assert kind_code("enum-member") == kind_code("EnumMember") == KINDS.index("enummember")
    assert kind_code("nonsense") is None
