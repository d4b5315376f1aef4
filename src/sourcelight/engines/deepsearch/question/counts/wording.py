"""Rewrite everyday words of questions for a number as those that are read: commits that "went in" are commits.

Words that narrow nothing are removed, so that an answer doesn't announce them as not applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.question.request import QuestionPaths
from sourcelight.engines.deepsearch.question.vocabulary import language_named

_ASKS = re.compile(r"\bhow many\b|\b(?:number|count) of\b|\bhow (?:often|big|long|large)\b", re.IGNORECASE)
_HISTORY = r"(?:commits?|changes|merges|patches)"
_TAGS = r"(?:releases?|tags?|versions?)"
_FILES = r"(?:files?|scripts?|snapshots?|documents?|notebooks?)"
_FILE_OF = r"(?P<of>[\w+#./ -]{0,40}?)\bfiles?(?P<where>(?: in [\w./-]{1,100})?)"
_SUPERLATIVE = r"(?:longest|biggest|largest)"
_TIMES = r"(?:\d{4}|last|this|january|february|march|april|may|june|july|august|september|october|november|december)"


def _in_folder(match: re.Match[str]) -> str:
    ending = match["glob"].lstrip("*.")
    is_ending = ending != match["glob"] or language_of(f"x.{ending}")
    return f"files of `{match['folder']}/*.{ending}` are there" if is_ending else match[0]


_FRAMEWORKS = (
    r"(?:XCTest|JUnit|NUnit|xUnit|MSTest|RSpec|Jest|Mocha|Vitest|pytest|PHPUnit|minitest|Catch2|GoogleTest|gtest)"
)


_FORMS: Sequence[tuple[str, str | Callable[[re.Match[str]], str]]] = (
    # "How many XCTest files with names ending in Tests.m are there?", "Java class files"
    (
        (
            rf"\b(?:{_FRAMEWORKS} )?(?:test )?files (?:with|whose) names? (?:ending|end|that end) "
            r"(?:in|with) `?(?P<end>[\w.-]+)`?"
        ),
        r"files of `*\g<end>`",
    ),
    (r"\b(?:class|classes) files\b", "files"),
    # A number may be asked for at the end, as in "commits that change setup.py, how many".
    (r"^(?P<what>[^,:?]{3,160})[:,] (?P<asks>how many)(?=\W*$)", r"\g<asks> \g<what>"),
    # "What's the longest Lua file and how many lines does it have?"
    (
        (
            rf"^(?:what|which)(?:'s| is)? (?:the )?{_SUPERLATIVE} {_FILE_OF},? and how "
            r"(?:many lines(?: does it have| is it"
            r"| are in it)?|long is it)"
        ),
        r"which \g<of>file\g<where> has the most lines",
    ),
    (
        rf"^how (?:many lines (?:are in|does|is|has)|long is) the {_SUPERLATIVE} {_FILE_OF}(?: have)?",
        r"which \g<of>file\g<where> has the most lines",
    ),
    # "How many commits went in during 2023?"
    (
        (
            rf"\b(?P<noun>{_HISTORY}) (?:went in|go in|came in|got in|landed|happened|were there|have there been"
            r"|were pushed|got merged|got made|have been made|did we have|do we have|does it have|are there)\b"
        ),
        r"\g<noun> were made",
    ),
    (
        rf"(?<=\bhow many )(?P<noun>{_HISTORY})(?= (?:since|in|during|between|before|after|last|this) )",
        r"\g<noun> were made",
    ),
    (rf"\bduring (?:the )?(?:(?:year|month|course) (?:of )?)?(?={_TIMES}\b)", "in "),
    (r"\bin the (?:year|course of) (?=\d{4}\b)", "in "),
    (r"\b(?:in )?(?:last|this) year,? \((?P<year>\d{4})\)", r"in \g<year>"),
    (r"\bversions (?:have|has|were|are|got) (?:(?:been|ever|already) ){0,2}tagged\b", "tags are there"),
    # "How many releases have been cut so far?"
    (
        (
            rf"\b(?P<noun>{_TAGS}) (?:has|have|did|does) (?:(?:it|this|the project|we|they|there) )?"
            r"(?:(?:been|ever|already) ){0,2}(?:tagged|cut|made|published|released|had|have|seen|see"
            r"|been|shipped|gone out"
            r"|come out)\b"
        ),
        r"\g<noun> are there",
    ),
    (
        rf"\b(?P<noun>{_TAGS}) (?:were|was|are|got) (?:ever )?(?:tagged|cut|made|published|released|shipped)\b",
        r"\g<noun> are there",
    ),
    # "How many snapshots are checked in?"
    (
        (
            rf"\b(?P<noun>{_FILES}) (?:are|were|is|have been|got) (?:currently )?"
            r"(?:checked[ -]in(?:to (?:git|the repo(?:sitory)?))?|tracked|committed"
            r"|under version control|versioned|stored)"
            r"(?= in\b| under\b|\W*$)"
        ),
        r"\g<noun> are there",
    ),
    (
        (
            r"(?<=\w) (?:sit|sits|live|lives|reside|resides|exist|can be found|are located|are stored"
            r"|are kept|are found)"
            r"(?= (?:directly )?(?:in|under|inside|within|below)\b)"
        ),
        " are",
    ),
    # "How many .snap snapshots are there?", "how many test_*.py scripts are in tests"
    (
        (
            r"(?P<ending>(?<![\w/])\*?\.[a-z]\w{0,9})[- ](?:snapshots?|templates?|scripts?|configs?|documents?|images?"
            r"|fixtures?|schemas?|modules?|sources?|tests?|pages?|notebooks?)(?= (?:are|is|do|does"
            r"|exist|live|in|under)\b)"
        ),
        r"\g<ending> files",
    ),
    (
        r"(?P<glob>(?<![\w/])[\w.-]{0,100}\*[\w.*-]{0,100})[- ](?:sources?|modules?|scripts?|headers?)(?= )",
        r"\g<glob> files",
    ),
    (
        (
            r"\bworkflows? (?:are |is )?(?:(?:there|configured|defined|set up|run|used|running) )*"
            r"(?:on|in|for|by|with) (?:github(?: actions)?|ci|the ci)(?=\W*$)"
        ),
        "workflows are there",
    ),
    # "How many tests (it blocks) are in the spec?": the form of a test is that of its language.
    (
        (
            r"(?<=\w)\s*[(,]\s*(?:the )?`?@?(?:it|tests?|describe|example|spec|ParameterizedTest|#\[test\])(?:\(\))?`?"
            r"(?: (?:blocks?|functions?|methods?|annotations?|cases?|attributes?|calls?))?\s*\)"
        ),
        "",
    ),
    # "How many `it "…"` examples are in the parser spec", "how many TEST_CASEs are in it"
    (
        (
            r"(?<=\bhow many )(?:`?it(?: ?[\"'(][^\"')`]{0,20}[\"')])?`? (?:examples|blocks|cases)|TEST_CASEs"
            r"|`?TEST_CASE`? macros|`?@test`? (?:blocks|cases)|`?def test_\*?`? (?:functions|methods))"
            r"(?= (?:are|is|do|does|exist)\b)"
        ),
        "tests",
    ),
    # "How many .t files are directly in t?"
    (
        (
            r"(?P<glob>(?<![\w/])(?:\*?\.)?\w{1,12}) files (?:are |is )?(?:there )?(?:directly|right|immediately) "
            r"(?:in|inside|under|below) (?:the )?(?P<folder>[\w./-]{1,100}?)/?(?: (?:folder|directory|dir))?(?=\W*$)"
        ),
        _in_folder,
    ),
    # "How many slim templates do we ship?", "how many are bundled"
    (
        (
            r"(?<=\w) (?:do (?:we|you|they|I) (?:ship|bundle|include|provide|keep|carry)"
            r"|(?:are|is|come) (?:shipped|bundled|included|provided|kept))(?: (?:with|in) (?:it|here))?(?=\W*$)"
        ),
        " are there",
    ),
    # Words that narrow nothing.
    (r"\b(?:do|does) (?:they|you guys|y'all) (?=(?:have|ship|contain|include|keep)\b)", "do we "),
    (
        (
            r"(?<=\w) (?:so far|to date|up to now|until now|as of (?:now|today)|all in all|all told|altogether|in total"
            r"|overall|at the moment|right now|these days|in all)(?=\W*$|,| (?:are|is|does|do|were|have)\b)"
        ),
        "",
    ),
)
_REWRITES = tuple((re.compile(pattern, re.IGNORECASE), replacement) for pattern, replacement in _FORMS)
_BLANKS = re.compile(r"[ \t]{2,}")
_FOLDER_HAS = re.compile(
    r"(?P<what>\bhow many [\w+#.-]{1,30}(?: [\w+#.-]{1,30}){0,2}) (?:does|do) (?:the )?"
    r"(?:(?:folder|directory|dir) )?(?P<folder>[\w./-]{1,100})"
    r"(?: (?:folder|directory|dir))? (?:contain|have|hold|include)(?=\W*$)",
    re.IGNORECASE,
)
"""A directory as the subject: "how many Elm files does src contain"."""
_MODULES_OF = re.compile(
    r"(?<=\bhow many )(?P<language>[\w+#]{1,20}) (?:source )?modules(?= (?:are|is|live|there)\b)", re.IGNORECASE
)
"""Modules of a language, of which most have a file each: "how many Haskell modules are in src"."""


_DIRECTLY = re.compile(
    r"(?P<what>\bhow many (?:[\w+#.-]{1,30} ){1,4}?files) (?:(?:are|is|do we have|live|sit) )?(?:there )?(?:located )?"
    r"(?P<direct>(?:directly|right|immediately) )?(?:in|inside|under|below"
    r"|within) (?:the )?(?P<folder>`?[\w./-]{1,160}`?)"
    r"(?P<noun> (?:folder|directory|dir|package|namespace))?(?: (?:of|in"
    r"|under) `?(?P<above>[\w./-]{1,100})`?)?(?P<only> itself)?(?=\W*$)",
    re.IGNORECASE,
)
"""Files of a directory or a package, maybe without those further down."""
_OF_ROLE = re.compile(
    r"(?<=\bhow many )(?P<kind>(?!tests?\b|specs?\b|source\b"
    r"|header\b)[a-z]{3,20}) files (?:are (?:there )?in the (?P<one>[\w-]{2,60})"
    r"|does the(?: (?P<two>[\w-]{2,60}))?) (?:role|module|package|app|chart|collection|plugin|crate|library"
    r"|component)(?: have| contain"
    r"| ship)?(?=\W*$)",
    re.IGNORECASE,
)
"""Files of a kind that have a directory of their own: "how many task files does the gate role have"."""


_OF_ENDING = re.compile(r"\bmany (?:[*.]\S+|(?!test |spec )[a-z]{1,4}) files$")
"""Files with an ending, which a form reads with their directory."""


def _name_directory(text: str, paths: QuestionPaths) -> str:
    """Return a question for the files of a package, of a directory alone or of a role with the path that is meant."""
    match = _OF_ROLE.search(text)
    if match is not None:
        kind, owner = match["kind"].lower(), match["one"] or match["two"]
        folders = [
            folder
            for folder in paths.folders_called(frozenset([kind, f"{kind}s"]))
            if folder.rpartition("/")[0].rpartition("/")[2] == (owner or "") and ("/" in folder) == bool(owner)
        ]
        return f"{text[: match.start()]}files are in {folders[0]}/{text[match.end() :]}" if len(folders) == 1 else text

    match = _DIRECTLY.search(text)
    is_package = match is not None and (match["noun"] or "").strip().lower() in {"package", "namespace"}
    is_of_ending = match is not None and _OF_ENDING.search(match["what"]) is not None
    if match is None or is_of_ending or not (match["direct"] or match["only"] or is_package):
        return text
    folder = match["folder"].strip("`").rstrip("/")
    if "/" not in folder and "." in folder:
        end = folder.replace(".", "/")
        name = re.sub(r"[-_.]", "", end.rpartition("/")[2].lower())
        fitting = [
            path
            for path in paths.folders_called(frozenset([name]))
            if f"/{path}".endswith(f"/{end}") and path.startswith((match["above"] or "").strip("./"))
        ]
        folder = fitting[0] if len(fitting) == 1 else folder
    elif match["above"]:
        return text
    # What is in a package isn't in the packages below it.
    scope = f"{folder}/*"
    return (
        f"{text[: match.start()]}{match['what']} are in {scope}{text[match.end() :]}"
        if paths.is_folder(folder)
        else text
    )


def expand_count_wording(text: str, paths: QuestionPaths) -> str:
    """Return a question with the words that are read; questions for no number stay as they are."""
    if _ASKS.search(text) is None:
        return text

    text = _name_directory(text, paths)
    match = _FOLDER_HAS.search(text)
    if match is not None and paths.is_folder(match["folder"]):
        text = f"{text[: match.start()]}{match['what']} are in {match['folder'].rstrip('/')}/{text[match.end() :]}"

    match = _MODULES_OF.search(text)
    if (
        match is not None
        and re.search(r"\b(?:in|under|below|inside) ", text[match.end() :])
        and language_named(match["language"].capitalize())
    ):
        text = f"{text[: match.start()]}{match['language'].capitalize()} files{text[match.end() :]}"

    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return _BLANKS.sub(" ", text).strip()
