"""The sentences that an answer may state as facts, each with its proof; no other sentence is stated.

The check runs between the lookups and the writer of the answer, so every new kind of sentence needs a claim here.
`docs/design/deepsearch.md` has the table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from sourcelight.engines.deepsearch.evidence.model import CommitEvidence, Evidence, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.redaction import REDACTED, secrets_in


@dataclass(frozen=True, slots=True)
class Claim:
    """A kind of sentence.

    Attributes
    ----------
    forms
        Templates of the sentence: `…` in backquotes is a name, a path or a line of code, and … any words.
    proof
        ``lines``: it cites lines with the name of its subject. ``commit``: it cites a commit. ``search``: a complete
        search without a result. ``count``: a search or a call that reproduces the number.
    holds
        What must be true of the repository.
    otherwise
        The sentence to state if that isn't certain.
    made_by
        Functions that make such sentences, by module of `facts` or `lookups`.
    """

    forms: Sequence[str]
    proof: str
    holds: str
    otherwise: str
    made_by: Sequence[str] = field(default=())


_PLACES = "Most relevant: three locations"
CLAIMS: Sequence[Claim] = (
    Claim(
        ("`…` is defined in …", "Yes: `…` is defined in …"),
        "lines",
        "The file's grammar, or the form of the line, defines the name there. The sentence names a kind only if the "
        "line has that word, in the terms of its language. It doesn't count other locations. It says Yes only for the "
        "requested kind. What an alias stands for is the whole of its line.",
        "the sentence without a kind or Yes; without a definition, a sentence that says so",
        ("search.state_definitions", "search.state_alias", "answering._find_named"),
    ),
    Claim(
        ("`…` is a … in …", "`…` is an … in …", "`…` is defined in …: “…”"),
        "lines",
        "As above. The text after the colon is in the cited comment or docstring. Two names get one sentence each.",
        _PLACES,
        ("comparison.find_purpose", "comparison.find_difference", "comparison._describe"),
    ),
    Claim(
        ("`…` is set to …", "`…` is set on …", "`…` has several values…"),
        "lines",
        "The cited line assigns the value. The sentence mentions other assignments in the file and a condition around "
        "the line, and lists different values without a number.",
        "the location of its definition",
        (
            "defaults.find_value", "defaults.state_values", "defaults._add_assignments", "defaults.follow_constant",
            "setting_defaults.find_setting", "setting_defaults._default_constants",
            "initial_values.find_constant_of", "initial_values.find_initial_value",
            "initial_values.find_assigned_value", "uses.find_configured", "settings.find_key",
            "settings.find_version_key", "answer._state", "answer.find_prose_value",
        ),
    ),
    Claim(
        ("The default of …", "The documentation says that the default of `…` is …", "`…` of `…` has no default in …"),
        "lines",
        "The cited signature, call or fallback has it. If the question names no function, the sentence is about the "
        "parameter of that name in the functions that the sentence names.",
        "the lines that set the name",
        ("defaults.find_parameter_default", "setting_defaults.find_any_default", "options.find_option"),
    ),
    Claim(
        (
            "`…` has the parameter…", "`…` has no parameters, in …", "`…` is the name of several functions: …",
            "`…` has no parameter `…`: …",
        ),
        "lines",
        "All signatures of the name could be read and are cited. A missing parameter also requires that the body "
        "lacks the word, and that no parameter accepts any name.",
        _PLACES,
        ("comparison.find_parameters", "comparison.find_lacking_parameter"),
    ),
    Claim(
        ("`…` is called by …", "`…` is called by name in …", "`…` is …referenced by name in …"),
        "lines",
        "Each cited line has the call, or the name in code if the sentence says so. The number counts calls outside of "
        'tests that navigation resolves, and says "calls or references" unless each has a bracket after the name. The '
        'sentence says if other lines have the name, so it accounts for every line: "by name" if a call may be of '
        "another definition, \"at least\" if a file with the name couldn't be parsed. It names the function around a "
        "call only if the lines before it leave no doubt.",
        "lines with the name",
        ("callers._state", "callers.find_callers", "calls_by_form.state_calls_by_form"),
    ),
    Claim(
        ("No call of `…` is certain, but …",),
        "lines",
        'A complete search for the name; lines with it are cited, all of them unless the sentence says "such as".',
        _PLACES,
        ("uses_by_form._mentions",),
    ),
    Claim(
        ("No searched line has `…` except …",),
        "lines",
        "A complete search for the letters in a row finds only the defining lines, which are cited, and comments and "
        "documents if it says so. A second line in a notebook cell counts, too. The sentence says that nothing calls "
        "it by its name, not that nothing calls it.",
        "lines with the name",
        ("uses_by_form.find_by_form",),
    ),
    Claim(
        ("`…` calls …", "`…` in `…` calls …"),
        "lines",
        "The cited lines of its body have the calls, and navigation resolves each to one definition. There may be "
        "other calls.",
        _PLACES,
        ("callees._state_callees",),
    ),
    Claim(
        ("The declaration of `…` names …",),
        "lines",
        "The bases follow the name in the cited declaration. The sentence makes no claim about bases that are added "
        "elsewhere.",
        _PLACES,
        ("classes.find_bases",),
    ),
    Claim(
        ("`…` implements …", "`…` derives …"),
        "lines",
        "The cited lines begin `impl` blocks of Rust for the type, or derive a trait. There may be other traits.",
        _PLACES,
        ("classes._find_traits",),
    ),
    Claim(
        ("The body of `…` lists …",),
        "lines",
        "The cited lines of the enum have the names. A grammar and a second reading of the body, by commas or cases, "
        "find the same names, and no preprocessor condition excludes any.",
        _PLACES,
        ("members.find_members",),
    ),
    Claim(
        ("`…` imports …", "Yes: `…` imports …"),
        "lines",
        'The cited lines of the file import the modules. The sentence says "at least", unless it names all of them and '
        "a grammar finds no other statement. Yes names the module as the cited line writes it.",
        _PLACES,
        ("named_files.find_file_imports", "named_files.find_file_import"),
    ),
    Claim(
        ("… of … test file… the name `…`, such as in …",),
        "lines",
        "A complete search of the files with paths of tests. The sentence says that lines have the name, not that "
        "they test it.",
        _PLACES,
        ("uses.find_tests",),
    ),
    Claim(
        ("`…` is named like a test of `…`", "`…`… are named like tests of `…`"),
        "lines",
        "The name of each cited test file is the name, apart from words such as test. The sentence doesn't say what it "
        "tests.",
        _PLACES,
        ("uses._state_named_files",),
    ),
    Claim(
        ("No searched test file has the name `…`",),
        "search",
        "As above, without a result in lines or paths. There are test files, and no file has tests next to its code.",
        _PLACES,
        ("uses._state_no_tests",),
    ),
    Claim(
        ("A line that uses the name `…` is in …: `…`",),
        "lines",
        "The line is shown, and is neither a definition, an import nor a comment.",
        _PLACES,
        ("uses.find_example",),
    ),
    Claim(
        ("`…` is raised by name …on …", "`…` is thrown by name …on …"),
        "lines",
        "In files of programming languages outside of tests, the keyword precedes the name, outside of comments and "
        "strings.",
        _PLACES,
        ("throws._state_throws",),
    ),
    Claim(
        ("`…` is read from the environment in …: `…`", "`…` is a quoted key in …: `…`", "Code reads … by name…"),
        "lines",
        "The line is shown or cited, and has a form that reads the environment in a known language. Other reads, such"
        " as by a name made at run time, are mentioned or left open.",
        _PLACES,
        ("uses.find_key_uses", "environment.find_variable", "environment.list_environment"),
    ),
    Claim(
        ("`…` lists …", "`…` of `…` lists …", "`…` names …", "Yes: `…` lists …", "Yes: `…` of `…` lists …"),
        "lines",
        "The cited lines of one manifest list the packages. The sentence is about that manifest and its group, such "
        "as dev.",
        _PLACES,
        (
            "dependencies.find_dependency", "dependencies._state_related", "dependency_lists._state_list",
            "actions.find_action", "extras._state_items", "extras.find_in_extra", "locks.find_locked",
        ),
    ),
    Claim(
        ("No: no searched manifest lists `…` (…)", "No: `…` does not list `…`", "No: … do not list `…`"),
        "search",
        "No manifest contains the name, no line of a text file begins with it, and no manifest has a format that names "
        "packages in its own way. For one package, the sentence names its manifests, and no manifest of a directory "
        "above contains the name. No line of a named workflow contains the last part of the name.",
        _PLACES,
        ("dependencies._no_dependency", "actions._find_unused", "extras.find_in_extra"),
    ),
    Claim(
        ("`…` lists no … dependencies", "`…` lists no dependencies", "`…` list no…dependencies"),
        "lines",
        "The sentence names all manifests. All could be read as data, and none is a program.",
        _PLACES,
        ("dependency_lists._no_dependencies",),
    ),
    Claim(
        (
            "`…` requires …", "`…` targets …", "`…` is tested with …", "`…` sets the … version to …",
            "`…` sets the C++ standard to …", "`…` of `…` requires …",
            "`…` of `…` targets …",
        ),
        "lines",
        "The cited line of the manifest has the version. Other manifests follow below.",
        _PLACES,
        ("fields.find_runtime", "fields._find_sdk"),
    ),
    Claim(
        ("`…` has the matrix …",),
        "lines",
        "The cited lines of workflows have the values inside of a matrix, and not among what it excludes. No "
        "expression adds others while the workflow runs.",
        _PLACES,
        ("workflows.find_tested_versions",),
    ),
    Claim(
        ("`…` has the command… below …",),
        "lines",
        "The cited lines of a document have the commands, in a block or a sentence below the cited heading.",
        _PLACES,
        ("commands.find_command",),
    ),
    Claim(
        (
            "`…` gives `…` as the …", "`…` says “…”…", "`…` has the words of the `…` license: “…”…",
            "`…` defines the …", "`…` defines no extra…", "`…` enables the …",
            "`…` sets the script `…` to `…`", "`…` runs …for the target `…`…", "`…` builds … for the target `…`",
            "`…` builds from `…`…",
        ),
        "lines",
        "The cited lines of one manifest, license or Makefile have the values. A sentence without a package is about "
        "the manifest at the top, or the only one that has the field.",
        _PLACES,
        ("fields.find_field", "fields._license_text", "settings.find_base_image", "extras._list_names",
         "extras._state_empty", "extras.list_feature", "extras._state_none"),
    ),
    Claim(
        (
            "`…` says: “…”", "`…` of `…` says: “…”", "`…` says under “…”: “…”", "`…` of `…` says under “…”: “…”",
            "`…` has the section “…”", "`…` of `…` has the section “…”",
        ),
        "lines",
        "The cited lines of a document have the text, without its markup. Its place, its title or its purpose makes it "
        "an answer: the first paragraph of the README, a section that has the words of the question as its title, a "
        "sentence that says how to do what the question asks, or entries of one list that begin with the names in it.",
        _PLACES,
        (
            "entries._write", "sections.find_overview", "sections.find_section", "sections.state_section",
            "statement.state_passage",
        ),
    ),
    Claim(
        ("A comment in `…`, line …, says: “…”", "The documentation of `…` in `…`, line …, says: “…”"),
        "lines",
        "The cited lines have the sentence, without the marks of comments. It has the words of the question, some of "
        "them in the name of its definition. It gives a reason, names a condition, or belongs to a definition of the "
        "requested kind, as the question asks; it is negated if the question is. No other sentence has as much.",
        _PLACES,
        ("statement.state_passage",),
    ),
    Claim(
        ("No file at the top is called README", "No title in … is about …"),
        "search",
        "A complete search of paths at the top and in directories of documentation finds no README in any case, or "
        "only documents none of whose titles has the words of the question.",
        _PLACES,
        ("sections.find_overview", "sections.find_no_section"),
    ),
    Claim(
        (
            "The directories at the top with the most files are …", "Most test files are in …",
            "Most documents are in …", "`…` configures …", "`…`… configure …",
        ),
        "lines",
        "Each directory is part of a cited path, and no directory with more files is left out. Names of files tell "
        "tests, documents and the services that build.",
        _PLACES,
        ("layout._state_directories", "layout.find_ci"),
    ),
    Claim(
        (
            "The newest tag is `…`, of the commit by …", "The newest tags are …, of the commit by …",
            "The tag before `…` is `…`, of the commit by …", "The commit “…” is by …",
        ),
        "commit",
        "No other tag names a commit with a later committer date. Tags of one date are named together. The tag before "
        "the newest one is the newest that its history contains. A quoted subject has all words of the question.",
        _PLACES,
        ("releases.find_newest_tag", "releases.find_previous_tag", "described_commits.find_described_commit"),
    ),
    Claim(
        ("No searched file has `…`: …", "No: no line of `…` has `…`"),
        "search",
        "A complete search that ignores case finds no line and no path, or no line of the named file. Large files and "
        "submodules are named as not read.",
        _PLACES,
        ("names._prove_absence", "named_files.find_file_import"),
    ),
    Claim(
        ("No definition of `…` was found in …", "No … definition of `…` was found in …"),
        "lines",
        "The index has none, no line of code in a file without a grammar looks like one, and lines with the text are "
        "cited.",
        _PLACES,
        ("names._state_mentions",),
    ),
    Claim(
        (
            "Line … of `…` was last changed by …", "Line … of `…` is at least as old as the oldest commit …",
            "`…` has no line …: it ends with line …",
        ),
        "lines",
        "`git blame` of the line, or the number of lines. At the edge of a shallow clone, the second form is used.",
        _PLACES,
        ("named_files.find_line_author", "named_files._state_line_author"),
    ),
    Claim(
        (
            "The commit of `…` is by …", "The commit `…` is by …", "The first commit…", "The last commit…",
            "The … merge…", "… repositories have `…`",
        ),
        "commit",
        'All ancestors of the searched commit are known, or the sentence begins with "In the part that could be '
        'read". Commits are ordered by committer date.',
        "There is no commit that …",
        ("events._find_named", "events._find_commit", "events._set_commit", "releases.find_newest_commits"),
    ),
    Claim(
        (
            "A line with … was … by …", "Among commits …, … was … by …", "… was added by …", "… was added as … by …",
            "… was renamed from … by …", "… was renamed to … by …", "… was removed by …", "… was last changed by …",
            "… was first changed by …",
        ),
        "commit",
        "The commit's diff has the line or the path. A file that got its name by a rename is called added under its "
        "former path, and the sentence has both commits. If the question names a period or revisions, the sentence "
        "does, too.",
        "No commit changed it, if the history is complete",
        (
            "events._find_line_change", "events._find_line_changes", "events._find_path_change",
            "events._explain_removal", "events._set_rename", "events._state_origin",
        ),
    ),
    Claim(
        ("No commit …", "No author has commits…", "There is no commit…"),
        "count",
        'A complete search of the history. In a shallow clone, the sentence begins with "In the part that could be '
        'read".',
        _PLACES,
        ("events._find_line_change", "events._find_path_change", "events._find_commit", "ownership.find_people"),
    ),
    Claim(
        ("… the most …", "… the fewest …"),
        "count",
        "All commits or lines are counted, ties are named together, and addresses of one name are joined. If blame "
        "isn't exact, the sentence says \"probably\".",
        _PLACES,
        (
            "ownership.find_people", "ownership.find_main_author", "answering._apply_group", "code.rank_functions",
            "history.rank_coupling", "history.rank_changed_files",
        ),
    ),
    Claim(
        ("According to CODEOWNERS, …",),
        "count",
        "The rules of CODEOWNERS match the files. The sentence says how many, unless all match.",
        "the author of most lines",
        ("ownership.find_owners",),
    ),
    Claim(
        ("No test of a known form was found in …, but `…`…",),
        "count",
        "A search for each test convention of the searched languages has no row, but files, functions or macros are "
        "named like tests. The answer lists them. Without them, it states zero.",
        _PLACES,
        ("definitions._without_custom",),
    ),
    Claim(
        (
            "`…` is the most complex …", "`…` are the most complex …", "`…` in … is the most complex …",
            "`…` in … are the most complex …", "`…` in … is the longest …", "`…` in … are the longest …",
        ),
        "count",
        "All functions or files outside of tests are measured, in the languages that are measured; the sentence names "
        "the others. Ties are named together.",
        "a sentence that no searched file is in a measured language",
        ("code.rank_functions",),
    ),
    Claim(
        ("`…` is the first hotspot…",),
        "count",
        "The source file with the highest product of commits and the logarithm of lines.",
        _PLACES,
        ("history.rank_hotspots",),
    ),
    Claim(
        (
            "… change together most often: …", "… changes most often together with `…`: …",
            "… change most often together with `…`: …", "No files were changed together …",
            "No file was changed together with `…`…",
        ),
        "count",
        "Commits without merges and with at most 30 files. The sentence has the number of commits.",
        _PLACES,
        ("history.rank_coupling",),
    ),
    Claim(
        ("The bus factor of …",),
        "count",
        'Authors of current lines by blame, without bots. If blame isn\'t exact, the sentence says "about".',
        _PLACES,
        ("people.find_bus_factor",),
    ),
    Claim(
        ("The oldest current lines… are from …",),
        "count",
        'Current lines by the year of their commits. If blame isn\'t exact, the sentence says "about".',
        _PLACES,
        ("history.find_oldest_lines",),
    ),
    Claim(
        ("`…` and … import each other", "`…` imports itself by way of …", "`…` of `…` imports itself by way of …",
         "No circle of imports was found among …"),
        "count",
        "Each import of the circle is a statement of a file, and leads to the next one. That there is none is said of "
        "the files with imports that lead to others.",
        _PLACES,
        ("code.find_cycle",),
    ),
    Claim(
        ("No public symbol of Go, Java, Python or TypeScript differs …",),
        "count",
        "The public symbols of both revisions are compared.",
        _PLACES,
        ("history.compare_interfaces",),
    ),
    Claim(
        ("**…** …", "At least **…** …", "Each of **…** authors with …"),
        "count",
        "The number of rows of the query in the answer, by the rule in the answer. The sentence says what was not "
        'read: languages without a grammar, or "In the part that could be read". It names the convention for tests. '
        "A class is a declaration that its language calls a class.",
        "a sentence that says that it can't be counted, or that names the omitted words",
        (
            "texts.count_texts", "texts._count_without", "files.count_files", "files.count_folders",
            "files.count_languages", "files.count_lines", "files._count_test_files", "files.count_repositories",
            "files.count_repositories_without", "files._count_repositories", "definitions.count_definitions",
            "definitions._by_place", "definitions._add_other_kinds", "counting.count_declarations",
            "definitions.count_tests", "exports.count_exports", "subclasses.count_subclasses", "commits.count_commits",
            "commits.count_authors", "changes.count_changed_files", "changes.count_changed_folders",
            "changes._compare", "changes.count_changed_lines", "changes.count_refs", "imports.count_importing",
            "imports._not_importing", "answering._apply_group", "code.list_tests", "people.list_inactive",
            "people.count_people_by_year", "history.compare_interfaces", "parts.count_parts",
        ),
    ),
)  # fmt: skip
"""In the order of trial: the first form that a sentence has is its claim."""

_NAME = r"(?P<quote{0}>`+)(?:.+?)(?P=quote{0})"
UNREAD = "In the part that could be read: "
"""Beginning of a sentence about contents of which only a part could be read."""


def claim_of(sentence: str, proofs: Sequence[str] = ()) -> Claim | None:
    """Return what kind of fact a sentence states; None for a sentence of no known form.

    Parameters
    ----------
    sentence
        Markdown without citations and without its full stop.
    proofs
        Only claims with one of these proofs; all if there are none.
    """
    text = sentence.removeprefix(UNREAD)
    for claim in CLAIMS:
        if (not proofs or claim.proof in proofs) and any(_pattern(form).fullmatch(text) for form in claim.forms):
            return claim
    return None


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Turn a form into an expression."""
    parts = []
    for number, part in enumerate(re.split(r"(`…`|…)", form)):
        parts.append(_NAME.format(number) if part == "`…`" else ".*" if part == "…" else re.escape(part))
    return re.compile("".join(parts) + (".*" if form.endswith("`…`") else ""), re.DOTALL)


def is_proven(finding: Finding) -> bool:
    """Return whether the headline of a finding has a known form, and its proof.

    A sentence about something cites lines or paths that have its name. One that says what is nowhere needs a search
    that was whole.
    """
    # Expressions for forms and numbers take more than linear time.
    if len(finding.headline.text) > _MAX_SENTENCE_CHARS:
        return False
    claim = claim_of(finding.headline.text, ("lines", "commit", "search"))
    if claim is None or not numbers_of(finding.headline.text) <= finding.recounts:
        return False
    if claim.proof == "search":
        return finding.is_negative and not finding.notes and bool(finding.queries)

    evidence = finding.headline.evidence
    if claim.proof == "commit":
        return any(isinstance(item, CommitEvidence) for item in evidence)

    return bool(evidence) and _has_subject(finding.headline.text, evidence)


def without_secrets(finding: Finding) -> Finding:
    """Return a finding whose sentences have no secret of the lines that they cite.

    A quote is redacted as a line, by the name that the value is given to. A sentence has the value without that line.
    """
    return replace(
        finding,
        headline=_redact_statement(finding.headline),
        details=[_redact_statement(statement) for statement in finding.details],
    )


def _redact_statement(statement: Statement) -> Statement:
    text = statement.text
    for item in statement.evidence:
        for secret in secrets_in(item.text) if isinstance(item, FileEvidence) else ():
            text = text.replace(secret, REDACTED)
    return replace(statement, text=text)


_MAX_SENTENCE_CHARS = 4_000
_MAX_DIGITS = 18  # Python reads no number of more than 4,300

_NO_COUNT = re.compile(
    r"(`+).*?\1|“[^”]*”|\b[Ll]ines?\s+[\d,]+(?:\s*(?:to|-|and)\s*[\d,]+)?"
    r"|\d{4}-\d{2}-\d{2}|[Cc]ommit\s+\w+|\b[0-9a-f]{7,40}\b"
    r"|\bby\s.*?\son\s(?=\d{4}-)",
    re.DOTALL,
)
"""Numbers that count nothing: in code, of lines, dates and commits."""


def numbers_of(sentence: str) -> frozenset[int]:
    """Return the numbers by which a sentence counts something; -1, which nothing counts, for one of too many digits."""
    text = _NO_COUNT.sub(" ", sentence)
    digits = (number.replace(",", "") for number in re.findall(r"(?<![\w.])\d[\d,]*(?![\w.])", text))
    return frozenset(int(number) if len(number) <= _MAX_DIGITS else -1 for number in digits)


def _has_subject(sentence: str, evidence: Sequence[Evidence]) -> bool:
    """Return whether the name that a sentence is about is in the lines, or the paths, that it cites."""
    subject = re.search(r"(`+)\s?(.+?)\s?\1", sentence)
    if subject is None:
        return True

    files = [item for item in evidence if isinstance(item, FileEvidence)]
    # What a line of a body is said to be in is known by its definition.
    holders = [symbol for item in files if item.role == "usage" for symbol in item.symbols]
    text = " ".join([*(f"{item.path} {item.text}" for item in files), *holders]).casefold()
    name = re.split(r"\.|::|->|#|/", subject[2].strip("`").removesuffix("()").rstrip("/"))[-1]
    return bool(name) and name.casefold() in text
