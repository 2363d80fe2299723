"""`ctxrepo init | status | check | doctor | sync | watch | demo` as a person meets them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ctxrepo.cli.demo import example_folder
from tests.support.command import Command
from tests.support.git import git
from tests.support.live import eventually

COMMAND = str(Path(sys.executable).with_name("ctxrepo"))


def test_init_says_what_it_made_and_what_to_do_next(ctx: Command, tmp_path: Path) -> None:
    """The next commands stand there as they can be typed; a second run says that nothing was missing."""
    came = ctx("init", "new", "--user", "ann", cwd=tmp_path)
    again = ctx("init", "new", cwd=tmp_path)

    assert came.lines[0] == f"Workspace {tmp_path}/new is ready for ann."
    assert "  + ctxrepo.yaml" in came.lines
    assert came.lines[-2:] == [
        'Next: cd new && ctxrepo memory add "…"',
        f"      cd your-project && ctxrepo connect claude-code --workspace {tmp_path}/new",
    ]
    assert again.lines[1] == "  Nothing was missing."
    made = ctx.json("init", "other", "--user", "ann", cwd=tmp_path)
    assert set(made) == {"root", "user", "created", "notes"}


def test_init_refuses_with_a_hint(ctx: Command, tmp_path: Path) -> None:
    """A file, a name that cannot be, a place inside a workspace."""
    (tmp_path / "file").write_text("x")

    assert "is a file" in ctx("init", "file", cwd=tmp_path, code=1).err
    assert ctx("init", "x", "--user", "a/b", cwd=tmp_path, code=4).hint == "'a-b' would do."
    assert ctx("init", "knowledge", code=1).hint == f"ctxrepo init {ctx.folder}"


def test_a_command_outside_of_any_workspace_says_how_to_name_one(ctx: Command, tmp_path: Path) -> None:
    """Exit code 3."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/ctxrepo.yaml").touch()
    came = ctx("memory", "list", cwd=tmp_path, code=3)
    plain = ctx("memory", "list", cwd=tmp_path / "plain", code=3)

    assert f"There is no workspace at or above {tmp_path}." in came.err
    assert "--workspace DIR" in came.hint
    assert "holds plain files and is not a workspace yet" in plain.err
    assert plain.hint == f"ctxrepo init {tmp_path}/plain"


def test_status_names_unsaved_edits(ctx: Command, team: Path) -> None:
    """By path, and with what saves them; afterwards there are none."""
    fact = ctx.json("memory", "add", "edited by hand soon")
    path = team / fact["path"]
    path.write_text(path.read_text() + "more\n")
    document = team / "knowledge/ops/backup.md"
    document.parent.mkdir(parents=True)
    document.write_text("# Backup\n")
    out = ctx("status").out

    assert f"Workspace {team}\nUser me, agent *" in out
    assert f"memory/me: edited by hand, not yet saved\n  {fact['path']}\n  ctxrepo sync saves them" in out
    assert "team: edited, not yet committed\n  knowledge/ops/backup.md\n  commit them with git" in out
    ctx("sync")
    git(team, "add", "knowledge")
    git(team, "commit", "-qm", "backup")
    assert "not yet" not in ctx("status").out


def test_status_names_what_waits_for_attention(ctx: Command, team: Path) -> None:
    """Files that cannot be read, settings that do not hold, damage: each with the command for it."""
    (team / "ctxrepo.yaml").write_text("recall:\n  treshold: 0.4\n")
    broken = team / "memory/me/facts/2026-11/broken.md"
    broken.parent.mkdir(parents=True, exist_ok=True)
    broken.write_text('---\nkind: "a "b" c"\n---\nwords\n')
    out = ctx("status").out

    assert "! Some files cannot be read: ctxrepo check" in out
    assert "ctxrepo.yaml:2: recall.treshold" in out
    (row,) = [store for store in ctx.json("status")["stores"] if store["name"] == "memory/me"]
    assert (row["problems"], row["outside_edits"], row["branch"]) == (1, 1, "main")


def test_check_prints_problems_as_lines_for_tools(ctx: Command, team: Path) -> None:
    """`path:line: field: message` on stdout, the count on stderr, exit code 4; a warning alone is none."""
    assert ctx("check").out == "3 assets checked, no problems.\n"
    document = team / "knowledge/ops/backup.md"
    document.parent.mkdir(parents=True)
    document.write_text("---\nstatus: verifed\n---\nNightly.\n")
    came = ctx("check", code=4)

    assert came.lines == [
        "knowledge/ops/backup.md:2: status: is 'verifed', not one of draft, verified, demoted, superseded, withdrawn. "
        "Did you mean 'verified'?"
    ]
    assert came.err == "1 error, 0 warnings.\n"
    document.write_text("a zero\u200bwidth\n")
    assert "warning: holds the hidden character" in ctx("check", "knowledge").out
    assert ctx.json("check")["warnings"] == 1


def test_check_runs_in_a_bare_clone_and_on_staged_files(ctx: Command, team: Path, tmp_path: Path) -> None:
    """No user, no store; with --json the same object and exit code."""
    git(tmp_path, "clone", "-q", str(team), "ci")

    assert ctx("check", cwd=tmp_path / "ci").out == "2 assets checked, no problems.\n"
    assert ctx("check", "--staged", cwd=tmp_path / "ci").out == "0 assets checked, no problems.\n"
    assert ctx.json("check", "--range", "HEAD...HEAD", cwd=tmp_path / "ci")["checked"] == 0
    assert ctx("check", "knowledge.md", code=3).hint == "ctxrepo check"
    assert "exclude each other" in ctx("check", "knowledge", "--staged", code=2).err


def test_doctor_finds_and_repairs(ctx: Command, team: Path) -> None:
    """Exit code 1 while something is left, and the command that repairs; then all is back."""
    fact = ctx.json("memory", "add", "precious")
    assert ctx("doctor").out == "Everything is in order.\n"
    shutil.rmtree(team / "memory")
    for reading in (("memory", "list"), ("recall", "precious"), ("memory", "search", "precious")):
        assert ctx(*reading).err == "The folder memory/me is gone. Run: ctxrepo doctor --fix\n"
    found = ctx("doctor", code=1)

    assert "found: The folder memory/me is gone." in found.out
    assert found.lines[-1] == "Repair with: ctxrepo doctor --fix"
    fixed = ctx("doctor", "--fix")
    assert "fixed: The folder memory/me is gone." in fixed.out
    assert (team / fact["path"]).exists()
    assert {"results", "done"} <= set(ctx.json("doctor"))


def test_sync_says_what_was_saved(ctx: Command, team: Path) -> None:
    """Hand edits become a commit; the second time everything is up to date; --quiet says nothing."""
    path = team / "memory/me/facts/notes/hand.md"
    path.parent.mkdir(parents=True)
    path.write_text("By hand\n")
    first = ctx("sync").lines
    commit = ctx.json("log")["results"][0]["id"]

    assert first[0].startswith("memory/me: 1 added")
    assert first[0].endswith(f"hand edits saved as {commit[:10]}")
    assert ctx("sync").lines == ["memory/me: up to date", "tasks: up to date", "team: up to date"]
    assert ctx("sync", "--quiet").out == ""


def test_watch_runs_until_it_is_stopped(ctx: Command, team: Path) -> None:
    """Says what it does on stderr, is seen by status, keeps the index fresh, ends with one JSON object."""
    watcher = subprocess.Popen(
        [COMMAND, "watch", "--json", "--workspace", str(team)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert eventually(lambda: ctx.json("status")["watching"])
        assert "running" in ctx("status").lines[2]
    finally:
        watcher.send_signal(signal.SIGINT)
        out, err = watcher.communicate(timeout=20)

    assert f"Watching {team}" in err
    assert '"stopped": true' in out
    assert watcher.returncode == 0


def test_the_demo_shows_the_main_job(ctx: Command, tmp_path: Path) -> None:
    """On a live copy: what is recalled, what is not, a fact added, its history, and what an agent is given."""
    out = ctx("demo", "shown", cwd=tmp_path).out

    assert "对辣菜过敏，聚餐要避开。" in out
    assert "Nothing recalled." in out
    assert "Deploy checklist" in out
    assert "memory.add" in out
    assert "<recalled-memories>" in out
    assert len(out.splitlines()) <= 50
    assert max(map(len, out.splitlines())) <= 180
    assert ctx.json("status", "--workspace", str(tmp_path / "shown"))["user"] == "mei"
    assert git(tmp_path / "shown", "status", "--short") == ""


def test_the_demo_for_another_user_or_program(ctx: Command, tmp_path: Path) -> None:
    """--user chooses among the example's; --json gives the steps; a folder in use is refused."""
    shown = ctx.json("demo", "shown", "--user", "tom", cwd=tmp_path)

    assert (shown["user"], shown["users"]) == ("tom", ["mei", "tom"])
    assert all(step["output"] for step in shown["steps"])
    assert ctx("demo", "shown", cwd=tmp_path, code=1).hint == "ctxrepo demo ./another-folder"
    assert ctx("demo", "other", "--user", "ann", cwd=tmp_path, code=3).hint == "ctxrepo demo --user mei"
    assert not (tmp_path / "other").exists()


def test_the_demo_ignores_the_workspace_one_works_with(
    ctx: Command, team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CTXREPO_WORKSPACE is not written to."""
    monkeypatch.setenv("CTXREPO_WORKSPACE", str(team))
    ctx("demo", "shown", cwd=tmp_path)

    assert ctx.json("memory", "list")["total"] == 0
    assert os.environ["CTXREPO_WORKSPACE"] == str(team)


def test_an_installed_package_carries_the_example() -> None:
    """`ctxrepo demo` works without a checkout: the wheel has the folder where `example_folder` looks first."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    targets = project["tool"]["hatch"]["build"]["targets"]

    assert targets["wheel"]["force-include"] == {"example-workspace": "ctxrepo/example-workspace"}
    assert "example-workspace" in targets["sdist"]["include"]
    assert example_folder().name == "example-workspace"
