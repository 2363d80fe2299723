"""`log`, `show`, `why`, `undo` over the stores of a workspace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from ctxrepo.errors import Conflict, NotFound, Refused, UsageFault
from ctxrepo.workspace.setup import init_workspace
from tests.conftest import Clock
from tests.support.git import git

DOCUMENT = "---\ntitle: Backup\nsources: [wiki/backup, Tom]\nreason: audit\n---\nNightly.\n"
TASK = "---\ntitle: Reconcile\nstatus: open\n---\n# Reconcile\n"


def commit_document(team: Path, text: str = DOCUMENT, message: str = "backup: how it is done") -> str:
    path = team / "knowledge/ops/backup.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    git(team, "add", "knowledge")
    git(team, "commit", "-qm", message)
    return git(team, "rev-parse", "HEAD")


def test_the_log_is_one_list_over_all_stores(repo: ContextRepository, team: Path) -> None:
    """Newest first, with store, operation, actor and workspace paths; a person's own git commit is among them."""
    fact = repo.memory.add("first fact", reason="because")
    (team / "tasks/01M867CA60Y6PJEQNQ2SDAMT2W").mkdir()
    (team / "tasks/01M867CA60Y6PJEQNQ2SDAMT2W/TASK.md").write_text(TASK)
    repo.sync_all()
    document = commit_document(team)
    rows = {row["store"]: row for row in reversed(repo.log()["results"])}
    added = next(row for row in repo.log()["results"] if row["op"] == "memory.add")

    assert set(rows) == {"memory/me", "tasks", "team"}
    assert (rows["team"]["id"], rows["team"]["op"], rows["team"]["actor"]) == (document, "", "Test")
    assert rows["team"]["paths"] == ["knowledge/ops/backup.md"]
    assert rows["tasks"]["paths"] == ["tasks/01M867CA60Y6PJEQNQ2SDAMT2W/TASK.md"]
    assert added["paths"] == [fact["path"]]
    assert (added["actor"], added["reason"], added["id"]) == ("me", "because", fact["commit"])
    assert set(added) == {
        "id", "time", "store", "op", "actor", "agent", "session", "reason", "subject", "paths",
    }  # fmt: skip
    times = [row["time"] for row in repo.log()["results"]]
    assert times == sorted(times, reverse=True)
    assert len(repo.log(limit=2)["results"]) == 2


def test_the_log_of_one_asset_outlives_it(repo: ContextRepository, team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name while it is there; by path, folder, absolute path or from inside the store when it is gone."""
    fact = repo.memory.add("short life")
    repo.memory.add("something else entirely, about tea")
    inner = fact["path"].removeprefix("memory/me/")
    assert len(repo.log(fact["tail"])["results"]) == 1
    repo.memory.delete(fact["id"])

    for ref in (fact["path"], str(team / fact["path"])):
        assert [row["op"] for row in repo.log(ref)["results"]] == ["memory.delete", "memory.add"]
    monkeypatch.chdir(team / "memory/me")
    assert [row["op"] for row in repo.log(inner)["results"]] == ["memory.delete", "memory.add"]
    assert len(repo.log("facts")["results"]) == 3
    assert len(repo.log(str(team / "memory/me"))["results"]) == 4
    with pytest.raises(NotFound, match="Nothing is recorded"):
        repo.log("never-was")


def test_alike_facts_do_not_share_their_history(team: Path) -> None:
    """A copy of a header is no rename: each fact's log and reasons are its own."""
    repo = open_workspace(team, clock=lambda: 1_795_946_400.0)
    facts = [repo.memory.add(words) for words in ("x", "-x", "y")]

    for fact in facts:
        assert [row["id"] for row in repo.log(fact["id"])["results"]] == [fact["commit"]]
        assert [row["id"] for row in repo.why(fact["id"])["history"]] == [fact["commit"]]


def test_history_goes_on_beyond_a_rename(repo: ContextRepository, team: Path) -> None:
    """A file that a person renamed keeps its past."""
    fact = repo.memory.add("renamed by hand, and long enough to be known again")
    path = team / fact["path"]
    path.rename(path.with_name("my-name.md"))
    repo.sync_all()

    assert [row["op"] for row in repo.log(fact["id"])["results"]] == ["snapshot", "memory.add"]


def test_show_gives_an_asset_or_an_operation(repo: ContextRepository, team: Path) -> None:
    """An asset as its file holds it; an operation with its trailers and its diff."""
    fact = repo.memory.add("shown", reason="for show")
    asset, operation = repo.show(fact["tail"]), repo.show(fact["commit"][:10])

    assert asset["source_text"] == (team / fact["path"]).read_text()
    assert (asset["class"], asset["text"], asset["fields"]["kind"]) == ("memory", "shown", "fact")
    assert (operation["class"], operation["trailers"]["Ctx-Op"]) == ("operation", "memory.add")
    assert "+shown" in operation["diff"]
    with pytest.raises(NotFound, match="No asset and no operation is called 'nothing'"):
        repo.show("nothing")


def test_show_of_shared_assets_says_whether_they_are_reviewed(repo: ContextRepository, team: Path) -> None:
    """What the default branch does not hold is not."""
    commit_document(team)
    assert repo.show("knowledge/ops/backup.md")["reviewed"] is True
    (team / "knowledge/ops/backup.md").write_text(DOCUMENT + "Edited.\n")

    assert repo.show("knowledge/ops/backup.md")["reviewed"] is False
    assert "Not reviewed: the default branch does not hold it so." in repo.why("knowledge/ops/backup.md")["because"]


def test_why_tells_how_often_a_fact_was_said_and_recalled(repo: ContextRepository, team: Path) -> None:
    """As the last consolidation counted it; a fact that nobody recalled yet says nothing about it."""
    path = repo.memory.add("Staging is frozen")["path"]
    assert not any(line.startswith(("Said", "Recalled")) for line in repo.why(path)["because"])
    file = team / path
    file.write_text(file.read_text().replace("source: cli\n", "source: cli\nseen: 3\nuses: 2\nlast_used: 2026-11-28\n"))

    assert {"Said 3 times.", "Recalled 2 times, last 2026-11-28."} <= set(repo.why(path)["because"])


def test_why_tells_source_age_validity_and_reason(repo: ContextRepository, clock: Clock) -> None:
    """In sentences that the header backs."""
    fact = repo.memory.add(
        "Staging is frozen",
        kind="decision",
        session="b7d2",
        turn=4,
        valid_from="2026-11-01",
        valid_until="2026-12-31",
        reason="holidays",
    )
    clock.time += 3 * 86_400
    said = repo.why(fact["id"])["because"]
    clock.time += 60 * 86_400

    assert said == [
        "Comes from source cli; session b7d2, turn 4.",
        f"Created {fact['created']}, 3 days ago.",
        "Status active; holds from 2026-11-01 until 2026-12-31.",
        "Holds in project github.com/acme/billing, for every agent.",
        "Reason: holidays.",
    ]
    assert "held from 2026-11-01 until 2026-12-31" in repo.why(fact["id"])["because"][2]


def test_why_tells_who_took_whose_place(repo: ContextRepository) -> None:
    """The whole chain, oldest first, from wherever one asks; a fact that stands alone has none."""
    first = repo.memory.add("Deploys go out on Friday")
    second = repo.memory.add("Deploys go out on Tuesday", supersedes=[first["id"]])
    third = repo.memory.add("Deploys go out every day", supersedes=[second["id"]])
    alone = repo.memory.add("Tea is green")

    for fact in (first, second, third):
        chain = repo.why(fact["id"])["chain"]
        assert [link["id"] for link in chain] == [first["id"], second["id"], third["id"]]
        assert [link["status"] for link in chain] == ["superseded", "superseded", "active"]
    assert repo.why(alone["id"])["chain"] == []


def test_a_chain_that_bites_its_tail_ends(repo: ContextRepository, team: Path) -> None:
    """Hand-written links may go round in a circle, or lead to nobody."""
    folder = team / "memory/me/facts/loop"
    folder.mkdir(parents=True)
    ids = ["01M5C439Q0FVFGNZXA20MNEY9S", "01M5Y7VHK0F42SSRS94TMTDPJH"]
    for name, own, other in (("a", *ids), ("b", *reversed(ids))):
        (folder / f"{name}.md").write_text(
            f"---\nid: {own}\nstatus: superseded\nsuperseded_by: {other}\n"
            f"supersedes: [{other}, 01M0000000000000000000GONE]\n---\n{name}\n"
        )

    assert {link["id"] for link in repo.why(ids[0])["chain"]} == set(ids)


def test_why_of_a_file_that_cannot_be_read_says_so(repo: ContextRepository, team: Path) -> None:
    """With path, line and reason, and its history."""
    path = team / "memory/me/facts/2026-11/broken.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('---\nkind: "a "b" c"\n---\nwords\n')
    repo.sync_all()
    found = repo.why(str(path))

    assert found["because"][0].startswith("It cannot be read: memory/me/facts/2026-11/broken.md:2: ")
    assert [row["op"] for row in found["history"]] == ["snapshot"]


def test_why_of_a_document_names_its_sources(repo: ContextRepository, team: Path) -> None:
    """Shared assets have no project; the default branch stands behind them."""
    commit_document(team)
    said = repo.why("knowledge/ops/backup.md")["because"]

    assert said[0] == "Comes from wiki/backup, Tom."
    assert said[-1] == "The default branch holds it so: reviewed."


def test_undo_works_in_every_store(repo: ContextRepository, team: Path) -> None:
    """Memory, tasks and the team's, each by a new commit; what a person had committed with git as well."""
    commit_document(team)
    changed = commit_document(team, DOCUMENT.replace("Nightly", "Hourly"), "hourly")
    (team / "tasks/one").mkdir()
    (team / "tasks/one/TASK.md").write_text(TASK)
    snapshot = next(row["snapshot"] for row in repo.sync_all()["results"] if row["name"] == "tasks")

    undone = repo.undo(changed[:10])
    assert (undone["store"], undone["undone"]) == ("team", changed)
    assert (team / "knowledge/ops/backup.md").read_text() == DOCUMENT
    assert git(team, "status", "--short") == ""
    assert repo.undo(snapshot)["paths"] == ["tasks/one/TASK.md"]
    assert not (team / "tasks/one/TASK.md").exists()


def test_an_undo_can_be_undone_and_ends(repo: ContextRepository, team: Path) -> None:
    """Back and forth; the same one twice says that nothing is left."""
    fact = repo.memory.add("here")
    first = repo.undo(fact["commit"])
    assert not (team / fact["path"]).exists()
    assert repo.undo(fact["commit"])["commit"] is None
    repo.undo(first["commit"])

    assert (team / fact["path"]).exists()
    assert repo.undo(first["commit"])["commit"] is None


def test_an_undo_over_unsaved_words_is_refused(repo: ContextRepository, team: Path) -> None:
    """In a private store as in the team's: what a person is typing stays."""
    fact = repo.memory.add("mine")
    document = commit_document(team)
    for path in (team / fact["path"], team / "knowledge/ops/backup.md"):
        path.write_text(path.read_text() + "typing\n")

    for operation in (fact["commit"], document):
        with pytest.raises(Conflict):
            repo.undo(operation)
    assert all("typing" in (team / path).read_text() for path in (fact["path"], "knowledge/ops/backup.md"))


def test_what_is_undone_is_an_operation(repo: ContextRepository) -> None:
    """An asset's name is met with the command that lists its operations; an unknown one with the log."""
    fact = repo.memory.add("a fact")

    with pytest.raises(UsageFault, match="an asset; what is undone is an operation") as caught:
        repo.undo(fact["tail"])
    assert caught.value.hint == f"ctxrepo log {fact['tail']}"
    with pytest.raises(NotFound, match="No operation is called 'nothing'"):
        repo.undo("nothing")
    with pytest.raises(UsageFault, match=r"means \d operations"):
        repo.undo("HEAD")


def test_a_merge_is_not_undone(repo: ContextRepository, team: Path) -> None:
    """It brought several changes; the hint says how git does it."""
    commit_document(team)
    git(team, "checkout", "-qb", "topic", "HEAD~1")
    git(team, "commit", "-qm", "aside", "--allow-empty")
    git(team, "checkout", "-q", "main")
    git(team, "merge", "-q", "--no-ff", "-m", "merge", "topic")

    with pytest.raises(Refused, match="is a merge") as caught:
        repo.undo(git(team, "rev-parse", "HEAD"))
    assert "revert -m 1" in str(caught.value.hint)


def test_the_workspace_itself_is_not_undone(repo: ContextRepository, team: Path) -> None:
    """Without ctxrepo.yaml no command would find it again; a change of the settings can be undone."""
    made = git(team, "rev-parse", "HEAD")
    (team / "ctxrepo.yaml").write_text("recall:\n  limit: 5\n")
    git(team, "commit", "-qam", "limit")

    with pytest.raises(Refused, match="made this folder a workspace"):
        repo.undo(made)
    assert repo.undo(git(team, "rev-parse", "HEAD"))["paths"] == ["ctxrepo.yaml"]
    assert "limit: 3" in (team / "ctxrepo.yaml").read_text()


def test_history_of_a_clone_without_private_stores(team: Path, tmp_path: Path) -> None:
    """A store that is missing hides no other."""
    shutil.rmtree(team / ".git/ctxrepo/stores/tasks.git")
    shutil.rmtree(team / "tasks")

    with open_workspace(team) as repo:
        assert {row["store"] for row in repo.log()["results"]} == {"memory/me", "team"}


def test_an_undo_in_a_shared_store_is_published(tmp_path: Path) -> None:
    """Built on what colleagues pushed meanwhile, and pushed at once; refused, nothing changes anywhere."""
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", "remote.git")
    for name, user in (("mine", "me"), ("theirs", "ann")):
        git(tmp_path, "clone", "-q", "remote.git", name)
        init_workspace(str(tmp_path / name), user=user)
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    document = commit_document(mine)
    git(mine, "push", "-q")
    git(theirs, "pull", "-q")
    (theirs / "README.md").write_text("news\n")
    git(theirs, "add", "README.md")
    git(theirs, "commit", "-qm", "news")
    git(theirs, "push", "-q")
    hook = tmp_path / "remote.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    with open_workspace(mine) as repo:
        with pytest.raises(Conflict, match="refused the change"):
            repo.undo(document)
        assert (mine / "knowledge/ops/backup.md").exists()
        assert git(mine, "rev-parse", "HEAD") == document
        os.unlink(hook)
        repo.undo(document)
    assert not (mine / "knowledge/ops/backup.md").exists()
    assert git(mine, "log", "--format=%s").splitlines()[:2] == ["undo: backup: how it is done", "news"]
    assert git(tmp_path / "remote.git", "rev-parse", "main") == git(mine, "rev-parse", "HEAD")
