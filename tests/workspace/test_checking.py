"""`check`: every problem with its place, in files, in the index, in commits; with a user and without."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ctxrepo.api import check_workspace
from ctxrepo.errors import NotFound, UsageFault
from tests.support.git import git

DOCUMENT = "---\ntitle: Backup\n---\nNightly.\n"
BROKEN = "---\ntitle: Backup\nstatus: verifed\nconfidence: 2\n---\nNightly.\n"


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode() if isinstance(content, str) else content)


def said(found: Mapping[str, Any]) -> list[str]:
    return [problem["text"] for problem in found["results"]]


def plant(root: Path) -> None:
    """Puts a private path into the team's index, as a tool that knows no ignore file would."""
    blob = git(root, "hash-object", "-w", "access.yaml")
    git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},memory/me/rules.md")


def test_a_problem_is_path_line_field_message(team: Path) -> None:
    """Of every asset, shared and private; the counts say how much was looked at."""
    write(
        team,
        {
            "knowledge/ops/backup.md": BROKEN,
            "knowledge/ops/KB.md": "---\ntitle: Ops\ndescription: How.\nowner: me\n---\n",
            "skills/run-backup/SKILL.md": "---\nname: backup\ndescription: Runs it.\n---\nRun.\n",
            "memory/me/facts/2026-11/tea.md": "---\nkind: prefrence\n---\nTea\n",
            "access.yaml": "members:\n  me: boss\n",
        },
    )
    found = check_workspace(team)

    assert [line.split(": ", 2)[:2] for line in said(found) if "warning" not in line] == [
        ["access.yaml:2", "members.me"],
        ["knowledge/ops/backup.md:3", "status"],
        ["knowledge/ops/backup.md:4", "confidence"],
        ["memory/me/facts/2026-11/tea.md:2", "kind"],
        ["skills/run-backup/SKILL.md:2", "name"],
    ]
    assert "Did you mean 'verified'?" in said(found)[1]
    assert found["errors"] == 5
    assert found["checked"] == 7
    assert set(found["results"][0]) == {"path", "line", "field", "message", "level", "text"}


def test_paths_are_from_here_or_from_the_workspace(team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and folders; from a sub-folder, from outside, absolute."""
    write(team, {"knowledge/ops/backup.md": BROKEN, "knowledge/hr/pay.md": BROKEN})
    monkeypatch.chdir(team / "knowledge" / "ops")
    monkeypatch.delenv("CTXREPO_WORKSPACE")

    for path in ("backup.md", ".", "knowledge/ops", str(team / "knowledge/ops/backup.md")):
        assert {problem["path"] for problem in check_workspace(None, [path])["results"]} == {"knowledge/ops/backup.md"}
    assert check_workspace(None, ["backup.md", "../hr"])["checked"] == 2


def test_a_path_that_is_not_there_or_not_ours_is_said(team: Path, tmp_path: Path) -> None:
    """A slip must not look like "no problems"."""
    (tmp_path / "outside.md").write_text("x")

    with pytest.raises(NotFound, match="There is no file or folder nothing"):
        check_workspace(team, ["nothing.md"])
    with pytest.raises(UsageFault, match="is not in the workspace"):
        check_workspace(team, [str(tmp_path / "outside.md")])
    with pytest.raises(UsageFault, match="exclude each other"):
        check_workspace(team, ["knowledge"], staged=True)


def test_files_that_cannot_be_read_hide_nothing(team: Path) -> None:
    """NUL, UTF-16, GB18030, a bomb, 9 MB, a link outside: each is named, and the rest goes on."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    write(
        team,
        {
            "knowledge/k/a-nul.md": b"text\0text",
            "knowledge/k/b-wide.md": "wide".encode("utf-16"),
            "knowledge/k/c-gb.md": "中文文档".encode("gb18030"),
            "knowledge/k/d-bomb.md": f"---\n{bomb}---\ntext\n",
            "knowledge/k/e-huge.md": b"x" * (9 * 1024 * 1024),
            "knowledge/k/f-fine.md": DOCUMENT,
            "knowledge/k/g-wrong.md": BROKEN,
        },
    )
    os.symlink("/etc/hostname", team / "knowledge/k/h-link.md")
    by_file = {problem["path"][12:13]: problem["message"] for problem in check_workspace(team)["results"]}

    assert "NUL" in by_file["a"]
    assert "UTF-16" in by_file["b"]
    assert "GB18030" in by_file["c"]
    assert by_file["h"] == "This is a symbolic link; links are not followed."
    assert set(by_file) == set("abcdegh")


def test_links_are_named_and_never_followed(team: Path, tmp_path: Path) -> None:
    """A file, a folder, one that was named, one that is staged: what lies behind it is not read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x.md").write_text(BROKEN)
    write(team, {"knowledge/k/fine.md": DOCUMENT})
    os.symlink(tmp_path / "outside/x.md", team / "knowledge/k/file.md")
    os.symlink(tmp_path / "outside", team / "knowledge/folder")
    os.symlink(tmp_path / "outside", team / "memory/me/facts")
    git(team, "add", "knowledge/k")

    assert said(check_workspace(team)) == [
        f"{path}:1: This is a symbolic link; links are not followed."
        for path in ("knowledge/folder", "knowledge/k/file.md", "memory/me/facts")
    ]
    assert [problem["path"] for problem in check_workspace(team, ["knowledge/k/file.md"])["results"]] == [
        "knowledge/k/file.md"
    ]
    assert [problem["path"] for problem in check_workspace(team, staged=True)["results"]] == ["knowledge/k/file.md"]


def test_names_that_other_systems_cannot_hold(team: Path) -> None:
    """Devices, trailing dots, look-alikes of a neighbour."""
    for name in ("con", "ops", "Ops"):
        write(team, {f"knowledge/{name}/x.md": DOCUMENT})
    found = {problem["path"]: problem["message"] for problem in check_workspace(team)["results"]}

    assert "knowledge/con" in found
    assert "differs from the existing 'Ops' only in case or look" in found["knowledge/ops"]


def test_an_id_belongs_to_one_file(team: Path) -> None:
    """The copy is named, with the line of its id and what becomes of it."""
    header = "---\nkind: fact\nid: 01M5C439Q0FVFGNZXA20MNEY9S\n---\n"
    write(team, {"memory/me/facts/a/one.md": header + "One\n", "memory/me/facts/a/two.md": header + "Two\n"})

    assert said(check_workspace(team)) == [
        "memory/me/facts/a/two.md:3: id: is also the id of memory/me/facts/a/one.md; the next snapshot gives the "
        "younger file its own."
    ]


def test_it_needs_no_user_and_no_private_store(team: Path, tmp_path: Path) -> None:
    """In CI there is a clone and nothing else; nothing is made there."""
    write(team, {"knowledge/ops/backup.md": BROKEN})
    git(team, "add", "knowledge")
    git(team, "commit", "-qm", "backup")
    git(tmp_path, "clone", "-q", str(team), str(tmp_path / "ci"))

    assert check_workspace(tmp_path / "ci")["errors"] == 2
    assert not (tmp_path / "ci/.git/ctxrepo/stores").exists()
    with pytest.raises(NotFound, match="no private store"):
        check_workspace(tmp_path / "ci", user="me")


def test_another_users_memory_is_not_looked_at(team: Path) -> None:
    """Only the stores of the one who asks."""
    write(team, {"memory/tom/facts/a/one.md": "---\nkind: wrong\n---\nx\n"})

    assert check_workspace(team, user="me")["results"] == []


def test_staged_is_what_the_next_commit_holds(team: Path) -> None:
    """Not the working tree: a broken file that was mended but not staged is still broken, and the other way round."""
    write(team, {"knowledge/k/a.md": BROKEN, "knowledge/k/b.md": DOCUMENT, "knowledge/k/c.md": BROKEN})
    git(team, "add", "knowledge/k/a.md", "knowledge/k/b.md")
    write(team, {"knowledge/k/a.md": DOCUMENT, "knowledge/k/b.md": BROKEN})
    found = check_workspace(team, staged=True)

    assert {problem["path"] for problem in found["results"]} == {"knowledge/k/a.md"}
    assert (found["checked"], found["errors"]) == (2, 2)


def test_staged_refuses_private_paths_hidden_characters_and_secrets(team: Path) -> None:
    """What is new must not bring them in."""
    write(team, {"knowledge/k/a.md": "zero\u200bwidth\n", "knowledge/k/b.md": "the password is hunter2!x9\n"})
    git(team, "add", "knowledge")
    plant(team)
    found = check_workspace(team, staged=True)

    assert [problem["path"] for problem in found["results"] if problem["level"] == "error"] == [
        "knowledge/k/a.md",
        "knowledge/k/b.md",
        "memory/me/rules.md",
    ]
    assert "hunter2" not in str(found)


def test_private_paths_in_the_teams_history_are_problems(team: Path) -> None:
    """A full check sees them, wherever they are in git."""
    plant(team)
    git(team, "commit", "-qm", "oops")

    assert "memory/me/rules.md:1: lies in a private folder" in said(check_workspace(team))[0]


def test_a_range_is_checked_as_its_end_holds_it(team: Path) -> None:
    """Only what changed between the two, whatever the working tree says."""
    write(team, {"knowledge/k/old.md": BROKEN})
    git(team, "add", "knowledge")
    git(team, "commit", "-qm", "old")
    git(team, "checkout", "-qb", "topic")
    write(team, {"knowledge/k/new.md": BROKEN, "knowledge/k/gone.md": DOCUMENT})
    git(team, "add", "knowledge")
    git(team, "commit", "-qm", "new")
    write(team, {"knowledge/k/new.md": DOCUMENT})

    for between in ("main...topic", "main..HEAD"):
        found = check_workspace(team, between=between)
        assert {problem["path"] for problem in found["results"]} == {"knowledge/k/new.md"}
        assert found["checked"] == 2
    for wrong, fault in (("main", UsageFault), ("--all..x", UsageFault), ("main...nothing", NotFound)):
        with pytest.raises(fault):
            check_workspace(team, between=wrong)


@pytest.mark.parametrize("how", [["-m", "x"], ["-am", "x"], ["-m", "x", "--", "knowledge/k/a.md"]])
@pytest.mark.parametrize("place", ["main", "worktree"])
def test_it_guards_real_commits_as_a_pre_commit_hook(team: Path, tmp_path: Path, how: list[str], place: str) -> None:
    """Plain, `-a` and by path (which use another index), in the main and in a linked work tree."""
    write(team, {"knowledge/k/a.md": DOCUMENT})
    git(team, "add", "knowledge")
    git(team, "commit", "-qm", "start")
    hook = team / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec {Path(sys.executable).with_name('ctxrepo')} check --staged --workspace .\n")
    hook.chmod(0o755)
    if place == "worktree":
        git(team, "worktree", "add", "-q", str(tmp_path / "side"))
        team = tmp_path / "side"

    def commit() -> subprocess.CompletedProcess[str]:
        if how == ["-m", "x"]:
            git(team, "add", "knowledge")
        return subprocess.run(["git", "commit", "-q", *how], cwd=team, capture_output=True, text=True)

    write(team, {"knowledge/k/a.md": BROKEN})
    refused = commit()
    write(team, {"knowledge/k/a.md": DOCUMENT + "More.\n"})
    accepted = commit()

    assert refused.returncode == 1
    assert "knowledge/k/a.md:3: status: is 'verifed'" in refused.stdout + refused.stderr
    assert accepted.returncode == 0, accepted.stderr
    assert git(team, "log", "--format=%s").splitlines()[:2] == ["x", "start"]


def test_a_hook_of_another_repository_is_not_mistaken_for_ours(
    team: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIT_INDEX_FILE of a foreign commit in progress means nothing here."""
    write(team, {"knowledge/k/a.md": BROKEN})
    git(team, "add", "knowledge")
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))

    assert check_workspace(team, staged=True)["errors"] == 2
