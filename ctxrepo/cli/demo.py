"""`ctxrepo demo`: a copy of the example workspace comes alive and does the main job before your eyes.

Every line after `$` is a command that can be typed; the demo runs it through the same entry as the
shell does, so what it shows is what a user gets.  The hook alone runs as a process of its own, as an
agent host starts it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ctxrepo.cli import clock, output
from ctxrepo.errors import NotFound, Refused
from ctxrepo.workspace.layout import MARKER, MEMORY, current_folder
from ctxrepo.workspace.setup import init_workspace

PROJECT = "github.com/lantern-tea/billing"
PROMPT = "周五聚餐能点辣菜吗"


Run = Callable[[list[str]], int]


class Step(NamedTuple):
    """One command of the demo, and the sentence above it."""

    sentence: str
    arguments: tuple[str, ...]


STEPS = (
    Step("A prompt recalls what matters to it, scored and with its source.", ("recall", PROMPT)),
    Step("Small talk recalls nothing.", ("recall", "谢谢，早点休息")),
    Step(
        "With --knowledge the team's reviewed documents answer as well; languages may mix.",
        ("recall", "what must run before a deploy", "--knowledge", "--project", PROJECT),
    ),
    Step(
        "A new fact is one Markdown file and one commit, in your private repository.",
        ("memory", "add", "发布窗口改到周二 release window moved to Tuesday", "--kind", "decision", "--project", "*"),
    ),
    Step("The history of everything is git's; any line of it can be undone.", ("log", "--limit", "2")),
)


def example_folder() -> Path:
    """The example workspace: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "example-workspace", package.parent / "example-workspace"):
        if (folder / MARKER).is_file():
            return folder
    raise NotFound(
        "This installation of ctxrepo has no example workspace.",
        hint="pip install --force-reinstall ctxrepo",
    )


def make_live(directory: Path, user: str) -> list[str]:
    """Copies the example to `directory` and gives every user in it a private store; `user` owns the clone.

    Raises:
        Refused: something is there already. NotFound: the example has no such user.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise Refused(f"{directory} is there already and not empty.", hint="ctxrepo demo ./another-folder")
    example = example_folder()
    users = sorted(folder.name for folder in (example / MEMORY).iterdir() if folder.is_dir())
    if user not in users:
        raise NotFound(f"The example has no user {user!r}.", hint=f"ctxrepo demo --user {users[0]}")
    shutil.copytree(example, directory, dirs_exist_ok=True)
    for each in [*(name for name in users if name != user), user]:
        init_workspace(str(directory), user=each, now=clock.calendar())
    return users


def run_demo(directory: str | None, user: str, run: Run, *, as_json: bool = False) -> None:
    """Makes the live copy and runs the main job on it, printing each command and its answer.

    Args:
        run: runs a command line in this process and returns its exit code.
    """
    place = Path(directory).resolve() if directory else Path(tempfile.mkdtemp(prefix="ctxrepo-demo-"))
    users = make_live(place, user)
    with _standing_in(place):
        if as_json:
            shown = [
                {"sentence": step.sentence, "command": _shown(step), "output": _answer(step, run)} for step in STEPS
            ]
            output.emit(
                {"workspace": str(place), "user": user, "users": users, "steps": shown}, as_json=True, text=lambda: None
            )
            return
        output.line(f"A live copy of the example workspace, as {user} of a small tea company sees it: {place}")
        for number, step in enumerate(STEPS, 1):
            _introduce(number, step.sentence, _shown(step))
            output.block(_answer(step, run))
    _introduce(
        len(STEPS) + 1,
        "The agent gets it without asking: this is what its hook adds to the prompt.",
        f'echo \'{{"prompt": "{PROMPT}", …}}\' | ctxrepo hook claude-code user-prompt-submit',
    )
    output.block(_injected(place, user))
    output.line()
    output.line(f"Look around: cd {shlex.quote(str(place))} && {shlex.quote(_command())} status")


def _introduce(number: int, sentence: str, command: str) -> None:
    output.line()
    output.heading(f"{number}. {sentence}")
    output.line(f"$ {command}")


def _shown(step: Step) -> str:
    quoted = (f'"{word}"' if " " in word or word == "*" or not word.isascii() else word for word in step.arguments)
    return f"ctxrepo {' '.join(quoted)}"


def _answer(step: Step, run: Run) -> str:
    """What the command prints for people.

    Raises:
        Refused: it failed; what it said stands in the details.
    """
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run(list(step.arguments))
    if code:
        raise Refused(
            f"`{_shown(step)}` ended with exit code {code}.",
            hint="ctxrepo doctor",
            details=said.getvalue().splitlines(),
        )
    return said.getvalue()


@contextlib.contextmanager
def _standing_in(place: Path) -> Iterator[None]:
    """The demo's folder as the current one, with no other workspace or user chosen by the environment."""
    before = {name: os.environ.pop(name) for name in ("CTXREPO_WORKSPACE", "CTXREPO_USER") if name in os.environ}
    here = current_folder()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.update(before)


def _injected(place: Path, user: str) -> str:
    """What an agent is given at the prompt: the hook's answer, fired as a host does."""
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "demo", "cwd": str(place), "prompt": PROMPT}
    call = ["hook", "claude-code", "user-prompt-submit", "--workspace", str(place), "--user", user]
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "ctxrepo", *call],
        input=json.dumps(payload).encode(),
        env=os.environ | {"CTXREPO_BACKGROUND": "off"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return str(json.loads(answer.stdout)["hookSpecificOutput"]["additionalContext"])


def _command() -> str:
    """How this installation is called from anywhere."""
    found = shutil.which("ctxrepo")
    mine = Path(sys.argv[0]).resolve()
    if found and Path(found).resolve() == mine:
        return "ctxrepo"
    return str(mine) if mine.name == "ctxrepo" else f"{sys.executable} -m ctxrepo"
