"""Texts of tools about history in the forms that services, their proposals and git have; all say the same."""

from __future__ import annotations

FIRST = "4f1c2d3e5a6b7c8d9e0f1a2b3c4d5e6f70819203"
SECOND = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"

#: Two commits: the newest by Ada with a body, the other by Grace.
COMMITS: dict[str, str] = {
    "git log": f"""commit {FIRST} (HEAD -> main)
Author: Ada <ada@example.org>
Date:   Wed Mar 4 10:00:00 2026 +0100

    Retry the gauge

    It answers late at low tide.
    commit {SECOND[:8]} made it worse.

commit {SECOND}
Author: Grace <grace@example.org>
Date:   Tue Mar 3 09:00:00 2026 +0000

    Add the gauge
""",
    "git log, fuller": f"""commit {FIRST}
Author:     Ada <ada@example.org>
AuthorDate: Wed Mar 4 10:00:00 2026 +0100
Commit:     Grace <grace@example.org>
CommitDate: Wed Mar 4 11:00:00 2026 +0100

    Retry the gauge

    It answers late at low tide.

commit {SECOND}
Author:     Grace <grace@example.org>
AuthorDate: Tue Mar 3 09:00:00 2026 +0000
Commit:     Grace <grace@example.org>
CommitDate: Tue Mar 3 09:00:00 2026 +0000

    Add the gauge
""",
    "headings": f"""## git.example/kiosk@{FIRST} Retry the gauge
Author: Ada <ada@example.org>
Date: 2026-03-04T10:00:00+01:00

It answers late at low tide.

## git.example/kiosk@{SECOND} Add the gauge
Author: Grace <grace@example.org>
Date: 2026-03-03T09:00:00Z
""",
    "headings of repositories": f"""Found 2 commits:

# git.example/kiosk

- {FIRST} Retry the gauge (Ada, 2026-03-04)
- {SECOND} Add the gauge (Grace, 2026-03-03)
""",
    "bullets": f"""- `{FIRST}` Retry the gauge - Ada, 2026-03-04 10:00:00 +0100
- `{SECOND}` Add the gauge - Grace, 2026-03-03 09:00:00 +0000
""",
    "a numbered list": f"""1. {FIRST}: Retry the gauge by Ada on 2026-03-04
2. {SECOND}: Add the gauge by Grace on 2026-03-03
""",
    "links": f"""* [{FIRST}](https://host/git.example/kiosk/-/commit/{FIRST}) Retry the gauge (Ada, Mar 4, 2026)
* [{SECOND}](https://host/git.example/kiosk/-/commit/{SECOND}) Add the gauge (Grace, Mar 3, 2026)
""",
    "names and values": f"""Commit: {FIRST}
Repository: git.example/kiosk
Author: Ada <ada@example.org>
Date: 2026-03-04T10:00:00+01:00
Message: Retry the gauge

It answers late at low tide.

Commit: {SECOND}
Repository: git.example/kiosk
Author: Grace <grace@example.org>
Date: 2026-03-03T09:00:00Z
Message: Add the gauge
""",
    "bold names and values": f"""**Commit:** `{FIRST}`
**Author:** Ada
**Date:** 2026-03-04T10:00:00+01:00
**Message:** Retry the gauge

**Commit:** `{SECOND}`
**Author:** Grace
**Date:** 2026-03-03T09:00:00Z
**Message:** Add the gauge
""",
    "one line each": f"{FIRST} Retry the gauge\n{SECOND} Add the gauge\n",
}

PATCH = (
    "diff --git a/gauge.go b/gauge.go\n"
    "index 1111111..2222222 100644\n"
    "--- a/gauge.go\n"
    "+++ b/gauge.go\n"
    "@@ -3,4 +3,5 @@ func read() {\n"
    " \tvalue := ask()\n"
    "-\treturn value\n"
    "+\tretry(value)\n"
    "+\treturn value, nil\n"
    " }\n"
    " \n"
    "diff --git a/old name.txt b/new name.txt\n"
    "similarity index 90%\n"
    "rename from old name.txt\n"
    "rename to new name.txt\n"
    "--- a/old name.txt\n"
    "+++ b/new name.txt\n"
    "@@ -1 +1 @@\n"
    "--- a dashed line\n"
    "+++ a plus line\n"
    "diff --git a/added.txt b/added.txt\n"
    "new file mode 100644\n"
    "--- /dev/null\n"
    "+++ b/added.txt\n"
    "@@ -0,0 +1,2 @@\n"
    "+retry one\n"
    "+two\n"
    "\\ No newline at end of file\n"
    "diff --git a/logo.png b/logo.png\n"
    "deleted file mode 100644\n"
    "Binary files a/logo.png and /dev/null differ\n"
)

#: The same four files.
COMPARISONS: dict[str, str] = {
    "git diff": PATCH,
    "fenced": f"Comparing {SECOND}..{FIRST} in git.example/kiosk (4 files, +6 -2)\n\n```diff\n{PATCH}```\n",
    "fenced by file": "\n".join(
        f"### file {number}\n\n```diff\ndiff --git {part}```\n"
        for number, part in enumerate(PATCH.split("diff --git ")[1:])
    ),
    "a list": "A\tadded.txt\nM\tgauge.go\nR090\told name.txt\tnew name.txt\nD\tlogo.png\n",
    "a list in words": (
        "Changed files:\n- added: added.txt (+2 -0)\n- modified: gauge.go (+2 -1)\n"
        "- renamed: old name.txt -> new name.txt (+1 -1)\n- deleted: logo.png\n"
    ),
}

#: One commit with the patch above.
DIFFS: dict[str, str] = {
    "git log -p": f"commit {FIRST}\nAuthor: Ada <ada@example.org>\nDate:   Wed Mar 4 10:00:00 2026 +0100\n\n"
    f"    Retry the gauge\n\n{PATCH}",
    "headings with fences": f"## git.example/kiosk@{FIRST} Retry the gauge\nAuthor: Ada <ada@example.org>\n"
    f"Date: 2026-03-04T10:00:00+01:00\n\n```diff\n{PATCH}```\n",
    "the preview of streams": f"- {FIRST} Retry the gauge (Ada, 2026-03-04)\n\n```diff\ngauge.go gauge.go\n"
    "@@ -3,4 +3,5 @@ func read() {\n \tvalue := ask()\n-\treturn value\n+\tretry(value)\n+\treturn value, nil\n }\n \n"
    "/dev/null added.txt\n@@ -0,0 +1,2 @@\n+retry one\n+two\n```\n",
}

#: Two repositories, of 12 and 1,003 commits.
CONTRIBUTIONS: dict[str, str] = {
    "sentences": "git.example/hub - 1,003 commits (first 2025-01-02, last 2026-03-04)\n"
    "git.example/kiosk - 12 commits\n",
    "bullets": "Repositories:\n- git.example/hub (1003 commits)\n- git.example/kiosk (12 commits)\n",
    "numbered": "1. **git.example/hub**: 1,003 commits\n2. **git.example/kiosk**: 12 commits\n",
    "a table": "| repository | commits |\n| --- | --- |\n| git.example/hub | 1003 |\n| git.example/kiosk | 12 |\n",
    "numbers alone": "git.example/hub 1003\ngit.example/kiosk 12\n",
}

#: Texts that say none of this.
OTHER = (
    "The search index of this repository is being built.",
    "| a | b |\n| --- | --- |\n| x | y |\n",
    "Commits are shown on the page https://host/search?q=type:commit",
    "defaced beefed added\nfacade",
)
