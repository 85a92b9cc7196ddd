"""What a mode and a rule declare reaches reports and recounts, whether they are built in or come from a plugin."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from integration.pages_kit import visiting
from integration.server_kit import served_table
from plugin_kit import Site
from plugin_kit import site as site  # noqa: PLC0414  (a fixture)

from roundtable import AgentConfig, BaseAgent, Roundtable, decide, hookimpl
from roundtable.analysis import decide_record
from roundtable.core.types.plan import FIRST_VOTE_STAGE
from roundtable.errors import ConfigurationError
from roundtable.modes import (
    BaseModeStrategy,
    CouncilMode,
    OxfordMode,
    Step,
    everything,
    nothing,
    parallel,
    with_baseline,
    with_judge,
)
from roundtable.plugins import ModeRegistrar, Plugins, RuleRegistrar
from roundtable.providers import ScriptedModel
from roundtable.results import DebateResult, Declarations
from roundtable.results.declarations import declarations_of, score_meaning_of
from roundtable.scoring import VOTES, Outcome, Rule, ScoreMeaning, find_rule
from roundtable.storage import MemoryStorage
from roundtable.types import ChatRequest, DebateConfig, DebateContext, EndRound, Plan, Seat, TurnSpec, Visible

NAMES = ("ada", "bo", "cy")


class ChamberMode(BaseModeStrategy):
    """Votes before and after the speeches, as Oxford does, but with other options and another last stage."""

    name = "chamber"
    has_own_vote = True
    vote_options = ("Aye", "No", "Present")

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        def speech(seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
            return TurnSpec(slot=0, agent=seat.id, task="Speak.", sees=sees, options=view.options)

        def ballot(counts: str) -> Callable[[Seat, tuple[Visible, ...]], TurnSpec]:
            options = view.options or self.vote_options
            facts = {"slot": 0, "task": "Divide.", "answer": "ballot", "options": options, "counts": counts}
            return lambda seat, sees: TurnSpec.model_validate({**facts, "agent": seat.id, "sees": sees})

        return (
            *parallel(view, ballot("inform"), sees=nothing, name=FIRST_VOTE_STAGE),
            *parallel(view, speech, sees=nothing),
            *parallel(view, ballot("decide"), sees=everything, name="division"),
        )


class SenateMode(BaseModeStrategy):
    """Shows the papers of all agents under numbers."""

    name = "senate"

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        def paper(seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
            return TurnSpec(slot=0, agent=seat.id, task="Write a paper.", sees=sees, options=view.options)

        return parallel(view, paper, sees=nothing)

    def report_aliases(self, config: DebateConfig, agents: Sequence[str]) -> Mapping[str, str]:
        return {f"[Paper {number}]": agent for number, agent in enumerate(agents, 1)} | {"the crowd": "nobody"}


class BrokenMode(SenateMode):
    """Fails to say who is who."""

    name = "broken"

    def report_aliases(self, config: DebateConfig, agents: Sequence[str]) -> Mapping[str, str]:
        raise ValueError("no list of names")


class Bare:
    """Has only what every mode must have."""

    name, needs_groupthink_detection, rounds, assigns_stances = "bare", True, range(1, 3), False

    def next_stage(self, view: DebateContext) -> Plan:
        return EndRound()

    def build_agent_prompt(self, context: DebateContext) -> str:
        return ""


def tally(ballots: Any, _: Any) -> Outcome:
    return find_rule("plurality")[0].count(ballots, _)


class Parliament:
    """A plugin with these modes and two rules."""

    @hookimpl
    def roundtable_register_modes(self, registrar: ModeRegistrar) -> None:
        for mode in (ChamberMode(), SenateMode(), BrokenMode()):
            registrar.add(mode.name, mode)

    @hookimpl
    def roundtable_register_rules(self, registrar: RuleRegistrar) -> None:
        registrar.add("tally", Rule("tally", tally, parameters={"least": 1}, score_meaning=VOTES))
        registrar.add("worth", Rule("worth", tally, score_meaning=ScoreMeaning("its worth")))


def reply(request: ChatRequest) -> dict[str, Any]:
    """Vote as the agent does before and after the speeches; papers name other papers."""
    who = request.metadata["agent"]
    asked = "\n".join(f"{message.content}" for message in request.messages)
    if '"choice": the option you vote for' in asked:
        sides = ("Aye", "No") if "Aye" in asked else ("For", "Against")
        return {"choice": sides[1] if who == "ada" and "answer of" in asked else sides[0], "reasoning": "So."}
    said = "For" if who == "cy" else "Against"
    text = f"{said}. [Paper 2] is right, Answer 1 is not, nor [Paper 12], nor is the crowd."
    rank = {"ranking": re.findall(r"answer of (Answer \d)\)", asked)} if '"ranking"' in asked else {}
    return {"position": text, "bottom_line": said, "reasoning": "As [Paper 1] says.", "confidence": 0.75, **rank}


def table_of(*plugins: object, storage: Any = "memory://", **options: Any) -> Roundtable:
    agents = [
        BaseAgent(AgentConfig(id=one, name=one.title(), provider="scripted", model="x"), ScriptedModel(reply))
        for one in NAMES
    ]
    chosen = {"plugins": Plugins.of(*plugins), "analyzer": "declared", "observers": []}
    return Roundtable(agents, storage=storage, **{**chosen, **options})


def in_a_line(text: str) -> str:
    """Return a report without line breaks, and without the marks that Markdown adds."""
    return " ".join(text.replace("\\", "").split())


def masked(result: DebateResult, name: str) -> str:
    audit = result.audit().to_text()
    text = f"{result.to_text()}{result.to_markdown()}{result.to_html()}{audit}{result.to_csv()}"
    text = text.replace(result.session_id, "SESSION").replace(name, "MODE")
    return re.sub(r"20\d\d-\d\d-\d\d.\d\d:\d\d[:.\d+]*|[0-9a-f]{64}|,[\d.e-]+,", "VARIES", text)


class TestBuiltInUnderAnotherName:
    @pytest.mark.parametrize(("kind", "name"), [(OxfordMode, "cambry"), (CouncilMode, "quorums")])
    async def test_a_built_in_mode_under_another_name_gets_the_same_reports_and_audits(
        self, kind: type[BaseModeStrategy], name: str
    ) -> None:
        twin: Any = type("Twin", (kind,), {"name": name})()
        built_in = await table_of().debate("Tea?", mode=kind.name, rounds=1)
        other = await table_of().debate("Tea?", mode=twin, rounds=1)
        assert masked(other, name) == masked(built_in, kind.name)
        shown: Mapping[Any, str] = {OxfordMode: "Swing: Against +1, For -1", CouncilMode: "Answer 1 ("}
        assert shown[kind] in other.to_text()


class TestModeOfAPlugin:
    async def test_votes_before_and_after_the_debate_give_a_swing_and_movement(self) -> None:
        result = await table_of(Parliament()).debate("Tea?", mode="chamber", rounds=1)
        text = in_a_line(result.to_text())
        assert "Swing: Aye -1, No +1 (first vote: Aye 3, No 0; last vote: Aye 2, No 1)" in text
        assert "Ada changed from Aye to No" in text
        assert result.health is not None
        assert (result.health.compared_by, result.health.flip_rate) == ("vote", pytest.approx(1 / 3))
        assert result.opinion_flow() is None

    async def test_options_without_a_vote_are_in_decision_audit_and_recount(self) -> None:
        async with table_of(Parliament(), concurrency=1) as table:
            results = await table.debate_many(["Tea?"], modes=["chamber"], rounds=1)
        (result,) = results
        scores = {"Aye": 2.0, "No": 1.0, "Present": 0.0}
        assert result.decision is not None
        assert result.decision.scores == scores
        assert result.audit().switches_tried == len(NAMES) * 2
        again = results.redecide("majority")[0]
        assert again.decision is not None
        assert again.decision.scores == scores
        assert again.audit().switches_tried == len(NAMES) * 2

    async def test_options_of_the_debate_win_over_those_of_the_mode(self) -> None:
        asked = {"mode": "chamber", "rounds": 1, "options": ["Aye", "No"]}
        result = await table_of(Parliament()).debate("Tea?", **asked)
        assert result.decision is not None
        assert result.decision.scores == {"Aye": 2.0, "No": 1.0}

    async def test_reports_name_the_agents_behind_the_aliases_of_a_mode(self) -> None:
        async with table_of(Parliament()) as table:
            result = await table.debate("Tea?", mode="senate", rounds=1)
            exported = [await table.export(result.session_id, kind) for kind in ("markdown", "html")]
            stored = await table.session(result.session_id)
            fold = await table.state(result.session_id)
            built = DebateResult.from_record(
                fold.to_record(), mode=table.mode_of(fold.record), rules=table.catalog.rules
            )
        again = DebateResult.model_validate(dict(result))  # the fields alone, as from JSON
        assert (again, again.declared.aliases) == (result, {})
        copies = (stored, built, pickle.loads(pickle.dumps(result)), result.model_copy())
        for text in (result.to_text(), *exported, *(copy.to_text() for copy in copies)):
            assert "[Paper 2] (Bo) is right" in in_a_line(text)
            assert "[Paper 1] (Ada) says" in in_a_line(text)
            assert "[Paper 12] (" not in in_a_line(text)
            assert "the crowd (" not in text

    async def test_reports_of_an_unregistered_mode_object_name_the_agents_too(self) -> None:
        async with table_of() as table:
            result = await table.debate("Tea?", mode=with_baseline(SenateMode()), rounds=1)
            shown = [result.to_text(), (await table.session(result.session_id)).to_text()]
            shown.append(in_a_line(await table.export(result.session_id)))
        assert all("[Paper 2] (Bo) is right" in text for text in shown)

    async def test_a_page_of_a_server_names_the_agents_too(self) -> None:
        table = served_table(plugins=Plugins.of(Parliament()), agents=table_of().given_agents)
        async with visiting(table=table) as ann, table.for_tenant("ann") as own:
            result = await own.debate("Tea?", mode="senate", rounds=1)
            await ann.log_in()
            await ann.get(f"/sessions/{result.session_id}")
            assert "[Paper 2] (Bo) is right" in ann.page

    async def test_a_mode_that_fails_to_name_its_agents_has_a_report_without_names(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        result = await table_of(Parliament()).debate("Tea?", mode="broken", rounds=1)
        assert "[Paper 2] is right" in result.to_text()
        assert "report_aliases of the mode 'broken' failed: no list of names" in caplog.text

    def test_a_mode_without_report_members_declares_nothing(self) -> None:
        config, bare = DebateConfig(topic="Tea?", mode="bare", agents=("ada",)), Bare()
        assert declarations_of(config, ["ada"], None, mode=bare) == Declarations()
        assert with_baseline(bare).vote_options == ()

    def test_wrappers_declare_what_their_mode_declares(self) -> None:
        config = DebateConfig(topic="Tea?", mode="senate", agents=("ada",))
        wrapped = with_judge(with_baseline(ChamberMode()), ["j"])
        assert wrapped.vote_options == ("Aye", "No", "Present")
        assert with_baseline(SenateMode()).report_aliases(config, ["ada"])["[Paper 1]"] == "ada"
        assert wrapped.report_aliases(config, ["ada"]) == {}
        assert "vote_options" not in vars(wrapped)  # settings of a mode object are stored, and do not contain it


class TestRuleOfAPlugin:
    async def test_reports_say_what_the_scores_of_a_rule_are(self) -> None:
        async with table_of(Parliament(), concurrency=1) as table:
            results = await table.debate_many(["Tea?"], rounds=1, decide="tally(least=1)")
        counted = results[0].to_html()
        assert "The number of each option shows its votes; its bar shows their share." in counted
        other = results.redecide("worth")[0].to_html()
        assert "The number of each option shows its worth." in other
        own = Rule("own", tally, score_meaning=ScoreMeaning("its weight"))
        assert "The number of each option shows its weight." in results.redecide(own)[0].to_html()

    async def test_only_rules_that_count_votes_report_the_share_of_readable_votes(self) -> None:
        says = {"ada": "For", "bo": "..."}
        agents = [
            BaseAgent(AgentConfig(id=one, name=one.title(), provider="scripted", model="x"), ScriptedModel({one: said}))
            for one, said in ((who, {"position": text, "reasoning": "."}) for who, text in says.items())
        ]
        for rule in ("tally", "plurality", "worth"):
            table = Roundtable(agents, storage="memory://", plugins=Plugins.of(Parliament()), observers=[])
            result = await table.debate("Tea?", rounds=1, decide=rule, options=["For", "Against"])
            assert result.decision is not None
            assert result.decision.withheld == "For"
            assert ("For, with 1 of 2 votes, is not the answer" in in_a_line(result.to_text())) is (rule != "worth")

    def test_a_text_as_the_meaning_of_scores_is_refused(self) -> None:
        meaning: Any = "its votes"
        with pytest.raises(ConfigurationError, match=r"the rule 'own' has score_meaning='its votes'"):
            Rule("own", tally, score_meaning=meaning)

    def test_a_score_is_a_share_of_what_its_rule_declares(self) -> None:
        scores = {"a": 2.0, "b": -1.0, "c": 6.0}
        assert ScoreMeaning("points", share_of="scores").share(2, scores, cast=9) == pytest.approx(0.25)
        assert ScoreMeaning("approvals", share_of="ballots").share(2, scores, cast=8) == pytest.approx(0.25)
        assert ScoreMeaning("chance", share_of="one").share(0.25, scores, cast=8) == pytest.approx(0.25)
        assert ScoreMeaning("chance", share_of="one").share(6, scores, cast=8) == 1.0
        assert ScoreMeaning("votes", share_of="ballots").share(0, {}, cast=0) is None
        assert ScoreMeaning().share(2, scores, cast=8) is None

    def test_scores_of_an_unknown_rule_or_of_another_one_are_scores_by_that_rule(self) -> None:
        decision = decide(["Tea", "Tea", "Milk"], rule="borda")
        assert score_meaning_of(decision, "borda").words == "its points"
        assert score_meaning_of(decision, "approval").words == "its points"
        unknown = decision.model_copy(update={"rule": "gone"})
        assert score_meaning_of(unknown, "plurality") == score_meaning_of(None, "plurality") == ScoreMeaning()


class TestNotInstalled:
    @pytest.mark.parametrize("name", ["chamber", "senate"])
    async def test_a_stored_session_is_shown_with_what_it_stores(self, name: str) -> None:
        storage = MemoryStorage()
        async with table_of(Parliament(), storage=storage) as table:
            held = await table.debate("Tea?", mode=name, rounds=1, decide="tally")
        async with table_of(storage=storage) as table:
            result = await table.session(held.session_id)
            page = await table.export(held.session_id, "html")
        assert result.declared == Declarations()
        assert result == held
        assert "[Paper 2] (" not in result.to_text()
        assert "The number of each option shows its score by this rule." in page
        assert ("Swing: Aye -1, No +1" in page) is (name == "chamber")  # turns show it without the mode

    async def test_an_oxford_mode_under_another_name_keeps_its_two_sides(self) -> None:
        storage = MemoryStorage()
        twin = type("Twin", (OxfordMode,), {"name": "cambry"})()
        async with table_of(storage=storage) as table:
            held = await table.debate("Tea?", mode=twin, rounds=1)
        async with table_of(storage=storage) as table:
            result = await table.session(held.session_id)
        assert result.declared.vote_options == ()
        assert result.audit() == held.audit()
        last = result.rounds[-1]
        assert decide_record(last, last.consensus, result.config) == last.decision

    async def test_a_result_from_json_knows_built_in_modes_and_rules(self) -> None:
        held = await table_of(Parliament()).debate("Tea?", mode="senate", rounds=1, decide="tally")
        assert DebateResult.from_json(held.to_json()).declared == Declarations()
        built_in = await table_of().debate("Tea?", mode="council", rounds=1)
        again = DebateResult.from_json(built_in.to_json())
        assert again.declared == built_in.declared
        assert (again.to_text(), again.declared.score) == (built_in.to_text(), VOTES)

    async def test_the_plugin_of_a_stored_session_is_loaded_to_show_it(self, site: Site) -> None:
        code = """
            from integration.test_declared_reports import Parliament, hookimpl

            @hookimpl
            def roundtable_register_modes(registrar):
                Parliament().roundtable_register_modes(registrar)
            """
        site.install("roundtable-senate", code)
        storage = MemoryStorage()
        async with table_of(storage=storage, plugins=None) as table:
            held = await table.debate("Tea?", mode="senate", rounds=1)
        async with table_of(storage=storage, plugins=None) as table:
            assert (await table.session(held.session_id)).declared == held.declared
        async with table_of(storage=storage, plugins=Plugins.none()) as table:
            assert (await table.session(held.session_id)).declared.aliases == {}
