"""Real repositories in temporary folders, and plain git as a person would run it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ctxrepo.store import private
from ctxrepo.store.store import Store

Person = Callable[..., str]


@pytest.fixture
def now() -> Callable[[], datetime]:
    """A clock that advances one second per reading."""
    ticks = iter(range(10**6))
    return lambda: datetime(2026, 11, 29, 10, 0, 0, tzinfo=UTC) + timedelta(seconds=next(ticks))


@pytest.fixture
def git() -> Person:
    """Git as a person runs it in a folder; returns what it printed, fails the test when it fails (unless `ok`)."""

    def run(folder: str | Path, *args: str, ok: bool = True, data: str | None = None) -> str:
        done = subprocess.run(["git", *args], cwd=folder, input=data, capture_output=True, text=True, check=False)
        if ok and done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
        return done.stdout if done.returncode == 0 else done.stderr

    return run


@pytest.fixture
def team(tmp_path: Path) -> Store:
    """A team store with one commit."""
    store = private.create_team(tmp_path / "team")
    with store.transaction("init", actor="me", subject="init: workspace") as tx:
        tx.write(".gitignore", private.with_private_ignored("").encode())
        tx.write("knowledge/eng/KB.md", b"# Engineering\n")
    return store


@pytest.fixture
def mine(team: Store) -> Store:
    """The private store of `me`, with rules and two facts."""
    store = private.create_private(team, "memory/me", {"rules.md": b"rules\n"}, actor="me")
    with store.transaction("memory.add", actor="me", subject="memory: add two") as tx:
        tx.write("facts/2026-11/a-000001.md", b"likes tea\n")
        tx.write("facts/2026-11/b-000002.md", b"no chili\n")
    return store
