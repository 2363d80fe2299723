"""`ctxrepo log | show | why | undo` as a person meets them."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import Command
from tests.support.git import git


def test_the_log_is_a_table_whose_ids_the_next_commands_take(ctx: Command) -> None:
    """`show` and `undo` understand what `log` prints."""
    ctx.add("first", "--agent", "codex", "--reason", "why not")
    rows = ctx("log").lines
    commit = rows[1].split()[0]

    assert rows[0].split() == ["id", "time", "store", "who", "operation", "what"]
    assert "me (codex)" in rows[1]
    assert rows[1].endswith("memory.add  memory: add first")
    assert ctx("show", commit).lines[0] == f"{commit}  memory: add first"
    assert ctx("undo", commit).lines[0] == f"Undid {commit} (memory: add first)."
    assert len(ctx("log", "--limit", "1").lines) == 2


def test_the_log_of_an_asset_or_path(ctx: Command) -> None:
    """By tail, by path, by folder; a name that nothing is recorded about is not found."""
    fact = ctx.json("memory", "add", "logged")

    for ref in (fact["tail"], fact["path"]):
        assert [row["id"] for row in ctx.json("log", ref)["results"]] == [fact["commit"]]
    assert len(ctx.json("log", "memory/me/facts")["results"]) == 1
    assert ctx("log", "never-was", code=3).hint == "ctxrepo log"


def test_show_of_an_operation_has_trailers_and_diff(ctx: Command) -> None:
    """Who, when, where, why, and what changed."""
    fact = ctx.json("memory", "add", "shown", "--reason", "to see it")
    out = ctx("show", fact["commit"]).out

    assert f"by me in memory/me\nCtx-Op: memory.add\nCtx-Actor: me\nCtx-Reason: to see it\nCtx-Id: {fact['id']}" in out
    assert "\n+shown" in out
    assert ctx.json("show", fact["commit"])["class"] == "operation"


def test_show_of_an_asset_of_each_class(ctx: Command, team: Path) -> None:
    """A fact, a document, a skill, a task, the rules: by path."""
    files = {
        "knowledge/ops/backup.md": "# Backup\nNightly.\n",
        "skills/run-backup/SKILL.md": "---\nname: run-backup\ndescription: Runs it.\n---\nRun.\n",
        "tasks/one/TASK.md": "---\ntitle: One\n---\nGo.\n",
        "memory/me/rules.md": "---\nrules: []\n---\nMine.\n",
    }
    for path, text in files.items():
        (team / path).parent.mkdir(parents=True, exist_ok=True)
        (team / path).write_text(text)
    classes = []
    for path, text in files.items():
        assert ctx("show", path).out == f"{path}\n{text}"
        classes.append(ctx.json("show", path)["class"])

    assert classes == ["knowledge", "skill", "task", "rules"]


def test_why_tells_the_chain_and_each_commit(ctx: Command) -> None:
    """The fact that was asked about is marked among those whose place it took."""
    old = ctx.add("Deploys on Friday", "--project", "*")
    new = ctx.add("Deploys on Tuesday", "--project", "*", "--supersedes", old)
    lines = ctx("why", new).lines
    chain = lines.index("What took whose place, oldest first")
    changes = lines.index("Changes")

    assert lines[0] == "Deploys on Tuesday"
    assert "  Comes from source cli." in lines
    assert [line.split()[0] for line in lines[chain + 2 : changes]] == [old, "→"]
    assert [line.split()[4] for line in lines[changes + 2 :]] == ["memory.add"]
    assert set(ctx.json("why", new)) == {
        "id", "class", "path", "tail", "title", "status", "because", "chain", "history",
    }  # fmt: skip


def test_undo_names_its_files_and_the_way_back(ctx: Command, team: Path) -> None:
    """And says when nothing is left."""
    fact = ctx.json("memory", "add", "to and fro")
    came = ctx("undo", fact["commit"][:10])

    assert came.lines[1] == f"  {fact['path']}"
    back = came.lines[-1].removeprefix("Bring it back with: ctxrepo ").split()
    assert (
        ctx("undo", fact["commit"]).out
        == f"Nothing of {fact['commit'][:10]} (memory: add to and fro) is left to undo.\n"
    )
    ctx(*back)
    assert (team / fact["path"]).exists()


def test_undo_of_an_asset_names_the_command_that_lists_its_operations(ctx: Command) -> None:
    """A frequent slip."""
    tail = ctx.add("a fact")

    assert ctx("undo", tail, code=2).hint == f"ctxrepo log {tail}"
    assert ctx("undo", "nothing", code=3).hint == "ctxrepo log"


def test_a_persons_own_commits_are_in_the_log(ctx: Command, team: Path) -> None:
    """Without an operation's name, under the name git has."""
    git(team, "commit", "-q", "--allow-empty", "-m", "by hand")

    assert ctx("log").lines[1].split()[3:6] == ["team", "Test", "-"]
