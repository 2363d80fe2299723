"""`init`: new folders, folders with files, repositories, clones, second users; and what it leaves alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxrepo.api import open_workspace
from ctxrepo.errors import Conflict, CtxError, Invalid, Refused
from ctxrepo.workspace.setup import Made, init_workspace
from tests.support.git import git, repository


def init(folder: Path, user: str | None = "me") -> Made:
    return init_workspace(str(folder), user=user)


def tracked(folder: Path) -> list[str]:
    return git(folder, "ls-files").splitlines()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """An empty bare repository, the team's remote."""
    folder = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", str(folder))
    return folder


def clone(remote: Path, folder: Path) -> Path:
    git(remote.parent, "clone", "-q", str(remote), str(folder))
    return folder


def test_a_new_folder_becomes_a_workspace_ready_to_use(tmp_path: Path) -> None:
    """One commit on main, private stores that the team's repository does not see, and a fact can be added."""
    made = init(tmp_path / "new" / "team")
    team = Path(made["root"])

    assert made["created"] == [
        ".gitignore",
        "access.yaml",
        "ctxrepo.yaml",
        "memory/me/ (a private repository of its own)",
        "tasks/ (a private repository of its own)",
        "this machine's settings: user me",
    ]
    assert made["notes"] == []
    assert git(team, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert tracked(team) == [".gitignore", "access.yaml", "ctxrepo.yaml"]
    assert git(team, "status", "--short", "--ignored").splitlines() == ["!! memory/", "!! tasks/"]
    assert git(team / "memory/me", "ls-files") == "rules.md"
    with open_workspace(team) as repo:
        assert repo.memory.add("ready")["commit"]
        assert repo.check()["results"] == []


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    """Not a file, not a commit; nothing was missing."""
    team = Path(init(tmp_path / "team")["root"])
    before = [git(folder, "rev-parse", "HEAD") for folder in (team, team / "memory/me")]
    again = init(team, None)

    assert (again["user"], again["created"], again["notes"]) == ("me", [], [])
    assert [git(folder, "rev-parse", "HEAD") for folder in (team, team / "memory/me")] == before
    assert git(team, "status", "--short") == ""


def test_a_folder_of_plain_files_becomes_a_workspace(tmp_path: Path) -> None:
    """Its assets are in the first commit, hand-written facts are adopted, other files are left to the person."""
    folder = tmp_path / "plain"
    files = {
        "knowledge/ops/KB.md": "---\ntitle: Ops\ndescription: How we run it.\nowner: me\n---\n",
        "knowledge/ops/backup.md": "# Backup\nNightly.\n",
        "memory/me/facts/old/tea.md": "I like tea\n",
        "memory/me/rules.md": "---\nrules: []\n---\nMine.\n",
        "main.py": "print()\n",
        ".gitignore": "*.log\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    init(folder)

    assert tracked(folder) == [
        ".gitignore",
        "access.yaml",
        "ctxrepo.yaml",
        "knowledge/ops/KB.md",
        "knowledge/ops/backup.md",
    ]
    assert git(folder, "status", "--short") == "?? main.py"
    assert (folder / ".gitignore").read_text() == "*.log\n/memory/\n/tasks/\n"
    assert (folder / "memory/me/rules.md").read_text().endswith("---\nMine.\n")
    with open_workspace(folder) as repo:
        assert [(fact["title"], bool(fact["id"])) for fact in repo.memory.list()["results"]] == [("I like tea", True)]


def test_a_repository_with_a_history_gets_one_commit(tmp_path: Path) -> None:
    """On the branch it stands on; what the person has staged or edited stays theirs."""
    code = repository(tmp_path / "code")
    (code / "main.py").write_text("1\n")
    git(code, "add", "main.py")
    git(code, "commit", "-qm", "code")
    (code / "main.py").write_text("2\n")
    (code / "new.py").write_text("3\n")
    git(code, "add", "new.py")
    init(code)

    assert git(code, "show", "--name-only", "--format=%s", "HEAD").split() == [
        "init:",
        "workspace",
        ".gitignore",
        "access.yaml",
        "ctxrepo.yaml",
    ]
    assert git(code, "status", "--short").splitlines() == [" M main.py", "A  new.py"]


def test_an_edited_gitignore_is_left_alone(tmp_path: Path) -> None:
    """The private folders are ignored all the same, by info/exclude."""
    code = repository(tmp_path / "code")
    (code / ".gitignore").write_text("*.log\n")
    init(code)

    assert (code / ".gitignore").read_text() == "*.log\n"
    assert git(code, "status", "--short") == "?? .gitignore"


def test_a_clone_of_a_workspace_gets_only_what_is_missing(tmp_path: Path, remote: Path) -> None:
    """No commit in the team's repository; another user's memory does not come along."""
    first = clone(remote, tmp_path / "first")
    init(first, "ann")
    second = clone(remote, tmp_path / "second")
    before = git(second, "rev-parse", "HEAD")
    made = init(second, "bob")

    assert made["created"] == [
        "memory/bob/ (a private repository of its own)",
        "tasks/ (a private repository of its own)",
        "this machine's settings: user bob",
    ]
    assert made["notes"] == ["access.yaml does not name bob; an admin may add `bob: member` there."]
    assert git(second, "rev-parse", "HEAD") == before
    assert git(second, "status", "--short", "--branch") == "## main...origin/main"
    assert not (second / "memory/ann").exists()


def test_an_empty_clone_is_set_up_and_published_at_once(tmp_path: Path, remote: Path) -> None:
    """The next colleague clones a workspace."""
    first = clone(remote, tmp_path / "first")
    made = init(first, "ann")

    assert "Published to origin." in made["notes"]
    assert git(remote, "ls-tree", "-r", "--name-only", "main").split() == [".gitignore", "access.yaml", "ctxrepo.yaml"]
    assert git(first, "status", "--short", "--branch") == "## main...origin/main"


def test_a_shared_repository_is_completed_on_its_newest_state(tmp_path: Path, remote: Path) -> None:
    """What a colleague pushed meanwhile is fetched first, and both are in the history."""
    mine, theirs = repository(clone(remote, tmp_path / "mine")), tmp_path / "theirs"
    git(mine, "push", "-q", "origin", "HEAD:main")
    clone(remote, theirs)
    (theirs / "news.txt").write_text("news\n")
    git(theirs, "add", ".")
    git(theirs, "commit", "-qm", "news")
    git(theirs, "push", "-q")
    init(mine)

    assert git(mine, "log", "--format=%s").splitlines() == ["init: workspace", "news", "start"]
    assert git(remote, "rev-parse", "main") == git(mine, "rev-parse", "HEAD")
    assert (mine / "news.txt").exists()


def test_a_remote_that_refuses_leaves_everything_as_it_was(tmp_path: Path, remote: Path) -> None:
    """Exit code 6, no settings, no commit."""
    mine = repository(clone(remote, tmp_path / "mine"))
    git(mine, "push", "-q", "origin", "HEAD:main")
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    before = git(mine, "rev-parse", "HEAD")

    with pytest.raises(Conflict, match="refused the change"):
        init(mine)
    assert git(mine, "rev-parse", "HEAD") == git(remote, "rev-parse", "main") == before
    assert not (mine / "ctxrepo.yaml").exists()


def test_a_workspace_that_waits_on_the_remote_is_pulled_first(tmp_path: Path, remote: Path) -> None:
    """Two people set up the same repository: the second is told to pull, instead of making another."""
    mine = repository(clone(remote, tmp_path / "mine"))
    git(mine, "push", "-q", "origin", "HEAD:main")
    init(clone(remote, tmp_path / "theirs"), "ann")

    with pytest.raises(Refused, match="holds a workspace that is not here yet") as caught:
        init(mine)
    assert str(caught.value.hint) == f"git -C {mine} pull"


def test_a_clone_without_identity_works(tmp_path: Path, remote: Path, home: Path) -> None:
    """Commits are made in the user's name although git knows nobody."""
    (home / ".gitconfig").unlink()
    made = init(clone(remote, tmp_path / "clone"), "ann")

    assert git(Path(made["root"]), "log", "-1", "--format=%an") == "ann"
    with open_workspace(made["root"]) as repo:
        assert repo.memory.add("no identity needed")["commit"]


def test_a_second_user_of_the_same_folder(tmp_path: Path) -> None:
    """Has a store of their own; the clone works as them from now on, and is told how to go back."""
    team = Path(init(tmp_path / "team")["root"])
    made = init(team, "tom")

    assert made["created"] == ["memory/tom/ (a private repository of its own)", "this machine's settings: user tom"]
    assert "This clone worked as me before; `ctxrepo init --user me` goes back to that." in made["notes"]
    with open_workspace(team) as repo:
        assert repo.user == "tom"
    assert init(team, "me")["created"] == ["this machine's settings: user me"]


@pytest.mark.parametrize("name", ["a/b", "..", "ME", "mе", "con", "tom.", "a\u200bb", "", "x" * 65])
def test_a_user_name_is_confined_and_no_look_alike(tmp_path: Path, name: str) -> None:
    """Refused with a hint, and nothing is made."""
    team = Path(init(tmp_path / "team")["root"])
    stores = sorted((team / ".git/ctxrepo/stores/memory").iterdir())

    with pytest.raises(Invalid):
        init(team, name)
    assert sorted((team / ".git/ctxrepo/stores/memory").iterdir()) == stores
    with pytest.raises(Invalid):
        init(tmp_path / "other", "a/b")
    assert not (tmp_path / "other").exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """Said in a sentence; the file stays."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(Refused, match="is a file, so no workspace can be made of it"):
        init(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"


def test_a_folder_whose_name_is_not_utf_8_is_refused_first(tmp_path: Path) -> None:
    """Nothing half made is left."""
    with pytest.raises(Invalid, match="is not UTF-8"):
        init(tmp_path / "lat-\udce9")
    assert list(tmp_path.iterdir()) == []


def test_no_workspace_inside_a_workspace(tmp_path: Path) -> None:
    """Not in its knowledge, and not in somebody's memory."""
    team = Path(init(tmp_path / "team")["root"])

    for inner in ("knowledge/ops", "memory/me/inner"):
        with pytest.raises(Refused, match="lies in the workspace"):
            init(team / inner)
        assert not (team / inner).exists()


def test_inside_another_repository_it_says_what_to_ignore(tmp_path: Path) -> None:
    """It is a repository of its own; the outer one should not take it for a submodule."""
    outer = repository(tmp_path / "outer")
    made = init(outer / "docs" / "context")

    assert made["notes"] == [
        f"It lies inside the git repository {outer}, which should ignore it: add /docs/context/ to its .gitignore."
    ]
    assert git(outer / "docs" / "context", "rev-parse", "--show-toplevel") == str(outer / "docs" / "context")
    assert git(outer, "log", "--format=%s") == "start"


def test_a_merge_in_progress_is_not_disturbed(tmp_path: Path) -> None:
    """Refused with a hint; after the merge it works."""
    code = repository(tmp_path / "code")
    (code / ".git" / "MERGE_HEAD").write_text(git(code, "rev-parse", "HEAD") + "\n")

    with pytest.raises(CtxError) as caught:
        init(code)
    assert caught.value.hint
    assert git(code, "log", "--format=%s") == "start"
    (code / ".git" / "MERGE_HEAD").unlink()
    assert init(code)["created"]


def test_a_linked_worktree_finds_the_same_memory(tmp_path: Path) -> None:
    """No second store is made for it."""
    team = Path(init(tmp_path / "team")["root"])
    git(team, "worktree", "add", "-q", str(tmp_path / "side"))
    with open_workspace(team) as repo:
        repo.memory.add("seen from both")

    assert init(tmp_path / "side", None)["created"] == []
    with open_workspace(tmp_path / "side") as repo:
        assert [fact["title"] for fact in repo.memory.list()["results"]] == ["seen from both"]


def test_the_whole_workspace_may_be_moved(tmp_path: Path) -> None:
    """Nothing in it knows where it lies."""
    team = Path(init(tmp_path / "team")["root"])
    with open_workspace(team) as repo:
        repo.memory.add("travels well")
    os.rename(team, tmp_path / "elsewhere")

    with open_workspace(tmp_path / "elsewhere") as repo:
        assert [fact["title"] for fact in repo.memory.list()["results"]] == ["travels well"]
        assert repo.memory.add("and goes on")["commit"]
        assert repo.doctor()["results"] == []
