"""Every problem of one file, as values: path, line, field, message, level.

An error is what makes a file mean something else than its author thinks, or nothing at all; a warning is what a
person should know.  Raising is left to those who write: `refuse_errors` makes one exception of all the errors.

Hidden characters and secrets are errors in what is newly written and warnings in what stands already: a file that was
accepted yesterday must not block today's commit of another line, and its author may not even be able to see what to
remove; but nothing new of the kind comes in, and the warning shows where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ctxrepo.asset.access_rules import access_problems
from ctxrepo.asset.fields import Field, Unfit, instant, nearest, read_value
from ctxrepo.asset.frontmatter import FrontmatterError, Parsed
from ctxrepo.asset.header import text_of
from ctxrepo.asset.kinds import KINDS, Kind
from ctxrepo.asset.skill_rules import skill_problems
from ctxrepo.errors import Invalid
from ctxrepo.text.hidden import find_hidden
from ctxrepo.text.secrets import find_secrets

_SECOND_HEADER = re.compile(r"\s*---[ \t]*\r?\n(?=[A-Za-z_][\w-]*:[ \t\r\n])(?:(?!---)[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")
_LOST = {"None", "null", "undefined", "nil", "NaN"}
_SHOWN = 5  # hidden characters, and secrets, that get a message each


class Problem(NamedTuple):
    """One thing that is wrong with a file; as text `path:line: field: message`."""

    path: str
    line: int  # 1-based; the header's first line for what is missing
    field: str  # "" for the file as a whole, "body" for its text
    message: str  # a sentence
    level: str  # "error" or "warning"

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}: " + (f"{self.field}: " if self.field else "")
        return where + ("warning: " if self.level == "warning" else "") + self.message


def check(kind: str, parsed: Parsed, path: str, *, new: bool = False) -> list[Problem]:
    """Finds every problem of a file.

    Args:
        kind: a key of `kinds.KINDS`.
        parsed: what the file says.
        path: as it should show in messages, and for the rules that concern it.
        new: it is about to be written by us, or was just added; hidden characters and secrets are errors then.
    """
    table = KINDS[kind]
    found = _Finder(parsed, path)
    if table.body != "none" and parsed.body_line > 1 and not parsed.text.lstrip("\ufeff").startswith("---"):
        found.warn("", "The header must begin in the first line, or other tools do not see it.", 1)
    for field in table.fields:
        _check_field(found, field, parsed.fields)
    _check_others(found, table, parsed.fields)
    _check_body(found, table, parsed)
    _check_relations(found, kind, parsed.fields)
    if kind == "skill":
        found.take(skill_problems(parsed.fields, parsed.body, path))
    elif kind == "access":
        found.take(access_problems(parsed.fields))
    _check_text(found, parsed, "error" if new else "warning")
    return sorted(found.problems, key=lambda problem: (problem.line, problem.level, problem.field))


def unreadable(err: FrontmatterError, path: str) -> Problem:
    """Gives the one problem of a file that cannot be read."""
    hint = f" {err.hint}" if err.hint else ""
    return Problem(path, err.line, "", err.message + hint, "error")


def refuse_errors(problems: Iterable[Problem]) -> None:
    """Raises if one of the problems is an error.

    Raises:
        Invalid: with all errors in its details.
    """
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        count = f"{len(errors)} errors" if len(errors) > 1 else "an error"
        raise Invalid(f"{errors[0].path} has {count}; nothing was written.", details=[str(error) for error in errors])


class _Finder:
    """Collects problems and finds their lines."""

    def __init__(self, parsed: Parsed, path: str) -> None:
        self.parsed = parsed
        self.path = path
        self.problems: list[Problem] = []

    def error(self, field: str, message: str, line: int | None = None) -> None:
        self.add(field, message, "error", line)

    def warn(self, field: str, message: str, line: int | None = None) -> None:
        self.add(field, message, "warning", line)

    def add(self, field: str, message: str, level: str, line: int | None = None) -> None:
        if line is None:
            line = self.parsed.body_line if field == "body" else self.parsed.lines.get(field, 1)
        self.problems.append(Problem(self.path, line, field, message, level))

    def take(self, findings: Iterable[tuple[str, str, str]]) -> None:
        for field, message, level in findings:
            self.add(field, message, level)


def _check_field(found: _Finder, field: Field, fields: Mapping[str, object]) -> None:
    value = fields.get(field.name)
    if value is None or (isinstance(value, str) and not value.strip()):
        if field.need == "required":
            found.error(field.name, "is missing." if field.name not in fields else "is empty.")
        elif field.need == "wanted":
            found.warn(field.name, f"is missing: {field.meaning}.")
        elif value is not None:
            found.warn(field.name, "is empty; take the line out.")
        return
    try:
        read_value(field, value)
    except Unfit as err:
        line = _line_of_item(found.parsed.lines, field.name, str(err))
        text = str(err)
        found.error(field.name, text if text.endswith(("?", ".")) else text + ".", line)
        return
    if field.type in ("line", "text") and isinstance(value, str) and value in _LOST:
        found.warn(field.name, f"is the word {value!r}, which a program writes where a value got lost.")


def _line_of_item(lines: Mapping[str, int], field: str, message: str) -> int | None:
    item = re.search(r"\bitem (\d+)", message)
    return lines.get(f"{field}[{int(item[1]) - 1}]") if item else None


def _check_others(found: _Finder, table: Kind, fields: Mapping[str, object]) -> None:
    known = [field.name for field in table.fields]
    for key in fields:
        if key in known or table.name in ("skill", "workspace"):
            continue
        if table.others == "refused":
            found.error(key, f"is not known here.{nearest(key, known)}")
        elif key.casefold().replace("-", "_").rstrip(":") in known:
            found.warn(key, f"is kept as your own field.{nearest(key.casefold().replace('-', '_'), known)}")


def _check_body(found: _Finder, table: Kind, parsed: Parsed) -> None:
    if table.body == "none":
        return
    if table.body == "needed" and not parsed.body.strip():
        found.error("body", "The file has no text below its header.")
    if parsed.body_line > 1 and _SECOND_HEADER.match(parsed.body):
        found.error("body", "A second header stands right below the first and counts as text; merge the two.")


def _check_relations(found: _Finder, kind: str, fields: Mapping[str, object]) -> None:
    for start, end in (("valid_from", "valid_until"), ("effective_from", "effective_until"), ("created", "updated")):
        if _is_later(fields.get(start), fields.get(end)):
            found.add(end, f"lies before {start}.", "warning" if end == "updated" else "error")
    if kind not in ("fact", "document"):
        return
    own, successor = fields.get("id"), fields.get("superseded_by")
    replaced = fields.get("supersedes")
    if own is not None and (own in (successor, replaced) or (isinstance(replaced, list) and own in replaced)):
        found.error("superseded_by" if own == successor else "supersedes", "names the file itself.")
    if fields.get("status") == "superseded" and successor is None:
        found.warn("status", "is superseded, and superseded_by does not say by what.")
    if successor is not None and fields.get("status", "active") in ("active", "verified"):
        found.warn("status", "is still current, though superseded_by names a successor.")


def _is_later(start: object, end: object) -> bool:
    try:
        first, last = instant(start), instant(end, end=True)
        return (
            first >= last if len(text_of(end)) == 10 else first > last
        )  # the end of a day is the next one's beginning
    except (TypeError, ValueError):
        return False


def _check_text(found: _Finder, parsed: Parsed, level: str) -> None:
    """Looks for what must not stand anywhere in a file; a secret is named by its kind and never repeated."""
    text = parsed.text.removeprefix("\ufeff")
    hidden = [(one.at, f"holds the hidden character {one.name}.") for one in find_hidden(text)]
    secrets = [
        (one.start, f"holds a secret ({one.kind}); name the place where it is kept.") for one in find_secrets(text)
    ]
    for findings, what in ((hidden, "hidden characters"), (secrets, "secrets")):
        for at, message in findings[:_SHOWN]:
            line = text.count("\n", 0, at) + 1
            found.add(_field_at(parsed, line), message, level, line)
        if len(findings) > _SHOWN:
            line = text.count("\n", 0, findings[_SHOWN][0]) + 1
            found.add("", f"{len(findings) - _SHOWN} more {what} follow.", level, line)


def _field_at(parsed: Parsed, line: int) -> str:
    if line >= parsed.body_line:
        return "body"
    above: Iterator[tuple[int, str]] = ((at, name) for name, at in parsed.lines.items() if at <= line)
    return re.split(r"[.\[]", max(above, default=(0, ""))[1])[0]
