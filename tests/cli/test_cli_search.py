"""`--search` and `--fetch`: agents search through a server of one's own, and say what they found."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cli.kit import script
from integration.test_provider_debates import answering

from roundtable.results.debate_result import DebateResult
from roundtable.testing.servers import LoopbackServer, http_reply

if TYPE_CHECKING:
    from pathlib import Path

    from cli.kit import Command

FOUND = {"results": [{"title": "Tea", "url": "https://tea.example/", "content": "Tea keeps you awake."}]}
ANSWER = {"position": "Tea", "reasoning": "It keeps.", "confidence": 0.8}


def searching(folder: Path, name: str, tool: str = "search_web", **given: str) -> str:
    """Write a script of an agent that calls a tool first, and then answers."""
    return script(folder, name, [{"toolCalls": [{"name": tool, "args": given}]}, ANSWER])


def test_agents_search_through_a_custom_server(command: Command, place: Path) -> None:
    agents = f"{searching(place, 'ada', query='tea')},{searching(place, 'bo', 'fact_check', claim='Tea helps.')}"
    with LoopbackServer(lambda seen: http_reply(json.dumps(FOUND).encode())) as server:
        words = ("debate", "Tea or coffee?", "--agents", agents, "--rounds", "1", "--json")
        done = command(*words, "--search", f"searxng:{server.origin}")
    assert done.code == 0, done.both
    result = DebateResult.from_json(done.out)
    assert sorted(seen.path for seen in server.seen) == [
        "/search?q=Tea+helps.&format=json",
        "/search?q=tea&format=json",
    ]
    assert [[cited.url for cited in one.citations] for one in result.rounds[0].responses] == [
        ["https://tea.example/"],
        ["https://tea.example/"],
    ]


@pytest.mark.parametrize(("words", "asks"), [((), True), (("--search", "auto"), True), (("--search", "off"), False)])
def test_agents_use_the_search_of_their_provider_unless_it_is_off(
    command: Command, words: tuple[str, ...], asks: bool
) -> None:
    with answering("anthropic") as server:
        address = ("--base-url", f"anthropic={server.origin}")
        done = command(
            "debate", "Tea?", "-a", "anthropic", "-r", "1", "--json", "--analyzer", "basic", *address, *words
        )
        session = DebateResult.from_json(done.out).session_id
        more = command("extend", session, "-r", "1", "--json", *address)
    assert (done.code, more.code) == (0, 0), done.both + more.both
    # A session goes on as it began, whatever this command says.
    assert ["tools" in seen.json for seen in server.seen] == [asks, asks]
    result = DebateResult.from_json(more.out)
    assert [len(one.responses[0].citations) for one in result.rounds] == [1, 1]


def test_pages_are_opened_only_on_request(command: Command, place: Path) -> None:
    for flags, error in (([], "there is no tool 'fetch_url'"), (["--fetch"], "the IP address is not public")):
        agents = searching(place, "ada", "fetch_url", url="http://127.0.0.1/")
        done = command("debate", "Tea?", "-a", agents, "-r", "1", "--json", "--search", "static", *flags)
        (answer,) = DebateResult.from_json(done.out).rounds[0].responses
        assert error in (answer.tool_calls[0].error or "")


def test_an_unusable_search_service_is_reported_before_any_agent_is_asked(command: Command, place: Path) -> None:
    agents = searching(place, "ada")
    for service, message in (
        ("brve", "Did you mean 'brave'"),
        ("brave", "brave needs a key"),
        ("searxng:x", "not an http"),
        ("", "search must be 'auto', True, False, a search service or options, not ''"),
    ):
        done = command("debate", "Tea?", "--agents", agents, "--search", service)
        assert done.code == 2
        assert message in done.both


def test_the_suggested_command_names_the_same_tools(command: Command, place: Path) -> None:
    agents = script(place, "ada", [ANSWER])
    done = command(
        "debate", "Tea?", "-a", agents, "-r", "2", "--search", "searxng:http://127.0.0.1:9/?key=x", "--fetch"
    )
    assert "key=x" not in done.out
    words = ("debate", "Tea?", "-a", agents, "-r", "2", "--search", "searxng:http://127.0.0.1:9", "--fetch")
    done = command(*words)
    assert "--search searxng:http://127.0.0.1:9 --fetch" in " ".join(done.both.split())
