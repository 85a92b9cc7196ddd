"""Debates in which agents move from one answer to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roundtable import DebateResult, sync
from roundtable.testing import scripted_agents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CITIES = {
    "ada": ["Lisbon", "Lisbon", "Lisbon"],
    "bo": ["Porto", "Lisbon", "Lisbon"],
    "cy": ["Faro", "Faro", "The capital"],
    "dee": ["I don't know", "Porto", "Porto"],
}
SEEN: dict[tuple[str, int], dict[str, str]] = {
    ("bo", 1): {"Ada": "same", "you": "different"},
    ("cy", 2): {"Ada": "same", "you": "different"},
}


def debated(
    lines: Mapping[str, Sequence[str]], *, seen: Mapping[tuple[str, int], dict[str, str]] = SEEN, **more: Any
) -> DebateResult:
    """Hold a debate in which each agent gives one answer after the other, and compares some with those it sees."""
    options = more.get("options")
    scripts = {
        name: [
            {
                "position": f"Well, {line}",
                "bottomLine": line,
                "confidence": 0.5,
                **({"choice": line} if options else {}),
                **({"compared": seen[name, number]} if (name, number) in seen else {}),
            }
            for number, line in enumerate(said)
        ]
        for name, said in lines.items()
    }
    with sync.Roundtable(scripted_agents(scripts), storage="memory://", analyzer="declared") as table:
        return table.debate("Where to?", **{"rounds": len(next(iter(lines.values()))), **more})
