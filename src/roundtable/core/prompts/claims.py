"""Functions that request claims, show earlier claims under labels, and look up the labels that an agent names."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from roundtable.core.types.answers import MOST_CLAIMS, Claim, ClaimEvidence, TurnKey
from roundtable.core.types.plan import BASELINE_STAGE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from roundtable.core.types.answers import AgentResponse
    from roundtable.core.types.base import JsonObject, JsonValue
    from roundtable.core.types.debate import DebateContext
    from roundtable.parsing.claims import ParsedClaim

__all__ = [
    "COMPACT_CLAIMS",
    "asks_claims",
    "claim_id",
    "claim_lines",
    "claims_field",
    "claims_schema",
    "compact_claims_schema",
    "is_claim_id",
    "label_claims",
]

COMPACT_CLAIMS: Final = 'Also write "claims": one to three short sentences, each a reason.'
"""Text that asks a tiny model for claims; it does not mention earlier claims."""
_MOST_COMPACT: Final = 3
_MOST_ENUM: Final = 100
"""Maximum number of labels that a schema lists. If there are more, the schema allows any text, because providers limit
such lists."""
_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
_LABEL: Final = re.compile(rf"\bR\d{{1,4}}-[{_LETTERS}]{{4}}-[1-{MOST_CLAIMS}]\b")
_FIELD: Final = (
    f'"claims": your main reasons again, at most {MOST_CLAIMS}, each an object with "text": one short sentence; '
    '"evidence": the web pages it rests on, each with "url" and "quote": words copied exactly from that page, or null; '
    "[] without pages"
)
_EARLIER: Final = (
    '; "supports" and "attacks": labels of earlier claims, such as R1-KTBM-2, that it backs up or disputes, [] for '
    "none. Attack the claims you disagree with. Support your own earlier claims to keep them, attack one to give it up"
)


def asks_claims(context: DebateContext) -> bool:
    """Check whether a turn requests claims: every turn for a position does, except private answers before a debate."""
    kind = context.turn.answer if context.turn else "position"
    return context.claims and kind == "position" and context.stage != BASELINE_STAGE and context.team is None


def claim_id(topic: str, seed: int, turn: TurnKey, number: int) -> str:
    """Return the label of a claim. It is the same for all readers, and the same if the debate is run again.

    The letters of the label identify the answer. They are derived from the question, the seed and the turn, so that the
    label reveals no more about the author of the claim than the prompt does.

    Args:
        topic: The question.
        seed: Seed of the debate.
        turn: Turn that gave the claim.
        number: Number of the claim in the answer, from 1.

    Example:
        >>> claim_id("Tea or coffee?", 0, TurnKey(1, "positions", 0), 2)
        'R1-TZHL-2'
    """
    drawn = sha256(f"{seed}\0{topic}\0{turn.round}\0{turn.stage}\0{turn.slot}".encode("utf-8", "replace")).digest()
    remainder = int.from_bytes(drawn[:8], "big")
    letters = ""
    for _ in range(4):
        remainder, index = divmod(remainder, len(_LETTERS))
        letters += _LETTERS[index]
    return f"R{turn.round}-{letters}-{number}"


def is_claim_id(text: str) -> bool:
    """Check whether a text has the form of a label.

    Example:
        >>> is_claim_id("R1-KTBM-2"), is_claim_id("Ada's second claim")
        (True, False)
    """
    return _LABEL.fullmatch(text) is not None


def claims_field(shown: Collection[str]) -> str:
    """Return the description of the field for a full prompt; it mentions earlier claims only if the prompt shows some.

    Args:
        shown: Labels of the earlier claims in the prompt.
    """
    return f"{_FIELD}{_EARLIER}" if shown else _FIELD


def claims_schema(shown: Collection[str]) -> JsonObject:
    """Return the JSON Schema of the claims; it allows only labels that the prompt shows.

    Args:
        shown: Labels of the earlier claims in the prompt.
    """
    string: JsonObject = {"type": "string"}
    source: dict[str, JsonValue] = {"url": string, "quote": {"anyOf": [string, {"type": "null"}]}}
    properties: dict[str, JsonValue] = {"text": string}
    if shown:
        label: JsonObject = {"type": "string", "enum": [*shown]} if len(shown) <= _MOST_ENUM else string
        properties |= {name: {"type": "array", "items": label} for name in ("supports", "attacks")}
    properties["evidence"] = {"type": "array", "items": _close_schema(source)}
    return {"type": "array", "items": _close_schema(properties), "maxItems": MOST_CLAIMS}


def compact_claims_schema(sentence: JsonObject) -> JsonObject:
    """Return the JSON Schema of the claims of a tiny model: one to three sentences.

    Args:
        sentence: Schema of a sentence.
    """
    return {"type": "array", "items": sentence, "minItems": 1, "maxItems": _MOST_COMPACT}


def _close_schema(properties: dict[str, JsonValue]) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def claim_lines(answer: AgentResponse) -> Iterator[str]:
    """Yield a line for each claim of an earlier answer, as other agents read it; the text is not fenced yet."""
    for claim in answer.claims:
        parts = [f"supports {', '.join(claim.supports)}"] if claim.supports else []
        parts += [f"attacks {', '.join(claim.attacks)}"] if claim.attacks else []
        urls = dict.fromkeys(source.url for source in claim.evidence)
        parts += [f"evidence: {', '.join(urls)}"] if urls else []
        details = f" ({'; '.join(parts)})" if parts else ""
        yield f"Claim {claim.id}: {claim.text}{details}"


def label_claims(
    parsed: Sequence[ParsedClaim], context: DebateContext, shown: Sequence[Claim]
) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """Return the claims of an answer under their labels, with a warning for each reference that cannot be counted.

    Args:
        parsed: The claims, as the model wrote them.
        context: The view of the turn.
        shown: The earlier claims that the prompt of the turn shows.
    """
    times = Counter(claim.id for claim in shown)
    twice = {label for label, number in times.items() if number > 1}
    turn = context.turn_key or TurnKey(context.current_round, context.stage, 0)
    claims: list[Claim] = []
    warnings: list[str] = []
    for number, claim in enumerate(parsed, 1):
        supports, unknown = _known_labels(claim.supports, times, twice)
        attacks, unknown_too = _known_labels(claim.attacks, times, twice)
        warnings += unknown + unknown_too
        both = set(supports) & set(attacks)
        warnings += [f"claim {number} both supports and attacks {label}; neither counts" for label in sorted(both)]
        claims.append(
            Claim(
                id=claim_id(context.topic, context.seed, turn, number),
                text=claim.text,
                supports=tuple(label for label in supports if label not in both),
                attacks=tuple(label for label in attacks if label not in both),
                evidence=tuple(ClaimEvidence(url=url, quote=quote) for url, quote in claim.evidence),
            )
        )
    return tuple(claims), tuple(dict.fromkeys(warnings))


def _known_labels(labels: Sequence[str], ids: Collection[str], twice: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the labels that belong to exactly one shown claim, and warnings about the other labels."""
    known: list[str] = []
    warnings: list[str] = []
    for text in labels:
        named = set(_LABEL.findall(text.upper()))
        label = named.pop() if len(named) == 1 else ""
        if label in twice:
            warnings.append(f"the label {label} stands for two claims and does not count")
        elif label not in ids:
            warnings.append(f"no claim was shown under the label {text[:80]!r}")
        elif label not in known:
            known.append(label)
    return known, warnings
