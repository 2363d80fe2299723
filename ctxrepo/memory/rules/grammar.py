"""What to remember and what not, in the person's own rules: one line each, one grammar for all.

    no-salaries: when text ~ 'salary|工资|薪资' do ignore
    releases: when text ~ 'release|发布' and kind in (decision, rule) do remember kind rule importance 0.9
    old-states: when kind = task-state and age > 30d and never recalled in 30d do forget
    over: when project ended and kind in (fact, experience) and not tag = 'keep' do forget

    rule      = name ":" "when" condition "do" action
    condition = all { "or" all }          all = part { "and" part }          part = ["not"] ( "(" condition ")" | test )
    test      = "text" ("~" | "!~") 'pattern'              the words of the fact, see `pattern` for what is understood
              | ("kind" | "status" | "project" | "agent" | "source" | "tag" | "entity") ("=" | "!=" | "~") value
              | the same "in" "(" value { "," value } ")"
              | ("importance" | "confidence" | "uses") ("<" | "<=" | "=" | "!=" | ">=" | ">") number
              | ("age" | "unrecalled") ("<" | "<=" | ">=" | ">") duration
              | "never" "recalled" ["in" duration] | "project" "ended" | "expired" | "always"
    action    = "ignore" | "forget" | "remember" ["kind" kind] ["importance" number] | "keep"
    duration  = number ("h" | "d" | "w" | "m" | "y")        hours, days, weeks, months of 30 days, years of 365 days
    value     = word, or text in single or double quotes ('' or "" inside stands for the quote itself)

What the actions mean stands in `rule`.
Rejected: YAML conditions (nested maps, which note apps hide and nobody writes by hand), and Python expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ctxrepo.asset.kinds import FACT_KINDS, FACT_STATUSES
from ctxrepo.errors import Invalid
from ctxrepo.memory.rules.pattern import Pattern, PatternError
from ctxrepo.memory.rules.rule import Condition, Known, Rule

ACTIONS = ("ignore", "remember", "forget", "keep")
LONGEST = 4000
READ = 20_000
"""Characters of a fact that a pattern is tried on."""

_UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
_TEXTS = ("kind", "status", "project", "agent", "source", "tag", "entity")
_NUMBERS = ("importance", "confidence", "uses")
_DAYS = ("age", "unrecalled")
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?P<op>!~|!=|<=|>=|[~=<>(),])|(?P<word>[^\s'\"~=<>!(),]+)"
    r"|(?P<bad>\S))"
)
_NAME = re.compile(r"[\w][\w.-]{0,63}\Z")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([hdwmy])\Z")


class RuleError(Invalid):
    """A rule that cannot be read: where, 1-based, and why."""

    def __init__(self, line: int, column: int, message: str, text: str = "") -> None:
        shown = [text, " " * (column - 1) + "^"] if text else []
        super().__init__(f"Line {line}, column {column}: {message}", hint="ctxrepo memory rule --help", details=shown)
        self.line, self.column, self.reason = line, column, message


def parse_rule(text: str, line: int = 1) -> Rule:
    """Reads one rule.

    Args:
        line: its line in the file, for the message.

    Raises:
        RuleError: it cannot be read.
    """
    return _Reader(text, line).rule()


def make_rule(name: str, when: str, action: str, kind: str | None = None, importance: float | None = None) -> Rule:
    """A rule from its parts, as the command line gives them.

    Raises:
        RuleError: a part cannot be read.
    """
    kind_part = f" kind {kind}" if kind else ""
    importance_part = f" importance {importance:g}" if importance is not None else ""
    return parse_rule(f"{name}: when {' '.join(when.split(chr(10)))} do {action}{kind_part}{importance_part}")


class _Token(NamedTuple):
    sort: str  # text, op, word, end
    value: str
    at: int


class _Reader:
    """Reads one rule, token by token."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.line = text, line
        if len(text) > LONGEST:
            raise RuleError(line, LONGEST, f"A rule has at most {LONGEST} characters.")
        if "\n" in text.strip():
            raise RuleError(line, text.index("\n") + 1, "A rule is one line.")
        self.tokens: list[_Token] = []
        self.number = 0
        self.depth = 0

    def rule(self) -> Rule:
        name, colon, _ = self.text.partition(":")
        if not colon or _NAME.match(name.strip()) is None:
            raise self._fault(0, "A rule begins with its name and a colon: `no-salaries: when … do ignore`.")
        self._scan(len(name) + 1)
        self._expect("when")
        start = self._peek().at
        condition = self._any()
        end = self._peek().at
        self._expect("do")
        action = self._word(ACTIONS, "an action")
        kind: str | None = None
        importance: float | None = None
        while action == "remember" and self._peek().sort == "word":
            if self._takes("kind"):
                kind = self._word(FACT_KINDS, "a kind")
            elif self._takes("importance"):
                importance = self._share()
            else:
                break
        if self._peek().sort != "end":
            raise self._fault(
                self._peek().at, f"Nothing may follow here but the end of the rule, not `{self._peek().value}`."
            )
        return Rule(name.strip(), self.text[start:end].strip(), action, kind, importance, condition)

    def _scan(self, at: int) -> None:
        while at < len(self.text) and (found := _TOKEN.match(self.text, at)):
            sort = found.lastgroup or ""
            place = found.start(sort)
            if sort == "bad":
                raise self._fault(
                    place,
                    "This quote is not closed." if found["bad"] in "'\"" else f"`{found['bad']}` means nothing here.",
                )
            value = found[sort]
            if sort == "text":
                value = value[1:-1].replace(value[0] * 2, value[0])
            self.tokens.append(_Token(sort, value, place))
            at = found.end()
        self.tokens.append(_Token("end", "", len(self.text)))

    def _any(self) -> Condition:
        parts = [self._all()]
        while self._takes("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else lambda fact: any(part(fact) for part in parts)

    def _all(self) -> Condition:
        parts = [self._part()]
        while self._takes("and"):
            parts.append(self._part())
        return parts[0] if len(parts) == 1 else lambda fact: all(part(fact) for part in parts)

    def _part(self) -> Condition:
        if self._takes("not"):
            inner = self._part()
            return lambda fact: not inner(fact)
        token = self._peek()
        if token.value == "(" and token.sort == "op":
            self.depth += 1
            if self.depth > 20:
                raise self._fault(token.at, "Brackets are nested too deep.")
            self.number += 1
            inside = self._any()
            if self._peek().value != ")":
                raise self._fault(self._peek().at, "A `)` is missing here.")
            self.number += 1
            self.depth -= 1
            return inside
        return self._test()

    def _test(self) -> Condition:
        token = self._next()
        name = token.value.lower()
        if token.sort != "word":
            raise self._fault(token.at, "A condition is expected here, such as `text ~ '…'` or `age > 90d`.")
        if name == "text":
            return self._text_test()
        if name == "project" and self._takes("ended"):
            return lambda fact: fact.ended
        if name in _TEXTS:
            return self._value_test(name)
        if name in _NUMBERS:
            compare = self._compare(self._number, ordered=False)
            return lambda fact: compare(float(getattr(fact, name)))
        if name in _DAYS:
            older = self._compare(self._duration, ordered=True)
            return lambda fact: older(float(getattr(fact, name)))
        if name == "never":
            self._expect("recalled")
            if not self._takes("in"):
                return lambda fact: not fact.uses
            days_since = self._duration()
            return lambda fact: fact.unrecalled >= days_since
        if name == "expired":
            return lambda fact: fact.expired
        if name == "always":
            return lambda _: True
        allowed = ", ".join(
            ("text", *_TEXTS, *_NUMBERS, *_DAYS, "never recalled", "project ended", "expired", "always")
        )
        raise self._fault(token.at, f"`{token.value}` is no condition; there are {allowed}.")

    def _text_test(self) -> Condition:
        op = self._operator(("~", "!~"))
        pattern = self._pattern()
        if op == "~":
            return lambda fact: pattern.found_in(fact.text[:READ])
        return lambda fact: not pattern.found_in(fact.text[:READ])

    def _value_test(self, name: str) -> Condition:
        def values(fact: Known) -> tuple[str, ...]:
            if name in ("tag", "entity"):
                return fact.tags if name == "tag" else fact.entities
            return (str(getattr(fact, name)),)

        if self._takes("in"):
            wanted = frozenset(self._list(name))
            return lambda fact: any(value.casefold() in wanted for value in values(fact))
        op = self._operator(("=", "!=", "~", "!~"))
        if op in ("~", "!~"):
            pattern = self._pattern()
            return lambda fact: any(pattern.found_in(value) for value in values(fact)) == (op == "~")
        wanted_value = self._value(name)
        return lambda fact: any(value.casefold() == wanted_value for value in values(fact)) == (op == "=")

    def _list(self, name: str) -> list[str]:
        if self._next().value != "(":
            raise self._fault(
                self.tokens[self.number - 1].at, "`in` is followed by a list in brackets: `in (rule, decision)`."
            )
        found = [self._value(name)]
        while self._peek().value == "," and self._peek().sort == "op":
            self.number += 1
            found.append(self._value(name))
        if self._peek().value != ")":
            raise self._fault(self._peek().at, "A `)` is missing here.")
        self.number += 1
        return found

    def _value(self, name: str) -> str:
        token = self._next()
        if token.sort not in ("word", "text"):
            raise self._fault(token.at, "A value is expected here.")
        allowed = {"kind": FACT_KINDS, "status": FACT_STATUSES}.get(name)
        if allowed and token.value not in allowed:
            raise self._fault(token.at, f"`{token.value}` is no {name}; there are {', '.join(allowed)}.")
        return token.value.casefold()

    def _pattern(self) -> Pattern:
        token = self._next()
        if token.sort != "text":
            raise self._fault(token.at, "A pattern in quotes is expected here: `text ~ 'salary|工资'`.")
        try:
            return Pattern(token.value)
        except PatternError as fault:
            raise self._fault(token.at + 1 + fault.at, fault.message) from None

    def _compare(self, read: Callable[[], float], *, ordered: bool) -> Callable[[float], bool]:
        op = self._operator(("<", "<=", ">=", ">") if ordered else ("<", "<=", "=", "!=", ">=", ">"))
        bound = read()
        tests: dict[str, Callable[[float], bool]] = {
            "<": lambda value: value < bound,
            "<=": lambda value: value <= bound,
            "=": lambda value: abs(value - bound) < 1e-9,
            "!=": lambda value: abs(value - bound) >= 1e-9,
            ">=": lambda value: value >= bound,
            ">": lambda value: value > bound,
        }
        return tests[op]

    def _duration(self) -> float:
        token = self._next()
        found = _DURATION.match(token.value)
        if found is None:
            raise self._fault(token.at, f"`{token.value}` is no duration; write 12h, 90d, 8w, 6m or 1y.")
        return float(found[1]) * _UNITS[found[2]]

    def _number(self) -> float:
        token = self._next()
        if not re.fullmatch(r"\d+(?:\.\d+)?", token.value):
            raise self._fault(token.at, f"`{token.value}` is no number.")
        return float(token.value)

    def _share(self) -> float:
        at = self._peek().at
        value = self._number()
        if not 0 <= value <= 1:
            raise self._fault(at, "Importance lies between 0 and 1.")
        return value

    def _operator(self, allowed: tuple[str, ...]) -> str:
        token = self._next()
        if token.sort != "op" or token.value not in allowed:
            raise self._fault(token.at, f"One of {', '.join(allowed)} is expected here.")
        return token.value

    def _word(self, allowed: tuple[str, ...], what: str) -> str:
        token = self._next()
        if token.value not in allowed:
            raise self._fault(token.at, f"`{token.value}` is not {what}; there are {', '.join(allowed)}.")
        return token.value

    def _expect(self, word: str) -> None:
        token = self._next()
        if token.sort != "word" or token.value.lower() != word:
            raise self._fault(token.at, f"`{word}` is expected here.")

    def _takes(self, word: str) -> bool:
        token = self._peek()
        if token.sort == "word" and token.value.lower() == word:
            self.number += 1
            return True
        return False

    def _peek(self) -> _Token:
        return self.tokens[min(self.number, len(self.tokens) - 1)]

    def _next(self) -> _Token:
        token = self._peek()
        self.number += 1
        return token

    def _fault(self, at: int, message: str) -> RuleError:
        return RuleError(self.line, at + 1, message, self.text)
