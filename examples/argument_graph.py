"""Follow the arguments: claims, what they support and attack, and whether the cited pages say what is quoted.

Runs without a key: three scripted agents, and a page on this machine. Put your own models in `AGENTS`; they read the
labels of earlier claims in their prompts, and the pages that they cite are on the web.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from roundtable.prompts import claim_id
from roundtable.sync import Roundtable
from roundtable.testing import scripted_agents
from roundtable.testing.servers import LoopbackServer, http_reply
from roundtable.types import TurnKey

TOPIC = "Should the library open on Sundays?"
OPTIONS = ("Open", "Closed")
PAGE = b"<h1>Sunday survey</h1><p>In the survey, 62 % of visitors would come on a Sunday.</p>"


def label(slot: int, number: int) -> str:
    """Return the label of a claim of the first round; a model reads it in its prompt."""
    return claim_id(TOPIC, 0, TurnKey(1, "positions", slot), number)


def says(choice: str, *claims: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as a model writes it."""
    return {"position": choice, "choice": choice, "reasoning": "See the claims.", "confidence": 0.8, "claims": claims}


def agents(survey: str) -> list[Any]:
    """Create the agents; they cite a page at this address."""
    wish = {"url": survey, "quote": "62 % of visitors would come on a Sunday"}
    fear = {"url": survey, "quote": "staff would leave"}
    return scripted_agents(
        {
            "ada": [
                says("Open", {"text": "Most visitors want it.", "evidence": [wish]}, {"text": "Volunteers help."}),
                says("Open", {"text": "The survey is recent.", "supports": [label(0, 1)], "attacks": [label(1, 1)]}),
            ],
            "bo": [
                says("Closed", {"text": "Staff would leave.", "evidence": [fear]}, {"text": "Heating costs more."}),
                says("Open", {"text": "A survey of visitors convinces me.", "supports": [label(0, 1)]}),
            ],
            "cy": [
                says("Closed", {"text": "Nobody asked the staff.", "evidence": [wish]}),
                says("Closed", {"text": "Volunteers cannot lock up.", "attacks": [label(0, 2)]}),
            ],
        }
    )


def main() -> None:
    """Hold a debate with claims, read its graph, check its evidence, and export both."""
    page = http_reply(PAGE, headers={"content-type": "text/html"})
    with LoopbackServer(lambda _: page) as web, TemporaryDirectory() as folder:
        with Roundtable(agents(f"{web.origin}/survey"), storage="memory://") as table:
            print(next(note for note in table.estimate(TOPIC, claims=True).notes if "claims" in note))
            result = table.debate(TOPIC, options=OPTIONS, rounds=2, claims=True)

        graph = result.argument_graph()
        for edge in graph.edges:
            print(f"{edge.source} {edge.kind} {edge.target}")
        print("nobody answered:", [claim.text for claim in graph.unanswered])
        print("dropped without a reason:", [claim.text for claim in graph.dropped])
        print("cited by several:", [use.agents for use in graph.shared_evidence])
        print("moved:", [(move.agent_id, move.held_by, move.claims) for move in graph.moves])

        # Only the web may be opened; this page on this machine has to be allowed by name.
        checked = result.check_evidence_sync(allow=[web.origin.removeprefix("http://")])
        for check in checked.checks:
            print(f"{check.claim}: {check.status}: {check.quote}")

        Path(folder, "arguments.graphml").write_text(graph.to_graphml(), "utf-8")
        Path(folder, "result.html").write_text(result.to_html(evidence=checked), "utf-8")


if __name__ == "__main__":
    main()
