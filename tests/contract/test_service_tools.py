"""What releases add: tools without a method of their own, smaller suites, and the versioned API of conversations."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import sourcelight as sl
from backends.remote.scripted_tools import schema, text, typed
from contract.generations import COMMIT, REPOSITORY, SYMBOL, service
from contract.test_generations import client_of
from sourcelight.client.portal import call
from sourcelight.client.service_tools import file_links
from sourcelight.core.errors import SourcelightError

_TASK = schema("task", task="string")
_SCRIPT = schema("script", script="string", timeoutSeconds="integer")
_LINK = f"/{REPOSITORY}@{COMMIT}/-/blob/gauge.go?L3-9"
_SUMMARY = f"Retries are in one place.\n\n- [gauge.go](https://host{_LINK}): spaces them\n- [log](/search?q=x)\n"
_OWN = {
    "code_finder": (_TASK, lambda _: text(_SUMMARY)),
    "evaluator": (_SCRIPT, lambda _: text('{"rows": [{"repo": "a", "count": 3}, {"repo": "b", "count": 1}]}')),
    "list_refs": (
        schema("repo", repo="string"),
        lambda _: typed({"refs": [{"name": "main", "commit": COMMIT}], "limitHit": True, "repo": REPOSITORY}),
    ),
}


def test_code_finder_gives_the_places_that_it_names() -> None:
    played = service("7.6", tools=_OWN)
    with client_of(played) as code:
        frame = code.tools.code_finder("find the retries")
    assert played.calls == [("code_finder", {"task": "find the retries"})]
    (row,) = frame.to_dict("records")
    assert (row["repository"], row["path"], row["start_line"], row["end_line"]) == (REPOSITORY, "gauge.go", 3, 9)
    assert frame.attrs["text"] == _SUMMARY
    assert frame.attrs["payload"] == {"text": _SUMMARY}
    assert frame.attrs["status"] == "unparsed"


def test_evaluator_gives_its_rows() -> None:
    with client_of(service("7.6", tools=_OWN)) as code:
        frame = code.tools["evaluator"](script="return search('x')")
    assert frame.to_dict("records") == [{"repo": "a", "count": 3}, {"repo": "b", "count": 1}]
    assert "doesn't know the tool" in frame.attrs["notices"][0]


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        ({}, "unparsed"),
        ({"limitHit": None}, "unparsed"),
        ({"limitHit": False}, "complete"),
        ({"truncated": True, "hasMore": False}, "limited"),
        ({"pageInfo": {"hasNextPage": False}}, "complete"),
        ({"pageInfo": {"hasNextPage": True}}, "limited"),
        ({"pageInfo": {}}, "unparsed"),
    ],
)
def test_only_the_answer_of_an_unknown_tool_says_that_it_is_complete(flags: dict[str, Any], status: str) -> None:
    """An answer that said nothing about further results was complete."""
    tools = {"evaluator": (_SCRIPT, lambda _: typed({"rows": [{"repo": "a"}], **flags}))}
    with client_of(service("7.6", tools=tools)) as code:
        frame = code.tools.evaluator(script="x")
    assert frame.attrs["status"] == status
    assert bool(frame.attrs["reasons"]) == (status != "complete")


def test_any_advertised_tool_has_its_schema_as_signature() -> None:
    with client_of(service("7.6", tools=_OWN)) as code:
        assert {"code_finder", "evaluator", "list_refs"} <= set(code.tools)
        assert "list_refs" in dir(code.tools)
        assert str(inspect.signature(code.tools.evaluator)) == "(script: str, *, timeoutSeconds: int = None)"
        assert code.tools.evaluator.__doc__ == "scripted"
        frame = code.tools.list_refs(REPOSITORY)
        with pytest.raises(TypeError, match="missing a required argument"):
            code.tools.evaluator()
        with pytest.raises(AttributeError, match=r"no tool 'no_such'; it has .*code_finder"):
            _ = code.tools.no_such
    assert frame.to_dict("records") == [{"name": "main", "commit": COMMIT}]
    assert frame.attrs["status"] == "limited"
    assert frame.attrs["payload"]["repo"] == REPOSITORY


def test_a_tool_may_name_its_arguments_as_it_likes() -> None:
    copy = schema("name", "from", "name", **dict.fromkeys(("name", "from", "self", "function"), "string"))
    played = service("7.6", tools={"copy": (copy, lambda _: text('{"rows": []}'))})
    with client_of(played) as code:
        assert str(inspect.signature(code.tools.copy)) == "(name: str, *, self: str = None, function: str = None)"
        code.tools.copy("a", **{"from": "b", "self": "c", "function": "d"})
        code.tools.copy(name="a", **{"from": "b"})
        with pytest.raises(TypeError, match="copy: got an unexpected keyword argument 'class'"):
            code.tools.copy("a", **{"class": "b"})
    assert [arguments for _, arguments in played.calls] == [
        {"name": "a", "from": "b", "self": "c", "function": "d"},
        {"name": "a", "from": "b"},
    ]


def test_a_federation_has_the_tools_of_its_services() -> None:
    files = {"/.assets/a/rows.csv": ("text/csv", b"repo,count\n")}
    harbour = service("7.6", tools=_OWN)
    office = service("7.6", tools={"evaluator": (_SCRIPT, lambda _: text('{"rows": [{"repo": "c"}]}'))}, gets=files)
    with client_of(harbour) as first, client_of(office) as second, sl.federate({"x": first, "y": second}) as code:
        assert {"code_finder", "x:evaluator", "y:evaluator", "x:read_file", "y:read_file"} <= set(code.tools)
        assert "evaluator" not in code.tools
        assert code.tools.code_finder("find the retries").attrs["text"] == _SUMMARY
        assert len(code.tools["x:evaluator"](script="s")) == 2
        assert code.tools["y:evaluator"](script="s").to_dict("records") == [{"repo": "c"}]
        with pytest.raises(AttributeError, match=r"no tool 'evaluator'; it has .*x:evaluator"):
            _ = code.tools.evaluator
        service_files = code.backend.features.service
        assert service_files is not None
        assert call(service_files.fetch_file, "/.assets/a/rows.csv") == b"repo,count\n"
        with pytest.raises(SourcelightError):
            call(service_files.fetch_file, "/.assets/b/rows.csv")
    assert [name for name, _ in harbour.calls] == ["code_finder", "evaluator"]
    assert [name for name, _ in office.calls] == ["evaluator"]


def test_tools_are_awaited_too() -> None:
    async def ask(url: str) -> Any:
        async with await sl.aconnect(url, "t", check=False) as code:
            assert "evaluator" in await code.tools.list()
            return await code.tools.evaluator(script="x")

    with service("7.6", tools=_OWN).running() as url:
        assert len(call(ask, url)) == 2


def test_a_client_without_a_service_has_no_such_tools(embedded: sl.Client) -> None:
    assert list(embedded.tools) == []
    with pytest.raises(AttributeError, match="has no tool 'evaluator'"):
        _ = embedded.tools.evaluator


def test_tools_beyond_the_default_suite_are_asked_of_the_full_one() -> None:
    results = {
        "repo": REPOSITORY,
        "path": "d.go",
        "rev": COMMIT,
        "chunks": [{"startLine": 3, "content": "3: func Do()\n"}],
    }
    question = (
        schema("question", question="string"),
        lambda _: text("Link: https://host/deepsearch/7\n\nStill working."),
    )
    played = service(
        "7.6",
        on_all={"go_to_definition": (SYMBOL, lambda _: typed({"definitions": [results]}))},
        deepsearch={"deepsearch": question},
    )
    with client_of(played) as code:
        assert list(code.go_to_definition(REPOSITORY, "u.go", "Do")["path"]) == ["d.go"]
        assert "deepsearch" in code.tools


_CONVERSATION = {
    "name": "users/~self/conversations/140",
    "title": "Retries",
    "state": {"processing": {}},
    "createTime": "2026-03-04T10:00:00Z",
    "updateTime": "2026-03-04T10:00:09Z",
    "url": "https://host/deepsearch/caebeb05-7755-4f89-834f-e3ee4a6acb25",
}


def _posts(**replies: Any) -> dict[str, Any]:
    return {f"/api/deepsearch.v1.Service/{name}": reply for name, reply in replies.items()}


def test_conversations_are_listed_by_the_versioned_api() -> None:
    def page(body: dict[str, Any]) -> Any:
        first = int(body.get("pageToken") or 0)
        names = [{**_CONVERSATION, "name": f"users/~self/conversations/{n}"} for n in range(first, min(first + 2, 3))]
        return {"conversationSummaries": names, **({"nextPageToken": "2"} if first == 0 else {})}

    played = service("7.6", posts=_posts(ListConversationSummaries=page))
    with client_of(played) as code:
        frame = code.deepsearch_list()
    assert list(frame["id"]) == [0, 1, 2]
    assert frame["status"].isna().all()
    assert [body.get("pageToken") for _, body in played.calls] == [None, "2"]


def test_follow_ups_and_changes_go_to_the_versioned_api() -> None:
    played = service(
        "7.6",
        posts=_posts(
            GetConversation=lambda _: _CONVERSATION,
            ListConversationSummaries=lambda _: {"conversationSummaries": [_CONVERSATION]},
            AddConversationQuestion=lambda _: {"input": [], "novelty": 1},
            CancelConversation=lambda _: {**_CONVERSATION, "state": {"canceled": {}}},
            DeleteConversation=lambda _: {},
        ),
    )
    with client_of(played) as code:
        answer = _call(code, "deepsearch_follow_up", identifier="140", question="And then?")
        assert (answer.attributes["status"], answer.attributes["payload"]["novelty"]) == ("processing", 1)
        answer = _call(code, "deepsearch_change", identifier=_CONVERSATION["url"], cancel=True)
        assert answer.attributes["state"] == "canceled"
        _call(code, "deepsearch_change", identifier="users/~self/conversations/140", delete=True)
        with pytest.raises(sl.ToolError, match="change title only on its own pages"):
            _call(code, "deepsearch_change", identifier="140", title="Other")
    requests = {path.rpartition("/")[2]: body for path, body in played.calls}
    assert requests["AddConversationQuestion"] == {
        "parent": "users/~self/conversations/140",
        "question": {"input": [{"question": {"text": "And then?"}}]},
    }
    assert requests["DeleteConversation"] == {"name": "users/~self/conversations/140"}


def _call(client: sl.Client, name: str, **arguments: Any) -> Any:
    return call(client.backend.call, name, arguments)


_FILES_ANSWER = (
    "---\ntitle: T\n---\n# How many?\n\nSee [the table](/deepsearch/files/1/uses.csv?v=2), [a chart](/x/chart.svg), "
    "and [code](/r@1/-/blob/package.json).\n"
)
_READ_CONVERSATION = (schema("identifier", identifier="string"), lambda _: text(_FILES_ANSWER))


def test_files_of_an_answer_can_be_saved(tmp_path: Path) -> None:
    csv, svg = b"repository,uses\na,3\n", b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    files = {"/deepsearch/files/1/uses.csv": ("text/csv", csv), "/x/chart.svg": ("image/svg+xml", svg)}
    with client_of(service("7.6", tools={"deepsearch_read": _READ_CONVERSATION}, gets=files)) as code:
        answer = code.deepsearch_read("caebeb05-7755-4f89-834f-e3ee4a6acb25")
        assert answer.files == ["/deepsearch/files/1/uses.csv?v=2", "/x/chart.svg"]
        saved = answer.save_files(tmp_path / "files")
        assert [Path(path).read_bytes() for path in saved] == [csv, svg]
        assert [Path(path).name for path in saved] == ["uses.csv", "chart.svg"]
        with pytest.raises(FileExistsError):
            answer.save_files(tmp_path / "files")


@pytest.mark.parametrize(
    "link",
    [
        "https://elsewhere.example/a.csv",
        "//elsewhere.example/a.csv",
        "////elsewhere.example/a.csv",
        "{service}//elsewhere.example/a.csv",
        "javascript:a.csv",
        "https:a.csv",
        "https://[x/a.csv",
        "/x/../../a.csv",
        "/x/%2e%2e/%2E./a.csv",
        "/x/..%5c../a.csv",
        "/x/a\x01.csv",
        "/" + "x" * 70_000,
    ],
)
def test_files_of_other_hosts_are_not_fetched(link: str) -> None:
    """Links come from answers, and a request for one carries the credential."""
    with client_of(service("7.6")) as code:
        link = link.format(service=code.backend.name)
        with pytest.raises(sl.ToolError, match=r"another host|not an address"):
            call(code.backend.fetch_file, link)  # type: ignore[attr-defined]  # that of a service


def test_a_file_is_found_by_a_link_relative_to_the_service() -> None:
    with client_of(service("7.6", gets={"/files/rows.csv": ("text/csv", b"a,b\n")})) as code:
        for link in ("files/rows.csv", "/files/rows.csv", f"{code.backend.name}/files/rows.csv"):
            assert call(code.backend.fetch_file, link) == b"a,b\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ("/files/CON.csv", "_CON.csv"),
        ("/files/lpt1.x.svg", "_lpt1.x.svg"),
        ("/files/%2ebashrc.csv", "bashrc.csv"),
        ("/files/a%5cb:c.csv", "b_c.csv"),
        (f"/files/{'x' * 20}.{'y' * 115}.csv", f"{'y' * 115}.csv"),
        (f"/files/{'%E7%81%AF' * 90}.csv", f"{chr(0x706F) * 38}.csv"),
    ],
)
def test_a_saved_file_has_a_harmless_name(tmp_path: Path, link: str, name: str) -> None:
    answer = (schema("identifier", identifier="string"), lambda _: text(f"# Which?\n\n[rows]({link})\n"))
    files = {unquote(link): ("text/csv", b"a\n")}
    with client_of(service("7.6", tools={"deepsearch_read": answer}, gets=files)) as code:
        saved = code.deepsearch_read("caebeb05-7755-4f89-834f-e3ee4a6acb25").save_files(tmp_path)
    assert [Path(path).name for path in saved] == [name]


def test_a_link_whose_query_looks_like_a_file_is_none() -> None:
    assert file_links("[a](/run.sh?x=a.csv) [b](/rows.csv?v=1) [c](/r@1/-/blob/a.json)") == ["/rows.csv?v=1"]


def test_the_credential_stays_below_the_path_of_the_service() -> None:
    """Another application may live on the same host, and the text of an answer may link to it."""
    files = dict.fromkeys(("/code/rows.csv", "/other/rows.csv"), ("text/csv", b"a,b\n"))
    played = service("7.6", gets=files)
    with played.running() as host, sl.connect(f"{host}/code", "a-token", check=False) as code:
        fetch = code.backend.fetch_file  # type: ignore[attr-defined]  # that of a service
        assert call(fetch, f"{host}/code/rows.csv") == b"a,b\n"
        for path in ("/other/rows.csv", "/codes/rows.csv", "/code/../other/rows.csv", "/code"):
            with pytest.raises(sl.ToolError, match=r"not below|not an address"):
                call(fetch, host + path)
