"""HTML pages of OAuth: sign-in, consent, errors.

They have one style sheet and no script. All text of a request is escaped.
"""

from __future__ import annotations

from starlette.responses import HTMLResponse, Response

from sourcelight.core.markup import escape, one_line
from sourcelight.server.oauth.addresses import form_source, is_local, redirect_host
from sourcelight.server.oauth.forms import PendingAuthorization

SCOPE_TEXTS = {
    "mcp": "Use the MCP tools: search, read and explore the repositories that you may see.",
    "user:all": "Do everything that you can do here: all searches and tools, on the repositories that you may see.",
}
"""Scopes in words, for the page that asks for consent."""

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
    csrf_token: str,
    request: str = "",
    name: str = "",
    error: str = "",
    status: int = 200,
    client: str = "",
    to: str = "",
) -> Response:
    """Return the sign-in form; `request` is a sealed authorization request, `to` a page to continue to."""
    # Without a page to continue to, the form doesn't name one.
    fields = {"mark": csrf_token, "request": request}
    if to:
        fields["to"] = to

    # The first field to fill in has the focus.
    name_focus, password_focus = (" autofocus", "") if not name else ("", " autofocus")
    whom = f"<p>To continue to <strong>{escape(one_line(client, 100))}</strong>.</p>" if client else ""
    error_html = f'<p class="fault" role="alert" id="fault">{escape(error)}</p>' if error else ""
    described = ' aria-describedby="fault" aria-invalid="true"' if error else ""
    body = (
        f'<h1>Sign in to sourcelight</h1>{whom}{error_html}<form method="post" action="sign-in">'
        f"{_hidden_inputs(**fields)}"
        '<label for="name">Account</label>'
        f'<input id="name" name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required '
        f'maxlength="64" value="{escape(name)}"{name_focus}{described}>'
        '<label for="password">Password or access token</label>'
        '<input id="password" name="password" type="password" autocomplete="current-password" required '
        f'maxlength="1000"{password_focus}{described}>'
        '<div class="actions"><button type="submit">Sign in</button></div></form>'
        '<p class="quiet">The owner of this service signs in as <strong>owner</strong>, with the token that was shown '
        "at the first start.</p>"
    )
    return _page("Sign in", body, status=status)


def signed_in_page(*, name: str, csrf_token: str) -> Response:
    """Return the page of a signed-in user without a request."""
    body = (
        f"<h1>Signed in as {escape(name)}</h1><p>Applications that want to use your "
        f'account will ask you on this site.</p><p><a href="../search">Search code</a></p>'
        f"{_sign_out(csrf_token, 'sign-out')}"
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
    csrf_tokens: tuple[str, str],
) -> Response:
    """Return the page that asks whether a client may act for the user.

    `csrf_tokens` are the token of its answer and that of signing out.
    """
    client_name = one_line(client, 100) or "An unnamed application"
    scope_items = "".join(f"<li>{escape(SCOPE_TEXTS.get(scope, scope))}</li>" for scope in pending.scopes)
    host = escape(one_line(redirect_host(pending.redirect_uri), 100))
    target = f"{host}, on your own machine" if is_local(pending.redirect_uri) else host
    origin = lacking = ""
    if dynamic:
        origin = (
            '<p class="warning">This application registered itself, and its name is unverified. Allow it only if '
            "you have just asked it to connect.</p>"
        )
    if lacks_access:
        lacking = (
            '<p class="warning">Your account has no access to the MCP tools, so they will refuse requests. An '
            "administrator can change this.</p>"
        )

    body = (
        f"<h1>Allow {escape(client_name)} to use your account?</h1>{origin}{lacking}"
        f"<p>It requests permission to:</p><ul>{scope_items}</ul>"
        f"<dl><dt>Your account</dt><dd>{escape(account)}</dd><dt>The response goes to</dt><dd>{target}</dd></dl>"
        f'<form method="post" action="consent">{_hidden_inputs(mark=csrf_tokens[0], request=request)}'
        '<div class="actions">'
        '<button type="submit" name="decision" value="allow">Allow</button>'
        '<button type="submit" name="decision" value="deny" class="second">Deny</button></div></form>'
        '<p class="quiet">Access ends after 30 days without use, or when an '
        f"administrator revokes it.</p>{_sign_out(csrf_tokens[1], '../../sign-out', request)}"
    )
    return _page("Allow access", body, root="../../", forms=form_source(pending.redirect_uri))


def device_code_page(*, error: str = "", status: int = 200) -> Response:
    """Return the form for the code that a terminal shows."""
    error_html = f'<p class="fault" role="alert" id="fault">{escape(error)}</p>' if error else ""
    described = ' aria-describedby="fault" aria-invalid="true"' if error else ""
    body = (
        f'<h1>Sign in a terminal</h1>{error_html}<form method="get" action="device">'
        '<label for="user_code">Code that the terminal shows</label>'
        f'<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" '
        f'required maxlength="12" autofocus{described}>'
        '<div class="actions"><button type="submit">Continue</button></div></form>'
    )
    return _page("Sign in a terminal", body, status=status)


def device_page(
    *, user_code: str, client: str, scopes: tuple[str, ...], account: str, typed: str, csrf_tokens: tuple[str, str]
) -> Response:
    """Ask whether a terminal may act for the user; `typed` is the code as the address has it."""
    client_name = one_line(client, 100)
    scope_items = "".join(f"<li>{escape(SCOPE_TEXTS.get(scope, scope))}</li>" for scope in scopes)
    body = (
        f"<h1>Allow {escape(client_name)} to use your account?</h1>"
        '<p class="warning">Allow it only if you started a sign-in in your own terminal just now, and the terminal or '
        "the address that it opened shows this code. If someone sent you this link, deny it.</p>"
        f"<dl><dt>Code</dt><dd><strong>{escape(user_code)}</strong></dd>"
        f"<dt>Your account</dt><dd>{escape(account)}</dd></dl>"
        f"<p>It requests permission to:</p><ul>{scope_items}</ul>"
        f'<form method="post" action="device">{_hidden_inputs(mark=csrf_tokens[0], user_code=typed)}'
        '<div class="actions">'
        '<button type="submit" name="decision" value="allow">Allow</button>'
        '<button type="submit" name="decision" value="deny" class="second">Deny</button></div></form>'
        '<p class="quiet">Access ends after 30 days without use, or when an administrator revokes it.</p>'
        f"{_sign_out(csrf_tokens[1], 'sign-out')}"
    )
    return _page("Allow access", body)


def decided_page(*, is_allowed: bool) -> Response:
    """Confirm that a decision was stored."""
    title = "The terminal is signed in" if is_allowed else "Access denied"
    text = "You can close this page and return to the terminal." if is_allowed else "The terminal gets no access."
    return _page(title, f"<h1>{title}</h1><p>{text}</p>")


def token_page(*, root: str) -> Response:
    """Say how to get an access token: clients of the public service send people to this address."""
    body = (
        "<h1>Access tokens</h1><p>This service has no page that creates tokens. You can get one in two ways:</p><ul>"
        "<li>Sign in from the terminal. A client that offers sign-in with OAuth opens a page of this service, where "
        "you allow it.</li>"
        "<li>Ask the operator of the service. On its machine, <code>sourcelight admin token create NAME</code> creates "
        "a token for the account NAME and shows it once.</li></ul>"
        "<p>Send a token as <code>Authorization: token …</code>, or set <code>SRC_ACCESS_TOKEN</code>.</p>"
    )
    return _page("Access tokens", body, root=root)


def error_page(title: str, text: str, *, root: str = "") -> Response:
    """Return an error page with status 400."""
    return _page(title, f"<h1>{escape(title)}</h1><p>{escape(text)}</p>", status=400, root=root)


def _sign_out(csrf_token: str, action: str, request: str = "") -> str:
    return (
        f'<form method="post" action="{action}">{_hidden_inputs(mark=csrf_token, request=request)}'
        '<button type="submit" class="link">Sign out</button></form>'
    )


def _hidden_inputs(**fields: str) -> str:
    return "".join(f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in fields.items())


def _page(title: str, body: str, *, status: int = 200, root: str = "", forms: str = "") -> Response:
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)} · sourcelight</title>'
        f'<link rel="stylesheet" href="{root}style.css"></head><body><main>{body}</main></body></html>\n'
    )
    # No script at all; `form-action` must name the redirect's host, because browsers apply it to the redirect after a
    # form.
    form_targets = f"'self' {forms}".rstrip()
    policy = (
        f"default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action {form_targets}"
    )
    return HTMLResponse(
        text,
        status,
        {
            "Content-Security-Policy": policy,
            "X-Frame-Options": "DENY",
            # With no-referrer, a browser would send "Origin: null" with forms of this service.
            "Referrer-Policy": "same-origin",
            "Cache-Control": "no-store",
        },
    )
