"""The command line and Python are the same verbs: what `--json` prints is what the method returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ctxrepo
from ctxrepo.api import ContextRepository
from ctxrepo.errors import CtxError
from tests.support.command import Command

MOMENT = "2026-11-29T10:00:00Z"
PROJECT = "github.com/acme/billing"


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides read the same clock."""
    monkeypatch.setenv("CTXREPO_NOW", MOMENT)


def repository(team: Path) -> ContextRepository:
    return ctxrepo.open_workspace(team, project=PROJECT, clock=lambda: 1_795_946_400.0)


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (("memory", "list"), lambda repo, _: repo.memory.list()),
        (("memory", "show", "TAIL"), lambda repo, tail: repo.memory.show(tail)),
        (("memory", "search", "deploys"), lambda repo, _: repo.memory.search("deploys")),
        (("recall", "deploys", "--explain"), lambda repo, _: repo.recall("deploys", explain=True)),
        (
            ("recall", "deploys", "--class", "task", "--knowledge"),
            lambda repo, _: repo.recall("deploys", classes=["task"], knowledge=True),
        ),
        (("status",), lambda repo, _: repo.status()),
        (("check",), lambda repo, _: repo.check()),
        (("check", "--staged"), lambda repo, _: repo.check(staged=True)),
        (("doctor",), lambda repo, _: repo.doctor()),
        (("sync",), lambda repo, _: repo.sync_all()),
        (("log",), lambda repo, _: repo.log()),
        (("log", "TAIL", "--limit", "1"), lambda repo, tail: repo.log(tail, limit=1)),
        (("show", "TAIL"), lambda repo, tail: repo.show(tail)),
        (("why", "TAIL"), lambda repo, tail: repo.why(tail)),
        (
            ("memory", "update", "TAIL", "--importance", "0.5"),
            lambda repo, tail: repo.memory.update(tail, importance=0.5),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_prints_what_the_method_returns(
    ctx: Command,
    team: Path,
    fixed: None,
    arguments: tuple[str, ...],
    call: Callable[[ContextRepository, str], dict[str, Any]],
) -> None:
    """Field by field."""
    tail = ctx.add("Deploys go out on Tuesday", "--importance", "0.5", "--project", PROJECT)
    typed = [tail if word == "TAIL" else word for word in arguments]
    with repository(team) as repo:
        returned = json.loads(json.dumps(call(repo, tail), default=str))

    assert ctx.json(*typed, "--project", PROJECT) == returned


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (("memory", "show", "nothing"), lambda repo: repo.memory.show("nothing")),
        (("memory", "add", "key sk-abc123456789"), lambda repo: repo.memory.add("key sk-abc123456789")),
        (("memory", "add", "x", "--until", "soon"), lambda repo: repo.memory.add("x", valid_until="soon")),
        (("undo", "nothing"), lambda repo: repo.undo("nothing")),
        (("recall", " "), lambda repo: repo.recall(" ")),
        (("check", "nothing"), lambda repo: repo.check(["nothing"])),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_fault_is_the_same_on_both_sides(
    ctx: Command, team: Path, arguments: tuple[str, ...], call: Callable[[ContextRepository], object]
) -> None:
    """Message, hint, details, exit code."""
    with repository(team) as repo, pytest.raises(CtxError) as caught:
        call(repo)
    fault = caught.value
    printed = json.loads(ctx(*arguments, "--json", code=fault.exit_code).err)["error"]

    assert printed == {
        "message": fault.message,
        "hint": fault.hint,
        "details": fault.details,
        "exit_code": fault.exit_code,
    }


def test_names_for_agent_and_project_are_confined(team: Path) -> None:
    """From Python as from the command line."""
    for options in ({"agent": "../x"}, {"project": "../x"}, {"project": "a\u200bb"}, {"agent": "a/b"}):
        with pytest.raises(CtxError):
            ctxrepo.open_workspace(team, **options)


def test_the_package_is_one_entry() -> None:
    """`open_workspace` is loaded on first use; nothing else is promised."""
    assert ctxrepo.__all__ == ["__version__", "open_workspace"]
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ctxrepo.nonsense  # type: ignore[attr-defined]
