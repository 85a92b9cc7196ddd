"""The built-in decision rules, found by name."""

from __future__ import annotations

import re

from roundtable._registry import Registry
from roundtable.errors import ConfigurationError
from roundtable.scoring.outcome import ParameterValue, Rule
from roundtable.scoring.rules.choices import CHOICE_RULES
from roundtable.scoring.rules.condorcet import CONDORCET_RULES
from roundtable.scoring.rules.elimination import ELIMINATION_RULES
from roundtable.scoring.rules.grades import GRADE_RULES
from roundtable.scoring.rules.kemeny import KEMENY_RULES
from roundtable.scoring.rules.others import OTHER_RULES
from roundtable.scoring.rules.pools import POOL_RULES
from roundtable.scoring.rules.positional import POSITIONAL_RULES
from roundtable.scoring.rules.ranked_pairs import RANKED_PAIRS_RULES
from roundtable.scoring.rules.weighted import WEIGHTED_RULES

__all__ = ["BUILTIN_RULES", "find_rule", "rule_name", "rule_registry"]

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


def find_rule(name: str, rules: Registry[Rule] | None = None) -> tuple[Rule, dict[str, ParameterValue]]:
    """Find a rule by its name or one of its other names, with parameters in brackets where wanted.

    Args:
        name: The name; case, spaces, underscores and hyphens do not matter. `"supermajority(3/4)"` and
            `"supermajority(q=0.75)"` give parameters, in the rule's order or by name.
        rules: Where to look; `None` knows the built-in rules.

    Raises:
        ConfigurationError: There is none; the message lists what there is.

    Example:
        >>> rule, parameters = find_rule("Supermajority(q=3/4)")
        >>> rule.name, parameters
        ('supermajority', {'q': '3/4'})
    """
    known = _BUILT_IN if rules is None else rules
    called = _CALL.fullmatch(name)
    wanted = called.group(1) if called else name
    folded = rule_name(wanted)
    for entry in known:
        if folded in (rule_name(entry.name), *entry.thing.aliases):
            found = entry.thing
            break
    else:
        found = known.get(wanted)
    return found, _given(found, called.group(2)) if called else {}


def _given(rule: Rule, text: str) -> dict[str, ParameterValue]:
    given: dict[str, ParameterValue] = {}
    names = list(rule.parameters)
    for place, part in enumerate(filter(None, (part.strip() for part in text.split(",")))):
        name, named, value = part.rpartition("=")
        if not named and place >= len(names):
            raise ConfigurationError(f"the rule {rule.name!r} has {len(names)} parameters, not {place + 1}")
        given[name.strip() if named else names[place]] = value.strip()
    return given
