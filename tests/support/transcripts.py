"""Runs what the documentation shows: commands after `$`, and below them the output that they really have.

A transcript is a `.txt` file, or the ```console blocks of a Markdown file; all of it runs in order.

    # a comment                     # folder: live      (go on in a fresh folder; in Markdown <!-- folder: live -->)
    $ ctxrepo memory list           > continues a command
    first line of its output        ... in a line stands for any text, alone for any lines
    ? 3                             the exit code, if it is not 0

Standard output and errors are compared as they come; the home folder is shown as `~`. The first command runs at
`START`, each one a minute after the one before, so times, ids and commits are the same in every run. A line of
output that looks like one of these marks is written with a backslash before it. Commands share the current folder,
not variables. `pytest --update` writes what really came into the file.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

SECONDS = 120
NAMES = {"empty": "work", "example": "example-workspace", "live": "lantern-tea"}
START = datetime(2026, 11, 29, 10, tzinfo=UTC)
_ID = re.compile(r"\b(?=[a-z]*[0-9])(?:[0-9a-f]{10}|[0-9a-hjkmnp-tv-z]{6})\b")
_FOLDER = re.compile(r"\s*(?:#|<!--)\s*folder:\s*(\w+)\s*(?:-->)?\s*")
_MARK = re.compile(r"\\*(?:[$#?>] |[$#>]$)")
_ESCAPED = re.compile(r"^\\(?=\\*(?:[$#?>] |[$#>]$))")


class Step(NamedTuple):
    """One command and what it should print."""

    folder: str | None  # kind of a fresh folder to go to first
    command: str
    code: int
    expected: list[str]
    start: int  # lines of the file that hold output and exit code: [start:end]
    end: int


def parse(text: str, *, markdown: bool) -> Iterator[Step]:
    """Finds the steps of a transcript."""
    lines = text.split("\n")
    ends = re.compile(r"[$#] |[$#]$|```" if markdown else r"[$#] |[$#]$")
    inside, folder, number = not markdown, None, 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if match := _FOLDER.fullmatch(line):
            folder = match[1]
        elif markdown and line.startswith("```"):
            inside = not inside and line.strip() == "```console"
        elif inside and line.startswith("$ "):
            command = [line[2:]]
            while number < len(lines) and re.match(r">( |$)", lines[number]):
                command.append(lines[number][2:])
                number += 1
            start = number
            while number < len(lines) and not ends.match(lines[number]):
                number += 1
            end = number
            while end > start and not lines[end - 1].strip():
                end -= 1
            output = lines[start:end]
            code = int(output.pop()[2:]) if output and re.fullmatch(r"\? \d+", output[-1]) else 0
            yield Step(folder, "\n".join(command), code, [_ESCAPED.sub("", item) for item in output], start, end)
            folder = None


def run(path: Path, home: Path, prepare: Callable[[str, Path], None], *, update: bool = False) -> list[str]:
    """Runs a transcript and returns one report for every step that went otherwise than it says.

    `home` is the commands' home folder, their folders are made in it; `prepare` fills a fresh one of the kind that
    a `folder:` line names ("empty" at the beginning). With `update` the file is rewritten instead; lines with `...`
    that still fit stay, and an id that came out otherwise is followed into the commands below.
    """
    text = path.read_text(encoding="utf-8")
    reports, lines, place, count = [], text.split("\n"), home, 0
    changes: list[tuple[int, int, list[str]]] = []
    renamed: dict[str, str] = {}
    for number, step in enumerate(parse(text, markdown=path.suffix == ".md")):
        if step.folder or not count:
            count += 1
            place = home / (NAMES[step.folder or "empty"] + (f"-{count}" if count > 1 else ""))
            place.mkdir()
            prepare(step.folder or "empty", place)
        command = _with_new_ids(step.command, renamed) if update else step.command
        output, code, place = _shell(command, place, home, START + timedelta(minutes=number))
        if command != step.command:
            typed = [f"{'>' if more else '$'} {line}" for more, line in enumerate(command.split("\n"))]
            changes.append((step.start - len(typed), step.start, typed))
        if code == step.code and _pattern(step.expected).fullmatch("\n".join([*output, ""])):
            continue
        wanted, came = ([*body, f"? {status}"] for body, status in ((step.expected, step.code), (output, code)))
        diff = difflib.unified_diff(wanted, came, "expected", "came", lineterm="")
        reports.append("\n".join([f"{path.name}:{step.start}: $ {step.command}", *diff]))
        renamed |= _renamed(step.expected, output)
        kept = [line for line in step.expected if "..." in line and line.strip() != "..."]
        fitting = [next((line for line in kept if _pattern([line]).fullmatch(f"{item}\n")), item) for item in output]
        escaped = [f"\\{item}" if _MARK.match(item) else item for item in fitting]
        changes.append((step.start, step.end, escaped + [f"? {code}"] * (code > 0)))
    if update and changes:
        for start, end, replacement in reversed(changes):
            lines[start:end] = replacement
        path.write_text("\n".join(lines), encoding="utf-8")
        return []
    return reports


def _with_new_ids(command: str, renamed: Mapping[str, str]) -> str:
    return _ID.sub(lambda found: renamed.get(found[0], found[0]), command)


def _renamed(before: list[str], after: list[str]) -> dict[str, str]:
    """Ids of the old output and what stands in their places in the new one."""
    pairs = ((old.split(), new.split()) for old, new in zip(before, after, strict=False))
    words = [both for old, new in pairs if len(old) == len(new) for both in zip(old, new, strict=True)]
    return {old: new for old, new in words if old != new and _ID.fullmatch(old) and _ID.fullmatch(new)}


def _shell(command: str, place: Path, home: Path, now: datetime) -> tuple[list[str], int, Path]:
    """Runs one command; returns its output, its exit code and the folder in which it left the shell."""
    left = home / ".left-in"
    left.write_text(str(place), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CTXREPO_WORKSPACE"}
    environment |= {"HOME": str(home), "CTXREPO_BACKGROUND": "off", "LEFT": str(left)}
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    environment |= {"CTXREPO_NOW": moment, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    script = f"trap 'pwd -P >\"$LEFT\"' EXIT\nexec </dev/null 2>&1\n{command}"
    done = subprocess.run(["bash", "-c", script], cwd=place, env=environment, stdout=subprocess.PIPE, timeout=SECONDS)
    output = done.stdout.decode("utf-8", "replace").replace(str(home), "~").rstrip()
    return output.split("\n") if output else [], done.returncode, Path(left.read_text(encoding="utf-8").strip())


def _pattern(expected: list[str]) -> re.Pattern[str]:
    """The expected lines as a pattern over the output's lines, each ended by a line break."""
    parts = [
        r"(?:.*\n)*?" if line.strip() == "..." else ".*?".join(map(re.escape, line.rstrip().split("..."))) + r"[ \t]*\n"
        for line in expected
    ]
    return re.compile("".join(parts) or r"\n?")
