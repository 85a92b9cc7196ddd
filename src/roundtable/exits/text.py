"""Stop criteria written as text, as in `consensus(0.9) & min_rounds(2)`: for JSON bodies, tools and commands."""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Final

from roundtable.core.errors import ConfigurationError
from roundtable.exits.base import DEEPEST
from roundtable.exits.criteria import ExitFactory, exit_from_spec, exit_registry

if TYPE_CHECKING:
    from roundtable.core.base.registry import Registry
    from roundtable.core.protocols import ExitCriterion
    from roundtable.core.types.base import JsonObject, JsonValue

__all__ = ["exit_from_text"]

_EXAMPLE: Final = "Write a kind, or several joined by | and &, as in 'consensus(0.9) & min_rounds(2) | max_rounds(5)'."
_LONGEST: Final = 2_000
_BUILT_IN: Final = exit_registry()


def exit_from_text(text: str, exits: Registry[ExitFactory] | None = None) -> ExitCriterion:
    """Build a stop criterion from text.

    A criterion is written as its kind, followed by its fields in brackets.

    - Fields are in the order of the class, or named. A value is a number, a fraction (`2/3`), a quoted text, `true`,
      `false` or `none`.
    - A kind with a hyphen or slash needs quotes: `'no-more'(2)`.
    - `first | second` ends the debate if one of two criteria holds, `first & second` if both hold. `&` binds tighter;
      use brackets to group.

    Args:
        text: At most 2,000 characters.
        exits: Registry in which kinds are looked up; `None` for the built-in ones.

    Raises:
        ConfigurationError: The text cannot be parsed, the kind is unknown, or its fields are not valid.

    Example:
        >>> exit_from_text("consensus(2/3) & min_rounds(2)").to_spec()["of"][0]
        {'kind': 'consensus', 'threshold': '2/3'}
        >>> exit_from_text("max_rounds(rounds=4)")
        MaxRounds(rounds=4)
    """
    known = _BUILT_IN if exits is None else exits
    if len(text) > _LONGEST:
        raise _unreadable(text, f"it has {len(text)} characters, more than {_LONGEST}")
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unreadable(text, "its brackets or operators do not match") from None
    return exit_from_spec(_spec_of(expression, text, known), known)


def _spec_of(node: ast.expr, text: str, exits: Registry[ExitFactory], depth: int = 0) -> JsonObject:
    """Return the JSON form of one part of the text."""
    if depth > DEEPEST:
        raise _unreadable(text, f"it is nested more than {DEEPEST} deep")
    match node:
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() as operator, right=right):
            parts: list[JsonValue] = [_spec_of(part, text, exits, depth + 1) for part in (left, right)]
            return {"kind": "any" if isinstance(operator, ast.BitOr) else "all", "of": parts}
        case ast.Name(id="any" | "all" as kind) | ast.Call(func=ast.Name(id="any" | "all" as kind)):
            raise _unreadable(text, f"{kind!r} joins criteria only in JSON; in text, join them with | or &")
        case ast.Name(id=kind) | ast.Constant(value=str() as kind):
            return {"kind": kind}
        case ast.Call(func=ast.Name(id=kind) | ast.Constant(value=str() as kind), args=positional, keywords=named):
            values = [_value_of(argument, text) for argument in positional]
            spec: JsonObject = {"kind": kind, **dict(zip(_field_names(kind, len(values), exits), values, strict=True))}
            for keyword in named:
                if keyword.arg is None or keyword.arg in spec:
                    raise _unreadable(
                        text, f"the field {keyword.arg or '**'!r} of {kind!r} has no name or is set twice"
                    )
                spec[keyword.arg] = _value_of(keyword.value, text)
            return spec
        case _:
            raise _unreadable(text, f"{_source(node, text)!r:.80} is not a criterion")


def _field_names(kind: str, count: int, exits: Registry[ExitFactory]) -> list[str]:
    """Return the names of the first fields of a kind, for values without names."""
    if not count:
        return []
    factory = exits.get(kind)
    criterion = getattr(factory, "__self__", factory)
    names = [field.name for field in fields(criterion)] if is_dataclass(criterion) else []
    if count > len(names):
        known = f"; it has: {', '.join(names)}" if names else "; name its fields, as in kind(field=1)"
        raise ConfigurationError(f"the stop criterion {kind!r} does not take {count} values without names{known}")
    return names[:count]


def _value_of(node: ast.expr, text: str) -> JsonValue:
    """Read the value of a field."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.BinOp(left=ast.Constant(value=int() as above), op=ast.Div(), right=ast.Constant(value=int() as below)):
            return f"{above}/{below}"
        case ast.Name(id="true" | "false" as name):
            return name == "true"
        case ast.Name(id="none" | "null"):
            return None
        case _:
            raise _unreadable(text, f"{_source(node, text)!r:.80} is not a number, a fraction or a quoted text")


def _source(node: ast.expr, text: str) -> str:
    return ast.get_source_segment(text.strip(), node) or text


def _unreadable(text: str, reason: str) -> ConfigurationError:
    return ConfigurationError(f"the stop criterion {text!r:.80} cannot be read: {reason}", hint=_EXAMPLE)
