"""`ctxrepo demo`: a copy of the example workspace comes alive and does the main job before your eyes.

Every line after `$` is a command that can be typed; the demo runs it through the same entry as the
shell does, so what it shows is what a user gets.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ctxrepo.cli import output
from ctxrepo.errors import NotFound, Refused
from ctxrepo.workspace.layout import MARKER, MEMORY
from ctxrepo.workspace.setup import init_workspace


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
    """Copies the example to `directory` and gives every user in it a private store; `user` owns the clone."""
    if directory.exists() and any(directory.iterdir()):
        raise Refused(f"{directory} is not empty.", hint="ctxrepo demo ./another-folder")
    shutil.copytree(example_folder(), directory, dirs_exist_ok=True)
    users = sorted(folder.name for folder in (directory / MEMORY).iterdir() if folder.is_dir())
    if user not in users:
        raise NotFound(f"The example has no user {user!r}.", hint=f"ctxrepo demo --user {users[0]}")
    for each in [*(name for name in users if name != user), user]:
        init_workspace(str(directory), user=each)
    return users


def run_demo(directory: str | None, user: str) -> None:
    """Makes the live copy and runs the main job on it, printing each command and its answer."""
    place = Path(directory).resolve() if directory else Path(tempfile.mkdtemp(prefix="ctxrepo-demo-"))
    users = make_live(place, user)
    output.line(f"A live copy of the example workspace: {place} (users: {', '.join(users)}; you are {user})")
    _show(place, ["status"], "What is here: a team store, a private store for each user, a tasks store.")
    _show(place, ["recall", "周五聚餐能点辣菜吗", "--explain"], "A prompt recalls what matters to it, and says why.")
    _show(
        place,
        ["recall", "退款多久到账", "--knowledge"],
        "With --knowledge the team's reviewed documents answer as well.",
    )
    _show(
        place,
        ["memory", "add", "发布窗口改到周二 release window moved to Tuesday", "--kind", "decision", "--project", "*"],
        "A new fact is one file and one commit in your private repository.",
    )
    _show(place, ["log", "--limit", "3"], "The operation log is the git log.")
    _hook(place, user, "周五聚餐能点辣菜吗")
    output.line()
    output.line(f"Go on: cd {place} && {sys.argv[0]} memory list")


def _show(place: Path, arguments: list[str], sentence: str) -> None:
    """Prints and runs one command in the workspace."""
    output.line()
    output.line(f"# {sentence}")
    shown = " ".join(f'"{word}"' if " " in word or word == "*" or not word.isascii() else word for word in arguments)
    output.line(f"$ ctxrepo {shown}")
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "ctxrepo", *arguments], cwd=place, check=True)


def _hook(place: Path, user: str, prompt: str) -> None:
    """Fires the recall hook as an agent host does and prints what the agent would be given."""
    output.line()
    output.line("# What an agent is given at that prompt (the hook answers JSON; this is its text).")
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "demo", "cwd": str(place), "prompt": prompt}
    output.line(f'$ echo \'{{"prompt": "{prompt}", …}}\' | ctxrepo hook claude-code user-prompt-submit')
    answer = subprocess.run(
        [
            sys.executable,
            "-m",
            "ctxrepo",
            "hook",
            "claude-code",
            "user-prompt-submit",
            "--workspace",
            str(place),
            "--user",
            user,
        ],
        input=json.dumps(payload).encode(),
        env=os.environ | {"CTXREPO_BACKGROUND": "off"},
        stdout=subprocess.PIPE,
        check=True,
    )
    output.line(json.loads(answer.stdout)["hookSpecificOutput"]["additionalContext"])
