"""Kinds of lines by their words alone: imports, comments, reads of the environment, documents, and lines of code.

A kind is a regular expression for the beginning of a line. It reads one line without those around it, and so can't
know whether a text or a comment goes on to the line. `lines_of_code` can, since it reads a file from its first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sourcelight.engines.deepsearch.source.comment_marks import NO_CODE, begins_comment, open_end

# Imports.

IMPORT = re.compile(
    r"\s*(?:import|from|use|using|require(?:_relative)?|include|#\s*include|export\s+\{)\b|.*=\s*require\("
)
"""A line that begins with a word of imports, which may also be a name: ``use gate`` and ``use(gate)``."""

_IMPORT_STATEMENTS = (
    r"from\s+[\w.]+\s+import\b",  # from gate import open_gate
    r"import\b(?:\s*\($|(?!\s*\())",  # import gate, and the head of a list: import (
    r"#\s*include\b",  # #include <gate.h>
    r"using\s+(?:static\s+)?[\w.]+\s*;",  # using static Water.Gate;
    r"use\s+[\w\\:]+(?:\{|[;,]|\s+as\b)",  # use water::gate;
    r"require(?:_relative)?\s*+(?:\(\s*+)?['\"]",  # require_relative "gate"
    r"package\s+[\w.]+;?\s*$",  # package water.gate
    r"(?:const|let|var)\s+[\w${},: ]{1,200}=\s*require\(",  # const { open } = require(
    r"export\s+(?:\*|\{[^{}]{0,500}\})\s+from\b",  # export { open } from
    r"alias\s+[A-Z][\w.]*\s*$",  # alias Water.Gate
    r"open\s+[A-Z][\w.]*\s*$",  # open Water
    r"library\([\w.]*\)\s*$",  # library(gate)
    r"(?:export|S3method|importFrom)\([\w.,]*\)$",  # importFrom(gate,open)
)
IMPORT_STATEMENT = re.compile(rf"\s*(?:{'|'.join(_IMPORT_STATEMENTS)})")
"""A line that imports or exports names, or begins to; not one that only has such a word."""

# Comments.

COMMENT = re.compile(r"\s*(?:#(?!\s*(?:define|if|elif)|\[)|//|/\*|\*(?:[\s*/]|$)|--(?:\s|$)|;|\"\"\"|''')")
"""The beginning of a comment; not an attribute of Rust (``#[``), a pointer (``*p``) or a decrement (``--i``)."""
ANY_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*|--|;|%|\"\"\"|''')")
"""The beginning of a comment or a documentation text in some language, where more is read than shown."""

# Variables of the environment.

_BEFORE_VARIABLE = (
    r"environ(?:\.get|\.setdefault|\.pop)?\s*[\[(]",  # os.environ["GATE"]
    r"[gG]et[eE]nv\s*\(",  # os.Getenv("GATE"), getenv("GATE")
    r"LookupEnv\s*\(",  # os.LookupEnv("GATE")
    r"ENV\s*\[",  # ENV["GATE"]
    r"ENV\.fetch\s*\(",  # ENV.fetch("GATE")
    r"process\.env\[",  # process.env["GATE"]
    r"env::var(?:_os)?\s*\(",  # env::var("GATE")
    r"GetEnvironmentVariable\s*\(",  # Environment.GetEnvironmentVariable("GATE")
    r"(?:get|fetch)_env!?\s*\(",  # System.fetch_env!("GATE")
    r"\$_(?:ENV|SERVER)\s*\[",  # $_ENV["GATE"]
    r"\.environment\s*\[",  # ProcessInfo.processInfo.environment["GATE"]
    r"(?:lookupEnv|getEnv)\s++",  # lookupEnv "GATE"
    r"getEnvVarOwned\s*\([^,]{0,80},",  # getEnvVarOwned(allocator, "GATE")
)
"""Code before the name of a variable in quotation marks."""
VARIABLE = re.compile(
    rf"(?:(?:{'|'.join(_BEFORE_VARIABLE)})\s*[\"'`]|process\.env\.|\$ENV\{{[\"']?)"
    r"([A-Za-z_][A-Za-z0-9_]*+)(?![$%#{])[\"'`]?(\]\s*=(?!=))?"
)
"""A variable of the environment by its name, and whether it is set there: ``os.environ["GATE"] = "1"``."""

# Documents.

DOCUMENTS = re.compile(
    r"\.(?:md|mdx|mdown|markdown|rst|adoc|asciidoc|txt|rd|rdoc|pod|org|textile|tex|texi|texinfo|creole)$"
    r"|(?:^|/)(?:changelog|changes|news|licen[cs]e|copying|notice|authors)$",
    re.IGNORECASE,
)
"""Paths of documents: ``docs/gates.md``, ``CHANGELOG``."""
_FENCES = ("```", "~~~")
_PROMPTS = (">>>", "$ ")

# Lisps.

LISPS = frozenset({"Clojure", "Common Lisp", "Emacs Lisp", "Scheme", "Racket"})
LISP_METADATA = r"(?:\^(?:\{[^{}]*\}|[^\s{]\S*)\s+)*"
"""A regular expression for what Clojure has between the keyword and the name of a definition: ``^:private``."""

# Perl.

_PERL_END = re.compile(r"__(?:END|DATA)__\s*$")
"""The end of a program, behind which is text."""
_PERL_DOCUMENTATION = re.compile(r"=[a-z]")
"""The beginning of documentation: ``=head1 GATES``."""
_NEVER = "\0"
"""An end that no line has."""

TAB_SIZE = 4
"""Columns of a tab where lines with tabs are compared with lines with spaces."""


def indent_width(line: str, *, tab_size: int = 1) -> int:
    """Return the columns before the first letter of a line; a tab goes to the next multiple of `tab_size`."""
    expanded = line.expandtabs(tab_size)
    return len(expanded) - len(expanded.lstrip())


def lines_of_code(lines: Iterable[str], language: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1, without comments and the inside of multi-line texts.

    In Lisps, only lines of comments are left out: a hash reads a set there, and texts often go over several lines, so
    that leaving out one of them unbalances quotes.
    """
    if language in LISPS:
        yield from ((number, line) for number, line in enumerate(lines, 1) if not line.lstrip().startswith(";"))
        return

    end = ""  # the mark that ends the comment or the text that this line is in
    for number, line in enumerate(lines, 1):
        if end:
            end = "" if end in line else end
        elif language == "Perl" and _PERL_DOCUMENTATION.match(line) is not None:
            end = "=cut"
        elif language == "Perl" and _PERL_END.match(line) is not None:
            end = _NEVER
        else:
            if not begins_comment(line, language):
                yield number, line
            end = open_end(line, language)


def is_outside_comments(line: str, above: Sequence[str]) -> bool:
    """Return whether a line neither begins a comment nor is within a block comment of the lines above."""
    text = "\n".join(above)
    is_in_block = text.rfind("/*") > text.rfind("*/")
    return NO_CODE.match(line) is None and not is_in_block


def is_in_code_block(line: str, above: Sequence[str], path: str) -> bool:
    """Return whether a line of a document is code: in a fence, typed at a prompt, or indented in reStructuredText."""
    fence_count = sum(line_above.lstrip().startswith(_FENCES) for line_above in above)
    is_fenced = fence_count % 2 == 1
    is_indented = path.endswith(".rst") and line.startswith("    ") and "``" not in line
    return is_fenced or is_indented or line.lstrip().startswith(_PROMPTS)
