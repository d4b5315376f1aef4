"""Options and environments of git: to read history, without any configuration, and to fetch, with the user's."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

NETWORK = ("https", "ssh", "git")
"""Transports for a remote on another host. A redirect can't leave them; user settings may rewrite between them."""

LOCAL = ("file",)
"""Transport for a directory of this machine."""

_INHERITED = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
              "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")  # fmt: skip
"""Variables of the user that a fetch needs: for ssh, credentials, certificates, and their own configuration."""

# Written out as git's arguments, an option and its value in turn.
SAFE_OPTIONS = (
    "-c", "core.fsmonitor=false",
    "-c", f"core.hooksPath={os.devnull}",
    "-c", "protocol.allow=never",
    "-c", "safe.bareRepository=explicit",
    "-c", "submodule.recurse=false",
    "-c", "fetch.recurseSubmodules=false",
    "-c", "transfer.bundleURI=false",
    "-c", "fetch.uriProtocols=",
    "-c", "maintenance.auto=false",
    "-c", "gc.auto=0",
)  # fmt: skip
"""Override every configuration: git runs no program of a repository, and reads no other source or repository."""

# git allocates and frees each content, and glibc gives large blocks back to the system and asks for them again, each
# page with a fault. Memory that git keeps saves 21 % of the CPU time of `diff-tree` on redis, and 10 % of `cat-file`
# on kafka. Other C libraries ignore the variable, and older versions the settings that they don't have.
_REUSED_MEMORY = (
    f"glibc.malloc.mmap_threshold={8 << 20}"
    f":glibc.malloc.trim_threshold={64 << 20}"
    f":glibc.malloc.top_pad={4 << 20}"
    ":glibc.malloc.hugetlb=1"
)

_ALWAYS = {
    # Nobody answers a prompt.
    "GIT_TERMINAL_PROMPT": "0",
    # A content that a partial clone lacks is an error, rather than a fetch while history is read.
    "GIT_NO_LAZY_FETCH": "1",
    # Reading must not write, such as the index of a work tree.
    "GIT_OPTIONAL_LOCKS": "0",
    # Transports that configuration allows to the user alone stay refused.
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat",
}
"""Variables that every git process gets."""


def reading_environment(directory: str) -> dict[str, str]:
    """Return the environment for git in our own directory: no configuration of machine or user, no transport.

    Parameters
    ----------
    directory
        The git directory, of `isolation.isolated_directory`; it is the home too, for a git that looks there.
    """
    # GIT_EXEC_PATH locates git's own programs, which an installation outside of the default path needs.
    environment = _inherit({"GIT_EXEC_PATH"})
    return environment | {
        **_ALWAYS,
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_DIR": directory,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # as libgit2 reads: replacements don't apply
        "HOME": directory,  # git before 2.32 does not know GIT_CONFIG_GLOBAL
        "XDG_CONFIG_HOME": directory,
        "LC_ALL": "C.UTF-8",
        "GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", _REUSED_MEMORY),
    }


def fetching_environment(protocols: Sequence[str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a fetch: the user's settings apply, settings of a surrounding git don't.

    Parameters
    ----------
    protocols
        Transports that may be used, `NETWORK` or `LOCAL`.
    extra
        Variables to add.
    """
    environment = _inherit(_INHERITED)
    environment.update(_ALWAYS)
    environment["GIT_ALLOW_PROTOCOL"] = ":".join(protocols)
    # Progress lines are told from reasons of a failure by their English form.
    environment["LC_ALL"] = "C"
    environment.update(extra or {})
    return environment


def _inherit(git_names: Collection[str]) -> dict[str, str]:
    """Return the variables of this process; of those of git only `git_names`."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in git_names}
