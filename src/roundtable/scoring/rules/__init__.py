"""The built-in decision rules, found by name."""

from __future__ import annotations

from roundtable._registry import Registry
from roundtable.scoring.outcome import Rule
from roundtable.scoring.rules.choices import CHOICE_RULES

__all__ = ["BUILTIN_RULES", "find_rule", "rule_name", "rule_registry"]

BUILTIN_RULES: tuple[Rule, ...] = (*CHOICE_RULES,)
"""Every rule that comes with the library."""


def rule_registry() -> Registry[Rule]:
    """Give a new registry with the built-in rules, to which others can be added.

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
    """Fold a rule's name: lower case, words joined by hyphens.

    Example:
        >>> rule_name("Ranked Pairs"), rule_name("kemeny_young")
        ('ranked-pairs', 'kemeny-young')
    """
    return "-".join(name.casefold().replace("_", " ").replace("-", " ").replace("\N{EN DASH}", " ").split())


def find_rule(name: str, rules: Registry[Rule] | None = None) -> Rule:
    """Find a rule by its name or one of its other names.

    Args:
        name: The name; case, spaces, underscores and hyphens do not matter.
        rules: Where to look; `None` knows the built-in rules.

    Raises:
        ConfigurationError: There is none; the message lists what there is.

    Example:
        >>> find_rule("Majority").summary
        'more than half of the first places'
    """
    known = _BUILT_IN if rules is None else rules
    wanted = rule_name(name)
    for entry in known:
        if wanted in (rule_name(entry.name), *entry.thing.aliases):
            return entry.thing
    return known.get(name)
