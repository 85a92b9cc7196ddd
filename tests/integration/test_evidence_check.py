"""The evidence check on real pages of a loopback server, which the guard lets through by its list alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from integration.engine_kit import said
from integration.server_kit import served_table

from roundtable import DebateResult
from roundtable.errors import ConfigurationError
from roundtable.http.pages import PAGE_BYTES
from roundtable.results.evidence import CheckedDebate, EvidenceReport, check_evidence
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, Seen, WireReply, http_reply
from roundtable.types import ClaimEvidence

HTML = {"content-type": "text/html; charset=utf-8"}
PAGE = "<title>Tea</title><p>Dry green tea <b>keeps</b> for a year.</p><p hidden>Tea cures all ills.</p>"


def reply(seen: Seen) -> WireReply:
    path = seen.path
    if path == "/moved":
        return http_reply(b"", status=302, headers={"location": "/tea"})
    if path == "/echo":
        return http_reply(b"", status=302, headers={"location": "/search?q=dry+tea+keeps+forever"})
    if path == "/inside":
        return http_reply(b"", status=302, headers={"location": "http://169.254.169.254/latest/"})
    if path == "/long":
        return http_reply(b"<p>" + b"tea " * (PAGE_BYTES // 4 + 100) + b"<p>keeps for a year", headers=HTML)
    if path == "/hostile":
        return http_reply(PAGE.encode(), headers={"content-type": "text/html; charset*=a; charset*0=b"})
    if path == "/scripts":
        return http_reply(b"<title>Tea</title><div id=app></div><script>show('tea')</script>", headers=HTML)
    if path == "/picture":
        return http_reply(b"\x89PNG", headers={"content-type": "image/png"})
    if path.startswith("/search"):
        return http_reply(f"<p>Results for {path}: dry tea keeps forever".encode(), headers=HTML)
    return http_reply(PAGE.encode(), headers=HTML) if path == "/tea" else http_reply(b"", status=404, headers=HTML)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(reply) as running:
        yield running


async def debated(*sources: dict[str, Any]) -> DebateResult:
    claims = [{"text": f"Claim {at}.", "evidence": [*sources[at : at + 2]]} for at in range(0, len(sources), 2)]
    agents = scripted_agents({"ada": said("Tea", claims=claims), "bo": "Tea"})
    async with served_table(agents=agents) as table:
        return await table.debate("Tea or coffee?", rounds=1, claims=True)


async def checked(server: LoopbackServer, *sources: tuple[str, str | None], **more: Any) -> EvidenceReport:
    result = await debated(*({"url": f"{server.origin}{path}", "quote": quote} for path, quote in sources))
    return await result.check_evidence(allow=[server.origin.partition("://")[2]], **more)


async def test_a_quote_on_the_page_is_found_and_any_other_is_cited_but_not_found(server: LoopbackServer) -> None:
    report = await checked(
        server,
        ("/tea", "green tea keeps for a year"),
        ("/tea", "Tea cures all ills"),
        ("/tea", "green tea keeps forever"),
        ("/echo", "dry tea keeps forever"),
        ("/moved", "keeps for a year"),
    )
    assert [check.status for check in report.checks] == ["found", "not found", "not found", "no quote", "found"]
    assert report.checks[4].final_url == f"{server.origin}/tea"
    assert [seen.path for seen in server.seen].count("/tea") == 2  # once by its address, once after the redirect
    text = report.to_text()
    assert "2 found, 2 cited but not found, 1 without words to look for" in " ".join(text.split())
    assert "\N{CHECK MARK} the page has these words" in text


async def test_a_page_that_cannot_be_fetched_has_a_reason(server: LoopbackServer) -> None:
    report = await checked(
        server,
        ("/gone", "keeps for a year"),
        ("/inside", "keeps for a year"),
        ("/picture", "keeps for a year"),
        ("/long", "keeps for a year"),
        ("/long", "tea tea tea"),
        ("/scripts", "keeps for a year"),
    )
    assert [check.status for check in report.checks] == [*["not fetched"] * 4, "found", "not fetched"]
    reasons = [check.reason for check in report.checks]
    assert "answered with status 404" in reasons[0]
    assert "the IP address is not public" in reasons[1]
    assert "is not text" in reasons[2]
    assert reasons[3] == "the page is too long: the words are not in the part that was read"
    assert reasons[5] == "the page has no text without its scripts"
    assert f"not fetched ({reasons[0]})" in report.to_markdown().replace("\\", "")


async def test_a_hostile_page_does_not_affect_other_pages(server: LoopbackServer) -> None:
    report = await checked(server, ("/hostile", "keeps for a year"), ("/tea", "keeps for a year"))
    assert [check.status for check in report.checks] == ["found", "found"]


async def test_an_unexpected_error_affects_one_page_and_is_named() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        if host == "odd.example":
            raise RuntimeError(port)
        return ["10.0.0.1"]

    result = await debated(
        {"url": "https://odd.example/", "quote": "keeps for a year"},
        {"url": "https://inside.example/", "quote": "keeps for a year"},
    )
    debate = CheckedDebate(result.session_id, result.topic, None)
    report = await check_evidence(debate, result.argument_graph(), resolver=resolve)
    assert [check.status for check in report.checks] == ["not fetched"] * 2
    assert report.checks[0].reason == "the page cannot be read: RuntimeError"
    assert "has an IP address that is not public" in report.checks[1].reason


async def test_quotes_in_scripts_without_spaces_are_found(server: LoopbackServer) -> None:
    report = await checked(server, ("/tea", "\u0e0a\u0e32\u0e40\u0e01\u0e1a\u0e44\u0e14\u0e2b\u0e19\u0e07"))
    assert report.checks[0].status == "not found"


async def test_a_quote_above_the_maximum_length_is_not_searched_for(server: LoopbackServer) -> None:
    result = await debated({"url": f"{server.origin}/tea", "quote": "keeps for a year"})
    source = ClaimEvidence(url=f"{server.origin}/tea", quote="keeps for a year " * 200)
    graph = result.argument_graph()
    long = graph.model_copy(update={"claims": (graph.claims[0].model_copy(update={"evidence": (source,)}),)})
    report = await check_evidence(CheckedDebate(result.session_id, result.topic, None), long)
    (check,) = report.checks
    assert (check.status, check.reason) == ("no quote", "more than 2000 characters are quoted")


async def test_too_few_words_or_words_in_the_address_are_not_proof(server: LoopbackServer) -> None:
    report = await checked(
        server,
        ("/tea", None),
        ("/tea", "green tea"),
        ("/tea", " ... "),
        ("/search?q=dry+tea+keeps%20forever", "dry tea keeps forever"),
        ("/search/dry%20tea%20keeps%20forever", "Dry tea keeps forever."),
        ("/tea", "green tea ... for a year"),
        ("/tea", "a b c d"),
        ("/tea", "\u8336\u4fdd\u5b58"),
    )
    assert [check.status for check in report.checks] == ["no quote"] * 8
    assert [check.reason for check in report.checks] == [
        "no words are quoted",
        "fewer than 3 words are quoted",
        "no words are quoted",
        "the address itself contains the quoted words",
        "the address itself contains the quoted words",
        "fewer than 3 words are quoted between ellipses",
        "fewer than 3 words are quoted",
        "fewer than 3 words are quoted",
    ]
    assert server.seen == []


async def test_without_permission_no_page_of_this_machine_is_opened(server: LoopbackServer) -> None:
    result = await debated({"url": f"{server.origin}/tea", "quote": "keeps for a year"})
    (check,) = (await result.check_evidence()).checks
    assert check.status == "not fetched"
    assert "port" in check.reason
    assert server.seen == []


async def test_pages_are_opened_only_on_request_and_up_to_the_limit(server: LoopbackServer) -> None:
    report = await checked(server, ("/tea", "keeps for a year"), ("/gone", "keeps for a year"), most_pages=1)
    assert [seen.path for seen in server.seen] == ["/tea"]
    assert [check.status for check in report.checks] == ["found", "not fetched"]
    assert report.checks[1].reason == "only 1 page of 2 may be fetched"


@pytest.mark.parametrize(
    "wrong",
    [
        {"most_pages": 0},
        {"most_pages": 2.5},
        {"timeout_s": 0.0},
        {"timeout_s": "x"},
        {"allow": ["localhost"]},
        {"domains": "example.org"},
        {"domains": [3]},
    ],
)
async def test_an_invalid_argument_is_refused(server: LoopbackServer, wrong: dict[str, Any]) -> None:
    result = await debated()
    with pytest.raises(ConfigurationError):
        await result.check_evidence(**wrong)


def test_the_blocking_check_gives_a_report(server: LoopbackServer) -> None:
    import anyio

    result = anyio.run(lambda: debated({"url": f"{server.origin}/tea", "quote": "keeps for a year"}))
    report = result.check_evidence_sync(allow=[server.origin.partition("://")[2]])
    assert report.count("found") == 1
    assert EvidenceReport.from_json(report.to_json()) == report
    assert "<script" not in report.to_html()
