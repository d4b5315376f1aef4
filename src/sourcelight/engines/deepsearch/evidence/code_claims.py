"""Claims about code: definitions, values, calls, types, imports and names."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.model import INSTEAD_OF_SENTENCE, Claim

CODE_CLAIMS: Sequence[Claim] = (
    Claim(
        ("`…` is defined in …", "Yes: `…` is defined in …"),
        "lines",
        "The file's grammar, or the form of the line, defines the name there. The sentence names a kind only if the "
        "line has that word, in the terms of its language. It doesn't count other locations. It says Yes only for the "
        "requested kind. What an alias stands for is the whole of its line.",
        "the sentence without a kind or Yes; without a definition, a sentence that says so",
        (
            "search.state_definitions", "search.state_alias", "answering._find_named", "answer._state_definition",
            "sentences.state_place",
        ),
    ),
    Claim(
        (
            "`…` begins with “…”", "`…` says in line …: “…”",
            "`…` is the only file of code outside of tests whose path has the word `…`",
            "`…` is the only file of code outside of tests whose path has the words …",
        ),
        "lines",
        "The first comment of the file has the text, with all words that the question describes a place by. Or no "
        "other path of code has these words, and the lines of the file have the other words of the question.",
        INSTEAD_OF_SENTENCE,
        ("answer._state_file", "sentences.state_beginning"),
    ),
    Claim(
        ("`…` is named for …, and is the first file of the ranking",),
        "lines",
        "The name of the file has the words, which the question describes a place by. It leads the ranking of files "
        "of code outside of tests, and none of the next ones has another word of the question in its name.",
        INSTEAD_OF_SENTENCE,
        ("sentences.state_named_file",),
    ),
    Claim(
        ("`…` defines `…` in line …", "`…` of `…` defines `…` in line …"),
        "lines",
        "The cited lines of the file define the names, and have the text after a colon in a comment or docstring. The "
        "file is the first of the ranking. The name, documentation and surroundings of a definition in it have nearly "
        "half of the weight of the question's words or more, and more than those of other files.",
        INSTEAD_OF_SENTENCE,
        ("sentences.state_in_file",),
    ),
    Claim(
        ("`…` is a … in …", "`…` is an … in …", "`…` is defined in …: “…”"),
        "lines",
        "As above. The text after the colon is in the cited comment or docstring. Two names get one sentence each.",
        INSTEAD_OF_SENTENCE,
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
            "setting_defaults.find_setting", "setting_defaults.default_constants",
            "initial_values.find_constant_of", "initial_values.find_initial_value",
            "initial_values.find_assigned_value", "uses.find_configured", "settings.find_key",
            "settings.find_version_key", "answer._state", "answer.find_prose_value", "answer.find_described_value",
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
        INSTEAD_OF_SENTENCE,
        ("comparison.find_parameters", "comparison.find_lacking_parameter"),
    ),
    Claim(
        (
            "`…` is called by …", "`…` is called by name in …", "`…` is …referenced by name in …",
            "`…` is included by name in …",
        ),
        "lines",
        "Each cited line has the call, or the name in code if the sentence says so. The number counts calls outside of "
        'tests that navigation resolves, and says "calls or references" unless each has a bracket after the name. The '
        'sentence says if other lines have the name, so it accounts for every line: "by name" if a call may be of '
        "another definition, \"at least\" if a file with the name couldn't be parsed. It names the function around a "
        "call only if the lines before it leave no doubt.",
        "lines with the name",
        (
            "callers._state", "callers.find_callers", "calls_by_form.state_calls_by_form",
            "template_uses.state_template_uses",
        ),
    ),
    Claim(
        ("No call of `…` is certain, but …",),
        "lines",
        'A complete search for the name; lines with it are cited, all of them unless the sentence says "such as".',
        INSTEAD_OF_SENTENCE,
        ("uses_by_form._mentions",),
    ),
    Claim(
        ("No searched line has `…` except …",),
        "lines",
        "A complete search for the letters in a row finds only the defining lines, which are cited, and comments and "
        "documents if it says so. A second line in a notebook cell counts, too. The sentence says that nothing calls "
        "it by its name, not that nothing calls it.",
        "lines with the name",
        ("uses_by_form.find_by_form", "template_uses._state_unused"),
    ),
    Claim(
        ("`…` calls …", "`…` in `…` calls …"),
        "lines",
        "The cited lines of its body have the calls, and navigation resolves each to one definition. There may be "
        "other calls.",
        INSTEAD_OF_SENTENCE,
        ("callees._state_callees",),
    ),
    Claim(
        ("The declaration of `…` names …",),
        "lines",
        "The bases follow the name in the cited declaration. The sentence makes no claim about bases that are added "
        "elsewhere.",
        INSTEAD_OF_SENTENCE,
        ("classes.find_bases",),
    ),
    Claim(
        ("`…` implements …", "`…` derives …"),
        "lines",
        "The cited lines begin `impl` blocks of Rust for the type, or derive a trait. There may be other traits.",
        INSTEAD_OF_SENTENCE,
        ("classes._find_traits",),
    ),
    Claim(
        ("The body of `…` lists …",),
        "lines",
        "The cited lines of the enum have the names. A grammar and a second reading of the body, by commas or cases, "
        "find the same names, and no preprocessor condition excludes any.",
        INSTEAD_OF_SENTENCE,
        ("members.find_members",),
    ),
    Claim(
        ("`…` imports …", "Yes: `…` imports …"),
        "lines",
        'The cited lines of the file import the modules. The sentence says "at least", unless it names all of them and '
        "a grammar finds no other statement. Yes names the module as the cited line writes it.",
        INSTEAD_OF_SENTENCE,
        ("named_files.find_file_imports", "named_files.find_file_import"),
    ),
    Claim(
        ("… of … test file… the name `…`, such as in …",),
        "lines",
        "A complete search of the files with paths of tests. The sentence says that lines have the name, not that "
        "they test it.",
        INSTEAD_OF_SENTENCE,
        ("uses.find_tests",),
    ),
    Claim(
        ("`…` is named like a test of `…`", "`…`… are named like tests of `…`"),
        "lines",
        "The name of each cited test file is the name, apart from words such as test. The sentence doesn't say what it "
        "tests.",
        INSTEAD_OF_SENTENCE,
        ("uses._state_named_files",),
    ),
    Claim(
        ("No searched test file has the name `…`",),
        "search",
        "As above, without a result in lines or paths. There are test files, and no file has tests next to its code.",
        INSTEAD_OF_SENTENCE,
        ("uses._state_no_tests",),
    ),
    Claim(
        ("A line that uses the name `…` is in …: `…`",),
        "lines",
        "The line is shown, and is neither a definition, an import nor a comment.",
        INSTEAD_OF_SENTENCE,
        ("uses.find_example",),
    ),
    Claim(
        ("`…` is raised by name …on …", "`…` is thrown by name …on …"),
        "lines",
        "In files of programming languages outside of tests, the keyword precedes the name, outside of comments and "
        "strings.",
        INSTEAD_OF_SENTENCE,
        ("throws._state_throws",),
    ),
    Claim(
        ("`…` is read from the environment in …: `…`", "`…` is a quoted key in …: `…`", "Code reads … by name…"),
        "lines",
        "The line is shown or cited, and has a form that reads the environment in a known language. Other reads, such"
        " as by a name made at run time, are mentioned or left open.",
        INSTEAD_OF_SENTENCE,
        ("uses.find_key_uses", "environment.find_variable", "environment.list_environment"),
    ),
)  # fmt: skip
"""Sentences that lines of code prove, in the order of trial."""
