"""Expert panel: each agent answers from its own perspective."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, ClassVar, Final

from pydantic.alias_generators import to_camel

from roundtable.core.mode.base import NO_TOOLS, BaseModeStrategy
from roundtable.core.mode.shapes import Step, flag, nothing, parallel
from roundtable.core.types.agents import GeneratedPerspective, Persona
from roundtable.core.types.answers import TextAnswer
from roundtable.core.types.debate import Seat
from roundtable.core.types.plan import Note
from roundtable.parsing.json_in_text import find_document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roundtable.core.prompts.layers import PromptLibrary
    from roundtable.core.types.base import JsonValue
    from roundtable.core.types.debate import AnyPerspective, DebateConfig, DebateContext
    from roundtable.core.types.plan import TurnSpec, Visible

__all__ = [
    "DEFAULT_PERSPECTIVES",
    "ExpertPanelMode",
    "fit_perspectives",
    "parse_perspectives",
    "perspective_notes",
    "with_facilitator",
]

DEFAULT_PERSPECTIVES: Final = (
    GeneratedPerspective(
        name="Technical",
        description="Whether it can be built, run and kept running.",
        focus_areas=("feasibility", "complexity over time", "dependence on tools and suppliers"),
        evidence_types=("measurements", "reports from those who operate such systems", "standards"),
        key_questions=("What breaks first?", "What does it take to keep it running?"),
        anti_patterns=("counting features instead of failures", "taking a demonstration for a proof"),
    ),
    GeneratedPerspective(
        name="Economic",
        description="What it costs, what it brings, and who pays.",
        focus_areas=("cost over the whole life", "incentives", "what else the money could do"),
        evidence_types=("accounts and prices", "comparable cases", "studies with a control group"),
        key_questions=("Who gains and who pays?", "What is the cost of being wrong?"),
        anti_patterns=("leaving out running costs", "treating a forecast as a result"),
    ),
    GeneratedPerspective(
        name="Ethical",
        description="What is owed to those it touches.",
        focus_areas=("harm and consent", "fairness", "who can object"),
        evidence_types=("rights and duties that apply", "accounts of those affected", "earlier cases and their harm"),
        key_questions=("Who bears a risk without a say?", "Would it be acceptable in public?"),
        anti_patterns=("hiding a value behind a number", "excusing harm by intent"),
    ),
    GeneratedPerspective(
        name="Social",
        description="How people will live and work with it.",
        focus_areas=("habits and trust", "groups that gain or lose", "effects that come late"),
        evidence_types=("surveys and field studies", "history of similar changes", "what people do, not say"),
        key_questions=("Who will refuse, and why?", "What changes when everybody does it?"),
        anti_patterns=("taking one group for everybody", "assuming that people do as planned"),
    ),
)
"""Perspectives for debates that define none."""

_TITLE_OF_LIST: Final = {
    "focus_areas": "Focus areas",
    "evidence_types": "Evidence that counts",
    "key_questions": "Key questions",
    "anti_patterns": "To be avoided",
}

_FACILITATOR_STAGE = "facilitator"


def parse_perspectives(text: str, count: int) -> tuple[GeneratedPerspective, ...]:
    """Parse the perspectives that a facilitator wrote; this never raises an error.

    Args:
        text: The facilitator's text, with a JSON array of perspectives in it.
        count: Number of perspectives that are needed. Extra perspectives are dropped; missing ones come from the
            defaults.

    Example:
        >>> [perspective.name for perspective in parse_perspectives('Here: [{"name": "Legal"}, "Medical"]', 3)]
        ['Legal', 'Medical', 'Technical']
    """
    start, end = text.find("["), text.rfind("]")
    array = text[start : end + 1] if 0 <= start < end else "[]"
    document = find_document(f'{{"perspectives": {array}}}', lambda fields: "perspectives" in fields)
    items = document.fields.get("perspectives") if document else None
    perspectives = [
        _parse_perspective(item, number)
        for number, item in enumerate(items if isinstance(items, list) else [], start=1)
    ]
    return fit_perspectives(perspectives, count)


def fit_perspectives(given: Sequence[GeneratedPerspective], count: int) -> tuple[GeneratedPerspective, ...]:
    """Cut a list of perspectives to a length, or fill it with default perspectives, which are repeated if necessary."""
    names = {perspective.name.casefold() for perspective in given}
    unused = [default for default in DEFAULT_PERSPECTIVES if default.name.casefold() not in names]
    spare = unused or DEFAULT_PERSPECTIVES
    filled = list(given[:count])
    while len(filled) < count:
        filled.append(spare[(len(filled) - len(given)) % len(spare)])
    return tuple(filled)


def _parse_perspective(item: JsonValue, number: int) -> GeneratedPerspective:
    if not isinstance(item, dict):
        return GeneratedPerspective(name=_text_of(item) or f"Perspective {number}")
    lists = {field: _texts_of(item.get(to_camel(field), item.get(field))) for field in _TITLE_OF_LIST}
    name = _text_of(item.get("name")) or f"Perspective {number}"
    return GeneratedPerspective(name=name, description=_text_of(item.get("description")) or None, **lists)


def _text_of(value: JsonValue) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _texts_of(value: JsonValue) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(text for item in items if (text := _text_of(item)))


def perspective_notes(perspectives: Sequence[AnyPerspective], index: int) -> tuple[Note, ...]:
    """Create the notes with which a seat learns its own perspective and those of the other seats.

    Args:
        perspectives: The perspectives, at least one; they are assigned to seats in turn (round-robin).
        index: Index of the seat, from 0.
    """
    own = perspectives[index % len(perspectives)]
    lines = [own.name, *([own.description] if own.description else [])]
    lines += [
        f"{title}: {'; '.join(items)}" for name, title in _TITLE_OF_LIST.items() if (items := getattr(own, name, ()))
    ]
    brief = f"{own.name}. {own.description}" if own.description else own.name
    notes = [Note(label="your perspective", text="\n".join(lines), brief=brief)]
    others = [perspective.name for perspective in perspectives if perspective is not own]
    if others:
        brief = ", ".join(others)
        notes.append(Note(label="perspectives of the other experts", text="\n".join(others), brief=brief))
    return tuple(notes)


class ExpertPanelMode(BaseModeStrategy):
    """Agents answer in parallel, each from its own perspective; perspectives are assigned to seats in turn.

    The perspectives are those of the debate. If it defines none, they are technical, economic, ethical and social. With
    `facilitated=True`, an agent writes one for each seat before the panel begins: the first agent, or the agent named
    by `facilitator`. If it writes too few, the four defaults fill the rest. Its text is stored like any other answer.

    Args:
        facilitated: Whether perspectives are written for the question if the caller gave none.
        facilitator: Id of the agent that writes the perspectives; if omitted, the first agent.
        prompts: Source of the instructions.
    """

    name: str = "expert-panel"
    summary: str = "All at once, each from its own perspective."
    use_when: str = "The question has several sides that need different knowledge."
    personas: tuple[Persona | None, ...] = (
        Persona(name="Domain Expert", description="You know the field and its evidence from inside."),
        Persona(name="Generalist", description="You connect the field with what lies around it."),
        Persona(name="Skeptic", description="You look for what could go wrong and who would pay for it."),
        Persona(name="Innovator", description="You look for a way nobody has tried."),
    )
    takes_perspectives: bool = True
    role: str = "expert"
    options: ClassVar[Mapping[str, Callable[[str], object]]] = {"facilitated": flag}

    def __init__(
        self, *, facilitated: bool = False, facilitator: str | None = None, prompts: PromptLibrary | None = None
    ) -> None:
        super().__init__(prompts=prompts)
        self.facilitated = facilitated
        self.facilitator = facilitator

    def needs_facilitator(self, config: DebateConfig) -> bool:
        """Whether somebody outside the panel writes the perspectives."""
        return self.facilitated and not config.perspectives

    def with_facilitator(self, facilitator: str | None) -> ExpertPanelMode:
        """Return a copy of this panel in which a facilitator writes the perspectives."""
        facilitated_mode = copy.copy(self)
        facilitated_mode.facilitated, facilitated_mode.facilitator = True, facilitator
        return facilitated_mode

    def perspectives(self, view: DebateContext) -> tuple[AnyPerspective, ...]:
        """Return the perspectives of a debate: the caller's, else the facilitator's, else the defaults."""
        if view.perspectives:
            return view.perspectives
        for turn in view.transcript:
            if turn.stage == _FACILITATOR_STAGE and turn.outcome == "answered" and isinstance(turn.answer, TextAnswer):
                return parse_perspectives(turn.answer.text, len(view.agents))
        return DEFAULT_PERSPECTIVES

    def steps(self, view: DebateContext) -> tuple[Step, ...]:
        """Plan the facilitator's turn if the mode has a facilitator, then an answer of every expert."""
        seats: tuple[Seat, ...] = ()
        if self.facilitated and not view.perspectives and view.current_round == 1:
            outside = self.facilitator
            seats = view.agents[:1] if outside is None else (Seat(id=outside, name="Facilitator"),)
        facilitation = parallel(
            view, lambda seat, _: self._facilitate(view, seat), seats=seats, sees=nothing, name=_FACILITATOR_STAGE
        )
        return facilitation + parallel(view, lambda seat, sees: self._judge(view, seat, sees))

    def _facilitate(self, view: DebateContext, seat: Seat) -> TurnSpec:
        number = Note(label="number of perspectives", text=str(len(view.agents)))
        facts = {"role": "facilitator", "answer": "text", "opening": True, "tools": NO_TOOLS}
        return self.ask(view, seat, (), notes=(number,), **facts)

    def _judge(self, view: DebateContext, seat: Seat, sees: tuple[Visible, ...]) -> TurnSpec:
        perspectives = self.perspectives(view)
        index = [agent.id for agent in view.agents].index(seat.id)
        detailed = any(
            isinstance(perspective, GeneratedPerspective) and perspective.focus_areas for perspective in perspectives
        )
        role = "specialist" if detailed else "expert"
        return self.ask(view, seat, sees, role=role, notes=perspective_notes(perspectives, index), opening=not sees)


def with_facilitator(mode: ExpertPanelMode, facilitator: str | None = None) -> ExpertPanelMode:
    """Return a copy of a panel in which a facilitator writes perspectives for the question.

    Args:
        mode: The panel.
        facilitator: Id of an agent that takes no part in the debate; if omitted, the first agent is the facilitator.
    """
    return mode.with_facilitator(facilitator)
