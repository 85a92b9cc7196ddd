"""The core holds a debate by itself: models, mode, meter and rule are of others, and the storage is an argument."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = '''
"""A debate on the core alone; any other package of the library cannot be imported."""

import json
import sys
from collections import Counter
from pathlib import Path

import anyio

from roundtable.storage import MemoryStorage, current_owner

PURE = ("core", "scoring", "reading", "parsing")


class OnlyTheCore:
    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, inside = name.partition(".")
        if package == "roundtable" and inside.partition(".")[0] not in PURE:
            raise ImportError(f"{name} is not part of the core")


of_the_storage = set(sys.modules)
sys.meta_path.insert(0, OnlyTheCore)

from roundtable.core.agent.template import AgentTemplate
from roundtable.core.base.clock import SystemClock
from roundtable.core.base.ledger import Ledger
from roundtable.core.engine.journal import Journal
from roundtable.core.engine.plan_limits import RunLimits, StepLimiter
from roundtable.core.engine.policy import DebatePolicy
from roundtable.core.engine.run import DebateRun
from roundtable.core.engine.spending import RunBudget
from roundtable.core.mode.base import BaseModeStrategy
from roundtable.core.mode.shapes import parallel
from roundtable.core.prompts.layers import PromptLibrary
from roundtable.core.record.fold import Fold
from roundtable.core.types.agents import AgentConfig, ModelProfile
from roundtable.core.types.chat import ChatResponse
from roundtable.core.types.consensus import ConsensusResult, Decision, Measured
from roundtable.core.types.debate import DebateConfig, SessionRecord


class Opinionated:
    provider = model = "own"
    profile = ModelProfile(streams=False)

    def __init__(self, opinion):
        self.opinion = opinion

    async def complete(self, request):
        return ChatResponse(text=json.dumps({"position": self.opinion, "reasoning": "I like it.", "confidence": 0.8}))


class Survey(BaseModeStrategy):
    name = "survey"

    def steps(self, view):
        return parallel(view, lambda seat, sees: self.ask(view, seat, sees))


class MostFrequent:
    async def measure(self, responses, topic, **_):
        most = Counter(response.position for response in responses).most_common(1)[0][1]
        return Measured(consensus=ConsensusResult(agreement_level=most / len(responses), method="most frequent"))


def decide(record, consensus, config, /, **_):
    answer, _count = Counter(response.position for response in record.responses).most_common(1)[0]
    return Decision(rule="most frequent", winners=(answer,), passed=True)


async def debate(topic, models, storage):
    configs = tuple(AgentConfig(id=name, name=name, provider="own") for name in models)
    agents = {config.id: AgentTemplate(config, models[config.id]) for config in configs}
    config = DebateConfig(topic=topic, mode="survey", agents=tuple(agents), rounds=2)
    record = SessionRecord(id="first", config=config, agents=configs)
    await storage.create(record)
    lease = await storage.lease(record.id, current_owner("core"), 60)
    journal = Journal(storage, Fold(record), lease, lambda event: None, SystemClock())
    with RunBudget(Ledger(), journal.fold, None) as funds:
        mode = Survey(prompts=PromptLibrary(Path()))
        policy = DebatePolicy(mode, MostFrequent(), None, decide)
        run = DebateRun(journal, mode, agents, policy=policy, limits=RunLimits(), funds=funds, pace=StepLimiter())
        await run.run()
    return journal.fold.to_record()


models = {"ada": Opinionated("Tea"), "bo": Opinionated("Tea"), "cy": Opinionated("Milk")}
record = anyio.run(debate, "Tea or milk?", models, MemoryStorage())
print(record.status, len(record.rounds), record.rounds[-1].decision.winner)
loaded = {name for name in set(sys.modules) - of_the_storage if name.startswith("roundtable.")}
print({name.split(".")[1] for name in loaded} - set(PURE))
'''


def test_a_debate_needs_no_part_of_the_library_but_the_core(tmp_path: Path) -> None:
    texts = (ROOT / "src/roundtable/modes/texts/collaborative.toml").read_text("utf-8")
    (tmp_path / "survey.toml").write_text(texts.replace("collaborative", "survey"), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("completed 2 Tea\nset()\n", "")
