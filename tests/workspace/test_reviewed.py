"""What counts as reviewed: a shared file that is what the default branch holds, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ctxrepo.api import open_workspace
from ctxrepo.errors import NotFound
from tests.support.git import git
from tests.support.live import Live
from tests.support.template import new_workspace

PATH = "knowledge/eng/deploy.md"
TEXT = "Deploys go out on Tuesday after the smoke test."
QUESTION = "when do deploys go out"


def document(text: str = TEXT) -> str:
    return f"---\nid: 01KD0000000000000000000001\ntitle: Deploys\n---\n{text}\n"


def write(root: Path, text: str = TEXT, path: str = PATH) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(document(text), encoding="utf-8")


def commit(root: Path, message: str = "deploys") -> None:
    git(root, "add", "knowledge")
    git(root, "commit", "-qm", message)


@pytest.fixture
def live(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Live:
    """A workspace with one reviewed document."""
    made = Live(new_workspace(tmp_path / "team", tmp_path_factory))
    (made.root / "knowledge" / "eng").mkdir(parents=True)
    (made.root / "knowledge" / "eng" / "KB.md").write_text("---\ntitle: Engineering\n---\n", encoding="utf-8")
    write(made.root)
    commit(made.root)
    return made


def served(root: Path) -> list[str]:
    """What an agent is given unasked."""
    with open_workspace(root, user="me") as repo:
        return [hit["text"] for hit in repo.recall(QUESTION, knowledge=True, threshold=0.0)["results"]]


def reviewed(root: Path) -> bool | None:
    """What the file is served as to those who ask for it; None if nobody can ask for it."""
    with open_workspace(root, user="me") as repo:
        try:
            return bool(repo.show(PATH)["reviewed"])
        except NotFound:
            return None


def state(live: Live) -> tuple[list[str], bool | None]:
    return served(live.root), reviewed(live.root)


def test_what_the_default_branch_holds_is_served(live: Live) -> None:
    """Recalled unasked, and marked as reviewed."""
    assert state(live) == ([TEXT], True)


def test_an_edit_is_unreviewed_until_it_is_committed(live: Live) -> None:
    """Not with the edit, not when it is staged; with the commit on the default branch, and when it is taken back."""
    write(live.root, "Deploys go out whenever you like.")
    assert state(live) == ([], False)
    git(live.root, "add", "-A", "knowledge")
    assert state(live) == ([], False)
    git(live.root, "commit", "-qm", "reviewed")
    assert state(live) == (["Deploys go out whenever you like."], True)
    write(live.root, "Deploys are over.")
    git(live.root, "checkout", "-q", "--", PATH)
    assert state(live) == (["Deploys go out whenever you like."], True)


def test_a_new_file_is_unreviewed_until_it_is_committed(live: Live) -> None:
    """Whoever may write into the folder does not reach an agent unasked."""
    write(live.root, "Deploys go out from my laptop.", "knowledge/eng/new.md")
    assert served(live.root) == [TEXT]
    with open_workspace(live.root, user="me") as repo:
        assert repo.show("knowledge/eng/new.md")["reviewed"] is False
    commit(live.root)
    assert set(served(live.root)) == {TEXT, "Deploys go out from my laptop."}


def test_a_commit_on_another_branch_is_no_review(live: Live) -> None:
    """The words of a branch count when they are merged; whoever stands on it sees them as unreviewed."""
    git(live.root, "switch", "-qc", "proposal")
    write(live.root, "Deploys go out on Friday.")
    commit(live.root, "proposal")
    assert state(live) == ([], False)
    git(live.root, "switch", "-q", "main")
    assert state(live) == ([TEXT], True)
    git(live.root, "merge", "-q", "--no-ff", "-m", "reviewed", "proposal")
    assert state(live) == (["Deploys go out on Friday."], True)
    git(live.root, "revert", "--no-edit", "-m", "1", "HEAD")
    assert state(live) == ([TEXT], True)


def test_a_file_of_the_other_branch_only_is_gone_after_switching(live: Live) -> None:
    """What is not on disk is not served, whatever branch holds it."""
    git(live.root, "switch", "-q", "--orphan", "empty")
    (live.root / "ctxrepo.yaml").touch()
    assert state(live) == ([], None)


def test_the_default_branch_may_move_under_a_file_that_does_not(live: Live) -> None:
    """Somebody else's merge makes what lies here reviewed, or no longer reviewed, without a touch of the file."""
    git(live.root, "switch", "-qc", "proposal")
    write(live.root, "Deploys go out on Friday.")
    commit(live.root, "proposal")
    assert state(live) == ([], False)
    tip = git(live.root, "rev-parse", "main")
    git(live.root, "update-ref", "refs/heads/main", "proposal")
    assert state(live) == (["Deploys go out on Friday."], True)
    git(live.root, "update-ref", "refs/heads/main", tip)
    assert state(live) == ([], False)
    git(live.root, "update-ref", "refs/heads/main", "proposal")
    git(live.root, "pack-refs", "--all")
    assert state(live) == (["Deploys go out on Friday."], True)


def test_an_edit_that_keeps_size_and_time_is_noticed(live: Live) -> None:
    """Another file of the same length and age was moved into its place."""
    old = time.time() - 3600
    os.utime(live.root / PATH, (old, old))
    assert state(live) == ([TEXT], True)
    fresh = live.root / "fresh"
    fresh.write_text(document(TEXT.replace("Tuesday", "Sundays")), encoding="utf-8")
    assert fresh.stat().st_size == (live.root / PATH).stat().st_size
    os.utime(fresh, (old, old))
    fresh.replace(live.root / PATH)
    assert state(live) == ([], False)


def test_in_a_clone_the_remote_says_what_the_default_branch_is(live: Live, tmp_path: Path) -> None:
    """`origin/HEAD` counts, also if it is not called main; a local branch of that name counts, not the remote's."""
    git(live.root, "branch", "-m", "main", "trunk")
    git(tmp_path, "clone", "-q", str(live.root), "clone")
    clone = Live.made(tmp_path / "clone")
    assert state(clone) == ([TEXT], True)
    git(clone.root, "switch", "-qc", "main")
    write(clone.root, "Deploys go out on Friday.")
    commit(clone.root)
    assert state(clone) == ([], False)


def test_line_endings_that_git_converts_are_unreviewed(live: Live) -> None:
    """Bytes on disk that are not those of the branch are not what was reviewed; the mistake is the safe one."""
    (live.root / PATH).write_bytes(document().replace("\n", "\r\n").encode())
    assert reviewed(live.root) is False


def test_a_link_in_the_place_of_a_document_is_not_followed(live: Live, tmp_path: Path) -> None:
    """Not even to a file with the very same bytes."""
    (tmp_path / "same.md").write_text(document(), encoding="utf-8")
    (live.root / PATH).unlink()
    (live.root / PATH).symlink_to(tmp_path / "same.md")
    assert served(live.root) == []


def test_a_sha256_repository_is_reviewed_as_well(tmp_path: Path) -> None:
    """The team's repository may use git's other hash."""
    root = tmp_path / "team"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    live = Live.made(root)
    write(root)
    commit(root)
    assert state(live) == ([TEXT], True)


def test_no_branch_at_all_is_no_review(tmp_path: Path) -> None:
    """Before the first commit nothing was reviewed; the files are there for those who ask."""
    live = Live.made(tmp_path / "team")
    git(live.root, "update-ref", "-d", "refs/heads/main")
    write(live.root)
    assert state(live) == ([], False)


def test_an_unreviewed_document_calls_no_knowledge_base_into_a_prompt(live: Live) -> None:
    """The hook names the bases only for what reviewed documents answer."""
    live.sync()
    assert "available-knowledge-bases" in live.fire("When do the deploys go out, Tuesday?").context
    write(live.root, "Deploys go out on Tuesday, says nobody.")
    live.sync()
    assert live.fire("When do the deploys go out, Tuesday?").out == b""
