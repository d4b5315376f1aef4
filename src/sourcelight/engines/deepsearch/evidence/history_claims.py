"""Claims about absent names, commits, counts and analyses."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.model import INSTEAD_OF_SENTENCE, Claim

HISTORY_CLAIMS: Sequence[Claim] = (
    Claim(
        (
            "The newest tag is `…`, of the commit by …", "The newest tags are …, of the commit by …",
            "The tag before `…` is `…`, of the commit by …", "The commit “…” is by …",
            "The first tag that contains the commit “…” by … is `…`, of …",
        ),
        "commit",
        "No other tag names a commit with a later committer date. Tags of one date are named together. The tag before "
        "the newest one is the newest that its history contains. A quoted subject has all words of the question. No "
        "tag with an earlier date contains the commit.",
        INSTEAD_OF_SENTENCE,
        ("releases.find_newest_tag", "releases.find_previous_tag", "described_commits._find",
         "releases.find_first_tag"),
    ),
    Claim(
        ("No searched file has `…`: …", "No: no line of `…` has `…`"),
        "search",
        "A complete search that ignores case finds no line and no path, or no line of the named file. Large files, "
        "submodules and files that can't be read are mentioned. Of a word of prose, it says that code may do the same "
        "under another name.",
        INSTEAD_OF_SENTENCE,
        ("names._prove_absence", "named_files.find_file_import", "mentions._leave_open"),
    ),
    Claim(
        ("No searched line has `…`; …", "No searched line has `…`, nor `…` as a word of its own…"),
        "search",
        "A complete search that ignores case finds no line with the option, and none that may declare it without its "
        "dashes, as a text, a field or a parameter. A line with its words in another use is cited.",
        INSTEAD_OF_SENTENCE,
        ("options.find_absent_option",),
    ),
    Claim(
        ("No searched line has `…` in any spelling, nor `…` and `…` together…",),
        "search",
        "A complete search that ignores case, endings and signs finds no line with the two words, and no path. No line "
        "has both words or words of their meaning, and no definition or path begins with the second one.",
        INSTEAD_OF_SENTENCE,
        ("compounds.find_absent_compound",),
    ),
    Claim(
        (
            "No line of code has `…`: it occurs … alone, such as in line … of `…`",
            "No line of code outside of tests has `…`: it occurs … alone, such as in line … of `…`",
        ),
        "lines",
        "A complete search that ignores case finds the name in comments, documents, tests and lists of locked packages "
        "only, and no path has it. None of these lines affirms it, and code has neither a related word nor the root of "
        "a word of prose. One of them is cited.",
        INSTEAD_OF_SENTENCE,
        ("mentions._state",),
    ),
    Claim(
        ("No definition of `…` was found in …", "No … definition of `…` was found in …"),
        "lines",
        "The index has none, no line of code in a file without a grammar looks like one, and lines with the text are "
        "cited.",
        INSTEAD_OF_SENTENCE,
        ("names._state_mentions",),
    ),
    Claim(
        (
            "Line … of `…` was last changed by …", "Line … of `…` is at least as old as the oldest commit …",
            "`…` has no line …: it ends with line …",
        ),
        "lines",
        "`git blame` of the line, or the number of lines. At the edge of a shallow clone, the second form is used.",
        INSTEAD_OF_SENTENCE,
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
            "events._find_line_change", "model.join_facts", "events._find_path_change",
            "events._explain_removal", "changes.find_rename", "events._state_origin",
        ),
    ),
    Claim(
        ("No commit …", "No author has commits…", "There is no commit…"),
        "count",
        'A complete search of the history. In a shallow clone, the sentence begins with "In the part that could be '
        'read".',
        INSTEAD_OF_SENTENCE,
        ("events._find_line_change", "events._find_path_change", "events._find_commit", "ownership.find_people"),
    ),
    Claim(
        ("… the most …", "… the fewest …"),
        "count",
        "All commits or lines are counted, ties are named together, and addresses of one name are joined. If blame "
        "isn't exact, the sentence says \"probably\".",
        INSTEAD_OF_SENTENCE,
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
        INSTEAD_OF_SENTENCE,
        ("tests._without_custom",),
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
        INSTEAD_OF_SENTENCE,
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
        INSTEAD_OF_SENTENCE,
        ("history.rank_coupling",),
    ),
    Claim(
        ("The bus factor of …",),
        "count",
        'Authors of current lines by blame, without bots. If blame isn\'t exact, the sentence says "about".',
        INSTEAD_OF_SENTENCE,
        ("people.find_bus_factor",),
    ),
    Claim(
        ("The oldest current lines… are from …",),
        "count",
        'Current lines by the year of their commits. If blame isn\'t exact, the sentence says "about".',
        INSTEAD_OF_SENTENCE,
        ("history.find_oldest_lines",),
    ),
    Claim(
        ("`…` and … import each other", "`…` imports itself by way of …", "`…` of `…` imports itself by way of …",
         "No circle of imports was found among …"),
        "count",
        "Each import of the circle is a statement of a file, and leads to the next one. That there is none is said of "
        "the files with imports that lead to others.",
        INSTEAD_OF_SENTENCE,
        ("code.find_cycle",),
    ),
    Claim(
        ("No public symbol of Go, Java, Python or TypeScript differs …",),
        "count",
        "The public symbols of both revisions are compared.",
        INSTEAD_OF_SENTENCE,
        ("history.compare_interfaces",),
    ),
    Claim(
        ("**…** …", "At least **…** …", "Each of **…** authors with …"),
        "count",
        "The number of rows of the query in the answer, by the rule in the answer. The sentence says what was not "
        'read: languages without a grammar, or "In the part that could be read". It names the convention for tests. '
        "Of a file of data, it names the key below which it counts. A class is a declaration that its language calls "
        "a class.",
        "a sentence that says that it can't be counted, or that names the omitted words",
        (
            "texts.count_texts", "texts._count_without", "files.count_files", "files.count_folders",
            "files.count_languages", "files.count_lines", "files._count_test_files", "files.count_repositories",
            "files.count_repositories_without", "files._count_repositories", "definitions.count_definitions",
            "definitions._by_place", "definitions._add_other_kinds", "counting.count_declarations",
            "tests.count_tests", "exports.count_exports", "subclasses.count_subclasses", "commits.count_commits",
            "commits.count_authors", "changes.count_changed_files", "changes.count_changed_folders",
            "changes._compare", "changes._churn", "changes.count_changed_lines", "commits.count_refs",
            "imports.count_importing", "imports._not_importing", "answering._apply_group",
            "answering._add_folder_of_repository", "code.list_tests", "people.list_inactive",
            "people.count_people_by_year", "history.compare_interfaces", "parts.count_parts",
            "parts.count_listed_parts", "parts._count_manifests", "parts._count_translations", "parts._of_folders",
            "parts._of_files", "counting.count_entries", "counting._count_form_lines",
        ),
    ),
)  # fmt: skip
"""Sentences that searches, commits and counts prove, in the order of trial."""
