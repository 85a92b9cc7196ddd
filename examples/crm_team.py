"""A team of agents with tools over a small CRM finds out whom to call.

python crm_team.py                                     no key: the agents are scripted, their tools are real
python crm_team.py --model anthropic:claude-sonnet-4-5
python crm_team.py --model local                       the embedded model, which calls no tools
"""

from __future__ import annotations

import argparse
from pathlib import Path

from crm.script import reply
from crm.tools import TOOLS

from roundtable import sync
from roundtable.testing import ScriptedModel

REQUEST = (
    "I need to analyze our customer database to find high-value prospects in the healthcare industry "
    "who haven't been contacted in the last 6 months."
)


def main() -> None:
    """Ask the team, and print what it does and answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="provider:model for all agents; scripted when left out")
    parser.add_argument("--agents", default="data-steward,prospect-finder")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    models = [given.model or ScriptedModel(reply)]
    profiles = Path(__file__).with_name("crm") / "profiles.toml"
    with sync.Roundtable(models, tools=TOOLS, profiles=[profiles], storage="memory://") as table:
        asked = {"agents": given.agents.split(","), "messages": REQUEST, "rounds": given.rounds}
        with table.stream_conversation(**asked) as events:
            for event in events:
                if event.type == "initiator_complete":
                    print(f"goal: {event.goal}")
                elif event.type == "agent_tool_call":
                    print(f"{event.agent} calls {event.tool_call.name}")
                elif event.type == "agent_complete":
                    print(f"{event.agent}: {event.response}")
                elif event.type == "agent_error":
                    print(f"{event.agent} failed: {event.error}")
        print(f"\n{events.result.answer}")


if __name__ == "__main__":
    main()
