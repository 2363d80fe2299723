"""Two clones and one bare remote: publishing is all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxrepo.errors import Conflict, CtxError, Refused
from ctxrepo.store import history, private, remote
from ctxrepo.store.store import Store


@pytest.fixture
def bare(tmp_path: Path, git) -> Path:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
def clones(bare: Path, tmp_path: Path, git) -> tuple[Store, Store]:
    """Two people's clones of a remote with one commit."""
    git(tmp_path, "clone", "-q", str(bare), "seed")
    git(tmp_path / "seed", "switch", "-qC", "main")
    (tmp_path / "seed/README.md").write_text("hello\n")
    git(tmp_path / "seed", "add", ".")
    git(tmp_path / "seed", "commit", "-qm", "first")
    git(tmp_path / "seed", "push", "-q", "origin", "main")
    for name in ("one", "two"):
        git(tmp_path, "clone", "-q", str(bare), name)
    return private.create_team(tmp_path / "one"), private.create_team(tmp_path / "two")


def publish(store: Store, path: str, data: bytes) -> str | None:
    with remote.published(store, "kb.create", actor="me") as tx:
        tx.write(path, data)
    return tx.note


def state(store: Store, git) -> tuple[str, ...]:
    refs = git(store.root, "for-each-ref", "refs/heads")
    return refs, git(store.root, "status", "--porcelain"), git(store.root, "ls-files", "-s")


def test_both_publish_in_turn(clones: tuple[Store, Store], bare: Path, git) -> None:
    """The second builds on what the first published; remote, branches and files agree at the end."""
    one, two = clones

    assert publish(one, "knowledge/a/KB.md", b"a\n") is None
    assert publish(two, "knowledge/b/KB.md", b"b\n") is None

    assert git(bare, "log", "--format=%s", "main").split("\n")[:3] == ["kb: create", "kb: create", "first"]
    assert Path(two.root, "knowledge/a/KB.md").read_text() == "a\n"
    assert Path(two.root, "knowledge/b/KB.md").read_text() == "b\n"
    for store in clones:
        assert git(store.root, "status", "--porcelain") == ""
    assert git(two.root, "rev-parse", "main").strip() == git(bare, "rev-parse", "main").strip()
    assert git(bare, "fsck") == ""


def test_a_lost_race_changes_nothing(clones: tuple[Store, Store], bare: Path, git) -> None:
    """Somebody publishes between our fetch and our push: Conflict, and all is as before; repeating it works."""
    one, two = clones
    before = state(two, git)

    with pytest.raises(Conflict) as caught, remote.published(two, "kb.create", actor="me") as tx:
        tx.write("x.md", b"x\n")
        publish(one, "y.md", b"y\n")

    assert caught.value.exit_code == 6
    assert "again" in (caught.value.hint or "")
    assert state(two, git) == before
    assert not Path(two.root, "x.md").exists()
    assert publish(two, "x.md", b"x\n") is None


def test_a_refusing_remote_changes_nothing(clones: tuple[Store, Store], bare: Path, git) -> None:
    """The remote's hook refuses: exit 6, its words are passed on, nothing has moved here."""
    one, _ = clones
    hook = bare / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'knowledge needs a review' >&2\nexit 1\n")
    hook.chmod(0o755)
    before = state(one, git)

    with pytest.raises(Conflict) as caught:
        publish(one, "x.md", b"x\n")

    assert any("needs a review" in line for line in caught.value.details)
    assert state(one, git) == before
    assert not Path(one.root, "x.md").exists()


def test_an_unreachable_remote_changes_nothing(clones: tuple[Store, Store], bare: Path, git) -> None:
    """Without the remote the operation fails with a hint, and nothing has moved."""
    one, _ = clones
    before = state(one, git)
    bare.rename(bare.with_name("gone.git"))

    with pytest.raises(CtxError) as caught:
        publish(one, "x.md", b"x\n")

    assert caught.value.hint
    assert state(one, git) == before


def test_reads_see_the_published_state(clones: tuple[Store, Store]) -> None:
    """Inside the transaction a file is what the remote holds, not what this clone still has."""
    one, two = clones
    publish(one, "README.md", b"changed\n")

    with remote.published(two, "t", actor="me") as tx:
        assert tx.read("README.md") == b"changed\n"
        assert tx.read("nowhere.md") is None
        tx.write("README.md", tx.read("README.md") + b"and more\n")

    assert Path(two.root, "README.md").read_text() == "changed\nand more\n"


def test_local_work_is_left_alone(clones: tuple[Store, Store], git) -> None:
    """Uncommitted work on other paths survives; on a path that comes in, the branch stays behind with a note."""
    one, two = clones
    Path(one.root, "draft.md").write_text("draft\n")
    assert publish(one, "x.md", b"x\n") is None
    assert git(one.root, "status", "--porcelain") == "?? draft.md\n"

    publish(two, "draft.md", b"theirs\n")
    note = publish(one, "y.md", b"y\n")
    assert note
    assert "git pull" in note
    assert Path(one.root, "draft.md").read_text() == "draft\n"
    assert git(one.root, "show", "origin/main:y.md") == "y\n"


def test_own_uncommitted_paths_are_a_conflict_before_anything_is_shared(clones, bare: Path, git) -> None:
    """A path that the person is editing is not published over."""
    one, _ = clones
    Path(one.root, "README.md").write_text("editing\n")
    head = git(bare, "rev-parse", "main")

    with pytest.raises(Conflict):
        publish(one, "README.md", b"ours\n")

    assert git(bare, "rev-parse", "main") == head
    assert Path(one.root, "README.md").read_text() == "editing\n"


def test_unpublished_commits_are_not_pushed_along(clones: tuple[Store, Store], bare: Path, git) -> None:
    """A clone with commits of its own is told to publish them first."""
    one, _ = clones
    Path(one.root, "mine.md").write_text("mine\n")
    git(one.root, "add", ".")
    git(one.root, "commit", "-qm", "mine")

    with pytest.raises(Refused) as caught:
        publish(one, "x.md", b"x\n")

    assert "push" in (caught.value.hint or "")
    assert "mine.md" not in git(bare, "ls-tree", "--name-only", "main")


def test_on_another_branch_only_the_ref_moves(clones: tuple[Store, Store], git) -> None:
    """A person on a branch of their own keeps files and HEAD; main moves forward without them."""
    one, _ = clones
    git(one.root, "switch", "-qc", "feature")

    assert publish(one, "x.md", b"x\n") is None

    assert not Path(one.root, "x.md").exists()
    assert git(one.root, "show", "main:x.md") == "x\n"
    assert git(one.root, "status", "--porcelain") == ""
    assert git(one.root, "rev-parse", "--abbrev-ref", "HEAD").strip() == "feature"


def test_private_paths_in_the_remote_stop_it(clones: tuple[Store, Store], bare: Path, tmp_path: Path, git) -> None:
    """Neither is a planted path fetched into the files, nor can one be published."""
    one, _ = clones
    git(tmp_path / "seed", "pull", "-q", "origin", "main")
    (tmp_path / "seed/Memory").write_text("gotcha")
    git(tmp_path / "seed", "add", ".")
    git(tmp_path / "seed", "commit", "-qm", "planted")
    git(tmp_path / "seed", "push", "-q", "origin", "main")

    with pytest.raises(Refused):
        publish(one, "x.md", b"x\n")
    assert not Path(one.root, "Memory").exists()


def test_publishing_a_private_path_is_refused(clones: tuple[Store, Store], bare: Path, git) -> None:
    """Nothing under memory/ or tasks/ can be published by us."""
    one, _ = clones
    for path in ("memory/me/x.md", "TASKS/x.md"):
        with pytest.raises(Refused):
            publish(one, path, b"x\n")


def test_the_first_publication(tmp_path: Path, bare: Path, git) -> None:
    """An empty remote gets the whole branch with the first operation."""
    team = private.create_team(tmp_path / "team")
    with team.transaction("init", actor="me") as tx:
        tx.write("ctxrepo.yaml", b"name: x\n")
    git(team.root, "remote", "add", "origin", str(bare))

    publish(team, "knowledge/a/KB.md", b"a\n")

    assert git(bare, "ls-tree", "-r", "--name-only", "main").split() == ["ctxrepo.yaml", "knowledge/a/KB.md"]
    assert git(team.root, "status", "--porcelain") == ""


def test_a_clone_whose_default_branch_has_another_name(tmp_path: Path, git) -> None:
    """The default branch is what the remote says it is."""
    git(tmp_path, "init", "-q", "--bare", "-b", "trunk", "r.git")
    git(tmp_path, "clone", "-q", "r.git", "seed")
    git(tmp_path / "seed", "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path / "seed", "push", "-q", "origin", "HEAD:trunk")
    git(tmp_path, "clone", "-q", "r.git", "clone")
    team = private.create_team(tmp_path / "clone")

    publish(team, "x.md", b"x\n")

    assert git(tmp_path / "r.git", "ls-tree", "--name-only", "trunk").split() == ["x.md"]
    assert git(tmp_path / "r.git", "for-each-ref", "--format=%(refname)").split() == ["refs/heads/trunk"]


def test_without_an_upstream_it_is_an_ordinary_transaction(team: Store) -> None:
    """A workspace that nobody shares needs no remote."""
    assert remote.upstream(team) is None
    assert publish(team, "x.md", b"x\n") is None
    assert Path(team.root, "x.md").exists()


def test_an_undo_is_published_too(clones: tuple[Store, Store], bare: Path, git) -> None:
    """Undoing in a team store builds on the shared tip; what somebody changed meanwhile there is a conflict."""
    one, two = clones
    publish(one, "knowledge/a/KB.md", b"a\n")
    publish(two, "knowledge/b/KB.md", b"b\n")
    mine = git(bare, "rev-parse", "main~1").strip()

    assert history.undo(one, mine, actor="me").commit == git(bare, "rev-parse", "main").strip()

    assert git(bare, "ls-tree", "-r", "--name-only", "main").split() == ["README.md", "knowledge/b/KB.md"]
    assert not Path(one.root, "knowledge/a/KB.md").exists()
    theirs = git(bare, "rev-parse", "main~1").strip()
    publish(two, "knowledge/b/KB.md", b"changed\n")
    with pytest.raises(Conflict, match="changed since"):
        history.undo(one, theirs, actor="me")
