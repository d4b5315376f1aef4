"""Claims about manifests, builds and documents."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.model import INSTEAD_OF_SENTENCE, Claim

MANIFEST_CLAIMS: Sequence[Claim] = (
    Claim(
        ("`…` lists …", "`…` of `…` lists …", "`…` names …", "Yes: `…` lists …", "Yes: `…` of `…` lists …"),
        "lines",
        "The cited lines of one manifest list the packages. The sentence is about that manifest and its group, such "
        "as dev.",
        INSTEAD_OF_SENTENCE,
        (
            "dependencies.find_dependency", "unlisted_packages._state_related", "dependency_lists._state_list",
            "actions.find_action",
            "actions.find_actions", "extras.list_extra", "extras.find_in_extra", "package_lines.find_locked",
            "needs._list_of_system", "needs._list_internal", "needs._find_newest", "needs._find_by_purpose",
            "needs.find_worded_package",
            "workflows._find_environments",
        ),
    ),
    Claim(
        ("No: no searched manifest lists `…` (…)", "No: `…` does not list `…`", "No: … do not list `…`"),
        "search",
        "No manifest contains the name, no line of a text file begins with it, and no manifest has a format that names "
        "packages in its own way. For one package, the sentence names its manifests, and no manifest of a directory "
        "above contains the name. No line of a named workflow contains the last part of the name.",
        INSTEAD_OF_SENTENCE,
        ("unlisted_packages._no_dependency", "actions._find_unused", "extras.find_in_extra"),
    ),
    Claim(
        ("`…` lists no … dependencies", "`…` lists no dependencies", "`…` list no…dependencies"),
        "lines",
        "The sentence names all manifests. All could be read as data, and none is a program.",
        INSTEAD_OF_SENTENCE,
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
        INSTEAD_OF_SENTENCE,
        ("fields.find_runtime", "fields._find_sdk"),
    ),
    Claim(
        ("Line … of `…` is `…`",),
        "lines",
        "The cited line is the only one of the build files that has all words of the question and a version; others "
        "with these words have the same version.",
        INSTEAD_OF_SENTENCE,
        ("settings.find_version_line",),
    ),
    Claim(
        ("`…` has the matrix …",),
        "lines",
        "The cited lines of workflows have the values inside of a matrix, and not among what it excludes. No "
        "expression adds others while the workflow runs.",
        INSTEAD_OF_SENTENCE,
        ("workflows.find_tested_versions",),
    ),
    Claim(
        ("`…` has the command… below …",),
        "lines",
        "The cited lines of a document have the commands, in a block or a sentence below the cited heading.",
        INSTEAD_OF_SENTENCE,
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
        INSTEAD_OF_SENTENCE,
        ("fields.find_field", "fields.find_license_text", "settings.find_base_image", "extras.list_extra",
         "extras.find_in_extra", "extras.list_feature", "workflows.find_workflow_image"),
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
        INSTEAD_OF_SENTENCE,
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
        INSTEAD_OF_SENTENCE,
        ("statement.state_passage", "answer._state_definition"),
    ),
    Claim(
        ("No file at the top is called README", "No title in … is about …"),
        "search",
        "A complete search of paths at the top and in directories of documentation finds no README in any case, or "
        "only documents none of whose titles has the words of the question.",
        INSTEAD_OF_SENTENCE,
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
        INSTEAD_OF_SENTENCE,
        ("layout._state_directories", "layout.find_ci"),
    ),
)  # fmt: skip
"""Sentences that lines of manifests, workflows, licenses and documents prove, in the order of trial."""
