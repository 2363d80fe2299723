"""Regular expressions that cannot hang: matched in one pass over the text, whatever the pattern.

Rules come from a file that may be edited, shared or imported, and run on every captured turn and over every fact.
Python's `re` backtracks: `(a+)+b` on thirty letters takes minutes.  So rules use a subset that a finite automaton can
match, and this is one: the pattern becomes an NFA (Thompson), and the sets of states that a text really meets
are kept as a DFA, at most `MOST_SETS` of them.  Time grows with the length of the text times that of the pattern and
with nothing else.

Understood: literals, `.`, `[a-z]`, `[^…]`, `\\d \\w \\s \\D \\W \\S \\b \\B`, `( )`, `(?: )`, `|`, `? * + {m,n}` (lazy
forms mean the same here), `^ $` (of the whole text).  Not understood, and refused with the place: back references,
look-around, named groups and flags.  Case is ignored, always: people write "Salary" at the beginning of a sentence.

Rejected: a time limit on `re` (it cannot be interrupted), a check for "dangerous" patterns (incomplete), and a
binding to RE2 (a compiled dependency for one line of a settings file).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

MOST_STATES = 4000
MOST_SETS = 2000
LONGEST_PATTERN = 1000

_Test = Callable[[str], bool]


class PatternError(ValueError):
    """A pattern that is none, or uses what is not understood; `at` is the offset in the pattern."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at
        self.message = message


class _State(NamedTuple):
    """One state: moves on a character that passes `test`, or freely, if `needs` holds, to `after`."""

    test: _Test | None
    needs: str
    after: tuple[int, ...]


class Pattern:
    """A compiled pattern.

    Args:
        text: the pattern.

    Raises:
        PatternError: it cannot be used.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        builder = _Builder(text)
        self._states, self._start, self._end = builder.states, *builder.build()
        self._sets: dict[tuple[frozenset[int], bool, bool], dict[str, tuple[frozenset[int], bool]]] = {}

    def found_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        current: frozenset[int] = frozenset((self._start,))
        word = False
        first = True
        for char in text.casefold():
            key = (current, word, first)
            moves = self._sets.get(key)
            if moves is None:
                if len(self._sets) >= MOST_SETS:
                    self._sets.clear()
                moves = self._sets[key] = {}
            step = moves.get(char)
            if step is None:
                step = moves[char] = self._step(current, word, first, char)
            current, done = step
            if done:
                return True
            word, first = _is_word(char), False
        return self._end in self._reach(current, word, False, first, True)

    def _step(self, current: frozenset[int], word: bool, first: bool, char: str) -> tuple[frozenset[int], bool]:
        """The states after a character, a new attempt among them; True when the pattern had matched before it."""
        reached = self._reach(current, word, _is_word(char), first, False)
        if self._end in reached:
            return current, True
        after = {self._start}
        for number in reached:
            state = self._states[number]
            if state.test is not None and state.test(char):
                after.update(state.after)
        return frozenset(after), False

    def _reach(self, current: frozenset[int], before: bool, behind: bool, first: bool, last: bool) -> set[int]:
        """All states that can be reached without a character at a place between two characters."""
        holds = {"": True, "^": first, "$": last, "b": before != behind, "B": before == behind}
        reached: set[int] = set()
        waiting = list(current)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            if state.test is None and holds[state.needs]:
                waiting.extend(state.after)
        return reached


class _Builder:
    """Reads a pattern and makes its states; each part is a pair (first state, last state)."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST_PATTERN:
            raise PatternError(LONGEST_PATTERN, f"A pattern has at most {LONGEST_PATTERN} characters.")
        self.text = text
        self.at = 0
        self.depth = 0
        self.states: list[_State] = []

    def build(self) -> tuple[int, int]:
        if not self.text:
            raise PatternError(0, "The pattern is empty; it would match everything.")
        part = self._alternatives()
        if self.at < len(self.text):
            raise PatternError(self.at, "This `)` closes nothing.")
        return part

    def _new(self, test: _Test | None = None, needs: str = "", after: tuple[int, ...] = ()) -> int:
        if len(self.states) >= MOST_STATES:
            raise PatternError(self.at, "The pattern is too large; use smaller numbers in `{m,n}`.")
        self.states.append(_State(test, needs, after))
        return len(self.states) - 1

    def _link(self, state: int, *after: int) -> None:
        self.states[state] = self.states[state]._replace(after=(*self.states[state].after, *after))

    def _alternatives(self) -> tuple[int, int]:
        parts = [self._sequence()]
        while self._takes("|"):
            parts.append(self._sequence())
        if len(parts) == 1:
            return parts[0]
        start, end = self._new(), self._new()
        for first, last in parts:
            self._link(start, first)
            self._link(last, end)
        return start, end

    def _sequence(self) -> tuple[int, int]:
        start = end = self._new()
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            first, last = self._repeated()
            self._link(end, first)
            end = last
        return start, end

    def _repeated(self) -> tuple[int, int]:
        begin = self.at
        part = self._atom()
        stop = self.at
        bounds = self._bounds()
        if bounds is None:
            return part
        if self._peek() in ("*", "+") or (self._peek() == "{" and self._bounds() is not None):
            raise PatternError(self.at, "A repetition cannot be repeated.")
        resume = self.at
        low, high = bounds
        start = end = self._new()
        for number in range(high if high is not None else max(low, 1)):
            first, last = part if number == 0 else self._again(begin, stop)
            self._link(end, first)
            if number >= low:
                skip = self._new()
                self._link(end, skip)
                self._link(last, skip)
                end = skip
            else:
                end = last
            if high is None and number + 1 == max(low, 1):
                self._link(end if low else last, first)
        self.at = resume
        return start, end

    def _again(self, begin: int, stop: int) -> tuple[int, int]:
        """Builds the atom between two places once more."""
        self.at = begin
        part = self._atom()
        self.at = stop
        return part

    def _bounds(self) -> tuple[int, int | None] | None:
        """The repetition that stands here, lazy mark included; None if there is none."""
        char = self._peek()
        if char in ("*", "+", "?") and char:
            self.at += 1
            bounds: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        elif char == "{":
            close = self.text.find("}", self.at)
            low, comma, high = self.text[self.at + 1 : max(close, 0)].partition(",")
            if close < 0 or not low.isdigit() or (high and not high.isdigit()):
                return None
            bounds = (int(low), int(low) if not comma else int(high) if high else None)
            if bounds[1] is not None and bounds[1] < bounds[0]:
                raise PatternError(self.at, "The numbers of this repetition stand the wrong way round.")
            if max(bounds[0], bounds[1] or 0) > MOST_STATES:
                raise PatternError(self.at, "The pattern is too large; use smaller numbers in `{m,n}`.")
            self.at = close + 1
        else:
            return None
        self._takes("?")
        return bounds

    def _atom(self) -> tuple[int, int]:
        at = self.at
        char = self.text[at]
        self.at += 1
        if char == "(":
            return self._group(at)
        if char in "*+?":
            raise PatternError(at, f"There is nothing in front of this `{char}` to repeat.")
        if char in "^$":
            return self._free(char)
        if char == "[":
            return self._one(self._class(at))
        if char == ".":
            return self._one(lambda one: one != "\n")
        if char == "\\":
            return self._escape(at)
        return self._one(_equal(char))

    def _group(self, at: int) -> tuple[int, int]:
        if self._takes("?") and not self._takes(":"):
            raise PatternError(at, "Look-around, named groups and flags are not understood; use `(…)` or `(?:…)`.")
        self.depth += 1
        if self.depth > 50:
            raise PatternError(at, "Groups are nested too deep.")
        part = self._alternatives()
        if not self._takes(")"):
            raise PatternError(at, "This `(` is not closed.")
        self.depth -= 1
        return part

    def _escape(self, at: int) -> tuple[int, int]:
        if self.at >= len(self.text):
            raise PatternError(at, "A `\\` at the end means nothing.")
        char = self.text[self.at]
        if char in "bB":
            self.at += 1
            return self._free(char)
        return self._one(self._escaped(at))

    def _escaped(self, at: int) -> _Test:
        char = self.text[self.at]
        self.at += 1
        if char in _CLASSES:
            return _CLASSES[char]
        if char in "nrt":
            return _equal({"n": "\n", "r": "\r", "t": "\t"}[char])
        if char.isalnum() and char.isascii():
            raise PatternError(at, f"`\\{char}` is not understood.")
        return _equal(char)

    def _class(self, at: int) -> _Test:
        negated = self._takes("^")
        tests: list[_Test] = []
        while True:
            if self.at >= len(self.text):
                raise PatternError(at, "This `[` is not closed.")
            char = self.text[self.at]
            if char == "]" and tests:
                self.at += 1
                break
            self.at += 1
            if char == "\\" and self.at < len(self.text):
                tests.append(self._escaped(self.at - 1))
                continue
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("", "]"):
                high = self.text[self.at + 1]
                if high < char:
                    raise PatternError(self.at - 1, f"The range `{char}-{high}` stands the wrong way round.")
                self.at += 2
                tests.append(_between(char, high))
            else:
                tests.append(_equal(char))
        return lambda one: any(test(one) for test in tests) != negated

    def _one(self, test: _Test) -> tuple[int, int]:
        end = self._new()
        return self._new(test, after=(end,)), end

    def _free(self, needs: str) -> tuple[int, int]:
        end = self._new()
        return self._new(needs=needs, after=(end,)), end

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _takes(self, char: str) -> bool:
        if self._peek() == char:
            self.at += 1
            return True
        return False


def _is_word(char: str) -> bool:
    """Letters and digits of ASCII only: between 凭证为 and key there is a border."""
    return char.isascii() and (char.isalnum() or char == "_")


def _equal(char: str) -> _Test:
    folded = char.casefold()
    return lambda one: one in folded if len(folded) > 1 else one == folded


def _between(low: str, high: str) -> _Test:
    def test(one: str) -> bool:
        return low <= one <= high or low <= one.upper() <= high

    return test


_CLASSES: dict[str, _Test] = {
    "d": str.isdigit,
    "D": lambda one: not one.isdigit(),
    "w": lambda one: one.isalnum() or one == "_",
    "W": lambda one: not (one.isalnum() or one == "_"),
    "s": str.isspace,
    "S": lambda one: not one.isspace(),
}
