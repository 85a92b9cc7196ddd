"""Look before you pay: the worst case of a debate, a budget for it, and what it took.

Runs without a key: three scripted agents with a made-up price. Put your own models in `AGENTS`, and leave `prices` out
where the extra `prices` knows them.
"""

import roundtable as rt
from roundtable.sync import Roundtable
from roundtable.testing import scripted_agents

TOPIC = "Should a five-person startup adopt microservices?"
AGENTS = scripted_agents({"ada": "Not yet", "bo": "Not yet", "cy": "Yes"})
PRICES = {"scripted:*": {"input": 1.25, "output": 10}}


def main() -> None:
    """Estimate, debate within a budget that is too small, then go on with a larger one."""
    with Roundtable(AGENTS, storage="memory://", prices=PRICES) as table:
        worst = table.estimate(TOPIC, rounds=2)
        print(f"at most {worst.calls} calls, {worst.total_tokens:,} tokens, {worst.cost_usd:.4f} USD")

        result = table.debate(TOPIC, rounds=2, budget=rt.Budget(max_calls=4))
        print(f"{result.status}: {result.exit.details if result.exit else ''}")

        result = table.resume(result.session_id, budget=rt.Budget(max_cost_usd=worst.cost_usd))
        print(f"{result.status}: {result.usage.calls} calls, {result.usage.cost_usd:.6f} USD; {result.answer}")
        for entry in result.roster.agents:
            print(f"  {entry.agent_name}: {entry.usage.total_tokens} tokens, {entry.usage.cost_usd:.6f} USD")


if __name__ == "__main__":
    main()
