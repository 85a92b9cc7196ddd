"""A vote on an open question, with a winner and in a circle, and agreement as an interval: the same on every front."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cli.kit import as_process, script
from integration.engine_kit import CountingModel, seated
from integration.mcp_kit import call, connected, server_of
from integration.pages_kit import visiting
from integration.server_kit import client_of, served_table

from roundtable import DebateResult, Roundtable
from roundtable.auth import LocalUser
from roundtable.errors import APIAuthError
from roundtable.mcp import McpServer
from roundtable.modes.vote import voting_orders
from roundtable.providers.scripted import ScriptedModel
from roundtable.storage import MemoryStorage
from roundtable.testing import scripted_agents
from roundtable.types import ChatRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

CITIES = {"ada": "Lisbon", "bo": "Porto", "cy": "Faro"}
QUESTION = "Which city?"
CAPTION = "Head to head: ballots that put the row above the column"


class Vote(NamedTuple):
    """What three agents rank, and what comes of it."""

    orders: Mapping[str, Sequence[str]]
    answer: str | None
    why: str
    pairs: Mapping[str, Mapping[str, float]]


WON = Vote(
    {"ada": ("Lisbon", "Porto", "Faro"), "bo": ("Porto", "Lisbon", "Faro"), "cy": ("Faro", "Lisbon", "Porto")},
    "Lisbon",
    "Lisbon beats all others head to head",
    {
        "Lisbon": {"Porto": 2, "Faro": 2},
        "Porto": {"Lisbon": 1, "Faro": 2},
        "Faro": {"Lisbon": 1, "Porto": 1},
    },
)
CIRCLE = Vote(
    {"ada": ("Lisbon", "Porto", "Faro"), "bo": ("Porto", "Faro", "Lisbon"), "cy": ("Faro", "Lisbon", "Porto")},
    None,
    "Faro > Lisbon > Porto > Faro",
    {
        "Lisbon": {"Porto": 2, "Faro": 1},
        "Porto": {"Lisbon": 1, "Faro": 2},
        "Faro": {"Lisbon": 2, "Porto": 1},
    },
)
votes = pytest.mark.parametrize("vote", [pytest.param(WON, id="winner"), pytest.param(CIRCLE, id="circle")])


def replies(vote: Vote, ids: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return what each agent answers and then votes, in the letters that it is shown with seed 0 in round 1.

    Args:
        vote: What they rank.
        ids: Id of each agent at the table, by its name here.
    """
    orders = voting_orders([*CITIES.values()], [*ids.values()], "vote 0 1")
    letters = {name: dict(zip(orders[agent], "ABC", strict=True)) for name, agent in ids.items()}
    return {
        name: [
            {"position": f"It is {city}.", "bottomLine": city, "reasoning": "I like it.", "confidence": 0.8},
            {"same": [], "ranking": [letters[name][it] for it in vote.orders[name]], "reasoning": f"Best: {name}."},
        ]
        for name, city in CITIES.items()
    }


def voters(vote: Vote) -> list[Any]:
    return scripted_agents(replies(vote, {name: name for name in CITIES}))


def check_table(text: str, vote: Vote) -> None:
    """Check that the lines of a text hold every pair of the vote."""
    lines = text[text.index(CAPTION) :].splitlines()[2:5]
    cells = {line.split()[-1]: line.split()[1:-1] for line in lines}
    names = [line.split()[-1] for line in lines]
    for name in names:
        shown = ["-" if name == other else f"{vote.pairs[name][other]:g}" for other in names]
        assert cells[name] == shown


@votes
async def test_python_and_its_reports_show_a_vote(vote: Vote) -> None:
    async with Roundtable(voters(vote)) as table:
        result = await table.debate(QUESTION, rounds=1, vote=True)
    assert (result.answer, result.answer_source) == (vote.answer, "vote" if vote.answer else "none")
    assert result.decision is not None
    assert vote.why in result.decision.why
    assert {name: dict(row) for name, row in result.decision.pairwise.items()} == vote.pairs
    for text in (str(result), result.to_text()):
        assert vote.why in " ".join(text.split())
        check_table(text, vote)
    markdown = result.to_markdown()
    assert f"\n{CAPTION}\n\n|  | 1 | 2 | 3 |\n| --- | ---: | ---: | ---: |\n| 1. " in markdown
    for page in (result.to_html(), result._repr_html_()):
        assert CAPTION in page
        assert page.count('scope="row" dir="auto"') == 3
    put_forward = {f"{city} ({name.title()})" for name, city in CITIES.items()}
    (line,) = (line for line in markdown.splitlines() if line.startswith("- **Motions, with the agents that"))
    assert {*line.partition("** ")[2].split("; ")} == put_forward
    assert all(f"put forward by {name.title()}; first choice of {name.title()}<" in result.to_html() for name in CITIES)
    ballots = [row["ballot"] for row in result.to_records() if row["stage"] == "vote"]
    assert [json.loads(str(ballot)) for ballot in ballots] == [[[it] for it in order] for order in vote.orders.values()]


async def test_a_debate_without_a_vote_shows_no_table_of_pairs() -> None:
    async with Roundtable(voters(WON)) as table:
        result = await table.debate(QUESTION, rounds=1)
    for shown in (str(result), result.to_text(), result.to_markdown(), result.to_html(), result._repr_html_()):
        assert "Head to head" not in shown


async def test_the_table_has_at_most_nine_motions_with_the_best_first() -> None:
    options = [f"Plan {number:02d}" for number in range(12)]
    ballot = {"ranking": options[::-1], "reasoning": "So."}
    answer = {"position": "The last one.", "choice": "Plan 11", "confidence": 0.8}
    async with Roundtable(scripted_agents({name: [answer, ballot] for name in CITIES})) as table:
        result = await table.debate("Which plan?", rounds=1, vote=True, options=options)
    lines = result.to_text().splitlines()
    start = lines.index(f"{CAPTION}; 9 of 12 motions")
    assert lines[start + 2 :] == [
        f"  {place + 1}{''.join('  -' if other == place else f'  {3 * (place < other)}' for other in range(9))}"
        f"  Plan {11 - place:02d}"
        for place in range(9)
    ]
    assert CAPTION in result.to_html()


@votes
@pytest.mark.slow
def test_the_command_shows_a_vote(vote: Vote, tmp_path: Path) -> None:
    ids = {name: f"scripted-{name}.json" for name in CITIES}
    seats = ",".join(script(tmp_path, name, {"*": said}) for name, said in replies(vote, ids).items())
    asked = (QUESTION, "--agents", seats, "--rounds", "1", "--vote", "--db", "kept.db")
    done = as_process(tmp_path, asked)
    assert done.code == 0, done.both
    text = " ".join(done.out.split())
    assert ("Answer: Lisbon" if vote.answer else "No answer:") in text
    assert vote.why in text
    check_table(done.out, vote)
    document = as_process(tmp_path, (*asked, "--json"))
    result = DebateResult.from_json(document.out)
    assert (result.answer, result.votes[0].choice) == (vote.answer, "Lisbon")
    shown = as_process(tmp_path, ("show", result.session_id, "--db", "kept.db"))
    check_table(shown.out, vote)


@pytest.mark.slow
@votes
async def test_mcp_shows_a_vote(vote: Vote) -> None:
    async with connected(server_of(voters(vote))) as client:
        held = await call(client, "start_roundtable", topic=QUESTION, rounds=1, vote=True)
        named = {"sessionId": held["sessionId"]}
        measured = await call(client, "get_consensus", **named)
        details = await call(client, "get_round_details", **named, roundNumber=1)
        exported = await call(client, "export_session", **named, format="html")
    assert held.get("answer") == vote.answer
    assert vote.answer is not None or vote.why in held["answerReason"]
    assert CAPTION in exported["content"]
    for decision in (measured["decision"], details["decision"]):
        assert (decision["rule"], decision["passed"]) == ("schulze", vote.answer is not None)
        assert vote.why in decision["why"]
        motions = decision["vote"]["motions"]
        names = [motion["name"] for motion in motions]
        assert {motion["name"]: motion["agents"] for motion in motions} == {it: [who] for who, it in CITIES.items()}
        assert decision["pairs"] == [[0 if it == to else vote.pairs[it][to] for to in names] for it in names]
        assert decision["vote"]["ownShare"] == 1
        assert (decision["vote"]["leftOut"], decision["vote"]["warnings"]) == ([], [])
    assert [(ballot["agentId"], ballot["ranking"]) for ballot in details["ballots"]] == [
        (who, [[it] for it in order]) for who, order in vote.orders.items()
    ]
    assert details["ballots"][0]["reasoning"] == "Best: ada."
    assert not {"choice", "approved", "scores"} & details["ballots"][0].keys()


async def test_mcp_names_joined_motions_and_ballots_that_could_not_be_counted() -> None:
    script_of = replies(WON, {name: name for name in CITIES})
    orders = voting_orders([*CITIES.values()], [*CITIES], "vote 0 1")
    for name in CITIES:
        letters = dict(zip(orders[name], "ABC", strict=True))
        script_of[name][1]["same"] = [[letters["Lisbon"], letters["Porto"]]]
    script_of["cy"][1]["ranking"].append("Z")
    async with connected(server_of(scripted_agents(script_of))) as client:
        held = await call(client, "start_roundtable", topic=QUESTION, rounds=1, vote=True)
        details = await call(client, "get_round_details", sessionId=held["sessionId"], roundNumber=1)
    motions = details["decision"]["vote"]["motions"]
    assert [(motion["name"], motion["joined"]) for motion in motions] == [("Porto", ["Lisbon"]), ("Faro", [])]
    assert motions[0]["agents"] == ["bo", "ada"]
    assert details["decision"]["pairs"] == [[0, 2], [1, 0]]
    assert sorted(details["ballots"][2]["same"][0]) == ["Lisbon", "Porto"]
    assert any("Z" in warning for warning in details["ballots"][2]["warnings"])


async def test_mcp_shows_approvals_without_a_table_of_pairs() -> None:
    def said(choice: str) -> list[dict[str, Any]]:
        answer = {"position": choice, "bottomLine": choice, "reasoning": "So.", "confidence": 0.8}
        return [answer, {"approved": ["A"], "reasoning": "Fine."}]

    async with connected(server_of(scripted_agents({who: said(it) for who, it in CITIES.items()}))) as client:
        held = await call(client, "start_roundtable", topic=QUESTION, rounds=1, vote=True, decide="approval")
        details = await call(client, "get_round_details", sessionId=held["sessionId"], roundNumber=1)
    assert [len(ballot["approved"]) for ballot in details["ballots"]] == [1, 1, 1]
    assert "pairs" not in details["decision"]


async def test_mcp_names_the_agent_that_a_judge_chose() -> None:
    def reply(request: ChatRequest) -> dict[str, Any]:
        shown = re.findall(r"answer of (Answer \d)\).*?Position: It is (\w+)", request.messages[-1].content, re.DOTALL)
        return {"choice": {city: name for name, city in shown}["Porto"], "reasoning": "So."}

    agents = scripted_agents({who: {"position": f"It is {city}", "confidence": 0.8} for who, city in CITIES.items()})
    table = Roundtable(agents, storage=MemoryStorage(), seats={"judge": ScriptedModel(reply)})
    async with connected(McpServer(lambda _: table)) as client:
        held = await call(client, "start_roundtable", topic=QUESTION, rounds=1, decide="judge")
        details = await call(client, "get_round_details", sessionId=held["sessionId"], roundNumber=1)
    (ballot,) = details["ballots"]
    assert (ballot["choice"], ballot["reasoning"]) == ("bo", "So.")


async def test_mcp_does_not_show_reviews_of_a_council_as_votes() -> None:
    def reply(request: ChatRequest) -> dict[str, Any]:
        if '"ranking"' in request.messages[-1].content:
            names = re.findall(r"\| (Answer \d)\n", request.messages[-1].content)
            return {"ranking": names, "reasoning": "So."}
        return {"position": "Tea", "confidence": 0.8}

    async with connected(server_of(seated(CountingModel(reply), *CITIES))) as client:
        held = await call(client, "start_roundtable", topic=QUESTION, rounds=1, mode="council")
        details = await call(client, "get_round_details", sessionId=held["sessionId"], roundNumber=1)
    assert (details["failures"], details["ballots"]) == ([], [])


async def test_agents_with_tied_ballots_abstentions_or_failures_are_not_shown_as_voting_for_no_answer() -> None:
    script_of = replies(WON, {name: name for name in CITIES})
    orders = voting_orders([*CITIES.values()], [*CITIES], "vote 0 1")
    letters = dict(zip(orders["ada"], "ABC", strict=True))
    script_of["ada"][1]["ranking"] = [[letters["Lisbon"], letters["Porto"]], letters["Faro"]]
    script_of["bo"][1]["ranking"] = []
    script_of["cy"].pop()
    async with Roundtable(scripted_agents(script_of)) as table:
        result = await table.debate(QUESTION, rounds=1, vote=True)
    assert "- **Votes:** Ada without a single choice; Bo abstains; Cy did not vote\n" in result.to_markdown()
    assert "no single answer" not in result.to_text()
    silent = replies(WON, {name: name for name in CITIES})
    silent["bo"][1]["ranking"] = silent["cy"][1]["ranking"] = []
    async with Roundtable(scripted_agents(silent)) as table:
        result = await table.debate(QUESTION, rounds=1, vote=True)
    assert "- **Votes:** Ada for Lisbon; Bo, Cy abstain\n" in result.to_markdown()
    assert "Bo (voter): abstains" in result.to_text()


async def test_without_a_vote_abstentions_and_failures_are_named_too() -> None:
    said = {"ada": "Lisbon", "bo": "ABSTAIN", "cy": APIAuthError("no key", provider="scripted")}
    async with Roundtable(scripted_agents(said)) as table:
        result = await table.debate(QUESTION, rounds=1, quorum=1)
    assert "- **Votes:** Ada for Lisbon; Bo abstains; Cy did not vote\n" in result.to_markdown()


async def test_a_private_answer_is_distinguished_from_the_answer_of_the_same_round() -> None:
    async with Roundtable(scripted_agents({"ada": "Lisbon", "bo": "Porto"})) as table:
        result = await table.debate(QUESTION, rounds=1, baseline=True)
    markdown = result.to_markdown()
    assert (markdown.count("### Ada (independent)\n"), markdown.count("### Ada\n")) == (1, 1)
    assert "  Ada (independent) (80%): Lisbon\n" in result.to_text()
    assert "<strong>Ada (independent)</strong>" in result._repr_html_()


async def test_a_final_vote_of_a_mode_shows_abstentions() -> None:
    said = {"ada": {"choice": None}, "bo": {"choice": "For"}}

    def reply(request: ChatRequest) -> dict[str, Any]:
        who, asked = request.metadata["agent"], request.messages[-1].content
        stance = "YES" if who == "ada" else "NO"
        return said[who] if '"choice"' in asked else {"position": "So.", "stance": stance, "confidence": 0.8}

    async with Roundtable(seated(CountingModel(reply), "ada", "bo")) as table:
        result = await table.debate("Should we?", rounds=1, mode="oxford")
    assert "- **Votes:** Bo for For; Ada abstains\n" in result.to_markdown()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # uvicorn runs on it
@votes
async def test_http_and_its_page_show_a_vote(vote: Vote) -> None:
    asked = {"topic": QUESTION, "rounds": 1, "vote": True}
    async with client_of(served_table(agents=voters(vote))) as web:
        held = (await web.post("/api/debates?wait=20", json=asked)).json()
        place = f"/api/sessions/{held['sessionId']}"
        result = (await web.get(place)).json()
        page = (await web.get(f"{place}/export?format=html")).text
        document = (await web.get(f"{place}/export?format=markdown")).text
    assert result["answer"] == vote.answer
    assert vote.why in result["decision"]["why"]
    assert result["decision"]["pairwise"] == vote.pairs
    assert [motion["agents"] for motion in result["decision"]["vote"]["motions"]] == [["cy"], ["bo"], ["ada"]]
    assert CAPTION in page
    assert CAPTION in document


@votes
async def test_the_page_of_the_server_shows_a_vote(vote: Vote) -> None:
    table = served_table(agents=voters(vote))
    result = await table.debate(QUESTION, rounds=1, vote=True)
    async with visiting(table=table, auth=LocalUser()) as ann:
        page = (await ann.get(f"/sessions/{result.session_id}")).text
    assert vote.why in page.replace("&gt;", ">")
    assert CAPTION in page
    rows = re.findall(r'<tr><th scope="row" dir="auto">\d\. (\w+)</th>(.*?)</tr>', page)
    assert {name: re.findall(r">([^<]+)</td>", cells) for name, cells in rows} == {
        name: ["-" if name == other else f"{vote.pairs[name][other]}" for other, _ in rows] for name, _ in rows
    }
    assert (f'<p class="said" dir="auto">{vote.answer}</p>' if vote.answer else "No answer") in page


# ---------------------------------------------------------------- agreement as an interval

SHOWN = "0.33 to 1.00: 1 answer not compared"
SAID = {"ada": "Lisbon", "bo": "lisbon.", "cy": "Porto"}


def is_interval(least: object, most: object) -> bool:
    return (least, most) == (pytest.approx(1 / 3), 1.0)


async def test_python_and_every_report_show_the_interval() -> None:
    async with Roundtable(scripted_agents(SAID)) as table:
        results = await table.debate_many([QUESTION], rounds=1, modes=["delphi"])
        result = results[0]
        document = json.loads(await table.export(result.session_id, "json"))
    for shown in (str(result), result.to_text(), result.to_markdown(), result.to_html(), result._repr_html_()):
        assert shown.count(SHOWN) >= 2  # after the debate, and before
    told = json.loads(result.to_json())
    assert is_interval(told["consensus"]["agreementLevel"], told["consensus"]["agreementAtMost"])
    assert is_interval(told["independentAgreement"], told["independentAgreementAtMost"])
    assert '"agreementAtMost":1.0' in json.dumps(document, separators=(",", ":"))
    (row,) = results.to_records()
    assert is_interval(row["agreement"], row["agreementAtMost"])
    assert is_interval(row["independentAgreement"], row["independentAgreementAtMost"])


async def test_frames_and_csv_of_several_results_have_both_bounds() -> None:
    pytest.importorskip("pandas")
    async with Roundtable(scripted_agents(SAID)) as table:
        results = await table.debate_many([QUESTION], rounds=1, modes=["delphi"])
    buffer = io.StringIO()
    results.to_frame().to_csv(buffer, index=False)
    (row,) = csv.DictReader(io.StringIO(buffer.getvalue()))
    for name in ("agreement", "independentAgreement"):
        assert is_interval(float(row[name]), float(row[f"{name}AtMost"]))


async def test_a_plot_draws_the_interval_even_of_a_single_round() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    async with Roundtable(scripted_agents(SAID)) as table:
        result = await table.debate(QUESTION, rounds=1, mode="delphi")
    axes = result.plot(figures.Figure().subplots())
    (bars,) = axes.collections
    assert bars.get_segments()[0].tolist() == [[1, pytest.approx(1 / 3)], [1, 1]]
    handles, labels = axes.get_legend_handles_labels()
    before = handles[labels.index("agreement before the debate")]
    assert is_interval(*before.get_extents().transformed(axes.transData.inverted()).intervaly)


@pytest.mark.slow
def test_the_command_shows_the_interval(tmp_path: Path) -> None:
    said = {name: {"position": it, "reasoning": "So.", "confidence": 0.8} for name, it in SAID.items()}
    seats = ",".join(script(tmp_path, name, {"*": it}) for name, it in said.items())
    done = as_process(tmp_path, (QUESTION, "--agents", seats, "--rounds", "1", "--mode", "delphi", "--db", "kept.db"))
    assert f"Agreement {SHOWN} (declared)" in done.out
    assert f"Agreement after the debate: {SHOWN} (declared)" in done.out
    assert f"Agreement before the debate: {SHOWN}" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # uvicorn runs on it
async def test_mcp_and_http_show_both_bounds() -> None:
    async with connected(server_of(scripted_agents(SAID))) as client:
        held = await call(client, "start_roundtable", topic=QUESTION, rounds=1, mode="delphi")
        told = await call(client, "get_consensus", sessionId=held["sessionId"])
    assert is_interval(held["decision"]["agreementScore"], held["decision"]["agreementAtMost"])
    for answer in (held, told):
        assert is_interval(answer["independentAgreement"], answer["independentAgreementAtMost"])
    assert is_interval(told["consensus"]["agreementLevel"], told["consensus"]["agreementAtMost"])
    table = served_table(agents=scripted_agents(SAID))
    async with client_of(table) as web:
        asked = {"topic": QUESTION, "rounds": 1, "mode": "delphi"}
        begun = (await web.post("/api/debates?wait=20", json=asked)).json()
        place = f"/api/sessions/{begun['sessionId']}"
        result = (await web.get(place)).json()
        measured = (await web.get(f"{place}/consensus")).json()
        events = (await web.get(f"{place}/events")).text
        page = (await web.get(f"/sessions/{begun['sessionId']}", headers={"accept": "text/html"})).text
    assert is_interval(result["consensus"]["agreementLevel"], result["consensus"]["agreementAtMost"])
    assert is_interval(result["independentAgreement"], result["independentAgreementAtMost"])
    assert is_interval(measured["consensus"]["agreementLevel"], measured["consensus"]["agreementAtMost"])
    assert '"agreementAtMost":1.0' in events
    assert SHOWN in page
