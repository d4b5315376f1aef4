"""The forms of questions for scripts, targets, programs, images, and for the commands that build or test a project.

Above each form are questions that it matches. `build_grammar` explains the groups of the forms.
"""

from __future__ import annotations

from sourcelight.engines.deepsearch.question.lookups.build_grammar import (
    LIST_OF,
    PACKAGE,
    WHICH,
    allow_words,
    make_form,
)

_DOES = r"(?:does|do|happens\s+(?:on|when\s+i\s+run|with))\s+(?:running\s+)?(?:the\s+)?"
"""The middle of "what does make do" and "what happens when I run make"."""
_RUN = r"(?:\s+(?:do|run|execute|call))?"
_IN = r"(?:\s+in)?"
"""The rest of "in REPOSITORY": the name of the repository is taken out of a question first."""
_SCRIPT = r"(?P<name>[\w:.-]+)"
"""A script of a package.json or composer.json: `test`, `build:docs`."""
_TARGET = r"(?P<name>[\w./-]+)"
"""A target of a Makefile, which may be a path."""
_MANAGERS = r"(?:npm|yarn|pnpm|bun|composer)"

SCRIPT_FORMS = (
    # "What does npm run build do?", "What happens when I run yarn lint?"
    make_form(
        rf"""
        what\s+{_DOES}`?{_MANAGERS}\s+(?:run(?:-script)?\s+)?{_SCRIPT}`?
        (?:\s+(?:script|command))?{_RUN}{_IN}
        """
    ),
    # "Which command is run by npm test?", "what test command is executed with `yarn run check`"
    make_form(
        rf"""
        (?:what|which)\s+(?:test\s+|build\s+|lint\s+)?commands?\s+(?:does|do|is|are)\s+(?:it\s+)?
        (?:run|executed|used|called)\s+(?:with|by|on|for)\s+
        `?{_MANAGERS}\s+(?:run\s+)?{_SCRIPT}`?{_IN}
        """
    ),
    # "What does the lint script do?", "What does the `build` npm script run in the package.json?"
    make_form(
        rf"""
        what\s+(?:does|do)\s+(?:the\s+)?`?{_SCRIPT}`?\s+(?:npm\s+|package\.json\s+|yarn\s+|composer\s+)?script
        {_RUN}(?:\s+in(?:\s+(?:the\s+)?package\.json)?)?
        """
    ),
    # "Which command does the test script run?"
    make_form(
        rf"""
        (?:which|what)\s+commands?\s+(?:does|do|is|are)\s+(?:the\s+)?(?:npm\s+)?(?:script\s+)?
        `?(?:npm\s+run\s+)?{_SCRIPT}`?\s+(?:npm\s+)?script(?:\s+(?:run|execute|call))?{_IN}
        """
    ),
)

_LISTED = allow_words(
    r"does do are is it there define[sd]? declared? have offer available listed in the its of package\.json"
)
SCRIPT_LIST_FORMS = (
    # "Which npm scripts are there?", "List all the scripts in the package.json"
    make_form(
        rf"""
        {LIST_OF}(?:npm\s+|package\.json\s+|composer\s+)?(?P<name>scripts)
        {_LISTED}
        """
    ),
)
TARGET_FORMS = (
    # "What does make check do?", "What happens on `make install`?"
    make_form(
        rf"""
        what\s+{_DOES}`?make\s+{_TARGET}`?
        (?:\s+(?:target|command))?(?:\s+(?:do|run|execute|call|build))?{_IN}
        """
    ),
    # "What does the lint make target do?", "what does the `all` Makefile rule run"
    make_form(
        rf"""
        what\s+(?:does|do)\s+(?:the\s+)?`?{_TARGET}`?\s+(?:make|makefile)\s+(?:target|rule)
        {_RUN}{_IN}
        """
    ),
    # "What does the target `check` of the Makefile do?"
    make_form(
        rf"""
        what\s+(?:does|do)\s+(?:the\s+)?(?:make\s+|makefile\s+)?(?:target|rule)\s+`?{_TARGET}`?
        (?:\s+(?:of|in)\s+(?:the\s+)?makefile)?{_RUN}{_IN}
        """
    ),
)

_SHIPPED = allow_words(
    "define declare install installed build built have provide provided called named offer ship shipped defined"
    " declared produce register"
)
BINARY_FORMS = (
    # "Which binaries does it install?", "What is the name of the executable?", "list all console scripts"
    make_form(
        rf"""
        (?:(?:which|what|list)(?:\s+is|\s+are)?(?:\s+all)?(?:\s+the)?\s+)(?:name\s+of\s+the\s+)?
        (?P<name>
            binar(?:y|ies)|executables?|console\s+scripts?|entry\s+points?
            |command[\s-]line\s+(?:programs?|tools?|commands?)
        )
        (?:\s+name)?{allow_words("does do are is it there of for in by")}
        {_SHIPPED}
        """
    ),
)
IMAGE_FORMS = (
    # "Which base image does the Dockerfile use?", "What is the Docker base image?"
    make_form(
        rf"""
        (?:which|what)(?:\s+is)?(?:\s+the)?\s+(?:docker\s+|container\s+)?base\s+image
        {allow_words("does do is are used by of for in it the docker dockerfile image container use have build from")}
        """
    ),
    # "Which base image does build/Dockerfile use?"
    make_form(
        r"""
        (?:which|what)(?:\s+is)?(?:\s+the)?\s+(?:docker\s+|container\s+)?base\s+image\s+(?:does|do|is|of|in)\s+
        (?:the\s+)?(?P<owner>`?(?:[\w.-]+/)+[\w.-]*(?:Docker|Container)file[\w.-]*`?)
        (?:\s+(?:use|uses|have|has|build\s+from|start\s+from|based\s+on))?
        """
    ),
    # "Which Alpine version is the Docker image based on?", "Which version of alpine does the Dockerfile use?"
    make_form(
        rf"""
        (?:which|what)\s+(?:version\s+of\s+(?P<name>[a-z][\w.+/-]*)|(?P<other>[a-z][\w.+/-]*)\s+version)\s+
        (?:is|does|do)\s+(?:the\s+|its\s+|our\s+)?
        (?:docker\s*file|containerfile|(?:docker|container)\s+(?:base\s+)?image|base\s+image)
        {allow_words("based built build start derived? use on from upon of in")}
        """
    ),
    # "Which image is the Docker container built on?", "What base image do we use?"
    make_form(
        rf"""
        (?:which|what)\s+(?:docker\s+|container\s+)?(?:base\s+|parent\s+)?image\s+(?:does|do|is|are)\s+(?:the\s+|its\s+|our\s+)?
        (?:docker\s*file|containerfile|(?:docker|container)(?:\s+(?:image|container|build))?|image|container|we|it)
        {allow_words("start starts build built builds derived? based? use used uses on from upon of in top")}
        """
    ),
    # "Which image does the Dockerfile start from?"
    make_form(
        rf"""
        (?:which|what)\s+image\s+(?:does|is)\s+(?:the\s+)?dockerfile
        {allow_words("start build built derive based use from on")}
        """
    ),
)
WORKFLOW_IMAGE_FORMS = (
    # "Which docker image do the CI tests run in?"
    make_form(
        r"""
        (?:(?:in|on)\s+)?(?:which|what)\s+(?:docker\s+|container\s+)?(?:images?|containers?)\s+(?:does|do|is|are)\s+
        (?:the\s+|our\s+|its\s+)?(?:(?:unit\s+|ci\s+|github\s+)?(?:ci|tests?|jobs?|builds?|workflows?|pipelines?|actions)\s+){1,3}
        (?:(?:run|runs|use|uses|executed|in|inside|on|with|by|ci)\s*)+
        """
    ),
)

_CI = allow_words("test tests tested run runs use uses in by on with against the ci matrix github actions workflows?")
TESTED_FORMS = (
    # "Which versions of Python does CI test?", "What Node versions are tested in GitHub Actions?"
    make_form(
        rf"""
        (?:which|what)\s+(?:versions\s+of\s+(?P<name>[a-z.+#]+)|(?P<other>[a-z.+#]+)\s+versions)\s+
        (?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|the\s+ci|workflows?)
        {_CI}
        """
    ),
    # "Which operating systems does CI run on?", "What platforms are tested?"
    make_form(
        rf"""
        (?:which|what)\s+(?P<name>operating\s+systems?|os(?:es)?|platforms?)\s+
        (?:does|do|is|are)\s+(?:it\s+|the\s+)?(?:ci|tested|github\s+actions|workflows?)
        {_CI}
        """
    ),
)

_HOW_TO = r"how\s+(?:(?:do|can|should|would|could|must)\s+(?:i|you|we|one)\s+|to\s+)"
_TESTS = r"(?:unit\s+)?(?P<name>test)s?(?:\s+suite)?"
COMMAND_FORMS = (
    # "How do I run the tests?", "How to run the full test suite locally?", "how can I test it"
    make_form(
        rf"""
        {_HOW_TO}(?:(?:run|execute|start|launch)\s+)?(?:(?:the|its|all|these)\s+)*
        (?:(?:unit|whole|full|automated)\s+)?(?P<name>test)s?(?:\s+suite)?
        (?:\s+(?:it|this(?:\s+project)?|the\s+project))?(?:\s+locally)?
        """
    ),
    # "How do I build it?", "How can I install ripgrep from source?", "how to compile the project locally"
    make_form(
        rf"""
        {_HOW_TO}(?P<name>build|compile|install)
        (?:\s+(?:
            it|this|everything|(?:the|this)\s+(?:project|package|library|code|app|program|crate|gem|tool)
            |(?P<owner>{PACKAGE})
        ))?
        (?:\s+(?:from\s+(?:the\s+)?sources?|locally))?
        """
    ),
    # "How are the unit tests run?"
    make_form(rf"how\s+(?:are|is)\s+(?:(?:the|its)\s+)?{_TESTS}\s+(?:run|executed|started)"),
    # "Which command runs the tests?", "What is the command to run the test suite?"
    make_form(
        rf"""
        {WHICH}commands?\s+
        (?:runs?|executes?|starts?|(?:to|for)\s+(?:run(?:ning)?|execut(?:e|ing)))\s+(?:the\s+)?{_TESTS}
        """
    ),
    # "Which command builds the project?", "what is the command for building it"
    make_form(
        rf"""
        {WHICH}commands?\s+
        (?:builds?|(?:to|for)\s+build(?:ing)?)\s+(?:it|this|(?:the\s+)?(?:project|code))
        """
    ),
)
