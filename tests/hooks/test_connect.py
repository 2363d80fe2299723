"""Connecting and disconnecting a host on disk: the right file, whole or not at all, found again."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from ctxrepo.errors import Conflict, Invalid, NotFound, Refused, UsageFault
from ctxrepo.hooks.connect import connect, disconnect, installed_command
from ctxrepo.store import files


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "team 上下文"
    folder.mkdir()
    return folder


def commands(settings: Path) -> list[str]:
    groups = json.loads(settings.read_text(encoding="utf-8"))["hooks"]["UserPromptSubmit"]
    return [handler["command"] for group in groups for handler in group["hooks"]]


def test_the_command_is_absolute_and_names_the_workspace(project: Path, workspace: Path) -> None:
    """The entry starts this installation for this workspace from any folder, blanks and Chinese included."""
    connect("claude-code", workspace=str(workspace), folder=str(project), command="/opt/my tools/ctxrepo", user="mei")

    settings = project / ".claude" / "settings.json"
    (command,) = commands(settings)
    assert shlex.split(command) == [
        *("/opt/my tools/ctxrepo", "hook", "claude-code", "user-prompt-submit"),
        *("--workspace", str(workspace), "--user", "mei"),
    ]
    assert json.loads(settings.read_text(encoding="utf-8"))["hooks"]["UserPromptSubmit"][0]["hooks"][0]["timeout"] == 10


def test_the_installed_command_runs_without_an_environment(tmp_path: Path) -> None:
    """The command found for the settings starts ctxrepo with an empty PATH, from another folder."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"{installed_command()} hook claude-code user-prompt-submit --workspace {tmp_path}"],
        env={"PATH": ""},
        cwd="/",
        input=b"{}",
        capture_output=True,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("scope", "place"),
    [
        ("project", ".claude/settings.json"),
        ("local", ".claude/settings.local.json"),
        ("user", "~/.claude/settings.json"),
    ],
)
def test_each_scope_has_its_file(project: Path, workspace: Path, home: Path, scope: str, place: str) -> None:
    """A scope writes its one file and its folder; disconnecting removes both again."""
    path = Path(place).expanduser() if place.startswith("~") else project / place
    root = home if scope == "user" else project
    before = sorted(root.rglob("*"))

    change = connect("claude-code", workspace=str(workspace), scope=scope, folder=str(project))
    assert Path(change.path) == path
    assert sorted(root.rglob("*")) == sorted([*before, path.parent, path])

    disconnect("claude-code", workspace=str(workspace), scope=scope, folder=str(project))
    assert sorted(root.rglob("*")) == before


def test_connecting_twice_changes_nothing(project: Path, workspace: Path) -> None:
    """The second time there is nothing to do, and the file is not even touched."""
    first = connect("claude-code", workspace=str(workspace), folder=str(project))
    stat = os.stat(first.path)

    second = connect("claude-code", workspace=str(workspace), folder=str(project))

    assert second.is_empty
    assert second.diff() == ""
    assert os.stat(first.path).st_mtime_ns == stat.st_mtime_ns


def test_two_workspaces_live_side_by_side(project: Path, tmp_path: Path) -> None:
    """Each workspace has its own entry, and taking one out leaves the other; without a name all go."""
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    connect("claude-code", workspace=one, folder=str(project))
    connect("claude-code", workspace=two, folder=str(project))
    settings = project / ".claude" / "settings.json"
    assert [shlex.split(command)[-1] for command in commands(settings)] == [one, two]

    disconnect("claude-code", workspace=one, folder=str(project))
    assert [shlex.split(command)[-1] for command in commands(settings)] == [two]

    connect("claude-code", workspace=one, folder=str(project))
    disconnect("claude-code", folder=str(project))
    assert not settings.exists()


def test_other_tools_with_a_similar_command_stay(project: Path, workspace: Path, tree) -> None:
    """`othertool hook claude-code …` is not ours, nor is a command that no shell can read."""
    groups = [{"hooks": [{"type": "command", "command": text}]} for text in ("othertool hook claude-code x", "say 'hi")]
    settings = project / ".claude" / "settings.json"
    tree({".claude/settings.json": json.dumps({"hooks": {"UserPromptSubmit": groups}})}, project)
    before = settings.read_bytes()

    connect("claude-code", workspace=str(workspace), folder=str(project))
    disconnect("claude-code", folder=str(project))

    assert settings.read_bytes() == before


def test_a_dry_run_shows_the_diff_and_writes_nothing(project: Path, workspace: Path, tree) -> None:
    """The diff names the file, has our lines added, and the disk is as it was."""
    tree({".claude/settings.json": '{\n  "model": "opus"\n}'}, project)
    settings = project / ".claude" / "settings.json"

    change = connect("claude-code", workspace=str(workspace), folder=str(project), command="/bin/ctxrepo", dry_run=True)

    assert settings.read_bytes() == b'{\n  "model": "opus"\n}'
    lines = change.diff().splitlines()
    assert lines[:2] == [f"--- {settings}", f"+++ {settings}"]
    assert [line for line in lines if line.startswith("-")][1:] == ['-  "model": "opus"']
    assert any(line.startswith("+") and "/bin/ctxrepo hook claude-code" in line for line in lines)
    assert "\\ No newline at end of file" in lines


def test_a_linked_settings_file_is_edited_at_its_target(project: Path, workspace: Path, tree, tmp_path: Path) -> None:
    """A dotfile manager's link stays a link, the target is edited, and comes back byte for byte, mode included."""
    tree({"dotfiles/claude.json": '{"a": 1}\r\n'})
    target = tmp_path / "dotfiles" / "claude.json"
    target.chmod(0o600)
    link = project / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(target)

    connect("claude-code", workspace=str(workspace), folder=str(project))
    assert link.is_symlink()
    assert "ctxrepo" in target.read_text(encoding="utf-8")
    assert target.stat().st_mode & 0o777 == 0o600

    disconnect("claude-code", workspace=str(workspace), folder=str(project))
    assert target.read_bytes() == b'{"a": 1}\r\n'
    assert os.listdir(target.parent) == ["claude.json"]


def test_a_linked_settings_folder_works(project: Path, workspace: Path, tmp_path: Path) -> None:
    """`.claude` itself may be a link; it stays when our file in it goes."""
    (tmp_path / "shared").mkdir()
    (project / ".claude").symlink_to(tmp_path / "shared")

    connect("claude-code", workspace=str(workspace), folder=str(project))
    assert os.listdir(tmp_path / "shared") == ["settings.json"]

    disconnect("claude-code", workspace=str(workspace), folder=str(project))
    assert os.listdir(tmp_path / "shared") == []
    assert (project / ".claude").is_symlink()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{\n  "a": 1\n  "b": 2\n}\n', 3),
        (b'{\n  "a": "\xff"\n}\n', 2),
        ('{"a": 1}'.encode("utf-16"), 1),
        (b"{\n<<<<<<< HEAD\n", 2),
    ],
)
def test_a_broken_file_is_left_alone(project: Path, workspace: Path, tree, content: bytes, line: int) -> None:
    """Neither connect nor disconnect touches what it cannot understand; the line is named."""
    tree({".claude/settings.json": content}, project)
    settings = project / ".claude" / "settings.json"

    for verb in (connect, disconnect):
        with pytest.raises(Invalid) as caught:
            verb("claude-code", workspace=str(workspace), folder=str(project))
        assert caught.value.details[0].startswith(f"{settings}:{line}: ")
    assert settings.read_bytes() == content


def test_what_cannot_be_a_settings_file_is_refused(project: Path, workspace: Path) -> None:
    """A folder in the file's place, an unknown host and an unknown scope are told as what they are."""
    (project / ".claude" / "settings.json").mkdir(parents=True)

    with pytest.raises(Refused, match="cannot be edited"):
        connect("claude-code", workspace=str(workspace), folder=str(project))
    with pytest.raises(NotFound, match="no host 'claude'"):
        connect("claude", workspace=str(workspace), folder=str(project))
    with pytest.raises(UsageFault, match="no scope 'team'"):
        disconnect("claude-code", workspace=str(workspace), folder=str(project), scope="team")


def test_disconnecting_where_nothing_is_connected(project: Path, workspace: Path, tree) -> None:
    """There is nothing to do, with a file and without one."""
    assert disconnect("claude-code", workspace=str(workspace), folder=str(project)).is_empty
    tree({".claude/settings.json": "{ }"}, project)
    assert disconnect("claude-code", workspace=str(workspace), folder=str(project)).is_empty


def test_an_edit_in_the_same_moment_wins(project: Path, workspace: Path, tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the host rewrites between our reading and our writing is not overwritten."""
    tree({".claude/settings.json": "{}"}, project)
    settings = project / ".claude" / "settings.json"
    write = files.apply

    def slow(*arguments) -> None:
        settings.write_text('{"model": "opus"}', encoding="utf-8")
        write(*arguments)

    monkeypatch.setattr(files, "apply", slow)

    with pytest.raises(Conflict):
        connect("claude-code", workspace=str(workspace), folder=str(project))
    assert settings.read_text(encoding="utf-8") == '{"model": "opus"}'
    assert os.listdir(settings.parent) == ["settings.json"]
