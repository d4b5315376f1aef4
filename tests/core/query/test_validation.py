"""Messages of faults that the case file does not hold, and what helps against them."""

import traceback

import pytest

from sourcelight.core.errors import QueryError
from sourcelight.core.query import PATTERN_TYPES, parse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g:x y", 'unrecognized field "g"'),
        ("-case:yes x", 'field "case" does not support negation'),
        ("-case:maybe x", 'invalid boolean "maybe"'),
        ("-count:0 x", "field count requires a positive number"),
        ("-count:3 x", 'field "count" does not support negation'),
        ("count:1_000 x", "field count has value 1_000, 1_000 is not a number"),
        ("count:2147483648 x", "field count has a value that is out of range, try making it smaller"),
        ("repo:a -rev:b x", 'field "rev" does not support negation'),
        ("repo:a rev:b rev:at.time(2024-01-01) x", 'field "rev" may not be used more than once'),
        ("repo:a@b rev:at.time(2024-01-01) x", "invalid syntax. You specified both @ and rev:"),
        ("repo:a@*refs/tags/* index:only x", "invalid index:only (revisions with glob pattern"),
        ("timeout:99999999999h x", "invalid value for field 'timeout'"),
        ('select:a"b x', r'invalid field "a\"b" on select path "a\"b"'),
        ("select:repo.x x", 'invalid field "x" on select path "repo.x"'),
        ("repo:has.file(a b) x", "invalid predicate value: prepend 'file:' or 'content:' to \"a\""),
        ("repo:has.file(path:a path:b) x", "invalid predicate value: cannot specify path multiple times"),
        ("repo:contains(path:a) x", 'invalid predicate value: unsupported option "path"'),
        ("repo:contains() x", "invalid predicate value: one of file or content must be set"),
        ("repo:has.description() x", "invalid predicate value: empty repo:has.description() predicate parameter"),
        ("repo:has.meta(a:b:c) x", "invalid predicate value: unexpected extra content"),
        ('repo:has.meta("a" b) x', "invalid predicate value: unexpected extra content"),
        ("repo:has.tag() x", "invalid predicate value: tag must be non-empty"),
        ("repo:has.key() x", "invalid predicate value: key must be non-empty"),
        ("file:has.content() x", "invalid predicate value: file:contains.content argument should not be empty"),
        (
            "-file:has.content(a) x",
            'invalid predicate value: search predicate "file:contains.content" does not support negation',
        ),
        ("repo:x case:yes (A or (case:no B))", 'field "case" may not be used more than once'),
        ("type:commit before:soon author:[", "invalid date format"),
    ],
)
def test_a_fault_has_the_words_of_the_service(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, "keyword")
    assert caught.value.message.startswith(message)
    assert caught.value.stage == "validate"
    assert caught.value.position is not None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lang:pyton x", "lang:Python"),
        ("lang:pyhton x", "did you mean lang:Python?"),
        ("lang:golnag x", "did you mean lang:Go?"),
        ("-lang:javascrpt x", "did you mean lang:JavaScript?"),
        ("select:comit type:commit x", "did you mean commit?"),
        ("fork:onyl x", "did you mean fork:only?"),
        ("archived:yse x", "did you mean archived:yes?"),
        ("archived:perhaps x", "write archived:yes"),
        ("case:yse x", "did you mean case:yes?"),
        ("count:al x", "did you mean count:all?"),
        ("patternType:astgrep x", "did you mean patternType:ast-grep?"),
        ("patternType:regxp x", "did you mean patternType:regexp?"),
        ("patternType:nls how it works", "nls_search ranks files"),
        ("file:*.php x", "this is not a glob"),
        ("patternType:fuzzy x", "possible: keyword, standard, regexp, literal, ast-grep"),
        ("cell: import count:10", "possible: code, markdown, raw, output, any"),
        ("type:diff x cell:", "possible: code, markdown, raw, output, any"),
        ("select:symbol.functon x", "did you mean function?"),
        ("after:soon type:commit", "5 days ago"),
        ("count:none x", "count:all"),
        ("timeout:3 x", "unit"),
        ("x or or y", "parentheses"),
        (r'file:"a\?b"', r"\\?"),
    ],
)
def test_a_fault_comes_with_help(text: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, "keyword")
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("patternType:astgrep x", 'unrecognized patternType "astgrep"'),
        ("x or patternType:AST y", 'unrecognized patternType "AST"'),
        ("CELL: x", 'invalid value "" for field "cell"'),
        ("x or cell: y", 'invalid value "" for field "cell"'),
    ],
)
@pytest.mark.parametrize("pattern_type", PATTERN_TYPES)
def test_no_search_of_all_text_answers_for_a_misspelled_kind_of_search(
    text: str, message: str, pattern_type: str
) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, pattern_type)
    assert (caught.value.message, caught.value.stage) == (message, "validate")


@pytest.mark.parametrize("value", ["nosuch", "klingon", "unknown"])
def test_no_language_is_suggested_for_a_word_that_is_like_none(value: str) -> None:
    with pytest.raises(QueryError, match="unknown language") as caught:
        parse(f"lang:{value} x", "keyword")
    assert not caught.value.hint


def test_tracebacks_show_where_and_what_to_type() -> None:
    with pytest.raises(QueryError) as caught:
        parse("naïve lang:pyton x", "keyword")
    assert traceback.format_exception_only(caught.value) == [
        'sourcelight.core.errors.QueryError: unknown language: "pyton"\n',
        "naïve lang:pyton x\n",
        "      ^\n",
        "did you mean lang:Python?\n",
    ]
    with pytest.raises(QueryError) as caught:
        parse("\x1b[31m " + "word " * 100 + "lang:pyton" + " word" * 100, "keyword")
    line, mark, _ = caught.value.__notes__[0].split("\n")
    assert line[mark.index("^") :].startswith("lang:pyton word")
    assert (line[0], line[-1], len(line)) == ("…", "…", 122)


@pytest.mark.parametrize(
    ("pattern_type", "query", "marked_text", "blamed"),
    [
        ("keyword", "é repo:a file:src/[a x", "[a x", "'src/[a' of file:"),
        ("keyword", r'x -file:"a\\d b[c" y', '[c" y', r"'a\\d b[c' of -file:"),
        ("keyword", "type:commit author:*ann x", "*ann x", "'*ann' of author:"),
        ("keyword", "repo:a?*@v1 x", "?*@v1 x", "'a?*' of repo:"),
        ("keyword", "x NOT /a(?=b)/ y", "(?=b)/ y", "'a(?=b)' can't"),
        ("keyword", "repo:has.path(a[) x", "[) x", "'a[' of repo:has.path()"),
        ("keyword", "file:has.contributor(+) x", "+) x", "'+' of file:has.contributor()"),
        ("standard", "foo bar /a[/ c", "[/ c", "'a[' can't"),
        ("regexp", "foo (bar|baz x", "(bar|baz x", "'(bar|baz' can't"),
        ("regexp", "foo a[ b]", "[ b]", "'a[' can't"),
        ("regexp", "content:a[b c", "[b c", "'a[b' of content:"),
    ],
)
def test_a_bad_regular_expression_is_blamed_with_its_filter_and_its_place(
    pattern_type: str, query: str, marked_text: str, blamed: str
) -> None:
    with pytest.raises(QueryError, match="error parsing regexp") as caught:
        parse(query, pattern_type)
    position = caught.value.position
    assert position is not None
    assert query.encode()[position:].decode() == marked_text
    assert blamed in caught.value.hint


def test_no_other_kind_of_fault_is_shown() -> None:
    with pytest.raises(QueryError) as caught:
        parse("foo and and bar", "keyword")
    assert type(caught.value) is QueryError


def test_the_first_fault_in_tree_order_is_told() -> None:
    with pytest.raises(QueryError, match="unknown language"):
        parse("lang:nope repo:has.file() file:[ x", "keyword")
    with pytest.raises(QueryError, match="one of path or content"):
        parse("repo:has.file() lang:nope /[/", "keyword")


def test_the_reading_of_not_is_kept_to_one_term() -> None:
    with pytest.raises(QueryError, match="expression after NOT") as caught:
        parse("a not (b c)", "keyword")
    assert (caught.value.position, caught.value.stage) == (6, "parse")
