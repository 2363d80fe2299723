"""Runs what the documentation shows: commands after `$`, and below them the output that they really have.

A transcript is a `.txt` file, or the ```console blocks of a Markdown file; all of it runs in order.

    # a comment                     # folder: live      (go on in a fresh folder; in Markdown <!-- folder: live -->)
    $ ctxrepo memory list           > continues a command
    first line of its output        ... in a line stands for any text, alone for any lines
    ? 3                             the exit code, if it is not 0

Standard output and errors are compared as they come; the home folder is shown as `~`. A line of output that
looks like one of these marks is written with a backslash before it. Commands share the current folder, not
variables. `pytest --update` writes what really came into the file.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

SECONDS = 120
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
    a `folder:` line names ("empty" at the beginning). With `update` the file is rewritten instead.
    """
    text = path.read_text(encoding="utf-8")
    reports, lines, place, count = [], text.split("\n"), home, 0
    changes: list[tuple[Step, list[str]]] = []
    for step in parse(text, markdown=path.suffix == ".md"):
        if step.folder or not count:
            count += 1
            place = home / f"place{count}"
            place.mkdir()
            prepare(step.folder or "empty", place)
        output, code, place = _shell(step.command, place, home)
        if code == step.code and _pattern(step.expected).fullmatch("\n".join([*output, ""])):
            continue
        wanted, came = ([*body, f"? {number}"] for body, number in ((step.expected, step.code), (output, code)))
        diff = difflib.unified_diff(wanted, came, "expected", "came", lineterm="")
        reports.append("\n".join([f"{path.name}:{step.start}: $ {step.command}", *diff]))
        changes.append(
            (step, [f"\\{item}" if _MARK.match(item) else item for item in output] + [f"? {code}"] * (code > 0))
        )
    if update and changes:
        for step, replacement in reversed(changes):
            lines[step.start : step.end] = replacement
        path.write_text("\n".join(lines), encoding="utf-8")
        return []
    return reports


def _shell(command: str, place: Path, home: Path) -> tuple[list[str], int, Path]:
    """Runs one command; returns its output, its exit code and the folder in which it left the shell."""
    left = home / ".left-in"
    left.write_text(str(place), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CTXREPO_WORKSPACE"}
    environment |= {"HOME": str(home), "CTXREPO_BACKGROUND": "off", "LEFT": str(left)}
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
