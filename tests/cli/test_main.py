"""The frame of the command line: options, slips, exit codes, faults."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository
from ctxrepo.cli.main import TopGroup, ctxrepo
from tests.support.command import Command

COMMAND = str(Path(sys.executable).with_name("ctxrepo"))


def test_help_lists_every_command_once_with_its_whole_first_sentence(ctx: Command) -> None:
    """No command is forgotten in the sections, and no sentence is cut off."""
    shown = ctx("--help")
    listed = [name for names in TopGroup.sections.values() for name in names]

    assert sorted(listed) == sorted(ctxrepo.commands)
    assert "..." not in shown.out.replace("[ARGS]...", "")
    assert all(command.short_help for command in ctxrepo.commands.values())


@pytest.mark.parametrize("name", ["init", "recall", "check", "log", "why", "undo", "connect"])
def test_help_of_a_command_has_an_example_that_can_be_typed(ctx: Command, name: str) -> None:
    """Each command shows a call of itself, and the options that every command takes."""
    shown = " ".join(ctx(name, "--help").out.split())

    assert "Example:" in shown
    assert f"ctxrepo {name}" in shown.partition("Example:")[2]
    assert "--workspace DIR, --user U, --agent A, --project P and --json" in shown


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["memry"], "ctxrepo has no command 'memry'. Did you mean 'memory'?", "ctxrepo --help"),
        (["memory", "ad", "x"], "ctxrepo memory has no command 'ad'. Did you mean 'add'?", "ctxrepo memory --help"),
        (["nonsense"], "ctxrepo has no command 'nonsense'.", "ctxrepo --help"),
        (["memory", "list", "--limt", "3"], "No such option '--limt'. Did you mean '--limit'?", "memory list --help"),
        (["memory", "add"], "Missing argument 'TEXT'.", "ctxrepo memory add --help"),
        (["memory", "add", "two", "words"], "Got unexpected extra argument (words)", "put the words in quotes"),
        (["memory", "add", "-x"], "No such option '-x'.", "behind `--` a text may begin with a dash"),
        (["memory", "add", "x", "--kind", "prefrence"], "Did you mean 'preference'?", "ctxrepo memory add --help"),
        (["memory", "list", "--status", "actve"], "Did you mean 'active'?", "ctxrepo memory list --help"),
        (["memory", "add", "x", "--importance", "3"], "3.0 is not in the range 0<=x<=1", "ctxrepo memory add --help"),
        (["recall", "x", "--threshold", "7"], "7.0 is not in the range 0<=x<=1", "ctxrepo recall --help"),
        (["recall", "x", "--class", "skil"], "Did you mean 'skill'?", "ctxrepo recall --help"),
        (["recall", "  "], "Nothing was asked.", 'ctxrepo recall "…"'),
        (["connect", "claude"], "Did you mean 'claude-code'?", "ctxrepo connect --help"),
        (["--project", "", "memory", "list"], "'--project': must not be empty", "ctxrepo --help"),
        (["memory", "list", "--agent", ""], "'--agent': must not be empty", "ctxrepo memory list --help"),
    ],
)
def test_a_slip_is_met_with_what_was_meant(ctx: Command, arguments: list[str], message: str, hint: str) -> None:
    """Exit code 2, nothing on stdout, a sentence and the command that helps."""
    came = ctx(*arguments, code=2)

    assert came.out == ""
    assert message in came.err
    assert hint in came.hint


def test_shared_options_stand_before_or_after_the_command(ctx: Command, team: Path, tmp_path: Path) -> None:
    """Both orders mean the same, from any folder."""
    before = ctx("--workspace", str(team), "--json", "status", cwd=tmp_path)
    after = ctx("status", "--json", "--workspace", str(team), cwd=tmp_path)

    assert json.loads(before.out) == json.loads(after.out)
    assert json.loads(after.out)["workspace"] == str(team)


def test_the_environment_names_workspace_and_user(
    ctx: Command, team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CTXREPO_WORKSPACE and CTXREPO_USER are enough to work from a project's folder."""
    ctx("init", "--user", "tom")
    monkeypatch.setenv("CTXREPO_WORKSPACE", str(team))
    monkeypatch.setenv("CTXREPO_USER", "me")

    assert ctx.json("status", cwd=tmp_path)["user"] == "me"


def test_every_exit_code_has_its_fault(ctx: Command, team: Path, tmp_path: Path) -> None:
    """0 done, 1 refused, 2 usage, 3 not found, 4 invalid, 5 denied, 6 conflict."""
    ctx("status")
    ctx("memory", "add", "the password is hunter2!x9", code=1)
    ctx("recall", code=2)
    ctx("memory", "show", "nothing", code=3)
    ctx("memory", "add", "zero\u200bwidth", code=4)
    tail = ctx.add("for codex only", "--agent", "codex")
    ctx("memory", "delete", tail, "--agent", "claude-code", code=5)
    added = ctx.json("log", tail)["results"][0]["id"]
    ctx("memory", "update", tail, "--text", "changed since")
    assert "was changed since" in ctx("undo", added, code=6).err
    ctx("status", cwd=tmp_path, code=3)


def test_with_json_a_fault_is_one_object_on_stderr(ctx: Command) -> None:
    """The same fields as for people, for slips in the command line too, wherever `--json` stands."""
    for arguments, code in ((["--json", "why", "nothing"], 3), (["memory", "list", "--json", "--nope"], 2)):
        came = ctx(*arguments, code=code)
        fault = json.loads(came.err)["error"]

        assert came.out == ""
        assert set(fault) == {"message", "hint", "details", "exit_code"}
        assert fault["exit_code"] == code
        assert fault["message"].endswith((".", "?"))


def test_a_bug_leaves_a_report_and_exit_code_70(ctx: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One line says what happened; the file named below it holds versions, the call and the traceback."""
    monkeypatch.setattr(ContextRepository, "status", lambda self: 1 / 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    came = ctx("status", code=70)
    report = Path(came.hint.rpartition(" ")[2]).read_text(encoding="utf-8")

    assert came.err.startswith("Bug in ctxrepo: ZeroDivisionError: division by zero\n")
    assert "arguments: ['status']" in report
    assert "Traceback" in report


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_what_the_file_system_forbids_is_no_bug(ctx: Command, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """A full disk or a missing right is told in a sentence, with the place."""

    def fail(self: ContextRepository) -> None:
        raise OSError(number, os.strerror(number), "/some/where")

    monkeypatch.setattr(ContextRepository, "status", fail)
    came = ctx("status", code=1)

    assert came.err.startswith(f"Error: /some/where cannot be used: {os.strerror(number)}.")
    assert came.hint == "ls -ld /some/where"


def test_ctrl_c_ends_with_130(ctx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """As every command of a shell."""

    def interrupted(self: ContextRepository) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ContextRepository, "status", interrupted)

    assert ctx("status", code=130).err.strip() == "Interrupted."


def test_a_reader_that_goes_away_is_no_error(ctx: Command, team: Path) -> None:
    """`ctxrepo … | head -1` ends quietly."""
    for number in range(3):
        ctx.add(f"fact {number} " + "long " * 4000)
    shell = f'{COMMAND} memory list --json | head -c 10; echo " ${{PIPESTATUS[0]}}"'

    done = subprocess.run(["bash", "-c", shell], cwd=team, capture_output=True, text=True)

    assert done.stderr == ""
    assert done.stdout.split()[-1] == "0"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_any_locale_can_print_any_fact(ctx: Command, team: Path, encoding: str) -> None:
    """Chinese on a stream that cannot carry it is escaped for people and stays exact in JSON."""
    ctx.add("对辣菜过敏")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}

    listed = subprocess.run([COMMAND, "memory", "list"], cwd=team, env=environment, capture_output=True)
    data = subprocess.run([COMMAND, "memory", "list", "--json"], cwd=team, env=environment, capture_output=True)

    assert (listed.returncode, listed.stderr) == (0, b"")
    assert json.loads(data.stdout.decode(encoding))["results"][0]["title"] == "对辣菜过敏"


def test_two_names_start_the_same_command(team: Path) -> None:
    """`ctx` is short for `ctxrepo`."""
    for name in ("ctxrepo", "ctx"):
        done = subprocess.run([COMMAND[:-7] + name, "--version"], cwd=team, capture_output=True, text=True)
        assert done.stdout.startswith("ctxrepo, version ")
