"""What the agents of the example say where no model is asked: they report what their tools really gave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roundtable.providers.scripted import Reply
    from roundtable.types import ChatRequest

GOAL = {
    "goal": "List high-value healthcare prospects that nobody has contacted in the last 6 months.",
    "strategy": "The data steward counts accounts, the prospect finder ranks them, the contract reader checks them.",
    "successCriteria": ["Every prospect has its last contact", "Prospects are ranked", "There are next steps"],
}
QUERY = (
    "SELECT Id, Name, LastContactDate FROM Account "
    "WHERE Industry = 'Healthcare' AND LastContactDate < '2023-07-15' ORDER BY LastContactDate"
)
CALLS: dict[str, dict[str, Any]] = {
    "data-steward": {"name": "getSFDCData", "args": {"query": QUERY}},
    "prospect-finder": {"name": "scoreProspects", "args": {"industry": "Healthcare"}},
    "contract-reader": {"name": "readContracts", "args": {"account_ids": ["001HC", "005HC"]}},
}


def reply(request: ChatRequest) -> Reply:
    """Return what an agent says: a tool call first, then a report of what the tool gave."""
    agent = request.metadata["agent"]
    if agent == "initiator":
        return GOAL
    if agent == "summarizer":
        return _summary(request.messages[-1].content)
    given = [message.content for message in request.messages if message.role == "tool"]
    return _report(agent, _data(given[-1])) if given else {"toolCalls": [CALLS[agent]]}


def _data(quoted: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(quoted[quoted.index("{") : quoted.rindex("}") + 1])["data"]
    return found


def _report(agent: str, data: dict[str, Any]) -> str:
    if agent == "data-steward":
        names = "; ".join(f"{row['Name']} ({row['Id']}), last contact {row['LastContactDate']}" for row in data["rows"])
        return f"FINDINGS: {data['count']} healthcare accounts without contact for 6 months: {names}."
    if agent == "prospect-finder":
        ranked = "; ".join(f"{place}. {one['Name']} ({one['score']})" for place, one in enumerate(data["prospects"], 1))
        return f"RANKED: {ranked}."
    told = "; ".join(f"{one['Id']} of {one['AccountId']} ends {one['EndDate']}" for one in data["contracts"])
    return f"CONTRACTS: {told}."


def _summary(prompt: str) -> str:
    ranked = prompt[prompt.rindex("RANKED: ") + 8 :].splitlines()[0] if "RANKED: " in prompt else "nobody was ranked"
    return f"Call in this order: {ranked} Next step: book a meeting with the first two this week."
