"""Answers that were given but could not be read: where a result shows them, and what they keep from winning."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

import roundtable as rt
from roundtable.analysis import DeclaredAnalyzer, StanceAnalyzer, baselines_of, decide_record, minority_report, votes_of
from roundtable.analysis.decision import unread_turns
from roundtable.cli.storage_location import StorageLocation
from roundtable.cli.summary import summary_lines
from roundtable.core.types.plan import JUDGE_STAGE, VOTE_STAGE
from roundtable.results import Results
from roundtable.types import (
    AgentConfig,
    AgentResponse,
    AnyTurn,
    BallotAnswer,
    Cluster,
    ConsensusResult,
    DebateConfig,
    DebateRecord,
    ErrorInfo,
    FailedTurn,
    Reading,
    RoundRecord,
    SessionRecord,
    Turn,
    TurnResult,
    utc_now,
)

OPTIONS = ("Porto", "Lisbon", "Faro")
ERROR = ErrorInfo(name="AgentError", code="API_ERROR", message="It is down.", retryable=False)


def reading(certainty: Literal["certain", "likely", "unread"] = "unread", **more: Any) -> Reading:
    return Reading(**({"certainty": certainty, "rule": "none"} | more))


def choice(name: str, option: str, **more: Any) -> AgentResponse:
    return AgentResponse(
        **{
            "agent_id": name,
            "agent_name": name.title(),
            "position": f"{option}, I think.",
            "choice": option,
            "reading": reading("certain", rule="label", value=option),
        }
        | more
    )


def unread(name: str, **more: Any) -> AgentResponse:
    """An answer that mentions options without choosing one."""
    text = {"position": "One of the two, it depends.", "reading": reading()}
    return AgentResponse(**{"agent_id": name, "agent_name": name.title()} | text | more)


def turns_of(answers: list[Any], stage: str = "positions", number: int = 1) -> tuple[Turn, ...]:
    names = ["ada", "bo", "cy", "di", "eve"]
    return tuple(
        Turn(
            round=number,
            stage=stage,
            slot=slot,
            agent_id=getattr(answer, "agent_id", names[slot]),
            agent_name=getattr(answer, "agent_name", names[slot].title()),
            timestamp=utc_now(),
            result=TurnResult(answer=answer),
            independent=number == 1,
        )
        for slot, answer in enumerate(answers)
    )


def result_of(
    *answers: AgentResponse, more_turns: tuple[AnyTurn, ...] = (), first: tuple[AgentResponse, ...] = (), **config: Any
) -> rt.DebateResult:
    """Build the result of a debate with options, measured and decided as in a real one."""
    ids = tuple(dict.fromkeys(one.agent_id for one in answers))
    held = [held for held in (first, answers) if held]
    settings = DebateConfig(**{"topic": "Where?", "agents": ids, "rounds": len(held), "options": OPTIONS} | config)
    rounds: list[RoundRecord] = []
    for number, said in enumerate(held, 1):
        last = more_turns if number == len(held) else ()
        record = RoundRecord(number=number, turns=(*turns_of([*said], number=number), *last), complete=True)
        chosen = settings.options is not None and any(one.choice for one in said)
        measured = StanceAnalyzer(options_only=True).analyze(said) if chosen else DeclaredAnalyzer().analyze(said)
        consensus = measured.model_copy(update={"answers": len(said)})
        record = record.model_copy(update={"consensus": consensus})
        decision = decide_record(record, consensus, settings, None, rounds)
        rounds.append(record.model_copy(update={"decision": decision}))
    agents = tuple(AgentConfig(id=name, name=name.title(), provider="p") for name in ids)
    record_of = DebateRecord(
        session=SessionRecord(id="s", config=settings, agents=agents),
        total_rounds=len(rounds),
        rounds=tuple(rounds),
        updated_at=utc_now(),
        status="completed",
        independent_agreement=rounds[0].consensus.agreement_level if rounds[0].consensus else None,
    )
    return rt.DebateResult.from_record(record_of)


def withheld() -> rt.DebateResult:
    return result_of(choice("ada", "Porto"), choice("bo", "Porto"), unread("cy"), unread("di"))


def safe() -> rt.DebateResult:
    return result_of(choice("ada", "Porto"), choice("bo", "Porto"), choice("cy", "Porto"), unread("di"))


# ---------------------------------------------------------------- what counts


def test_an_answer_is_unread_only_if_it_has_an_uncertain_reading_and_no_choice() -> None:
    assert unread("ada").is_unread
    assert unread("ada", reading=reading("likely", value="Porto")).is_unread
    assert not unread("ada", reading=None).is_unread  # stored before answers had readings
    assert not unread("ada", reading=reading("certain")).is_unread
    assert not choice("ada", "Porto", reading=reading("likely")).is_unread
    stated = unread("ada", bottom_line="Porto", reading=reading(place="reply"))
    assert not stated.is_unread  # a recorded debate states the answer beside the text
    assert unread("ada", bottom_line="Porto", reading=reading(place="position")).is_unread
    assert BallotAnswer(reading=reading()).is_unread
    assert not BallotAnswer().is_unread
    assert not BallotAnswer(choice="Porto", reading=reading()).is_unread


def test_no_option_wins_if_unread_answers_could_have_overturned_it() -> None:
    result = withheld()
    assert result.decision is not None
    assert (result.answer, result.decision.winner, result.decision.withheld) == (None, None, "Porto")
    assert result.decision.unread == ("cy", "di")
    assert result.decision.abstained == ()
    assert result.decision.scores["Porto"] == 2.0
    assert result.answer_reason == (
        "no decision: 2 answers could not be read (cy and di), which could change the result. "
        "Without them, Porto wins: 2 of 2 votes (100 %)."
    )


def test_an_option_wins_if_unread_answers_could_not_have_overturned_it() -> None:
    result = safe()
    assert result.decision is not None
    assert (result.answer, result.answer_source, result.decision.unread) == ("Porto", "option", ("di",))
    assert not result.decision.is_unanimous


def test_stored_answers_without_readings_count_as_before() -> None:
    old = [choice(name, "Porto", reading=None) for name in ("ada", "bo")]
    result = result_of(*old, unread("cy", reading=None), unread("di", reading=None))
    assert result.decision is not None
    assert (result.answer, result.decision.unread, result.decision.abstained) == ("Porto", (), ("cy", "di"))
    assert result.consensus is not None
    assert result.consensus.is_measured


def test_unread_answers_make_the_agreement_an_interval() -> None:
    consensus = withheld().consensus
    assert consensus is not None
    assert (consensus.agreement_level, consensus.agreement_at_most, consensus.is_measured) == (0.0, 1.0, False)
    assert (consensus.not_compared, consensus.is_lead_open) == (("cy", "di"), True)
    assert consensus.summary == "Of 4: 2 for Porto, 2 that could not be read."
    one = safe().consensus
    assert one is not None
    assert one.level_in_words == "0.50 to 1.00: 1 answer not compared"
    assert not one.is_lead_open
    mixed = StanceAnalyzer().analyze(
        [choice("ada", "Porto"), choice("bo", "Lisbon"), unread("cy"), unread("di", reading=None)]
    )
    assert mixed.summary == "Of 4: 1 for Porto, 1 for Lisbon, 1 without a mark, 1 that could not be read."


def test_without_readable_answers_the_reason_for_no_winner_says_so() -> None:
    result = result_of(unread("ada"), unread("bo"))
    assert result.answer is None
    assert result.answer_reason == "no decision: 2 answers could not be read (ada and bo)."
    assert result.minority_report is not None
    assert result.minority_report.majority is None


def test_confidence_of_other_agents_does_not_protect_a_winner() -> None:
    sure = choice("ada", "Porto", confidence=1.0), choice("bo", "Porto", confidence=0.1)
    result = result_of(*sure, unread("cy", confidence=0.1), decide="confidence-weighted")
    assert result.answer == "Porto"
    unsure = choice("ada", "Porto", confidence=0.5), choice("bo", "Porto", confidence=0.4)
    assert result_of(*unsure, unread("cy", confidence=0.1), decide="confidence-weighted").answer is None
    weighted = result_of(*sure, unread("cy")).audit().weighted
    assert weighted is not None
    assert weighted.winner == "Porto"
    weighted = result_of(*unsure, unread("cy")).audit().weighted
    assert weighted is not None
    assert (weighted.winner, weighted.differs) == (None, True)


def test_votes_of_agents_that_failed_and_unread_answers_count_together() -> None:
    """Neither could have overturned the winner alone."""
    first = [choice(name, "Porto") for name in ("ada", "bo")] + [choice("cy", "Lisbon"), choice("di", "Lisbon")]
    said = [choice("ada", "Porto"), choice("bo", "Porto"), unread("di")]
    failed = FailedTurn(
        round=2, stage="positions", slot=9, agent_id="cy", agent_name="Cy", timestamp=utc_now(), error=ERROR
    )
    result = result_of(*said, first=tuple(first), more_turns=(failed,))
    assert result.decision is not None
    assert (result.answer, result.decision.withheld, result.decision.unread) == (None, "Porto", ("di",))
    assert "Cy had chosen Lisbon before failing" in (result.answer_reason or "")
    assert "! 1 answer could not be read: Di.\n" in str(result)
    assert result_of(*said, first=tuple(first[:2])).answer == "Porto"


def test_an_agent_that_answers_twice_is_unread_only_in_its_unread_answer() -> None:
    result = result_of(choice("ada", "Porto"), choice("ada", "Porto"), unread("ada"))
    assert result.decision is not None
    assert result.decision.unread == ("ada (3)",)


# ---------------------------------------------------------------- votes


def ballots(*choices: str | None, stage: str, decides: bool = False) -> tuple[Turn, ...]:
    given = [BallotAnswer(choice=chosen, reading=None if chosen else reading()) for chosen in choices]
    return tuple(turn.model_copy(update={"decides": decides}) for turn in turns_of(given, stage))


def test_unread_votes_on_options_keep_a_motion_from_winning() -> None:
    said = [choice(name, "Porto") for name in ("ada", "bo", "cy")]
    lost = result_of(*said, more_turns=ballots("Porto", None, None, stage=VOTE_STAGE), vote=True)
    assert lost.decision is not None
    assert (lost.answer, lost.decision.withheld, lost.decision.unread) == (None, "Porto", ("bo", "cy"))
    won = result_of(*said, more_turns=ballots("Porto", "Porto", None, stage=VOTE_STAGE), vote=True)
    assert (won.answer, won.answer_source) == ("Porto", "vote")
    assert "1 answer could not be read: Cy." in str(won)
    assert "Votes: Ada, Bo for Porto; Cy could not be read" in str(won)


def test_unread_votes_of_a_mode_keep_a_side_from_winning() -> None:
    said = [choice(name, "Porto") for name in ("ada", "bo", "cy")]
    own = ballots("Porto", None, None, stage="ballot", decides=True)
    lost = result_of(*said, more_turns=own)
    assert lost.decision is not None
    assert (lost.answer, lost.decision.withheld) == (None, "Porto")
    assert [turn.agent_id for turn in unread_turns(lost.rounds[-1])] == ["bo", "cy"]
    assert lost.minority_report is not None
    assert lost.minority_report.majority is None
    won = result_of(*said, more_turns=ballots("Porto", "Porto", None, stage="ballot", decides=True))
    assert won.answer == "Porto"
    assert won.minority_report is not None
    assert won.minority_report.dissents == ()


def test_a_vote_that_decides_nothing_is_not_reported_as_unread() -> None:
    said = [choice(name, "Porto") for name in ("ada", "bo")]
    assert unread_turns(result_of(*said, more_turns=ballots(None, None, stage="straw-poll")).rounds[-1]) == ()


def test_unread_verdicts_of_judges_keep_an_option_from_winning() -> None:
    said = [choice(name, "Porto") for name in ("ada", "bo")]
    seats = {"judge": ("ada", "bo", "cy", "di", "eve")}
    asked: dict[str, Any] = {"decide": "judge-panel", "seats": seats}
    votes = ballots("Porto", "Porto", "Lisbon", None, None, stage=JUDGE_STAGE)
    lost = result_of(*said, more_turns=votes, **asked)
    assert lost.decision is not None
    assert (lost.answer, lost.decision.withheld) == (None, "Porto")
    votes = ballots("Porto", "Porto", "Porto", None, None, stage=JUDGE_STAGE)
    assert result_of(*said, more_turns=votes, **asked).answer == "Porto"


def test_an_only_answer_does_not_win_against_as_many_unread_answers() -> None:
    said = AgentResponse(agent_id="ada", agent_name="Ada", position="Porto.", bottom_line="Porto")
    silent = AgentResponse(agent_id="cy", agent_name="Cy", position="ABSTAIN", bottom_line="ABSTAIN")
    # The reading says that the text has no answer; that the text abstains keeps it out of the camps.
    lost = silent.model_copy(update={"agent_id": "bo", "agent_name": "Bo", "bottom_line": None, "reading": reading()})
    asked: dict[str, Any] = {"options": None, "vote": True, "decide": "schulze"}
    result = result_of(said, lost, silent, **asked)
    assert result.decision is not None
    assert (result.answer, result.decision.winner) == (None, None)
    twin = said.model_copy(update={"agent_id": "di", "agent_name": "Di"})
    won = result_of(said, twin, lost, **asked)
    assert won.answer == "Porto"
    assert won.decision is not None
    assert not won.decision.is_unanimous


def test_open_answers_that_are_in_no_camp_may_be_another_answer() -> None:
    said = [AgentResponse(agent_id=name, agent_name=name, position="Porto") for name in ("ada", "bo")]
    lost = [unread("cy"), unread("di")]
    camps = ConsensusResult(
        agreement_level=0.0, agreement_at_most=1.0, clusters=(Cluster(theme="Porto", agent_ids=("ada", "bo")),)
    )
    config = DebateConfig(topic="Where?", agents=("ada", "bo", "cy", "di"))
    record = RoundRecord(number=1, turns=turns_of([*said, *lost]), complete=True)
    assert decide_record(record, camps, config).withheld == "Porto"
    fewer = RoundRecord(number=1, turns=turns_of([*said, lost[0]]), complete=True)
    assert decide_record(fewer, camps, config).winner == "Porto"


# ---------------------------------------------------------------- recounts


def test_other_rules_and_audits_do_not_bring_a_withheld_winner_back() -> None:
    result = withheld()
    for rule in ("plurality", "majority", "borda", "schulze", "approval", "random-dictator"):
        again = Results([result]).redecide(rule)[0]
        assert (again.answer, again.decision.withheld if again.decision else None) == (None, "Porto")
    audit = result.audit()
    assert (audit.winner, audit.is_known) == (None, True)
    assert {row.rule: row.winner for row in audit.rules} == {row.rule: None for row in audit.rules}
    # Votes for Lisbon could only tie with Porto, and if ties go to the first option, Porto wins them.
    assert [row.winner for row in audit.ties] == [None, "Porto"]
    assert {row.change: row.winner for row in audit.without} == {
        "without Ada": None,
        "without Bo": None,
        "without Cy": "Porto",
        "without Di": "Porto",
    }
    assert audit.notes == ("Porto does not win, because answers that could not be read could change that.",)


def test_an_audit_counts_a_changed_vote_of_an_unread_voter() -> None:
    audit = result_of(choice("ada", "Porto"), unread("bo")).audit()
    assert {(row.agent_id, row.option): row.winner for row in audit.switches} == {("bo", "Porto"): "Porto"}
    assert audit.fragile is True


def test_the_vote_of_the_first_answers_is_withheld_too() -> None:
    first = (choice("ada", "Porto"), unread("bo"))
    result = result_of(choice("ada", "Porto"), choice("bo", "Porto"), first=first)
    baselines = baselines_of(result, result.answer)
    assert baselines is not None
    assert (baselines.majority, baselines.votes) == (None, 1)
    before = result.audit().first_round
    assert before is not None
    assert (before.winner, before.differs) == (None, True)


# ---------------------------------------------------------------- what a result shows


def test_the_minority_report_names_neither_side_for_unread_answers() -> None:
    report = minority_report(safe().rounds[-1], by_choice=True)
    assert (report.majority, report.supporters, report.dissents) == ("Porto", ("ada", "bo", "cy"), ())
    assert report.not_compared == ("di",)
    assert minority_report(withheld().rounds[-1], by_choice=True).majority is None


def test_the_roster_counts_unread_answers_of_the_whole_debate() -> None:
    result = result_of(choice("ada", "Porto"), choice("bo", "Porto"), first=(choice("ada", "Porto"), unread("bo")))
    assert [(entry.agent_id, entry.answered, entry.unread) for entry in result.roster.agents] == [
        ("ada", 2, 0),
        ("bo", 2, 1),
    ]
    assert "could not be read:" not in str(result)  # in the last round, all could be read
    assert "2 answered (1 could not be read)" in result.to_markdown()
    document = json.loads(result.to_json())
    assert document["roster"]["agents"][1]["unread"] == 1
    for entry in document["roster"]["agents"]:
        del entry["unread"]
    for record in (document["decision"], *(held["decision"] for held in document["rounds"])):
        del record["unread"], record["withheld"]
    stored = rt.DebateResult.from_json(json.dumps(document))  # as an older version wrote it
    assert [entry.unread for entry in stored.roster.agents] == [0, 0]


@pytest.mark.parametrize(
    ("result", "line"),
    [
        pytest.param(safe(), "1 answer could not be read: Di.", id="safe"),
        pytest.param(
            withheld(),
            "2 answers could not be read: Cy and Di, so that Porto, with 2 of 4 votes, is not the answer.",
            id="withheld",
        ),
        pytest.param(
            result_of(choice("ada", "Porto"), unread("bo"), decide="schulze"),
            "1 answer could not be read: Bo, so that Porto is not the answer.",
            id="rule without votes",
        ),
    ],
)
def test_every_form_of_a_result_reports_unread_answers_in_one_line(result: rt.DebateResult, line: str) -> None:
    assert f"! {line}\n" in str(result)
    assert f"! {line}\n" in result.to_text()
    assert f"> **Not read** {line}\n" in result.to_markdown()
    assert f"<p>{line}</p>" in result.to_html()
    fragment = result._repr_html_()
    assert f"<strong>Not read</strong> {line}" in fragment
    assert line in [shown.text for shown in summary_lines(result, StorageLocation("memory://", None))]
    assert result.response is not None
    advice = result.response.decision.action_recommendation
    assert advice.type != "proceed"
    assert "gave an answer that could not be read" in advice.reason


def test_a_result_without_unread_answers_says_nothing_about_them() -> None:
    result = result_of(choice("ada", "Porto"), choice("bo", "Porto"))
    assert result.answer == "Porto"
    for text in (str(result), result.to_markdown(), result.to_html()):
        assert "could not be read" not in text
    assert result.response is not None


def test_votes_in_words_name_unread_voters() -> None:
    assert "Votes: Ada, Bo, Cy for Porto; Di could not be read" in str(safe())


def test_a_report_says_how_an_answer_was_read() -> None:
    found = {
        "ada": ("Option B", reading("certain", rule="label", value="Porto", place="position", span=(0, 8))),
        "bo": ("Porto", reading("certain", rule="whole", value="Porto", place="position", span=(0, 5))),
        "cy": ("My answer.", reading("certain", rule="boxed", value="Porto")),
        "di": ("I say Porto.", reading("certain", rule="closing", value="Porto", place="position", span=(6, 11))),
    }
    answers = [choice(name, "Porto", position=text, reading=read) for name, (text, read) in found.items()]
    answers.append(unread("eve", reading=reading(candidates=("Lisbon", "Faro"))))
    page = result_of(*answers).to_html()
    assert "Read as &#x27;Porto&#x27; by the rule label from the words &#x27;Option B&#x27;." in page
    assert "Read as &#x27;Porto&#x27; by the rule boxed." in page
    assert "Read as &#x27;Porto&#x27; by the rule closing." in page
    assert "by the rule whole" not in page
    text = result_of(*answers).to_text()
    assert "by the rule" not in text
    assert "This answer could not be read with certainty; it may say 'Lisbon' or 'Faro'." in text


def test_a_report_says_that_a_vote_could_not_be_read() -> None:
    said = [choice(name, "Porto") for name in ("ada", "bo", "cy")]
    result = result_of(*said, more_turns=ballots("Porto", "Porto", None, stage=VOTE_STAGE), vote=True)
    assert "votes in a way that could not be read" in result.to_text()
    assert "*This answer could not be read.*" in result.to_markdown()


def test_tables_of_turns_have_the_rule_and_the_certainty_of_each_reading() -> None:
    said = [choice("ada", "Porto"), unread("bo"), choice("cy", "Porto", reading=None)]
    result = result_of(*said, more_turns=ballots(None, stage=VOTE_STAGE))
    for rows in (result.to_records(), result.frames("turns", "records")):
        assert [(row.get("readingRule"), row.get("readingCertainty")) for row in rows] == [
            ("label", "certain"),
            ("none", "unread"),
            (None, None),
            ("none", "unread"),
        ]
    assert result.to_csv().splitlines()[0].endswith("claims,readingRule,readingCertainty")


def test_baselines_agree_with_the_votes_on_what_is_unread() -> None:
    result = result_of(unread("ada"), unread("bo"), choice("cy", "Milk", choice=None, position="Milk"), options=None)
    consensus = ConsensusResult(
        agreement_level=0.0,
        clusters=(Cluster(theme="Tea", agent_ids=("ada", "bo")), Cluster(theme="Milk", agent_ids=("cy",))),
    )
    held = result.rounds[0].model_copy(update={"consensus": consensus})
    baselines = baselines_of(result.model_copy(update={"rounds": (held,)}), None)
    assert baselines is not None
    assert (baselines.single, baselines.single_agent_id) == (None, "ada")
    assert (baselines.votes, baselines.majority) == (1, None)
    assert [vote.choice for vote in votes_of(held, by_choice=False)] == [None, None, "Milk"]
