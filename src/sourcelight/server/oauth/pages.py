"""The pages that a user sees: signing in, allowing a client, and what went wrong.

Plain HTML without any script; one style sheet of our own. Everything that came from outside is escaped.
"""

from __future__ import annotations

from starlette.responses import HTMLResponse, Response

from sourcelight.core.markup import escape, one_line
from sourcelight.server.oauth.addresses import form_source, is_local, place_of
from sourcelight.server.oauth.sealing import PendingAuthorization

SCOPE_TEXTS = {
    "mcp": "Use the MCP tools: search, read and explore the repositories that you may see.",
    "user:all": "Everything that you can do here: all searches and tools, on the repositories that you may see.",
}
STYLE = """:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --card: #ffffff; --text: #1c2430; --quiet: #566070; --line: #8a94a4;
  --act: #1858c4; --on-act: #ffffff; --warn-ground: #fff3d6; --warn: #6b4700; --bad: #a61b29;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161d; --card: #1b212b; --text: #e7ebf1; --quiet: #a5afbe; --line: #6c7787;
    --act: #7fb0ff; --on-act: #0c1420; --warn-ground: #3a2f12; --warn: #ffd98a; --bad: #ff9aa2;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 2rem 1rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; display: flex; justify-content: center;
}
main {
  width: 100%; max-width: 30rem; padding: 1.75rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .75rem;
}
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere; }
p, ul, dl { margin: 0 0 1rem; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
dt { color: var(--quiet); font-size: .9rem; }
dd { margin: 0 0 .6rem; overflow-wrap: anywhere; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
input {
  width: 100%; margin-bottom: 1rem; padding: .6rem .7rem; font: inherit; color: inherit;
  background: var(--ground); border: 1px solid var(--line); border-radius: .4rem;
}
button {
  padding: .6rem 1.2rem; font: inherit; font-weight: 600; cursor: pointer; border-radius: .4rem;
  border: 1px solid var(--act); background: var(--act); color: var(--on-act);
}
button.second { background: transparent; color: var(--act); }
button.link { padding: 0; border: 0; background: none; color: var(--act); text-decoration: underline; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; }
.actions { display: flex; gap: .75rem; flex-wrap: wrap; margin: 1.25rem 0; }
.quiet { color: var(--quiet); font-size: .9rem; }
.warning { padding: .7rem .9rem; border-radius: .4rem; background: var(--warn-ground); color: var(--warn); }
.fault { color: var(--bad); font-weight: 600; }
"""


def sign_in_page(
    *,
    mark: str,
    request: str = "",
    name: str = "",
    fault: str = "",
    status: int = 200,
    client: str = "",
    to: str = "",
) -> Response:
    """The form for signing in; `request` is the sealed authorization request to go on with, `to` a page of ours."""
    whom = f"<p>To go on to <strong>{escape(one_line(client, 100))}</strong>.</p>" if client else ""
    told = f'<p class="fault" role="alert" id="fault">{escape(fault)}</p>' if fault else ""
    described = ' aria-describedby="fault" aria-invalid="true"' if fault else ""
    body = (
        f'<h1>Sign in to sourcelight</h1>{whom}{told}<form method="post" action="sign-in">'
        f"{_hidden(mark=mark, request=request, **({'to': to} if to else {}))}"
        '<label for="name">Account</label>'
        f'<input id="name" name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required '
        f'maxlength="64" value="{escape(name)}"{"" if name else " autofocus"}{described}>'
        '<label for="password">Password or access token</label>'
        '<input id="password" name="password" type="password" autocomplete="current-password" required '
        f'maxlength="1000"{" autofocus" if name else ""}{described}>'
        '<div class="actions"><button type="submit">Sign in</button></div></form>'
        '<p class="quiet">The owner of this service signs in as <strong>owner</strong>, with the token that was shown '
        "at the first start.</p>"
    )
    return _page("Sign in", body, status=status)


def signed_in_page(*, name: str, mark: str) -> Response:
    """What a signed-in user sees who came without a request."""
    body = (
        f"<h1>Signed in as {escape(name)}</h1><p>There is nothing to decide here. Applications that want to use your "
        f"account will ask you on this site.</p>{_sign_out(mark, 'sign-out')}"
    )
    return _page("Signed in", body)


def consent_page(
    *,
    pending: PendingAuthorization,
    client: str,
    dynamic: bool,
    account: str,
    lacks_access: bool,
    request: str,
    marks: tuple[str, str],
) -> Response:
    """The question whether a client may act for the user; `marks` are those of the answer and of signing out."""
    known = one_line(client, 100) or "An application without a name"
    asked = "".join(f"<li>{escape(SCOPE_TEXTS.get(scope, scope))}</li>" for scope in pending.scopes)
    place = escape(one_line(place_of(pending.redirect_uri), 100))
    where = f"{place}, on your own machine" if is_local(pending.redirect_uri) else place
    origin = (
        '<p class="warning">This application registered itself; nobody here has checked its name. Allow it only if '
        "you have just asked it to connect.</p>"
        if dynamic
        else ""
    )
    lacking = (
        '<p class="warning">Your account has no access to the MCP tools at present, so they will refuse it. An '
        "administrator can change that.</p>"
        if lacks_access
        else ""
    )
    body = (
        f"<h1>Allow {escape(known)} to use your account?</h1>{origin}{lacking}<p>It asks to:</p><ul>{asked}</ul>"
        f"<dl><dt>Your account</dt><dd>{escape(account)}</dd><dt>The answer goes to</dt><dd>{where}</dd></dl>"
        f'<form method="post" action="consent">{_hidden(mark=marks[0], request=request)}<div class="actions">'
        '<button type="submit" name="decision" value="allow">Allow</button>'
        '<button type="submit" name="decision" value="deny" class="second">Deny</button></div></form>'
        '<p class="quiet">It keeps this access for as long as it is used at least every 30 days, or until an '
        f"administrator takes it back.</p>{_sign_out(marks[1], '../../sign-out', request)}"
    )
    return _page("Allow access", body, root="../../", forms=form_source(pending.redirect_uri))


def fault_page(title: str, text: str, *, root: str = "") -> Response:
    """What went wrong, for a reader; status 400."""
    return _page(title, f"<h1>{escape(title)}</h1><p>{escape(text)}</p>", status=400, root=root)


def _sign_out(mark: str, action: str, request: str = "") -> str:
    return (
        f'<form method="post" action="{action}">{_hidden(mark=mark, request=request)}'
        '<button type="submit" class="link">Sign out</button></form>'
    )


def _hidden(**fields: str) -> str:
    return "".join(f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in fields.items())


def _page(title: str, body: str, *, status: int = 200, root: str = "", forms: str = "") -> Response:
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)} · sourcelight</title>'
        f'<link rel="stylesheet" href="{root}style.css"></head><body><main>{body}</main></body></html>\n'
    )
    policy = (
        "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
        f"form-action 'self'{' ' if forms else ''}{forms}"
    )
    return HTMLResponse(
        text,
        status,
        {
            "Content-Security-Policy": policy,
            "X-Frame-Options": "DENY",
            # With no-referrer, a browser would send "Origin: null" with our own forms.
            "Referrer-Policy": "same-origin",
            "Cache-Control": "no-store",
        },
    )
