"""A live workspace under test, met as people and agents meet it: files, the installed command, the hook's stdin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxrepo.api import open_workspace
from ctxrepo.workspace.setup import init_workspace

COMMAND = str(Path(sys.executable).with_name("ctxrepo"))
EVENT = ("hook", "claude-code", "user-prompt-submit")


@dataclass(frozen=True)
class Fired:
    """What a hook process did."""

    code: int
    out: bytes
    err: bytes
    seconds: float
    cpu: float

    @property
    def context(self) -> str:
        """What the agent is shown; fails unless the answer is nothing or exactly one object of the host's schema."""
        assert (self.code, self.err) == (0, b"")
        if not self.out:
            return ""
        answer = json.loads(self.out)
        assert list(answer) == ["hookSpecificOutput"]
        inner = answer["hookSpecificOutput"]
        assert set(inner) == {"hookEventName", "additionalContext"}
        assert inner["hookEventName"] == "UserPromptSubmit"
        assert inner["additionalContext"]
        return str(inner["additionalContext"])


def payload(prompt: object, folder: str | os.PathLike[str], **fields: object) -> dict[str, object]:
    """What Claude Code sends with a prompt, every field of it."""
    return {
        "session_id": "6f0d3f1e-8a53-4a0e-9f0a-3d1f6b2f7c11",
        "transcript_path": f"{folder}/session.jsonl",
        "cwd": os.fspath(folder),
        "prompt_id": "b7f7ad7c-55d3-4b1c-8c7c-7e6a4a1f0a55",
        "permission_mode": "default",
        "effort": {"level": "high"},
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
        "source": "user",
        "session_title": "Plan the week",
        **fields,
    }


class Live:
    """A workspace with one user or more; its folder is `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def made(cls, root: Path, *users: str) -> Live:
        """A workspace for these users, for `me` when none is named; one that is there gets what it lacks."""
        for user in users or ("me",):
            init_workspace(str(root), user=user)
        return cls(root)

    @property
    def local(self) -> Path:
        """Machine-local state."""
        return self.root / ".git" / "ctxrepo"

    def mine(self, user: str = "me") -> Path:
        """The folder of a user's private store."""
        return self.root / "memory" / user

    def add(self, text: str, *, user: str = "me", agent: str = "*", project: str = "*", **fields: Any) -> Path:
        """Remembers a fact and returns its file."""
        with open_workspace(self.root, user=user, agent=agent) as repo:
            return self.root / repo.memory.add(text, project=project, **fields)["path"]

    def write(self, texts: Iterable[str], *, user: str = "me", folder: str = "facts/by-hand") -> list[Path]:
        """Facts written by hand, one file each, and indexed."""
        place = self.mine(user) / folder
        place.mkdir(parents=True, exist_ok=True)
        paths = []
        for number, text in enumerate(texts):
            paths.append(place / f"{number}.md")
            paths[-1].write_text(text + "\n", encoding="utf-8")
        self.sync(user)
        return paths

    def sync(self, user: str = "me") -> dict[str, Any]:
        """What `ctxrepo sync` does."""
        with open_workspace(self.root, user=user) as repo:
            return repo.sync_all()

    def run(
        self, *arguments: str, cwd: Path | None = None, stdin: str = "", **env: str
    ) -> subprocess.CompletedProcess[str]:
        """The installed command in a process of its own."""
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=cwd or self.root,
            env={**os.environ, "CTXREPO_WORKSPACE": str(self.root), **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def json(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """The same with `--json`; fails when the command does."""
        done = self.run(*arguments, "--json", **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def found(self, words: str, user: str = "me") -> list[str]:
        """Texts that a recall of `words` brings, whatever their relevance."""
        with open_workspace(self.root, user=user, project="*") as repo:
            return [hit["text"] for hit in repo.recall(words, limit=50, threshold=0.0)["results"]]

    def fire(
        self,
        prompt: object = "",
        *,
        raw: bytes | None = None,
        user: str | None = "me",
        options: Sequence[str] | None = None,
        place: Path | None = None,
        wrap: Sequence[str] = (),
        env: Mapping[str, str | None] | None = None,
        **fields: object,
    ) -> Fired:
        """Fires the recall hook as an agent host does.

        Args:
            raw: stdin as it is, instead of the payload of `prompt` and `fields`.
            options: instead of `--workspace` and `--user`.
            place: the folder in which the hook runs and, unless `cwd` says otherwise, the agent works.
            wrap: a command that starts the hook's, such as `env -i`.
            env: variables to set, None takes one away.
        """
        place = place or self.root.parent
        if options is None:
            options = ["--workspace", str(self.root), *(["--user", user] if user else [])]
        data = json.dumps(payload(prompt, place, **fields), ensure_ascii=False).encode() if raw is None else raw
        changed = {**os.environ, **(env or {})}
        return started(
            [*wrap, COMMAND, *EVENT, *options],
            data,
            cwd=place,
            env={name: value for name, value in changed.items() if value is not None},
        )


def started(command: Sequence[str], data: bytes, *, cwd: Path, env: Mapping[str, str]) -> Fired:
    """Runs a hook's process to its end, and measures it."""
    begun = time.monotonic()
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        before = os.times()
        out, err = child.communicate(data, timeout=30)
        after = os.times()
    seconds = time.monotonic() - begun
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Fired(child.returncode, out, err, seconds, cpu)


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether `holds` becomes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return holds()
