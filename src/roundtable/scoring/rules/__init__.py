"""The built-in decision rules, found by name."""

from __future__ import annotations

import re

from roundtable.core.base.registry import Entry, Registry
from roundtable.core.errors import ConfigurationError
from roundtable.scoring.outcome import Judges, ParameterValue, Rule
from roundtable.scoring.rules.choice import CHOICE_RULES
from roundtable.scoring.rules.grades import GRADE_RULES
from roundtable.scoring.rules.other import OTHER_RULES
from roundtable.scoring.rules.pools import POOL_RULES, WEIGHTED_RULES
from roundtable.scoring.rules.ranked import (
    CONDORCET_RULES,
    ELIMINATION_RULES,
    KEMENY_RULES,
    POSITIONAL_RULES,
    RANKED_PAIRS_RULES,
)

__all__ = ["BUILTIN_RULES", "find_rule", "judges_of", "rule_name", "rule_registry"]

BUILTIN_RULES: tuple[Rule, ...] = (
    *CHOICE_RULES,
    *GRADE_RULES,
    *POSITIONAL_RULES,
    *ELIMINATION_RULES,
    *CONDORCET_RULES,
    *RANKED_PAIRS_RULES,
    *KEMENY_RULES,
    *WEIGHTED_RULES,
    *POOL_RULES,
    *OTHER_RULES,
)
"""Every rule that comes with the library."""

_CALL = re.compile(r"([^()]*)\(([^()]*)\)\s*")


def rule_registry() -> Registry[Rule]:
    """Create a registry of the built-in rules, to which other rules can be added.

    Example:
        >>> "plurality" in rule_registry()
        True
    """
    rules = Registry[Rule]("rule")
    for rule in BUILTIN_RULES:
        rules.add(rule.name, rule, summary=rule.summary)
    return rules


_BUILT_IN = rule_registry()


def rule_name(name: str) -> str:
    """Convert a rule's name to lower case, with its words joined by hyphens.

    Example:
        >>> rule_name("Ranked Pairs"), rule_name("kemeny_young")
        ('ranked-pairs', 'kemeny-young')
    """
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").replace("\N{EN DASH}", " ").split())


def find_rule(name: str, rules: Registry[Rule] | None = None) -> tuple[Rule, dict[str, ParameterValue]]:
    """Find a rule by its name or an alias, optionally with parameters in brackets.

    Args:
        name: The name. Letter case does not matter, and spaces, underscores and hyphens are the same. Parameters are in
            the rule's order, as in `"supermajority(3/4)"`, or named, as in `"supermajority(q=0.75)"`.
        rules: Registry to search; `None` for the built-in rules.

    Raises:
        ConfigurationError: No rule has this name, and the message lists the known ones; or there are too many
            parameters, or the same one twice.

    Example:
        >>> rule, parameters = find_rule("Supermajority(q=3/4)")
        >>> rule.name, parameters
        ('supermajority', {'q': '3/4'})
    """
    known = _BUILT_IN if rules is None else rules
    plain_name, arguments = _split(name)
    entry = _find_entry(plain_name, known)
    rule = known.get(plain_name) if entry is None else entry.thing
    if not isinstance(rule, Rule):
        raise ConfigurationError(
            f"the rule {plain_name!r} must be a Rule, not {rule!r:.80}",
            hint=f"Register Rule({rule_name(plain_name)!r}, function) instead of the function.",
        )
    return rule, _parse_parameters(rule, arguments)


def judges_of(rule: str | Rule, rules: Registry[Rule] | None = None) -> Judges | None:
    """Return the judges that a debate with this rule needs; `None` if the rule counts what the debaters say.

    Args:
        rule: The rule, or its name with parameters; an unknown name needs no judges.
        rules: Registry to search; `None` for the built-in rules.

    Raises:
        ConfigurationError: Several plugins register this name.

    Example:
        >>> judges_of("judge-panel").least, judges_of("plurality")
        (2, None)
    """
    if isinstance(rule, Rule):
        return rule.judges
    entry = _find_entry(_split(rule)[0], _BUILT_IN if rules is None else rules)
    judges = entry.thing.judges if entry is not None and isinstance(entry.thing, Rule) else None
    if entry is None or judges is None or (judges.counted_by is not None and rule != entry.name):
        return None
    return judges


def _split(name: str) -> tuple[str, str]:
    """Split a rule's name from its parameters in brackets."""
    call = _CALL.fullmatch(name)
    return (call.group(1), call.group(2)) if call else (name, "")


def _find_entry(name: str, known: Registry[Rule]) -> Entry[Rule] | None:
    """Find a rule by its name, in any spelling, or by an alias; `None` if it is unknown."""
    folded = rule_name(name)
    for entry in known:
        if folded in (rule_name(entry.name), *getattr(entry.thing, "aliases", ())):
            return entry
    return known.find(name)


def _parse_parameters(rule: Rule, text: str) -> dict[str, ParameterValue]:
    values: dict[str, ParameterValue] = {}
    names = list(rule.parameters)
    for index, part in enumerate(filter(None, (part.strip() for part in text.split(",")))):
        name, equals, value = part.rpartition("=")
        if not equals and index >= len(names):
            raise ConfigurationError(f"the rule {rule.name!r} has {len(names)} parameters, not {index + 1}")
        key = name.strip() if equals else names[index]
        if key in values:
            raise ConfigurationError(f"the rule {rule.name!r} gets its parameter {key!r} twice, in {text!r}")
        values[key] = value.strip()
    return values
