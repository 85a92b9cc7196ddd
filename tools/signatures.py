"""Write the signatures that list the options of a debate, from `roundtable.core.types.request`.

`DebateRequest` lists the options, with defaults and descriptions. Python callers give objects where a request holds
names, so `CALLER_TYPES` has the types of those options there; every other option has the type of its field.
"""

from __future__ import annotations

import ast
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from roundtable.core.types.base import field_docs
from roundtable.core.types.request import ConversationRequest, DebateRequest, ExtendRequest, ForkRequest, ResumeRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic.fields import FieldInfo

    from roundtable.types import Value

__all__ = ["files"]

SOURCE = Path("src/roundtable")
WIDTH = 120

CALLER_TYPES = {
    "mode": "ModeName | DebateModeStrategy",
    "agents": "Sequence[AgentLike] | None",
    "options": "Sequence[str] | None",
    "attachments": "Sequence[AttachmentLike]",
    "decide": "RuleName | Rule | None",
    "exit_when": "str | Exit | None",
    "perspectives": "Perspectives",
    "search": "SearchLike | None",
    "answer_schema": "Mapping[str, JsonValue] | type | None",
    "metadata": "Mapping[str, JsonValue] | None",
}
"""Options that Python callers may give as objects."""

CONVERSE_TYPES = {
    "rounds": "int",
    "order": "TeamOrder",
    "initiator": "AgentProfile | None",
    "summarizer": "AgentProfile | None",
    "timeout_s": "float | None",
    "budget": "Budget | None",
    "metadata": "Mapping[str, JsonValue] | None",
}
"""Options of a conversation for Python callers: those of the request, and two profiles that only they can pass."""

CALLER_DEFAULTS = {"metadata": "None"}

CALLER_DOCS = {
    "mode": "Debate mode: a mode object, or a name, with options after a colon, as in `expert-panel:facilitated=true`. "
    "A session with a mode object can be resumed on this table; on another table, a plugin must provide a mode of that "
    "name.",
    "agents": "Agents that debate instead of the table's agents: agents, models, configurations or names.",
    "options": "Options that the agents choose from, at least 2. When left out, the agents find their own positions.",
    "attachments": "Files that belong to the question, at most 20: PNG, JPEG, GIF and WebP images, PDF documents, and "
    "texts. Each is given as a path, as bytes, or as an `Attachment`. All agents must be able to see all files.",
    "decide": "Rule that turns a round's positions or votes into a decision: a name, with parameters as in "
    '`"supermajority(2/3)"`, or your own `Rule`, which this table registers under its name. When left out, the rule is '
    '`"schulze"` with a vote, else `"plurality"`. A rule for rankings, grades or approvals implies a vote, unless the '
    'debate has options. With `"judge"` and `"judge-panel"`, models that do not debate vote after each round; see '
    "`seats`.",
    "exit_when": "Exit criterion that ends the debate early, such as `ConsensusReached(0.9) & MinRounds(2)`, or the "
    'same as text: `"consensus(0.9) & min_rounds(2)"`.',
    "quorum": "Minimum number of answers per stage, or per round if agents answer one after another. With fewer "
    "answers, the debate fails with `QuorumLost`. When left out, the table's `quorum` applies.",
    "search": 'How agents search the web in this debate: `"auto"`, `True`, `False`, or options. Replaces the table\'s '
    "setting, and is stored with the session.",
    "answer_schema": "Type of an object that every agent returns in addition to its position: a pydantic model, "
    "another class that pydantic supports, or a JSON Schema. The object is checked against the JSON Schema (extra "
    "`schema`); if it does not fit, the agent is asked once more. `value` of the result contains the value that more "
    "than half of the agents with the winning answer gave.",
    "budget": "Limits for this debate, in addition to the limits of the table.",
    "metadata": "Your own notes, stored with the session.",
}
"""Descriptions of options that Python callers give otherwise, or that have other limits there."""

CLIENT_TYPES = {
    "agents": "Sequence[str]",
    "options": "Sequence[str]",
    "attachments": "Sequence[Attachment]",
    "exit_when": "str | Exit",
    "perspectives": 'Sequence[str] | Literal["auto"]',
    "search": 'Literal["auto"] | bool | NativeSearch',
    "answer_schema": "Mapping[str, JsonValue]",
    "metadata": "Mapping[str, JsonValue]",
    "context_results": "Sequence[ContextResult]",
    "order": "TeamOrder",
    "on_change": 'Literal["error", "adopt"]',
}
"""Options of the client that are not typed as their fields."""

HEADER = "Written by `tools/generate.py` from `roundtable.core.types.request`; change it there."


def files() -> dict[Path, str]:
    """Return the text of every file that holds such a signature."""
    return {
        SOURCE / "api/options.py": _options_module(),
        SOURCE / "api/table.py": _with_debate(SOURCE / "api/table.py"),
        SOURCE / "client/keywords.py": _client_module(),
    }


def options() -> dict[str, FieldInfo]:
    """Return the options of a debate besides its topic, in the order of the request."""
    return {name: field for name, field in DebateRequest.model_fields.items() if name != "topic"}


def _type_of(field: FieldInfo) -> str:
    """Return the plain type of a field: `int` for a number with limits."""
    return _plain(field.annotation)


def _plain(annotation: Any) -> str:  # noqa: ANN401  (annotations are of any kind)
    if annotation is type(None):
        return "None"
    if get_origin(annotation) is not None and get_origin(annotation) is not Union:
        arguments = get_args(annotation)
        if hasattr(annotation, "__metadata__"):
            return _plain(arguments[0])
    members = get_args(annotation)
    if get_origin(annotation) is Literal:
        return f"Literal[{', '.join(json.dumps(member) for member in members)}]"
    if members:
        return " | ".join(_plain(member) for member in members)
    return str(annotation.__name__)


def _caller_type(name: str, field: FieldInfo) -> str:
    return CALLER_TYPES.get(name) or _type_of(field)


def _caller_default(name: str, field: FieldInfo) -> str:
    default = CALLER_DEFAULTS.get(name)
    return default or ascii(field.default).replace("'", '"')


def _options_module() -> str:
    keywords = [f"    {name}: {_caller_type(name, field)}" for name, field in options().items()]
    fields = [
        f"    {name}: {_caller_type(name, field)} = {_caller_default(name, field)}" for name, field in options().items()
    ]
    return "\n".join(
        [
            '"""The options that Python callers can set for a debate; values may be objects.',
            "",
            HEADER,
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from dataclasses import dataclass",
            "from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict",
            "",
            "if TYPE_CHECKING:",
            "    from collections.abc import Mapping, Sequence",
            "",
            "    from roundtable.api.searching import SearchLike",
            "    from roundtable.api.seats import AgentLike",
            "    from roundtable.core.protocols import DebateModeStrategy",
            "    from roundtable.core.types.agents import AgentProfile, Perspective",
            "    from roundtable.core.types.attachments import AttachmentLike",
            "    from roundtable.core.types.base import JsonValue",
            "    from roundtable.core.types.budget import Budget",
            "    from roundtable.core.types.debate import ModeName, RuleName",
            "    from roundtable.core.types.teams import TeamOrder",
            "    from roundtable.exits import Exit",
            "    from roundtable.scoring import Rule",
            "",
            '__all__ = ["CallerRequest", "ConverseOptions", "DebateOptions", "Perspectives"]',
            "",
            "Perspectives: TypeAlias = \"Sequence[str | Perspective] | Literal['auto'] | None\"",
            '"""Perspectives of an expert panel: names or values; with `"auto"`, a model writes them."""',
            "",
            "",
            "class DebateOptions(TypedDict, total=False):",
            '    """Options of a debate besides its topic; `Roundtable.debate` explains each option."""',
            "",
            *keywords,
            "",
            "",
            "class ConverseOptions(TypedDict, total=False):",
            '    """Options of a conversation; `Roundtable.converse` explains each option."""',
            "",
            *(f"    {name}: {kind}" for name, kind in CONVERSE_TYPES.items()),
            "",
            "",
            "@dataclass(frozen=True, slots=True, kw_only=True)",
            "class CallerRequest:",
            '    """The request of a caller for one debate, with the defaults of omitted options."""',
            "",
            "    topic: str",
            *fields,
            "",
        ]
    )


def _with_debate(path: Path) -> str:
    """Return a module with `Roundtable.debate` written anew: its signature, its arguments, its call."""
    text = path.read_text("utf-8")
    method = next(
        node
        for table in ast.parse(text).body
        if isinstance(table, ast.ClassDef) and table.name == "Roundtable"
        for node in table.body
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == "debate"
    )
    lines = text.split("\n")
    docstring = ast.get_docstring(method) or ""
    written = [
        "    async def debate(",
        "        self,",
        "        topic: str,",
        "        *,",
        *(
            f"        {name}: {_caller_type(name, field)} = {_caller_default(name, field)},"
            for name, field in options().items()
        ),
        "    ) -> DebateResult:",
        *_indented(_with_arguments(docstring)),
        "        await self._load(agents)",
        "        return await self._debates.debate(",
        "            topic,",
        *(f"            {name}={name}," for name in options()),
        "        )",
    ]
    assert method.end_lineno is not None
    return "\n".join([*lines[: method.lineno - 1], *written, *lines[method.end_lineno :]])


def _with_arguments(docstring: str) -> str:
    """Return a docstring with its section on arguments written anew."""
    before, _, rest = docstring.partition("Args:\n")
    after = rest[rest.index("\nRaises:") :]
    docs = field_docs(DebateRequest)
    entries = [("topic", docs["topic"])]
    entries += [(name, CALLER_DOCS.get(name, docs[name])) for name in options()]
    return f"{before}Args:\n{''.join(_entries(entries))}{after}"


def _entries(entries: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, text in entries:
        joined = " ".join(text.split())
        wrapped = textwrap.wrap(
            f"{name}: {joined}",
            WIDTH - 8,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield "\n".join(wrapped) + "\n"


def _indented(docstring: str) -> list[str]:
    lines = f'"""{docstring}'.split("\n")
    if len(lines) > 1:
        lines.append('"""')
    else:
        lines[0] += '"""'
    return [f"        {line}" if line else "" for line in lines]


def _client_module() -> str:
    classes = [
        *_keywords("DebateKeywords", "Options of a debate besides its topic", options()),
        *_keywords(
            "ForkKeywords",
            "Options that can differ in a fork",
            _without(ForkRequest, "at_round", *options()),
            method="fork",
            base="DebateKeywords",
        ),
        *_keywords(
            "ConversationKeywords",
            "Options of a conversation",
            _without(ConversationRequest, "agents", "messages"),
            method="converse",
        ),
        *_keywords("ResumeKeywords", "Options of a resumed session", _without(ResumeRequest), method="start_resume"),
        *_keywords(
            "ExtendKeywords",
            "Options of further rounds",
            _without(ExtendRequest, *ResumeRequest.model_fields),
            method="start_resume",
            base="ResumeKeywords",
        ),
    ]
    return "\n".join(
        [
            '"""The options that callers of a server can set for debates, conversations and stored sessions.',
            "",
            HEADER,
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from typing import TYPE_CHECKING, Literal, TypedDict",
            "",
            "if TYPE_CHECKING:",
            "    from collections.abc import Mapping, Sequence",
            "",
            "    from roundtable.core.types.answers import ContextResult",
            "    from roundtable.core.types.attachments import Attachment",
            "    from roundtable.core.types.base import JsonValue, NativeSearch",
            "    from roundtable.core.types.budget import Budget",
            "    from roundtable.core.types.teams import TeamOrder",
            "    from roundtable.exits import Exit",
            "",
            "__all__ = [",
            '    "ConversationKeywords",',
            '    "DebateKeywords",',
            '    "ExtendKeywords",',
            '    "ForkKeywords",',
            '    "ResumeKeywords",',
            "]",
            *classes,
            "",
        ]
    )


def _without(request: type[Value], *names: str) -> list[str]:
    return [name for name in request.model_fields if name not in names]


def _keywords(
    name: str, summary: str, names: Iterable[str], *, method: str = "debate", base: str = "TypedDict"
) -> list[str]:
    known = {
        field_name: field
        for request in (ExtendRequest, ConversationRequest, ForkRequest, DebateRequest)
        for field_name, field in request.model_fields.items()
    }
    # A client that waits for the end of a debate would wait for ever for one that is held in steps.
    steps = {"ResumeKeywords"}
    return [
        "",
        "",
        f"class {name}({base}, total=False):",
        f'    """{summary}; `roundtable.Roundtable.{method}` explains each option."""',
        "",
        *(f"    {field}: {CLIENT_TYPES.get(field) or _without_none(known[field])}" for field in names),
        *(["    step: bool"] if name in steps else []),
    ]


def _without_none(field: FieldInfo) -> str:
    return _type_of(field).removesuffix(" | None")
