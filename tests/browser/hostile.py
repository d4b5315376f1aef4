"""A repository that attacks every place where text of it is shown, and how a page is judged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sourcelight.core.batches import CommitId
from sourcelight.testing import RepositoryBuilder

ACT = (
    "\"'><img src=x onerror=\"window.ran='image'\"><script>window.ran='script'</script>"
    "<svg onload=window.ran='svg'></svg><details open ontoggle=window.ran='details'>x</details>"
    "<a href=\"javascript:window.ran='link'\">link</a><iframe srcdoc=\"<script>top.ran='frame'</script>\"></iframe>"
)
MARKDOWN = "[click](javascript:window.ran='markdown') ![p](https://evil.example/p.png) <javascript:window.ran=1>\n```\n"
HIDDEN = "\x1b[31mred\x1b]0;title\x07 \u202eesrever\u202c \u200bzero"
FORMULA = "=cmd|'/C calc'!A0"
AUTHOR = "\"' onmouseover=window.ran='author' =HYPERLINK(1) \u202egnp.exe [a](javascript:window.ran=1)"
CODE = f'''def light_the_lamp():
    """Light the lamp. {ACT} {MARKDOWN}"""
    return light_the_lamp()  # {ACT} {HIDDEN}


{FORMULA}
'''
NAME = "<img src=x onerror=window.ran='repository'>"
PATHS = (
    "<img src=x onerror=window.ran='path'>.py",
    "javascript:window.ran='path'.py",
    "'\"><script>window.ran='path'.py",
    "=1+1.csv",
    "\x1b[31m\u202elamp.py",
    "lamp.py",
)
BRANCH = "\"><svg/onload=window.ran='branch'>"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def build(folder: Path) -> list[CommitId]:
    """Write the repository into a folder; gives the commits."""
    repository = RepositoryBuilder(folder / NAME)
    commits = [repository.commit(dict.fromkeys(PATHS, CODE), f"light {ACT} {HIDDEN}", author=f"{AUTHOR} <m@x.org>")]
    repository.tag("v1")
    repository.branch(BRANCH)
    changed = {path: CODE.replace("Light", f"Kindle {ACT}") for path in PATHS}
    commits.append(repository.commit(changed, f"{FORMULA} light {MARKDOWN}", author=f"{FORMULA} <c@x.org>"))
    repository.tag("v2")
    (folder / "repos.toml").write_text(
        f"[repositories.{json.dumps(NAME)}]\ndescription = {json.dumps(f'{ACT} {FORMULA}')}\n", encoding="utf-8"
    )
    return commits


_FOUND = """() => {
    const bad = [];
    const tags = new Set(['SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'BASE', 'META', 'FORM']);
    const fine = /^(https?:|data:image\\/|#|\\/(?!\\/)|files\\/|[\\w-]+\\.(?:md|ipynb)(?:\\?question=[0-9]+)?$)/;
    const address = new Set(['href', 'src', 'action', 'formaction', 'data', 'srcdoc', 'xlink:href']);
    for (const each of document.body.querySelectorAll('*')) {
        if (tags.has(each.tagName)) bad.push(each.tagName);
        for (const {name, value} of each.attributes) {
            if (name.startsWith('on')) bad.push(`${each.tagName} ${name}`);
            if (address.has(name) && !fine.test(value)) bad.push(`${name}=${value}`);
        }
        for (const event of ['mouseover', 'mouseenter', 'focus', 'toggle', 'animationstart', 'load', 'error'])
            each.dispatchEvent(new Event(event));
    }
    return bad;
}"""


@contextmanager
def judged(page: Any) -> Iterator[Any]:
    """A way to show a page, without any policy, that gives what is wrong with it; no request leaves the machine."""
    requests: list[str] = []
    displayed = {"html": ""}

    def answer(route: Any) -> None:
        if route.request.url == "http://hostile.test/":
            route.fulfill(body=displayed["html"], content_type="text/html; charset=utf-8")
        else:
            requests.append(route.request.url)
            route.abort()

    page.route("**/*", answer)
    page.on("dialog", lambda dialog: requests.append(f"dialog {dialog.message}"))

    def judge(html: str) -> list[str]:
        requests.clear()
        everything = (
            html if "<html" in html[:200].lower() else f"<!doctype html><meta charset=utf-8><body>{html}</body>"
        )
        displayed["html"] = everything
        page.goto("http://hostile.test/", wait_until="load")
        return judge_now()

    def judge_now() -> list[str]:
        wrong = [str(item) for item in page.evaluate(_FOUND)]
        ran = page.evaluate("window.ran")
        return wrong + ([f"ran: {ran}"] if ran else []) + [f"asked for {url}" for url in requests if url[:5] != "data:"]

    judge.now = judge_now  # type: ignore[attr-defined]
    yield judge
