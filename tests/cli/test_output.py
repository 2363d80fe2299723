"""What is printed: widths, hidden characters, terminals, pipes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.cli import output
from tests.support.command import Command

COMMAND = str(Path(sys.executable).with_name("ctxrepo"))
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_columns_align_whatever_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    """Chinese takes two columns, an accent or a joiner none."""
    output.table(("id", "name", "x"), [("1", "对辣菜过敏", "a"), ("2", "cafe\u0301 noir", "b"), ("3", "tea", "c")])
    lines = capsys.readouterr().out.splitlines()

    assert lines == [
        "id  name        x",
        "1   对辣菜过敏  a",
        "2   cafe\u0301 noir   b",
        "3   tea         c",
    ]


def test_a_cell_is_one_line_and_shows_what_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    """A fact of two lines does not break the table."""
    output.table(("text",), [("one\ntwo\tthree \x1b[31m",)])

    assert capsys.readouterr().out == "text\none two three ⟨U+001B⟩[31m\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb", "a\nb"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("pass\u200bword", "pass⟨U+200B⟩word"),
        ("👨‍👩‍👧 ok", "👨‍👩‍👧 ok"),
        ("\u202etxt.exe", "⟨U+202E⟩txt.exe"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    """Emoji keep their joiners."""
    assert output.visible(text) == shown


def terminal(folder: Path, *arguments: str, columns: int = 60, **env: str) -> str:
    """What a command prints on a terminal of that width."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), **env}
    environment.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
    with subprocess.Popen([COMMAND, *arguments], cwd=folder, stdout=follower, stderr=follower, env=environment):
        os.close(follower)
        data = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            data += chunk
    os.close(leader)
    return data.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_drawn_table_that_fits(ctx: Command, team: Path) -> None:
    """Only the last column is cut; ids stay whole."""
    tail = ctx.add("对辣菜过敏，聚餐要避开，火锅也要清汤的，川菜馆就不要订了，谢谢大家的理解和照顾", "--project", "*")
    shown = terminal(team, "memory", "list")
    lines = ANSI.sub("", shown).splitlines()

    assert "\x1b[1m" in shown
    assert tail in lines[1]
    assert lines[1].rstrip().endswith("…")
    assert len(lines) == 2


def test_a_pipe_gets_everything_and_no_colour(ctx: Command) -> None:
    """Nothing is cut, nothing is decorated."""
    text = "对辣菜过敏，聚餐要避开，火锅也要清汤的，川菜馆就不要订了"
    ctx.add(text, "--project", "*")
    out = ctx("memory", "list").out

    assert text in out
    assert "\x1b" not in out


def test_no_color_is_respected(ctx: Command, team: Path) -> None:
    """Headings are plain then, too."""
    assert "\x1b[1m" in terminal(team, "status")
    assert "\x1b[1m" not in terminal(team, "status", NO_COLOR="1")


def test_json_is_one_object_with_real_characters(ctx: Command) -> None:
    """Readable for people as well, on a stream that can carry it."""
    out = ctx("memory", "add", "对辣菜过敏", "--json").out

    assert json.loads(out)["text"] == "对辣菜过敏"
    assert "对辣菜过敏" in out
