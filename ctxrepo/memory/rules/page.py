"""The rules in `rules.md`: read one by one, set and taken out.

It is read and rewritten through the front-matter writer, so comments and prose stay.
"""

from __future__ import annotations

from ctxrepo.asset.frontmatter import Parsed, render
from ctxrepo.memory.rules.grammar import RuleError, parse_rule
from ctxrepo.memory.rules.rule import Rule


def rules_of(parsed: Parsed) -> tuple[list[Rule], list[RuleError]]:
    """The rules of a `rules.md` and what is wrong in it; one bad rule hides no other."""
    lines = parsed.fields.get("rules")
    rules: list[Rule] = []
    faults: list[RuleError] = []
    for number, text in enumerate(lines if isinstance(lines, list) else [lines] if isinstance(lines, str) else []):
        at = parsed.lines.get(f"rules[{number}]", parsed.lines.get("rules", 1))
        try:
            rule = parse_rule(str(text), at)
        except RuleError as fault:
            faults.append(fault)
            continue
        if any(rule.name == other.name for other in rules):
            faults.append(RuleError(at, 1, f"There is another rule called {rule.name!r} above.", str(text)))
            continue
        rules.append(rule)
    return rules, faults


def with_rule(parsed: Parsed | None, rule: Rule) -> str:
    """`rules.md` with the rule set: in the place of its namesake, else at the end."""
    lines = _lines(parsed)
    names = [_name_of(line) for line in lines]
    if rule.name in names:
        lines[names.index(rule.name)] = str(rule)
    else:
        lines.append(str(rule))
    return render(parsed, {"rules": lines}, body=None if parsed else "\nWhat my agents may remember, and what not.\n")


def without_rule(parsed: Parsed, name: str) -> str | None:
    """`rules.md` without that rule; None if there is none of that name."""
    lines = _lines(parsed)
    kept = [line for line in lines if _name_of(line) != name]
    return render(parsed, {"rules": kept}) if len(kept) < len(lines) else None


def _lines(parsed: Parsed | None) -> list[str]:
    value = parsed.fields.get("rules") if parsed else None
    return [str(line) for line in value] if isinstance(value, list) else [value] if isinstance(value, str) else []


def _name_of(line: str) -> str:
    return line.partition(":")[0].strip()
