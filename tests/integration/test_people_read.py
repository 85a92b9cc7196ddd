"""What people read about a debate says what happened: in reports, on pages and in the terminal."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import anyio
import pytest
from integration.pages_kit import visiting
from integration.server_kit import served_table

import roundtable as rt
from roundtable.cli.render import Screen
from roundtable.cli.sessions import list_sessions
from roundtable.cli.storage_location import StorageLocation
from roundtable.cli.summary import summary_lines
from roundtable.scoring import BUILTIN_RULES, ScoreMeaning
from roundtable.testing import scripted_agents
from roundtable.types import SessionFilter

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
    pytest.mark.slow,
]


async def stopped_debate(table: rt.Roundtable) -> rt.DebateResult:
    """Hold the first of two rounds, then stop the debate."""
    handle = await table.start("Tea or coffee?", rounds=2, step=True)
    await handle.result()
    await table.stop(handle.session_id)
    return await table.session(handle.session_id)


async def test_a_stopped_debate_is_called_stopped_in_reports_and_in_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "d.db"
    place = StorageLocation(f"sqlite:///{path}", path)
    async with rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage=place.url) as table:
        result = await stopped_debate(table)
        assert (result.session_status, result.status) == ("completed", "partial")
        assert "- **Status:** stopped\n" in result.to_markdown()
        assert "Status: stopped\n" in result.to_text()
        assert "This debate is stopped." in result.to_html()
        assert "<th>Status</th><td>stopped</td>" in result._repr_html_()
        summary = "\n".join(shown.text for shown in summary_lines(result, place))
        assert "Status: stopped" in summary
        for shown in (result.to_markdown(), result.to_text(), result.to_html(), result._repr_html_(), summary):
            assert not {"completed", "finished", "partial"} & {word.strip(".,:;()") for word in shown.split()}
        await list_sessions(table, place, Screen(live=False), SessionFilter())
        (row,) = capsys.readouterr().out.splitlines()[1:]
        assert row.split()[1] == "stopped"


@pytest.mark.slow
async def test_a_stopped_debate_is_called_stopped_on_the_pages() -> None:
    table = served_table(agents=scripted_agents({"ada": "Tea", "bo": "Tea"}))
    async with visiting(table=table) as ann, table.for_tenant("ann") as own:
        result = await stopped_debate(own)
        await ann.log_in()
        assert '<span class="chip state-completed">stopped</span>' in ann.page
        await ann.get(f"/sessions/{result.session_id}")
        assert 'id="state">stopped</span>' in ann.page
        (entry,) = (await ann.get("/api/sessions", headers={"accept": "application/json"})).json()["sessions"]
        assert (entry["sessionStatus"], entry["exitReason"]) == ("completed", "stopped")
        assert (
            "It is stopped: the caller asked to stop."
            in (await ann.get(f"/sessions/{result.session_id}/events?after=0")).text
        )


async def test_every_built_in_rule_says_what_its_scores_are() -> None:
    assert [rule.name for rule in BUILTIN_RULES if rule.score_meaning == ScoreMeaning()] == []


@pytest.mark.parametrize("rule", ["schulze", "ranked-pairs", "condorcet"])
async def test_a_rule_on_pairs_shows_the_pairs_and_no_number_that_it_does_not_count(rule: str) -> None:
    says = {"ada": "Tea", "bo": "Tea", "cy": "Milk"}
    table = rt.Roundtable(scripted_agents(says), storage="memory://")
    result = await table.debate("?", rounds=1, options=("Tea", "Milk", "Mate"), decide=rule)
    decision = result.to_html().partition('id="decision"')[2].partition("</section>")[0]
    assert 'class="score"' not in decision
    assert 'class="bar"' not in decision
    assert "Head to head: ballots that put the row above the column" in decision
    assert '>1. Tea</th><td class="number">-</td><td class="number">2</td>' in decision
    assert "Ada, Bo" in decision
    assert "Head to head" in result.to_markdown()


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("plurality", "shows its votes; its bar shows their share."),
        ("borda", "shows its points; its bar shows their share."),
        ("copeland", "shows its wins minus its losses in comparisons of two options."),
    ],
)
async def test_the_bars_of_other_rules_say_what_they_show(rule: str, says: str) -> None:
    table = rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Milk"}), storage="memory://")
    page = (await table.debate("?", rounds=1, options=("Tea", "Milk"), decide=rule)).to_html()
    assert f"The number of each option {says}" in page
    assert ('class="bar"' in page) == ("its bar" in says)
    assert "Head to head" not in page


async def test_a_position_that_begins_with_its_option_is_not_prefixed_with_it() -> None:
    says = {
        "ada": {"position": "Tabs", "choice": "Tabs"},
        "bo": {"position": "spaces, as everybody does", "choice": "Spaces"},
        "cy": {"position": "Tabsize is up to you", "choice": "Tabs"},
        "dee": {"position": "They line up", "choice": "Spaces"},
    }
    table = rt.Roundtable(scripted_agents({name: [said] for name, said in says.items()}), storage="memory://")
    result = await table.debate("Tabs or spaces?", rounds=1, options=("Tabs", "Spaces"))
    assert result.answer is None
    lines = [shown.text for shown in summary_lines(result, StorageLocation("memory://", None))]
    start = lines.index("Positions in round 1:") + 1
    assert [line.partition(" \N{EM DASH} ")[0] for line in lines[start : start + 4]] == [
        "Tabs",
        "spaces, as everybody does",
        "Tabs: Tabsize is up to you",
        "Spaces: They line up",
    ]
    shown = result.to_html().partition("Positions in round 1:")[2].partition("</ul>")[0]
    assert "Tabs: Tabs<" not in shown
    assert "<strong>Ada</strong>: Tabs</li>" in shown
    assert "<strong>Bo</strong>: spaces, as everybody does</li>" in shown
    assert "<strong>Dee</strong>: Spaces: They line up</li>" in shown


async def test_an_agent_that_failed_once_and_then_answered_is_not_missing() -> None:
    agents = scripted_agents(
        {"ada": "Tea", "eve": [ValueError("gone"), "Tea", "Tea"], "zoe": ["Tea", "Tea", ValueError("left")]}
    )
    table = served_table(agents=agents)
    result = await table.for_tenant("ann").debate("Tea or coffee?", rounds=3)
    eve, zoe = (f"{name}: 1 of 3 turns failed (the model call failed: ValueError: " for name in ("Eve", "Zoe"))
    summary = "\n".join(shown.text for shown in summary_lines(result, StorageLocation("memory://", None)))
    async with visiting(table=table) as ann:
        await ann.log_in()
        page = html.unescape((await ann.get(f"/sessions/{result.session_id}")).text)
    assert f"> **Missing** {zoe}left)" in result.to_markdown()
    assert f"> **Failed turns** {eve}gone)" in result.to_markdown()
    assert f"! {eve}gone)" in result.to_text()
    for shown in (html.unescape(result.to_html()), page):
        assert f"Missing: {zoe}left)" in shown
        assert f"Failed turns: {eve}gone)" in shown
    assert "<strong>Failed turns</strong> Eve" in result._repr_html_()
    assert "Failed turns: Eve failed 1 of 3 turns: the model call failed: ValueError: gone" in summary
    assert "Missing: Zoe failed 1 of 3 turns: the model call failed: ValueError: left" in summary
    for shown in (result.to_markdown(), result.to_html(), result._repr_html_(), page, summary):
        assert not re.search(r"Missing\W+(</strong> )?Eve", shown)


async def test_failures_of_several_agents_are_one_line_above_the_answer() -> None:
    gone = [ValueError("gone"), "Tea"]
    async with rt.Roundtable(scripted_agents({"ada": "Tea", "eve": gone, "zoe": gone}), storage="memory://") as table:
        result = await table.debate("Tea or coffee?", rounds=2)
    head = html.unescape(result.to_html()).partition("<nav")[0]
    folded = head.partition("<details><summary>Failed turns: 2 agents</summary>")[2]
    assert [name in folded for name in ("Eve: 1 of 2 turns failed", "Zoe: 1 of 2 turns failed")] == [True, True]


async def test_missing_agents_are_named_in_the_order_of_the_table() -> None:
    says = {"ada": "Tea", **{name: [ValueError("gone")] * 2 for name in ("zoe", "bo", "uwe", "cy", "kim", "di")}}
    async with rt.Roundtable(scripted_agents(says), storage="memory://", quorum=1) as table:
        result = await table.debate("Tea or coffee?", rounds=2)
    assert "missing: Zoe, Bo, Uwe, Cy, Kim, Di" in " ".join(result.to_text().split())


async def test_uncompared_answers_are_a_note_under_the_figure() -> None:
    async with rt.Roundtable(scripted_agents({"a": "Tea", "b": "Tea", "c": "A cup"}), storage="memory://") as table:
        result = await table.debate("What shall we drink?", rounds=1)
    shown = result.to_html()
    assert '<dd class="value">0.33 to 1.00</dd><dd class="note">1 answer not compared; method: declared</dd>' in shown
    assert '<dd class="note">1 answer not compared; independent answers</dd>' in shown


async def test_oxford_names_the_side_of_each_agent_and_every_changed_vote() -> None:
    speech = {"position": "We should.", "confidence": 0.7}
    votes = {"ada": ("FOR", "FOR"), "bo": ("AGAINST", "FOR"), "cy": ("FOR", "FOR"), "di": ("AGAINST", "AGAINST")}
    says = {name: [{"choice": before}, *[speech] * 3, {"choice": after}] for name, (before, after) in votes.items()}
    async with rt.Roundtable(scripted_agents(says), storage="memory://") as table:
        result = await table.debate("This house would adopt tea.", mode="oxford", rounds=3)
    story = " ".join(result.to_text().split())
    assert "; Bo changed from Against to For;" in story
    assert "as assigned, Ada and Cy argued as proposition, Bo and Di argued as opposition" in story


async def test_a_tie_in_oxford_shows_the_votes_and_not_the_speeches() -> None:
    speech = {"position": "A speech.", "confidence": 0.7}
    says = {"ada": [{**speech, "choice": "FOR"}] * 5, "bo": [{**speech, "choice": "AGAINST"}] * 5}
    async with rt.Roundtable(scripted_agents(says), storage="memory://") as table:
        result = await table.debate("This house would adopt tea.", mode="oxford", rounds=3)
    head = result.to_html().partition("Votes in round 3:")[2].partition("</ul>")[0]
    assert "votes: For" in head
    assert "A speech." not in head
    assert "nobody changed their vote" in result.to_html()


async def test_the_teams_are_named_if_sides_were_assigned() -> None:
    says = {name: ["The plan lacks a way back."] * 2 for name in ("ada", "bo", "cy", "di")}
    async with rt.Roundtable(scripted_agents(says), storage="memory://") as table:
        result = await table.debate("Is the plan safe?", mode="red-team-blue-team", rounds=2)
    assert "as assigned, Ada and Cy argued as red, Bo and Di argued as blue" in result.to_html()


async def test_agreement_is_always_shown_as_a_share_from_0_to_1() -> None:
    says = {"ada": "Tea", "bo": "Tea", "cy": "Milk"}
    table = rt.Roundtable(scripted_agents(says), storage="memory://")
    exits = rt.ConsensusReached("1/3")
    result = await table.debate("?", rounds=2, options=("Tea", "Milk"), baseline=True, exit_when=exits)
    summary = "\n".join(shown.text for shown in summary_lines(result, StorageLocation("memory://", None)))
    pages = (result.to_markdown(), result.to_text(), html.unescape(result.to_html()), result._repr_html_(), summary)
    for shown in pages:
        assert re.search(r"[Aa]greement\W(is |before |after )?.*0\.\d\d", shown)
        assert not re.search(r"[Aa]greement[^;,.<\n]* \d+ ?%", shown)
    assert result.exit is not None
    assert re.fullmatch(r"agreement is 0\.3333 \(\w+\), the threshold 0\.3333", result.exit.details)
    chart = result.to_html().partition('class="chart"')[2].partition("</svg>")[0]
    assert re.findall(r'text-anchor="end">([^<]+)<', chart) == ["0", "0.25", "0.5", "0.75", "1"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"topic": " "}, "Question: write at least 1 character, not 0."),
        ({"topic": "x" * 10_001}, "Question: write at most 10,000 characters, not 10,001."),
        ({"rounds": "many"}, "Rounds: write a whole number from 1 to 10."),
        ({"rounds": "0"}, "Rounds: write a whole number from 1 to 10."),
        ({"rounds": "99"}, "Rounds: write a whole number from 1 to 10."),
        ({"options": "Tea"}, "Options to choose from: write at least 2, one on each line, or none. This is 1."),
        ({"options": "Tea\nTea"}, "Options to choose from: two lines are the same option. Write each one once."),
        ({"options": "\n".join(map(str, range(51)))}, "Options to choose from: write at most 50. These are 51."),
        (
            {"options": "Tea\n" + "x" * 1_001},
            "Options to choose from: line 2 has 1,001 characters; write at most 1,000.",
        ),
    ],
)
async def test_a_form_that_cannot_start_a_debate_says_why_in_the_words_of_the_form(
    fields: dict[str, str], words: str
) -> None:
    async with visiting() as ann:
        await ann.log_in()
        await ann.get("/start")
        answer = await ann.post("/start", csrf=ann.csrf, **({"topic": "Tea?", "rounds": "1"} | fields))
        assert answer.status_code == 400
        problem = re.search(r'id="problem"[^>]*>(.*?)</p>', answer.text)
        assert problem is not None
        assert html.unescape(problem[1]) == words


async def test_a_decision_is_marked_as_interim_until_the_debate_has_ended() -> None:
    table = served_table(agents=scripted_agents({"ada": "Tea", "bo": "Tea", "cy": "Tea"}))
    mark = "Interim, after round 1 of 2: "
    place = StorageLocation("memory://", None)
    async with visiting(table=table) as ann, table.for_tenant("ann") as own:
        handle = await own.start("Tea or coffee?", rounds=2, options=("Tea", "Coffee"), step=True)
        early = await handle.result()
        await ann.log_in()
        early_page = (await ann.get(f"/sessions/{early.session_id}")).text
        last = await own.resume(early.session_id)
        last_page = (await ann.get(f"/sessions/{early.session_id}")).text
    for result, page, is_interim in ((early, early_page, True), (last, last_page, False)):
        summary = "\n".join(shown.text for shown in summary_lines(result, place))
        shown_everywhere = (result.to_markdown(), result.to_text(), result.to_html(), result._repr_html_(), page)
        for shown in (" ".join(text.split()) for text in shown_everywhere):
            assert (f"{mark}plurality: Tea wins: 3 of 3 votes" in shown) == is_interim
        assert (f"{mark}wins: 3 of 3 votes" in summary) == is_interim
        assert ("Interim" in summary) == is_interim


async def test_the_page_of_figures_writes_a_count_of_one_in_the_singular() -> None:
    async with visiting("admin", table=served_table(agents=scripted_agents({"ada": "Tea"}))) as root:
        await root.log_in()
        await root.get("/start")
        await root.post("/start", csrf=root.csrf, topic="Tea?", rounds="1", agents="ada")
        with anyio.fail_after(20):
            while "1 of 1 run that ended" not in (await root.get("/admin")).text:  # noqa: ASYNC110  (it tells nobody)
                await anyio.sleep(0.01)
        assert ", 1 call<" in root.page
        assert '<dd class="value">unknown</dd><dd class="note">1 answer has no known price</dd>' in root.page


async def test_the_mean_confidence_is_the_same_figure_everywhere() -> None:
    # Their mean is 0.555; added as binary fractions it would be a little less, and be rounded down.
    confidences = {"ada": 0.5, "bo": 0.5, "cy": 0.5, "di": 0.72}
    says = {name: {"position": "Tea", "confidence": share} for name, share in confidences.items()}
    says["eve"] = {"position": "ABSTAIN", "bottom_line": "ABSTAIN", "confidence": 0.1}
    async with rt.Roundtable(scripted_agents(says), storage="memory://") as table:
        shown = (await table.debate("Tea or coffee?", rounds=1)).to_html()
    figures = {*re.findall(r"mean confidence (?:of )?(\d+)%", shown)}
    assert len(figures) == 1


async def test_a_report_explains_its_answer_only_once() -> None:
    async with rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
        result = await table.debate("Tea or coffee?", rounds=1)
    for shown in (result.to_markdown(), result.to_text(), result._repr_html_()):
        assert shown.count("How it came about") == 1


async def test_the_table_of_moves_also_says_what_is_not_measured() -> None:
    async with rt.Roundtable(scripted_agents({"ada": "Tea", "bo": "A cup"}), storage="memory://") as table:
        shown = (await table.debate("What shall we drink?", rounds=2)).to_html()
    row = shown.partition('scope="row">Agreement</th>')[2].partition("</tr>")[0]
    assert "not measured" in row
    assert "0.00 to 1.00" not in shown
