"""A rule as a value, what it may ask about a fact, and which of several decides.

`ignore` keeps a fact from being captured; `remember` stores the user's sentences that match even if nothing else
would, with that kind and importance; `forget` takes facts out of recall; `keep` exempts them from forgetting.  `age`
counts from the moment it was written down, `unrecalled` from the last of writing, change and recall; a project has
`ended` when `ended_projects` in rules.md names it.  Preferences and rules are forgotten only by a rule that names
their kind.  The first rule in the file that fits decides, for each action separately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxrepo.asset.kinds import FACT_KINDS

EXEMPT = ("preference", "rule")


@dataclass(frozen=True, slots=True)
class Known:
    """What a rule may ask about a fact; the defaults are those of a fact that is just being captured.

    Args:
        age: days since it was written down. unrecalled: days since it was last recalled, changed or written.
        ended: whether its project is over. expired: whether its `valid_until` has passed.
    """

    text: str
    kind: str = "fact"
    status: str = "active"
    project: str = "*"
    agent: str = "*"
    source: str = ""
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.8
    uses: int = 0
    age: float = 0.0
    unrecalled: float = 0.0
    ended: bool = False
    expired: bool = False


Condition = Callable[[Known], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `when` as it was written, and what it does."""

    name: str
    when: str
    action: str
    kind: str | None = None
    importance: float | None = None
    condition: Condition = field(compare=False, repr=False, default=lambda _: False)

    def matches(self, fact: Known) -> bool:
        """Whether the condition holds for a fact."""
        return self.condition(fact)

    def named_kinds(self) -> frozenset[str]:
        """Kinds that the condition names, such as the preferences that are else exempt from forgetting."""
        words = set(re.findall(r"[\w-]+", self.when))
        return frozenset(words.intersection(FACT_KINDS) if "kind" in words else ())

    def __str__(self) -> str:
        kind = f" kind {self.kind}" if self.kind else ""
        importance = f" importance {self.importance:g}" if self.importance is not None else ""
        return f"{self.name}: when {self.when} do {self.action}{kind}{importance}"


def first_match(rules: Iterable[Rule], action: str, fact: Known) -> Rule | None:
    """The first rule with that action whose condition holds."""
    return next((rule for rule in rules if rule.action == action and rule.matches(fact)), None)


def known(view: Mapping[str, Any]) -> Known:
    """A fact as `forget.view` gives it, as rules see it."""
    return Known(
        text=str(view.get("text") or ""),
        kind=str(view.get("kind") or "fact"),
        status=str(view.get("status") or "active"),
        project=str(view.get("project") or "*"),
        agent=str(view.get("agent") or "*"),
        source=str(view.get("source") or ""),
        tags=tuple(map(str, view.get("tags") or ())),
        entities=tuple(map(str, view.get("entities") or ())),
        importance=_number(view, "importance", 0.5),
        confidence=_number(view, "confidence", 0.8),
        uses=int(_number(view, "uses", 0)),
        age=_number(view, "age", 0),
        unrecalled=_number(view, "idle", 0),
        ended=bool(view.get("ended")),
        expired=bool(view.get("expired")),
    )


def _number(view: Mapping[str, Any], name: str, default: float) -> float:
    value = view.get(name)
    return default if value is None else float(value)


def forget_rule(rules: Iterable[Rule]) -> Callable[[Mapping[str, Any]], str | None]:
    """What names the rule that forgets a fact (`forget.view`), or None.

    A `keep` rule that fits exempts the fact; preferences and rules fall only to a rule that names their kind.
    """
    listed = list(rules)

    def decide(view: Mapping[str, Any]) -> str | None:
        fact = known(view)
        if first_match(listed, "keep", fact):
            return None
        for rule in listed:
            if (
                rule.action == "forget"
                and (fact.kind not in EXEMPT or fact.kind in rule.named_kinds())
                and rule.matches(fact)
            ):
                return rule.name
        return None

    return decide
