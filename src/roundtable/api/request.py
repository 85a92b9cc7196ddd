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
from roundtable.errors import ConfigurationError
from roundtable.parsing import check_answer_schema
from roundtable.scoring import Rule, find_rule
from roundtable.types import DebateConfig
from roundtable.types.attachments import Attachment, read_attachments
from roundtable.types.base import first_error
from roundtable.types.plan import JUDGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtable._core.registry import Registry
    from roundtable.api.assembly import TableParts
    from roundtable.api.options import CallerRequest
    from roundtable.api.seats import Seated
    from roundtable.modes import ModeRegistry
    from roundtable.protocols import Agent, DebateModeStrategy
    from roundtable.types import JsonObject

__all__ = [
    "ResolvedDebate",
    "checked",
    "config_of",
    "facilitated",
    "read_answer_schema",
    "read_files",
    "unusable",
    "with_vote_settled",
]


class ResolvedDebate(NamedTuple):
    """A checked request, with its agents and configuration."""

    ask: CallerRequest
    seats: tuple[Seated, ...]
    config: DebateConfig
    mode: DebateModeStrategy | None
    """The mode, if the caller passed an object."""
    auxiliary_agents: Mapping[str, Agent]
    """Auxiliary agents such as judges, by id."""


def checked(ask: CallerRequest, most_rounds: int) -> CallerRequest:
    """Return a request after checking types and ranges.

    Raises:
        ConfigurationError: An argument has the wrong type or is out of range.
    """
    check_rounds(ask.rounds, most_rounds)
    check_budget(ask.budget)
    check_deadline(ask.deadline_s)
    check_options(ask.options)
    check_mapping("metadata", ask.metadata)
    check_depth("metadata", ask.metadata)
    for flag in ("exit_on_consensus", "baseline", "synthesize", "claims"):
        check_flag(flag, getattr(ask, flag))
    check_vote(ask.vote)
    if ask.quorum is not None:
        check_whole("quorum", ask.quorum)
    check_mode_given(ask.mode)
    if ask.answer_schema is not None:
        ask = replace(ask, answer_schema=read_answer_schema(ask.answer_schema))
    return replace(ask, attachments=read_attachments(ask.attachments)) if ask.attachments else ask


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


def facilitated(ask: CallerRequest, known: ModeRegistry) -> CallerRequest:
    """Replace `perspectives="auto"` by the mode option `facilitated`, which makes a model write the perspectives."""
    if ask.perspectives is None:
        return ask
    if ask.perspectives != "auto":
        check_list("perspectives", ask.perspectives, "a list, or 'auto'")
        return ask
    if not isinstance(ask.mode, str):
        msg = "perspectives='auto' needs a mode given by name"
        raise ConfigurationError(msg, hint="Create the mode with facilitated=True instead.")
    if "facilitated" not in getattr(known.get_mode(ask.mode), "options", {}):
        msg = f"perspectives='auto' does not work with the mode {ask.mode!r}"
        raise ConfigurationError(msg, hint="Use the mode 'expert-panel', or leave perspectives out.")
    mode = f"{ask.mode}{',' if ':' in ask.mode else ':'}facilitated=true"
    return replace(ask, mode=mode, perspectives=None)


def with_vote_settled(ask: CallerRequest, mode: DebateModeStrategy, rules: Registry[Rule]) -> CallerRequest:
    """Return a request with the decision rule set, and with the choice whether its debaters vote.

    On an open question, a rule for rankings, grades or approvals implies a vote, because positions are not such
    ballots.

    Raises:
        ConfigurationError: A vote is requested although judges decide, or although the mode already ends in a vote.
    """
    has_own_vote = getattr(mode, "has_own_vote", False) is True
    decide = ("schulze" if ask.vote else "plurality") if ask.decide is None else ask.decide
    if not isinstance(decide, Rule):
        check_text("decide", decide)
    if ask.vote and decide in JUDGED:
        msg = f"vote={ask.vote!r}: the debaters cannot vote if judges decide (decide={decide!r})"
        raise ConfigurationError(msg, hint="Leave vote out, or choose another rule, such as decide='schulze'.")
    if ask.vote and has_own_vote:
        msg = f"vote={ask.vote!r}: the mode {mode.name!r} ends in a vote of its own"
        raise ConfigurationError(msg, hint="Leave vote out, or choose another mode.")
    if not ask.vote and ask.options is None and decide not in JUDGED and not has_own_vote:
        rule = decide if isinstance(decide, Rule) else find_rule(decide, rules)[0]
        return replace(ask, decide=decide, vote=rule.form != "choice")
    return replace(ask, decide=decide)


def read_files(ask: CallerRequest) -> tuple[Attachment, ...]:
    """Return the files of a checked request."""
    return tuple(each for each in ask.attachments if isinstance(each, Attachment))


def config_of(ask: CallerRequest, names: tuple[str, str], agents: Sequence[str], wiring: TableParts) -> DebateConfig:
    """Return the configuration that is stored for a request.

    Args:
        ask: The request.
        names: Names of the mode and the decision rule.
        agents: Ids of the agents, in speaking order.
        wiring: Objects of the table.

    Raises:
        ConfigurationError: A value is out of range.
    """
    mode, rule = names
    exit_spec = None if ask.exit_when is None else wiring.exit_spec(ask.exit_when)
    check_depth("exit_when", exit_spec)
    stored = {field.name: getattr(ask, field.name) for field in fields(ask) if field.name in DebateConfig.model_fields}
    stored |= {
        "mode": mode,
        "decide": rule,
        "agents": tuple(agents),
        "perspectives": tuple(
            {"name": perspective} if isinstance(perspective, str) else perspective
            for perspective in ask.perspectives or ()
        ),
        "options": None if ask.options is None else tuple(ask.options),
        "attachments": tuple(each.info for each in read_files(ask)),
        "exit": exit_spec,
        "quorum": wiring.options.quorum if ask.quorum is None else ask.quorum,
        "seed": wiring.options.seed,
        "metadata": dict(ask.metadata or {}),
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
