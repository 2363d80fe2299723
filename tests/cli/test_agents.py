"""`ctxrepo connect | disconnect | hook` as a person meets them; what they write is tested in tests/hooks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support.command import Command

COMMAND = str(Path(sys.executable).with_name("ctxrepo"))


def test_connect_writes_the_settings_of_this_machine(ctx: Command, team: Path, tmp_path: Path) -> None:
    """By default not the file that a team commits, because the command names paths of this machine."""
    project = tmp_path / "project"
    project.mkdir()
    came = ctx("connect", "claude-code", "--workspace", str(team), cwd=project)
    written = json.loads((project / ".claude/settings.local.json").read_text())
    command = written["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]

    assert not (project / ".claude/settings.json").exists()
    assert f"--workspace {team}" in command
    assert came.lines[-1] == (
        f"claude-code now recalls me's memory from {team}. Take it out again with: ctxrepo disconnect claude-code"
    )
    assert ctx("connect", "claude-code", "--workspace", str(team), cwd=project).out == (
        "claude-code is connected already; nothing was changed.\n"
    )


def test_disconnect_leaves_no_trace(ctx: Command, team: Path, tmp_path: Path) -> None:
    """The command that connect printed works; the second time there is nothing to take out."""
    project = tmp_path / "project"
    project.mkdir()
    ctx("connect", "claude-code", "--workspace", str(team), "--scope", "project", cwd=project)
    out = ctx("disconnect", "claude-code", "--scope", "project", cwd=project)

    assert out.lines[-1] == "claude-code is disconnected."
    assert list(project.iterdir()) == []
    again = ctx("disconnect", "claude-code", cwd=project)
    assert again.out == f"{project}/.claude/settings.local.json holds no hook of ctxrepo.\n"


def test_dry_run_only_shows(ctx: Command, team: Path, tmp_path: Path) -> None:
    """As a diff for people, as fields for programs."""
    project = tmp_path / "project"
    project.mkdir()
    shown = ctx("connect", "claude-code", "--dry-run", "--workspace", str(team), cwd=project)
    fields = ctx.json("connect", "claude-code", "--dry-run", "--workspace", str(team), cwd=project)

    assert '+            "type": "command",' in shown.out
    assert (fields["changed"], fields["dry_run"]) == (True, True)
    assert fields["path"] == f"{project}/.claude/settings.local.json"
    assert list(project.iterdir()) == []


def test_a_broken_settings_file_is_left_alone(ctx: Command, team: Path, tmp_path: Path) -> None:
    """Exit code 4 with the place of the fault."""
    settings = tmp_path / "project/.claude/settings.local.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"hooks": {\n  oops\n')
    came = ctx("connect", "claude-code", "--workspace", str(team), cwd=tmp_path / "project", code=4)

    assert "settings.local.json:2: " in came.err
    assert settings.read_text() == '{"hooks": {\n  oops\n'


def test_connect_without_a_workspace_says_how_to_name_one(ctx: Command, tmp_path: Path) -> None:
    """The usual slip: the project is not the workspace."""
    assert ctx("connect", "claude-code", cwd=tmp_path, code=3).hint


def test_hook_has_help_and_never_fails(ctx: Command, team: Path) -> None:
    """A person who asks gets an answer; an event that nobody knows gets none, wherever the shared options stand."""
    assert "Answer one event of an agent host" in ctx("hook", "--help").out
    for arguments in (["hook", "claude-code", "nonsense"], ["--json", "hook", "claude-code", "nonsense"], ["hook"]):
        done = subprocess.run([COMMAND, *arguments], cwd=team, input=b"{}", capture_output=True)
        assert (done.returncode, done.stdout) == (0, b"")
