"""The request for one debate, its checks, and the configuration that is stored for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, NamedTuple

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from roundtable.api.checks import (
    check_budget,
    check_deadline,
    check_depth,
    check_flag,
    check_list,
    check_mapping,
    check_mode_given,
    check_options,
    check_rounds,
    check_text,
    check_vote,
    check_whole,
)
from roundtable.api.options import CallerRequest
from roundtable.api.table_options import TableOptions
from roundtable.core.base.arguments import unknown_name_hint
from roundtable.core.errors import ConfigurationError
from roundtable.core.types.attachments import Attachment, read_attachments
from roundtable.core.types.base import first_error
from roundtable.core.types.debate import DebateConfig
from roundtable.modes import check_mode
from roundtable.parsing import check_answer_schema
from roundtable.scoring import Rule, find_rule
from roundtable.scoring.rules import judges_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable.api.assembly import TableParts
    from roundtable.api.options import DebateOptions
    from roundtable.api.seats import Seated
    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import Agent, DebateModeStrategy
    from roundtable.core.types.base import JsonObject
    from roundtable.modes import ModeRegistry

__all__ = [
    "ResolvedDebate",
    "check_request",
    "config_of",
    "read_answer_schema",
    "read_files",
    "request_of",
    "resolve_mode",
    "resolve_perspectives",
    "resolve_vote",
    "unusable",
]


class ResolvedDebate(NamedTuple):
    """A checked request, with its agents and configuration."""

    request: CallerRequest
    seats: tuple[Seated, ...]
    config: DebateConfig
    mode: DebateModeStrategy | None
    """The mode, if the caller passed an object."""
    auxiliary_agents: Mapping[str, Agent]
    """Auxiliary agents such as judges, by id."""


def request_of(topic: str, options: DebateOptions, most_rounds: int) -> CallerRequest:
    """Return the request for a debate, after checking its options.

    Raises:
        ConfigurationError: An option is unknown, has the wrong type, or is out of range.
    """
    known = {field.name for field in fields(CallerRequest)}
    for name in options:
        if name not in known:
            hint = unknown_name_hint(name, known) or f"The options are {', '.join(sorted(known - {'topic'}))}."
            if name in {field.name for field in fields(TableOptions)}:
                hint = f"`{name}` belongs to `Roundtable(...)`."
            raise ConfigurationError(f"a debate has no option {name!r}", hint=hint)
    return check_request(CallerRequest(topic=topic, **options), most_rounds)


def check_request(request: CallerRequest, most_rounds: int) -> CallerRequest:
    """Return a request after checking types and ranges.

    Raises:
        ConfigurationError: An argument has the wrong type or is out of range.
    """
    check_rounds(request.rounds, most_rounds)
    check_budget(request.budget)
    check_deadline(request.deadline_s)
    check_options(request.options)
    check_mapping("metadata", request.metadata)
    check_depth("metadata", request.metadata)
    for flag in ("exit_on_consensus", "baseline", "synthesize", "claims"):
        check_flag(flag, getattr(request, flag))
    check_vote(request.vote)
    if request.quorum is not None:
        check_whole("quorum", request.quorum)
    check_mode_given(request.mode)
    if request.answer_schema is not None:
        request = replace(request, answer_schema=read_answer_schema(request.answer_schema))
    return replace(request, attachments=read_attachments(request.attachments)) if request.attachments else request


def read_answer_schema(answer_schema: object) -> JsonObject:
    """Return the JSON Schema of a type, or a checked schema.

    Raises:
        ConfigurationError: The value is neither a type nor a schema, or models cannot follow it; see
            `check_answer_schema`.
    """
    if isinstance(answer_schema, type):
        try:
            schema: JsonObject = TypeAdapter(answer_schema).json_schema()
        except PydanticUserError as error:
            msg = (
                f"answer_schema: pydantic cannot create a JSON Schema for {answer_schema.__qualname__}: {error.message}"
            )
            raise ConfigurationError(msg, hint="Give a pydantic model, or a JSON Schema.", cause=error) from error
    elif isinstance(answer_schema, Mapping):
        schema = dict(answer_schema)
    else:
        msg = f"answer_schema must be a type or a JSON Schema, not {type(answer_schema).__name__}"
        raise ConfigurationError(msg, hint="Give a pydantic model, or a dictionary with a JSON Schema.")
    check_answer_schema(schema)
    return schema


def resolve_mode(mode: str | DebateModeStrategy, known: ModeRegistry) -> tuple[str, DebateModeStrategy | None]:
    """Return the name of a mode, and the mode itself if the caller passed an object.

    Raises:
        ConfigurationError: The mode is unknown, the object is not a mode, or another mode has its name.
    """
    if isinstance(mode, str):
        known.get_mode(mode)
        return mode, None
    check_mode(type(mode).__name__, mode)
    if known.has_mode(mode.name) and type(known.get_mode(mode.name)) is not type(mode):
        msg = f"{type(mode).__name__} has the name of another mode, {mode.name!r}"
        raise ConfigurationError(msg, hint="Give your mode a name of its own; sessions are stored with this name.")
    return mode.name, mode


def resolve_perspectives(request: CallerRequest, known: ModeRegistry) -> CallerRequest:
    """Replace `perspectives="auto"` by the mode option `facilitated`, which makes a model write the perspectives."""
    if request.perspectives is None:
        return request
    if request.perspectives != "auto":
        check_list("perspectives", request.perspectives, "a list, or 'auto'")
        return request
    if not isinstance(request.mode, str):
        msg = "perspectives='auto' needs a mode given by name"
        raise ConfigurationError(msg, hint="Create the mode with facilitated=True instead.")
    if "facilitated" not in getattr(known.get_mode(request.mode), "options", {}):
        msg = f"perspectives='auto' does not work with the mode {request.mode!r}"
        raise ConfigurationError(msg, hint="Use the mode 'expert-panel', or leave perspectives out.")
    mode = f"{request.mode}{',' if ':' in request.mode else ':'}facilitated=true"
    return replace(request, mode=mode, perspectives=None)


def resolve_vote(request: CallerRequest, mode: DebateModeStrategy, rules: Registry[Rule]) -> CallerRequest:
    """Return a request with the decision rule set, and with the choice whether its debaters vote.

    On an open question, a rule for rankings, grades or approvals implies a vote, because positions are not such
    ballots.

    Raises:
        ConfigurationError: A vote is requested although judges decide, or although the mode already ends in a vote.
    """
    has_own_vote = getattr(mode, "has_own_vote", False) is True
    decide = ("schulze" if request.vote else "plurality") if request.decide is None else request.decide
    if not isinstance(decide, Rule):
        check_text("decide", decide)
    judges = judges_of(decide, rules)
    if request.vote and judges is not None:
        name = decide.name if isinstance(decide, Rule) else decide
        msg = f"vote={request.vote!r}: the debaters cannot vote if judges decide (decide={name!r})"
        raise ConfigurationError(msg, hint="Leave vote out, or choose another rule, such as decide='schulze'.")
    if request.vote and has_own_vote:
        msg = f"vote={request.vote!r}: the mode {mode.name!r} ends in a vote of its own"
        raise ConfigurationError(msg, hint="Leave vote out, or choose another mode.")
    if not request.vote and request.options is None and judges is None and not has_own_vote:
        rule = decide if isinstance(decide, Rule) else find_rule(decide, rules)[0]
        return replace(request, decide=decide, vote=rule.form != "choice")
    return replace(request, decide=decide)


def read_files(request: CallerRequest) -> tuple[Attachment, ...]:
    """Return the files of a checked request."""
    return tuple(each for each in request.attachments if isinstance(each, Attachment))


def config_of(
    request: CallerRequest, names: tuple[str, str], agents: Sequence[str], wiring: TableParts
) -> DebateConfig:
    """Return the configuration that is stored for a request.

    Args:
        request: The request.
        names: Names of the mode and the decision rule.
        agents: Ids of the agents, in speaking order.
        wiring: Objects of the table.

    Raises:
        ConfigurationError: A value is out of range.
    """
    mode, rule = names
    exit_spec = None if request.exit_when is None else wiring.exit_spec(request.exit_when)
    check_depth("exit_when", exit_spec)
    stored = {
        field.name: getattr(request, field.name) for field in fields(request) if field.name in DebateConfig.model_fields
    }
    stored |= {
        "mode": mode,
        "decide": rule,
        "agents": tuple(agents),
        "perspectives": tuple(
            {"name": perspective} if isinstance(perspective, str) else perspective
            for perspective in request.perspectives or ()
        ),
        "options": None if request.options is None else tuple(request.options),
        "attachments": tuple(each.info for each in read_files(request)),
        "exit": exit_spec,
        "quorum": wiring.options.quorum if request.quorum is None else request.quorum,
        "seed": wiring.options.seed,
        "metadata": dict(request.metadata or {}),
    }
    try:
        return DebateConfig(**stored)
    except ValidationError as error:
        raise unusable(error) from None


def unusable(error: ValidationError) -> ConfigurationError:
    """Return the error for a value that the stored configuration does not accept."""
    field, reason = first_error(error)
    hint = f"Correct {field!r} and try again." if field else "Correct the arguments of the debate and try again."
    if field == "topic":
        hint = "Ask a question of 1 to 10,000 characters."
    return ConfigurationError(f"{field or 'the debate'}: {reason}", cause=error, hint=hint)
