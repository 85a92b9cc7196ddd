"""The audit of a decision, kind of debate by kind of debate."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from integration.engine_kit import CountingModel, said, table_of
from integration.test_judges import Judge, judged
from integration.test_vote import voted, voting
from pydantic import ValidationError

import roundtable as rt
from roundtable.analysis import DeclaredAnalyzer, decide_record
from roundtable.api import AgentProfile
from roundtable.errors import ConfigurationError, SessionConflict
from roundtable.providers.scripted import ScriptedModel
from roundtable.results import Counterfactual, DecisionAudit, Results
from roundtable.scoring import Rule, find_rule, rule_registry
from roundtable.scoring.camps import answers_by_turn
from roundtable.testing import scripted_agents
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    Cluster,
    Comparison,
    ConsensusResult,
    DebateConfig,
    DebateRecord,
    RoundRecord,
    SessionRecord,
    Turn,
    TurnKey,
    TurnResult,
    utc_now,
)


async def debated(says: dict[str, Any], **more: Any) -> rt.DebateResult:
    async with rt.Roundtable(scripted_agents(says), storage="memory://", analyzer="declared") as table:
        return await table.debate("Tea or milk?", **{"rounds": 1} | more)


def answer(name: str, text: str, **more: Any) -> AgentResponse:
    return AgentResponse(agent_id=name, agent_name=name.title(), position=f"{text}.", bottom_line=text, **more)


def result_of(*rounds: list[AgentResponse], **more: Any) -> rt.DebateResult:
    """Build the result of a debate with these answers, measured and decided as in a real one."""
    ids = tuple(dict.fromkeys(one.agent_id for answers in rounds for one in answers))
    config = DebateConfig(**{"topic": "Tea?", "agents": ids, "rounds": len(rounds)} | more)
    records: list[RoundRecord] = []
    for number, answers in enumerate(rounds, 1):
        turns = tuple(
            Turn(
                round=number,
                stage="positions",
                slot=slot,
                agent_id=one.agent_id,
                agent_name=one.agent_name,
                timestamp=utc_now(),
                result=TurnResult(answer=one),
                independent=number == 1,
            )
            for slot, one in enumerate(answers)
        )
        known = answers_by_turn([*(turn for held in records for turn in held.turns), *turns])
        consensus = DeclaredAnalyzer().analyze(answers, known)
        held = RoundRecord(number=number, turns=turns, consensus=consensus, complete=True)
        decision = decide_record(held, consensus, config, None, records)
        records.append(held.model_copy(update={"decision": decision}))
    agents = tuple(AgentConfig(id=name, name=name.title(), provider="p") for name in ids)
    session = SessionRecord(id="s", config=config, agents=agents)
    record = DebateRecord(
        session=session,
        total_rounds=len(rounds),
        rounds=tuple(records),
        updated_at=utc_now(),
        status="completed",
    )
    return rt.DebateResult.from_record(record)


def outcomes(rows: tuple[Counterfactual, ...]) -> dict[str, tuple[str | None, bool | None]]:
    return {row.change: (row.winner, row.differs) for row in rows}


def by_rule(audit: DecisionAudit) -> dict[str | None, str | None]:
    return {row.rule: row.winner for row in audit.rules}


# ---------------------------------------------------------------- options


async def test_with_options_every_change_of_one_ballot_is_counted() -> None:
    result = await debated({"ada": "Tea", "bo": "Tea", "cy": "Milk"}, options=["Tea", "Milk", "Mate"])
    audit = result.audit()
    assert (audit.winner, audit.basis, audit.rule, audit.is_known) == ("Tea", "answers", "plurality", True)
    assert outcomes(audit.without) == {
        "without Ada": (None, True),
        "without Bo": (None, True),
        "without Cy": ("Tea", False),
    }
    assert audit.without[0].tied == ("Tea", "Milk")
    assert (audit.pivotal, audit.fragile) == (("ada", "bo"), True)
    assert audit.switches_tried == 6
    assert outcomes(audit.switches) == {
        "Ada for Milk": ("Milk", True),
        "Ada for Mate": (None, True),
        "Bo for Milk": ("Milk", True),
        "Bo for Mate": (None, True),
    }
    assert [(row.agent_id, row.option) for row in audit.switches][:2] == [("ada", "Milk"), ("ada", "Mate")]


async def test_the_rules_are_those_that_can_count_the_ballots_with_the_winners_of_redecide() -> None:
    result = await debated({"ada": "Tea", "bo": "Tea", "cy": "Milk"}, options=["Tea", "Milk"])
    audit = result.audit()
    assert {"plurality", "majority", "borda", "schulze", "confidence-weighted"} <= set(by_rule(audit))
    again = {rule: Results([result]).redecide(rule)[0].decision for rule in by_rule(audit) if rule}
    assert by_rule(audit) == {rule: decision.winner for rule, decision in again.items() if decision}
    skipped = {one.change: one.reason for one in audit.not_tried}
    assert "score" in skipped
    assert "cannot decide a debate" in skipped["score"]
    assert not set(skipped) & {str(rule) for rule in by_rule(audit)}
    everything = {entry.name for entry in rule_registry()} - {"judge", "judge-panel"}
    assert everything == set(by_rule(audit)) | {name for name in skipped if name in everything}


async def test_the_rule_of_the_debate_keeps_its_parameters() -> None:
    says = {"ada": "Tea", "bo": "Tea", "cy": "Milk"}
    audit = (await debated(says, options=["Tea", "Milk"], decide="supermajority(3/4)")).audit()
    assert (audit.winner, audit.rule) == (None, "supermajority(3/4)")
    assert by_rule(audit)["supermajority(3/4)"] is None
    assert outcomes(audit.without)["without Cy"] == ("Tea", True)
    assert outcomes(audit.switches) == {"Cy for Tea": ("Tea", True)}


async def test_a_tie_goes_to_the_option_that_comes_first_if_asked() -> None:
    audit = (await debated({"ada": "Tea", "bo": "Milk"}, options=["Mate", "Milk", "Tea"])).audit()
    assert (audit.winner, audit.tied) == (None, ("Milk", "Tea"))
    assert outcomes(audit.ties) == {"ties are declared": (None, False), "ties go to the first option": ("Milk", True)}


def test_votes_are_weighed_by_confidence() -> None:
    answers = [answer("ada", "t", choice="Tea", confidence=0.9)]
    answers += [answer(name, "m", choice="Milk", confidence=0.4) for name in ("bo", "cy")]
    audit = result_of(answers, options=("Tea", "Milk")).audit()
    assert audit.winner == "Milk"
    assert audit.weighted is not None
    assert (audit.weighted.winner, audit.weighted.differs) == ("Tea", True)


async def test_an_agent_that_failed_or_abstains_is_a_voter_without_influence() -> None:
    def reply(request: Any) -> Any:
        name = request.metadata["agent"]
        return "nothing readable" if name == "di" else said("Tea", choice=None if name == "cy" else "Tea")

    result = await table_of(CountingModel(reply), "ada", "bo", "cy", "di").debate(
        "?", rounds=1, options=["Tea", "Milk"]
    )
    audit = result.audit()
    assert [row.agent_id for row in audit.without] == ["ada", "bo", "cy", "di"]
    assert audit.pivotal == ()
    assert not any(row.agent_id == "di" for row in audit.switches)


# ---------------------------------------------------------------- earlier times


async def test_the_first_round_and_the_private_answers_are_counted() -> None:
    says = {"ada": ["Tea", "Tea", "Milk"], "bo": ["Tea", "Milk", "Milk"], "cy": ["Milk", "Milk", "Milk"]}
    audit = (await debated(says, options=["Tea", "Milk"], rounds=2, baseline=True)).audit()
    assert audit.winner == "Milk"
    assert audit.first_round is not None
    assert audit.independent is not None
    assert (audit.first_round.winner, audit.first_round.differs) == ("Milk", False)
    assert (audit.independent.winner, audit.independent.differs) == ("Tea", True)
    assert "independent" in audit.first_round.change  # nobody had seen anything in the first round either


async def test_without_first_round_answers_the_audit_says_why() -> None:
    audit = (await debated({"ada": "Tea", "bo": "Tea"}, options=["Tea", "Milk"])).audit()
    assert (audit.first_round, audit.independent) == (None, None)
    skipped = {one.change: one.reason for one in audit.not_tried}
    assert skipped["the first round only"] == "the debate has one complete round"
    assert "baseline=True" in skipped["private answers before the debate"]


def test_the_winner_of_the_first_round_is_compared_by_the_declarations_of_agents() -> None:
    first = [answer(name, "Lisbon") for name in ("ada", "bo")] + [answer("cy", "Porto")]
    same = Comparison(turn=TurnKey(1, "positions", 0), verdict="same")
    other = Comparison(turn=TurnKey(1, "positions", 0), verdict="different")
    kept = [answer(name, "The capital", compared=(same,)) for name in ("ada", "bo", "cy")]
    moved = [answer(name, "The capital", compared=(other,)) for name in ("ada", "bo", "cy")]
    silent = [answer(name, "The capital") for name in ("ada", "bo", "cy")]
    verdicts = []
    for last in (kept, moved, silent):
        row = result_of(first, last).audit().first_round
        assert row is not None
        assert "independent" in row.change
        verdicts.append((row.winner, row.differs))
    assert verdicts == [("Lisbon", False), ("Lisbon", True), ("Lisbon", None)]


# ---------------------------------------------------------------- open questions


def test_numbers_tell_answers_apart_so_all_is_known() -> None:
    audit = result_of([answer("ada", "4 km"), answer("bo", "4 km"), answer("cy", "5 km")]).audit()
    assert (audit.winner, audit.is_known, audit.pivotal, audit.fragile) == ("4 km", True, ("ada", "bo"), True)
    assert outcomes(audit.switches) == {"Ada for 5 km": ("5 km", True), "Bo for 5 km": ("5 km", True)}
    assert audit.ties == ()


def test_results_that_depend_on_uncompared_answers_are_unknown() -> None:
    audit = result_of([answer("ada", "Tea"), answer("bo", "tea."), answer("cy", "A hot drink")]).audit()
    assert (audit.winner, audit.is_known) == ("Tea", True)
    assert outcomes(audit.without) == {
        "without Ada": (None, None),
        "without Bo": (None, None),
        "without Cy": ("Tea", False),
    }
    assert [row.is_known for row in audit.without] == [False, False, True]
    assert (audit.pivotal, audit.fragile) == ((), None)
    rules = {row.rule: row for row in audit.rules}
    assert (rules["majority"].winner, rules["majority"].differs) == ("Tea", False)
    assert (rules["unanimity"].winner, rules["unanimity"].is_known, rules["unanimity"].differs) == (None, False, None)
    assert "not known" in audit.to_text()


def test_an_open_decision_leaves_every_comparison_open() -> None:
    result = result_of([answer("ada", "Tea"), answer("bo", "Coffee"), answer("cy", "Milk")])
    audit = result.audit()
    assert (audit.winner, audit.is_known, audit.fragile, audit.pivotal) == (None, False, None, ())
    assert {row.differs for row in (*audit.without, *audit.rules)} == {None}
    assert any("nobody compared" in note for note in audit.notes)


def test_a_weighted_vote_is_unknown_if_two_rivals_may_be_one() -> None:
    sure = [answer(name, text, confidence=0.8) for name, text in (("di", "A hot drink"), ("ed", "Something warm"))]
    unsure = [answer(name, "Tea", confidence=0.3) for name in ("ada", "bo", "cy")]
    audit = result_of([*unsure, *sure]).audit()
    assert (audit.winner, audit.is_known) == ("Tea", True)
    assert audit.weighted is not None
    assert (audit.weighted.is_known, audit.weighted.differs) == (False, None)


def test_comparisons_by_an_agent_still_count_if_its_answer_is_left_out() -> None:
    first = [answer("ada", "Lisbon"), answer("bo", "Porto"), answer("cy", "Lisbon"), answer("di", "Porto")]
    link = (Comparison(turn=TurnKey(1, "positions", 0), verdict="same"),)
    apart = (Comparison(turn=TurnKey(1, "positions", 0), verdict="different"),)
    last = [
        answer("ada", "Lisbon"),
        answer("bo", "The capital", compared=link),
        answer("cy", "Lisbon"),
        answer("di", "Porto", compared=apart),
    ]
    audit = result_of(first, last).audit()
    assert audit.winner == "Lisbon"
    assert outcomes(audit.without)["without Cy"] == ("Lisbon", False)


def test_too_many_ways_to_read_the_answers_are_not_known() -> None:
    words = ("One", "Two things", "Three of them", "Many", "Some", "A few", "Lots")
    crowd = [answer(f"a{number}", "Tea") for number in range(9)]
    audit = result_of([*crowd, *(answer(f"b{number}", word) for number, word in enumerate(words))]).audit()
    assert (audit.winner, audit.is_known, audit.fragile) == ("Tea", False, None)


def read_by_a_model(*camps: tuple[str, ...]) -> rt.DebateResult:
    """Return a debate whose answers a reader sorted into camps, and told apart from the largest one."""
    names = [name for camp in camps for name in camp]
    plain = result_of([answer(name, f"What {name} says") for name in names])
    clusters = tuple(
        Cluster(theme=f"camp {number}", agent_ids=camp, answers=tuple(names.index(name) for name in camp))
        for number, camp in enumerate(camps, 1)
    )
    consensus = ConsensusResult(agreement_level=0.2, method="ai", clusters=clusters, answers=len(names))
    held = plain.rounds[0].model_copy(update={"consensus": consensus})
    decision = decide_record(held, consensus, plain.config)
    held = held.model_copy(update={"decision": decision})
    return plain.model_copy(update={"rounds": (held,), "consensus": consensus, "decision": decision})


def test_the_result_of_a_reader_is_taken_from_the_record() -> None:
    two_small = read_by_a_model(("ada", "bo", "cy"), ("di",), ("ed",)).audit()
    assert (two_small.winner, two_small.is_known) == ("camp 1", True)
    # The record does not say whether the two small camps were told apart; against two answers that matters.
    assert (two_small.without[0].is_known, two_small.without[0].differs) == (False, None)
    assert (two_small.without[3].winner, two_small.without[3].differs) == ("camp 1", False)
    # Together these would have reached the leader, and it was found to lead: so they were told apart.
    two_large = read_by_a_model(("ada", "bo", "cy"), ("di", "ed"), ("fay", "gus")).audit()
    assert (two_large.without[0].is_known, two_large.without[0].differs) == (True, True)
    assert two_large.without[0].tied == ("camp 1", "camp 2", "camp 3")
    assert two_large.pivotal == ("ada", "bo", "cy")


# ---------------------------------------------------------------- votes, judges, chairs


async def test_a_vote_on_motions_is_counted_without_each_ballot() -> None:
    result = await voted(voting(same=()))
    audit = result.audit()
    assert (audit.basis, audit.winner, audit.rule) == ("vote", result.answer, "schulze")
    assert [row.agent_id for row in audit.without] == [vote.agent_id for vote in result.votes]
    again = {rule: Results([result]).redecide(rule)[0].decision for rule in by_rule(audit) if rule}
    assert by_rule(audit) == {rule: decision.winner for rule, decision in again.items() if decision}
    assert "approval" in {one.change for one in audit.not_tried}
    assert audit.weighted is None
    assert any("can still vote for" in note for note in audit.notes)
    assert audit.switches_tried == 4 * 3
    assert [row.change for row in audit.ties] == ["ties are declared", "ties go to the first option"]


async def test_a_vote_of_the_first_round_is_compared_by_the_motions() -> None:
    result = await voted(voting(same=()), rounds=2, vote="every")
    row = result.audit().first_round
    assert row is not None
    assert result.rounds[0].decision is not None
    assert (row.winner, row.differs) == (result.rounds[0].decision.winner, False)


async def test_joined_motions_are_one_answer() -> None:
    audit = (await voted(voting())).audit()
    assert audit.winner == "Lisbon"
    assert audit.pivotal == ()
    assert all(row.differs is False for row in audit.without)


async def test_ballots_without_a_single_option_are_not_switched() -> None:
    model = voting(lambda who, letters: {"same": [], "approved": [letters["Porto"], letters["Faro"]]})
    audit = (await voted(model, decide="approval")).audit()
    assert (audit.switches, audit.switches_tried) == ((), None)
    assert "one vote for another option" in {one.change for one in audit.not_tried}


async def test_each_judge_of_a_panel_is_left_out() -> None:
    table = judged(Judge("Tea"), Judge("Tea"), Judge("Coffee"))
    audit = (await table.debate("Tea?", rounds=1, decide="judge-panel", options=["Tea", "Coffee"])).audit()
    assert (audit.basis, audit.winner) == ("judges", "Tea")
    assert [row.differs for row in audit.without] == [True, True, False]
    assert {row.option for row in audit.switches} == {"Coffee"}
    assert by_rule(audit)["plurality"] == "Coffee"  # of the debaters, two of three are for coffee
    assert any("Judges decided" in note for note in audit.notes)


async def test_a_judge_of_open_answers_is_left_out() -> None:
    audit = (await judged(Judge("Tea")).debate("Tea?", rounds=1, decide="judge")).audit()
    assert (audit.basis, audit.winner) == ("judges", "Tea")
    assert [row.winner for row in audit.without] == [None]
    assert "one vote for another option" in {one.change for one in audit.not_tried}


async def test_the_last_vote_of_oxford_is_audited() -> None:
    def reply(request: Any) -> Any:
        name = request.metadata["agent"]
        return said("I speak", choice="Against" if name == "cy" else "For")

    result = await table_of(CountingModel(reply), "ada", "bo", "cy").debate("Tea?", mode="oxford")
    audit = result.audit()
    assert (audit.basis, audit.winner) == ("vote", "For")
    assert audit.pivotal == ("ada", "bo")
    assert outcomes(audit.switches) == {"Ada for Against": ("Against", True), "Bo for Against": ("Against", True)}


async def test_the_audit_of_a_debate_with_a_chair_is_that_of_the_vote() -> None:
    audit = (await debated({"ada": "Tea", "bo": "Tea", "cy": "Tea"}, mode="council")).audit()
    assert any("The chair gave the answer" in note for note in audit.notes)


# ---------------------------------------------------------------- what cannot be audited


async def test_a_team_is_refused() -> None:
    plan = {"goal": "A party.", "strategy": "Ask.", "successCriteria": ["Fun."]}
    model = ScriptedModel({"initiator": plan, "ada": "Done.", "summarizer": "Done."})
    async with rt.Roundtable([model], storage="memory://") as table:
        result = await table.converse(agents=[AgentProfile("ada")], messages="Plan a party.", rounds=1)
    with pytest.raises(SessionConflict, match="a team conversation has no decision") as refused:
        result.audit()
    assert refused.value.hint


def test_a_debate_without_a_decision_is_refused() -> None:
    empty = result_of([answer("ada", "Tea")])
    bare = empty.model_copy(update={"rounds": (), "decision": None})
    with pytest.raises(SessionConflict, match="no round was completed") as refused:
        bare.audit()
    assert "resume" in (refused.value.hint or "")


def test_a_decision_of_an_unknown_rule_needs_that_rule() -> None:
    result = result_of([answer("ada", "t", choice="Tea"), answer("bo", "t", choice="Tea")], options=("Tea", "Milk"))
    foreign = result.model_copy(update={"config": result.config.model_copy(update={"decide": "dice"})})
    with pytest.raises(ConfigurationError, match="dice") as refused:
        foreign.audit()
    assert "rules=" in (refused.value.hint or "")
    rules = rule_registry()
    rules.add("dice", Rule("dice", find_rule("plurality")[0].count, "no dice"))
    audit = foreign.audit(rules=rules)
    assert audit.winner == "Tea"
    assert by_rule(audit)["dice"] == "Tea"


def test_a_rule_that_fails_is_not_tried() -> None:
    def count(ballots: Any, parameters: Any) -> Any:
        raise ZeroDivisionError("no votes")

    rules = rule_registry()
    rules.add("odd", Rule("odd", count, "never works"))
    audit = result_of([answer("ada", "t", choice="Tea")], options=("Tea", "Milk")).audit(rules=rules)
    assert "failed" in {one.change: one.reason for one in audit.not_tried}["odd"]


def test_too_many_votes_for_other_options_are_not_tried() -> None:
    options = tuple(f"Tea {number}" for number in range(12))
    said_so = [answer(f"a{number}", "t", choice=options[0]) for number in range(50)]
    audit = result_of(said_so, options=options).audit()
    assert (audit.switches, audit.switches_tried, audit.fragile) == ((), None, None)
    assert "Votes for another option were not tried" in " ".join(audit.to_text().split())
    assert "more than 500" in {one.change: one.reason for one in audit.not_tried}["one vote for another option"]


def test_rules_that_count_fewer_options_are_not_tried() -> None:
    options = tuple(f"Tea {number}" for number in range(201))
    audit = result_of([answer(f"a{n}", "t", choice=options[n // 2]) for n in range(3)], options=options).audit()
    reasons = {row.change: row.reason for row in audit.not_tried}
    assert reasons["schulze"] == "too many options: the rule counts at most 200, and there are 201"
    assert reasons["kemeny-young"] == "too many options: the rule counts at most 12, and there are 201"
    assert by_rule(audit)["borda"] == "Tea 0"
    assert "are not tried with so many options" in " ".join(audit.to_text().split())


@pytest.mark.slow
def test_with_thousands_of_options_no_other_rule_is_tried() -> None:
    options = tuple(f"Tea {number}" for number in range(20_000))
    audit = result_of([answer(f"a{n}", "t", choice=options[n // 2]) for n in range(3)], options=options).audit()
    assert (audit.winner, audit.rules, len(audit.without)) == ("Tea 0", (), 3)
    reasons = {row.change: row.reason for row in audit.not_tried}
    assert reasons["borda"] == "too many options: there are 20000 for so many ballots"


def test_with_too_many_ballots_none_is_left_out() -> None:
    audit = result_of([answer(f"a{n}", "Tea", choice="Tea") for n in range(160)], options=("Tea", "Milk")).audit()
    assert (audit.without, audit.pivotal, audit.fragile, audit.switches_tried) == ((), (), None, None)
    reasons = {row.change: row.reason for row in audit.not_tried}
    assert reasons["one ballot less"] == "there are too many ballots or options for 160 recounts"
    assert reasons["one vote for another option"] == "there are too many ballots or options for 160 recounts"
    assert "Ballots were not left out one at a time: there are too many." in " ".join(audit.to_text().split())


def test_a_ranking_of_many_options_is_not_counted_again_for_each_vote() -> None:
    options = tuple(f"Tea {number}" for number in range(50))
    said = [answer(f"a{n}", "t", choice=options[n]) for n in range(6)]
    audit = result_of(said, options=options, decide="schulze").audit()
    assert (len(audit.without), audit.switches_tried, audit.fragile) == (6, None, None)


def test_answers_that_differ_by_a_sign_or_by_case_are_two() -> None:
    audit = result_of([answer("ada", "5 mW"), answer("bo", "5 mW"), answer("cy", "5 MW")]).audit()
    assert audit.winner == "5 mW"
    assert audit.switches_tried == 3


def test_a_decision_that_was_withheld_is_audited_though_the_weights_would_settle_it() -> None:
    result = result_of(
        [answer("ada", "Tea", confidence=1), answer("bo", "Green tea", confidence=0.8)], decide="confidence-weighted"
    )
    assert (result.answer, result.consensus and result.consensus.is_lead_open) == (None, True)
    audit = result.audit()
    assert (audit.winner, audit.is_known, audit.fragile) == (None, False, None)
    assert "depends on whether answers that nobody compared say the same" in " ".join(audit.to_text().split())


def test_a_decision_that_cannot_be_counted_again_is_refused() -> None:
    result = result_of([answer("ada", "t", choice="Tea"), answer("bo", "t", choice="Tea")], options=("Tea", "Milk"))
    assert result.decision is not None
    other = result.decision.model_copy(update={"winners": ("Milk",)})
    with pytest.raises(SessionConflict, match="'Milk' won, the recount gives 'Tea'"):
        result.model_copy(update={"decision": other}).audit()


# ---------------------------------------------------------------- the model, and how it is shown


async def test_an_audit_is_a_frozen_value_that_json_keeps() -> None:
    audit = (await debated({"ada": "Tea", "bo": "Tea", "cy": "Milk"}, options=["Tea", "Milk"], rounds=2)).audit()
    assert DecisionAudit.from_json(audit.to_json()) == audit
    assert '"switchesTried":3' in audit.to_json()
    with pytest.raises(ValidationError):
        audit.winner = "Milk"  # type: ignore[misc]  # what is tested


async def test_a_stored_debate_has_the_audit_of_the_debate() -> None:
    result = await debated({"ada": "Tea", "bo": "Tea", "cy": "A hot drink"}, rounds=2)
    assert rt.DebateResult.from_json(result.to_json()).audit() == result.audit()


def test_an_audit_is_shown_as_text_markdown_and_html() -> None:
    answers = [answer("ada", "<b>x</b>"), answer("bo", "<b>x</b>"), answer("cy", "5 km")]
    audit = result_of(answers, topic="<script>?").audit()
    text = str(audit)
    assert "Audit: <script>?" in text
    assert "In short: It is not known whether one ballot changes the winner" in text
    assert "Without Cy: <b>x</b>" in text
    assert max(map(len, text.splitlines())) <= 100
    html = audit._repr_html_()
    assert "<script>" not in html
    assert "<b>x" not in html
    assert "Without Cy" in html
    assert "**Without Cy:** \\<b" in audit._repr_markdown_()


def test_the_short_summary_says_who_is_pivotal() -> None:
    sure = result_of([answer(name, "t", choice="Tea") for name in ("ada", "bo", "cy", "di")], options=("Tea", "Milk"))
    assert "No single ballot changes the winner." in sure.audit().to_text()
    close = [answer("ada", "t", choice="Tea"), answer("bo", "t", choice="Tea"), answer("cy", "m", choice="Milk")]
    assert "Pivotal, each left out alone: Ada and Bo." in result_of(close, options=("Tea", "Milk")).audit().to_text()
    pair = result_of([answer(name, "t", choice="Tea") for name in ("ada", "bo")], options=("Tea", "Milk"))
    assert "leaving one out does not" in pair.audit().to_text()


USE = """
import sys
from roundtable import sync
from roundtable.testing import scripted_agents
with sync.Roundtable(scripted_agents({"ada": "Tea", "bo": "Tea"}), storage="memory://") as table:
    result = table.debate("Tea?", rounds=1)
    print(result)
assert not [name for name in sys.modules if "results.audit" in name]
result.audit()
assert "roundtable.results.audit" in sys.modules
"""


@pytest.mark.slow
def test_a_debate_does_not_load_the_audit_module() -> None:
    subprocess.run([sys.executable, "-c", USE], check=True, capture_output=True)


def test_another_wording_of_the_winner_is_not_a_change() -> None:
    says = {"ada": {"position": "A", "bottom_line": "A"}, "bo": {"position": "a.", "bottom_line": "a."}}
    with rt.sync.Roundtable(scripted_agents(says), storage="memory://") as table:
        audit = table.debate("Which?", rounds=1, vote=True).audit()
    assert audit.pivotal == ()
    assert all(row.differs is False for row in audit.without)
