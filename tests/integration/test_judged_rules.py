"""A rule of a plugin asks judges who don't debate, by the same means as the built-in rules for judges."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from integration.engine_kit import CountingModel, asking, engine_of, log_of, seated, table_of
from integration.test_judges import Judge, parted

import roundtable as rt
from roundtable.analysis.decision import decided_by_judges
from roundtable.bench import Question, run_study
from roundtable.errors import ConfigurationError, PluginError
from roundtable.plugins import RuleRegistrar
from roundtable.results import Results
from roundtable.scoring import (
    Electorate,
    Judges,
    Outcome,
    Parameters,
    Rule,
    first_places,
    rule_registry,
)
from roundtable.scoring.rules import judges_of
from roundtable.storage import MemoryStorage

pytestmark = pytest.mark.anyio


def qualified(ballots: Electorate, parameters: Parameters) -> Outcome:
    """An option wins with a share of the seats: a judge that fails counts against it."""
    profile = ballots.read(first_places)
    scores: dict[str, Fraction] = {}
    for vote in profile.votes:
        scores[vote.form[0]] = scores.get(vote.form[0], Fraction(0)) + Fraction(vote.weight)
    most = max(scores.values(), default=Fraction(0))
    leaders = tuple(option for option, score in scores.items() if score == most)
    passes = most >= parameters.share("q") * profile.roll.ballots
    return Outcome(profile.roll, scores, leaders, f"at least {parameters.share('q')} of the seats", passes=passes)


BENCH = Rule("bench", qualified, "a share of the judges", {"q": "2/3"}, ("tribunal",), judges=Judges(least=3, most=5))


def own_majority(ballots: Electorate, parameters: Parameters) -> Outcome:
    return rule_registry().get("majority").count(ballots, Parameters("majority", {"of": "cast"}, {}))


PANEL = Rule("peers-panel", own_majority, judges=Judges(least=2, counted_by="majority"))
SOLE = Rule("elder", own_majority, judges=Judges(most=1, counted_by="majority"))


class RulesPlugin:
    @rt.hookimpl
    def roundtable_register_rules(self, registrar: RuleRegistrar) -> None:
        for rule in (BENCH, PANEL, SOLE):
            registrar.add(rule.name, rule, summary=rule.summary)


def judged(*judges: Judge, storage: Any = None, **more: Any) -> Any:
    seats = {"judge": list(judges)} if judges else {}
    return table_of(CountingModel(parted), storage=storage, seats=seats, plugins=[RulesPlugin()], **more)


_ITS_OWN = {"sessionId", "timestamp", "previousHash", "seq", "durationS", "rule"}


def masked(value: Any) -> Any:
    """Return a value of JSON without what differs between any two debates, and without the name of the rule."""
    if isinstance(value, dict):
        return {key: masked(part) for key, part in value.items() if key not in _ITS_OWN}
    return [masked(part) for part in value] if isinstance(value, list) else value


async def told(rule: str, *words: str | None) -> tuple[list[Any], Any]:
    """Return the events of a debate, whose agents answer in any order, and its result, without what is its own."""
    storage = MemoryStorage()
    result = await judged(*map(Judge, words), storage=storage).debate("Tea?", rounds=2, decide=rule)
    assert result.decision is not None
    assert result.decision.rule == rule
    events = [masked(json.loads(json.dumps(event.to_wire()))) for event in await log_of(storage, result.session_id)]
    facts = {"answer", "answer_source", "answer_reason", "votes", "usage", "status", "minority_report"}
    return sorted(events, key=json.dumps), result.model_dump(mode="json", include=facts)


@pytest.mark.parametrize(
    ("built_in", "plugin", "words"),
    [
        pytest.param("judge-panel", "peers-panel", ("Tea", "Tea", "Coffee"), id="a panel that agrees"),
        pytest.param("judge-panel", "peers-panel", ("Tea", None), id="a panel that does not"),
        pytest.param("judge", "elder", ("Tea",), id="one judge"),
    ],
)
async def test_the_events_and_results_are_those_of_the_built_in_rule(
    built_in: str, plugin: str, words: tuple[str | None, ...]
) -> None:
    assert await told(plugin, *words) == await told(built_in, *words)


@pytest.mark.parametrize(("built_in", "plugin"), [("judge-panel", "peers-panel"), ("judge", "elder")])
async def test_estimates_are_those_of_the_built_in_rule(built_in: str, plugin: str) -> None:
    judges = [Judge("Tea")] * (1 if built_in == "judge" else 3)
    estimates = [judged(*judges).estimate("Tea?", rounds=2, decide=rule) for rule in (built_in, plugin)]
    assert estimates[0] == estimates[1]
    assert sum(agent.planned_calls for agent in estimates[1].by_agent if agent.agent_id.startswith("judge")) == 2 * len(
        judges
    )


@pytest.mark.parametrize(
    ("built_in", "plugin", "judges", "why"),
    [
        ("judge", "elder", 0, "no model can judge the debate"),
        ("judge-panel", "peers-panel", 0, "no model can judge the debate"),
        ("judge", "elder", 2, "needs one judge"),
        ("judge-panel", "peers-panel", 1, "needs two or more judges"),
    ],
)
async def test_the_same_seats_are_refused_in_the_same_words(built_in: str, plugin: str, judges: int, why: str) -> None:
    texts = []
    for rule in (built_in, plugin):
        with pytest.raises(ConfigurationError, match=why) as caught:
            await judged(*[Judge("Tea")] * judges).debate("Tea?", decide=rule)
        texts.append((str(caught.value.message).replace(f"decide={rule!r}", "RULE"), caught.value.hint))
    assert texts[0] == texts[1]


async def test_a_rule_of_a_plugin_counts_the_votes_of_judges_itself() -> None:
    result = await judged(*map(Judge, ("Tea", "Tea", "Coffee"))).debate("Tea?", rounds=1, decide="bench")
    assert (result.answer, result.answer_source, result.usage.calls) == ("Tea", "judge", 6)
    assert result.ballots() == ("Tea", "Coffee", "Coffee")
    assert result.decision is not None
    assert (result.decision.rule, result.decision.parameters) == ("bench", {"q": "2/3"})
    assert result.decision.why.startswith("3 judges, 3 of 3 voted: Tea wins")
    assert result.config.seats == {"judge": ("judge-1", "judge-2", "judge-3")}


@pytest.mark.parametrize("name", ["bench(q=1)", "Tribunal(1)"])
async def test_parameters_and_aliases_reach_the_rule(name: str) -> None:
    result = await judged(*map(Judge, ("Tea", "Tea", "Coffee"))).debate("Tea?", rounds=1, decide=name)
    assert (result.answer, result.config.decide) == (None, name)
    assert result.decision is not None
    assert result.decision.parameters == {"q": "1"}


async def test_a_rule_object_needs_no_plugin() -> None:
    seats = {"judge": [Judge("Tea")] * 3}
    result = await table_of(CountingModel(parted), seats=seats).debate("Tea?", rounds=1, decide=BENCH)
    assert (result.answer, result.answer_source) == ("Tea", "judge")


async def test_an_engine_without_a_table_finds_the_judges_of_a_rule() -> None:
    agents = seated(CountingModel(parted), "ada", "bo", "cy")
    engine = engine_of(MemoryStorage(), [*agents, *seated(Judge("Tea"), "judge")])
    engine.rules.add(SOLE.name, SOLE)
    config = asking(agents, rounds=1, decide="elder", seats={"judge": ("judge",)})
    closed = await engine.run_round((await engine.start_debate(config)).id)
    assert closed.decision is not None
    assert (closed.decision.winner, closed.decision.voters) == ("Tea", ("judge",))
    with pytest.raises(ConfigurationError, match="needs one judge"):
        await engine.start_debate(asking(agents, decide="elder"))


@pytest.mark.parametrize(
    ("judges", "why", "hint"),
    [(2, "needs three to five judges", "Name more judges"), (6, "not 6", "Name fewer judges")],
)
async def test_a_rule_says_how_many_judges_it_takes(judges: int, why: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        await judged(*[Judge("Tea")] * judges).debate("Tea?", decide="bench")
    assert str(caught.value.hint).startswith(hint)


async def test_without_a_model_the_hint_names_the_number() -> None:
    with pytest.raises(ConfigurationError, match="no model can judge") as caught:
        await judged().debate("Tea?", decide="bench")
    assert str(caught.value.hint).startswith("Name three to five models with seats=")


async def test_debaters_cannot_vote_if_a_rule_needs_judges() -> None:
    for rule in ("bench", BENCH):
        with pytest.raises(ConfigurationError, match=r"cannot vote if judges decide \(decide='bench'\)"):
            await judged(Judge("Tea")).debate("Tea?", decide=rule, vote=True)


async def test_a_study_has_no_judges() -> None:
    for rule in ("bench", BENCH):
        with pytest.raises(ConfigurationError, match="'bench' cannot be used in a study"):
            await run_study(judged(), [Question(id="1", question="Tea?", gold="Tea")], decide=rule)


async def test_a_failing_count_loses_no_round() -> None:
    def broken(ballots: Electorate, parameters: Parameters) -> Outcome:
        raise LookupError("out of order")

    rule = replace(BENCH, name="broken", count=broken)
    seats = {"judge": [Judge("Tea")] * 3}
    result = await table_of(CountingModel(parted), seats=seats).debate("Tea?", rounds=1, decide=rule)
    assert (result.status, result.answer, result.answer_source) == ("completed", None, "none")
    assert "the rule 'broken' failed (LookupError: out of order)" in str(result.answer_reason)


async def test_judges_of_a_plugin_overrule_the_chair_of_a_council() -> None:
    def reply(request: Any) -> Any:
        if '"ranking"' in request.messages[-1].content:
            return {"ranking": [], "reasoning": "So."}
        return parted(request)

    seats = {"judge": Judge("Tea")}
    table = table_of(CountingModel(reply), seats=seats, plugins=[RulesPlugin()])
    result = await table.debate("Tea?", mode="council", rounds=1, decide="elder")
    assert (result.answer, result.answer_source) == ("Tea", "judge")
    assert result.decision is not None
    assert result.decision.winner == "Tea"
    assert "The chair gave the answer" not in result.to_markdown()


async def test_sessions_keep_their_judges_and_are_read_without_the_plugin() -> None:
    storage = MemoryStorage()
    table = judged(Judge("Tea"), storage=storage)
    result = await table.debate("Tea?", rounds=1, decide="elder")
    record, _ = await storage.read(result.session_id)
    assert [use.provides for use in record.plugins] == [("rule elder",)]
    fork = await table.fork(result.session_id, at_round=1, rounds=2)
    assert (fork.answer, fork.answer_source) == ("Tea", "judge")
    longer = await table.extend(result.session_id, rounds=1)
    assert [held.decision and held.decision.winner for held in longer.rounds] == ["Tea", "Tea"]

    without = table_of(CountingModel(parted), storage=storage, seats={"judge": Judge("Tea")})
    assert await without.session(result.session_id) == longer
    again = await without.reread(result.session_id)
    assert (again.answer, again.answer_source, again.decision) == ("Tea", "judge", longer.decision)
    with pytest.raises(PluginError, match="needs the rule 'elder' of the plugin"):
        await without.extend(result.session_id, rounds=1)
    with pytest.raises(ConfigurationError, match="unknown rule 'elder'"):
        longer.audit()


async def test_a_decision_by_judges_can_be_audited_and_repeated() -> None:
    table = judged(*map(Judge, ("Tea", "Tea", "Coffee")))
    result = await table.debate("Tea?", rounds=1, decide="bench")
    audit = result.audit(rules=table.catalog.rules)
    assert (audit.basis, audit.winner) == ("judges", "Tea")
    assert not {"bench", "elder", "peers-panel", "judge", "judge-panel"} & {row.rule for row in audit.rules}
    by_head = Results([result], rules=table.catalog.rules).redecide("plurality")[0]
    assert (by_head.answer, by_head.answer_source) == ("Coffee", "cluster")
    strict = Results([result], rules=table.catalog.rules).redecide("bench(q=1)")[0]
    assert (strict.answer, strict.answer_source) == (None, "none")
    unjudged = await table.debate("Tea?", rounds=1)
    for rule in ("bench", BENCH):
        with pytest.raises(ConfigurationError, match="'bench' counts votes of judges, but there are none"):
            Results([unjudged], rules=table.catalog.rules).redecide(rule)


async def test_the_deciding_judges_are_known_also_in_sessions_of_earlier_versions() -> None:
    (held,) = (await judged(Judge("Tea")).debate("Tea?", rounds=1, decide="elder")).rounds
    (plain,) = (await judged().debate("Tea?", rounds=1)).rounds
    assert held.decision is not None
    assert decided_by_judges(held)
    assert not decided_by_judges(plain)
    assert not decided_by_judges(held.model_copy(update={"decision": plain.decision}))
    assert not decided_by_judges(held.model_copy(update={"decision": None}))
    nameless = held.decision.model_copy(update={"voters": ()})
    assert decided_by_judges(held.model_copy(update={"decision": nameless}))


def test_a_rule_for_judges_asks_for_one_option() -> None:
    with pytest.raises(ConfigurationError, match="needs judges, who vote for one option, but has form='ranking'"):
        Rule("ranked", qualified, form="ranking", judges=Judges())


@pytest.mark.parametrize(("least", "most"), [(0, None), (3, 2), (1.5, None), (True, None), ("2", None), (1, "3")])
def test_an_invalid_number_of_judges_is_refused(least: Any, most: Any) -> None:
    with pytest.raises(ConfigurationError, match="allows no number of judges"):
        Judges(least=least, most=most)


@pytest.mark.parametrize("name", ["jury", "Judge Panel", "judge-panel(of=seats)", "Judge", "unknown"])
def test_built_in_rules_for_judges_need_them_under_their_plain_names_only(name: str) -> None:
    assert judges_of(name) is None
