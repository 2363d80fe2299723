"""One transaction is one commit, or nothing at all."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from ctxrepo.errors import Conflict, Invalid, NotFound, Refused, UsageFault
from ctxrepo.store import private
from ctxrepo.store.files import ABSENT, etag
from ctxrepo.store.store import Store

FACT = "facts/2026-11/a-000001.md"


def write(store: Store, path: str, data: bytes, **how: object) -> str | None:
    with store.transaction("memory.update", actor="me") as tx:
        tx.write(path, data, **how)
    return tx.commit_id


def count(store: Store) -> int:
    return int(store.git.run("rev-list", "--count", "HEAD"))


def test_a_commit_carries_subject_and_trailers(mine: Store, git, now: Callable[[], datetime]) -> None:
    """The message holds who, why, from which session; newlines in a value cannot forge a trailer."""
    with mine.transaction(
        "memory.add", actor="me", agent="claude-code", session="s1", reason="asked\n\nCtx-Actor: mallory",
        subject="memory: add\nsecond line", trailers=[("Ctx-Memory", "01ABC"), ("Ctx-Empty", None)], now=now(),
    ) as tx:  # fmt: skip
        tx.write("facts/2026-11/c.md", "对辣菜过敏\n".encode())
        tx.trailer("Ctx-Also", "x")

    shown = git(mine.root, "show", "-s", "--format=%an <%ae> %at%n%B", "HEAD")

    assert shown.strip() == (
        "me <me@localhost> 1795946400\nmemory: add second line\n\nCtx-Op: memory.add\nCtx-Actor: me\n"
        "Ctx-Agent: claude-code\nCtx-Session: s1\nCtx-Reason: asked Ctx-Actor: mallory\nCtx-Memory: 01ABC\nCtx-Also: x"
    )
    assert tx.commit_id == git(mine.root, "rev-parse", "HEAD").strip()
    assert git(mine.root, "log", "-1", "--format=%(trailers:key=Ctx-Actor,valueonly)").split() == ["me"]
    assert git(mine.root, "status", "--porcelain") == ""
    assert git(mine.root, "reflog", "-1", "--format=%gs").strip() == "memory: add second line"


def test_commits_are_repeatable(tmp_path: Path) -> None:
    """The same operations at the same times give the same commit ids."""
    from datetime import UTC

    when = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)
    ids = []
    for name in ("one", "two"):
        team = private.create_team(tmp_path / name)
        store = private.create_private(team, "tasks", {"a.md": b"a\n"}, actor="me", now=when)
        ids.append(store.head().commit)

    assert ids[0] is not None
    assert ids[0] == ids[1]


def test_nothing_changed_makes_no_commit(mine: Store) -> None:
    """Writing what is there already, or nothing, leaves the history alone."""
    before = count(mine)

    assert write(mine, FACT, b"likes tea\n") is None
    with mine.transaction("noop", actor="me") as tx:
        assert tx.read(FACT) == b"likes tea\n"
    assert count(mine) == before


def test_an_exception_inside_writes_nothing(mine: Store) -> None:
    """What was written before the fault is not there afterwards."""
    before = count(mine)

    with pytest.raises(ZeroDivisionError), mine.transaction("memory.add", actor="me") as tx:
        tx.write("x.md", b"x")
        1 / 0  # noqa: B018

    assert count(mine) == before
    assert not Path(mine.root, "x.md").exists()


def test_expect_guards_against_edits_since_the_decision(mine: Store) -> None:
    """A file that moved on since the caller read it is a Conflict and keeps its content."""
    seen = etag(b"likes tea\n")
    Path(mine.root, FACT).write_bytes(b"likes tea, edited by hand\n" * 100)

    with pytest.raises(Conflict):
        write(mine, FACT, b"stale", expect=seen)
    with pytest.raises(Conflict):
        write(mine, FACT, b"new", expect=ABSENT)
    with pytest.raises(Conflict), mine.transaction("memory.delete", actor="me") as tx:
        tx.delete(FACT, expect=seen)

    assert Path(mine.root, FACT).stat().st_size == 2600


def test_an_edit_in_the_last_moment_is_not_overwritten(mine: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that saves between our look and our write wins; of several files none is written."""
    with pytest.raises(Conflict), mine.transaction("memory.update", actor="me") as tx:
        tx.write("aaa.md", b"new\n")
        tx.write(FACT, b"ours\n")
        Path(mine.root, FACT).write_bytes(b"theirs\n")

    assert Path(mine.root, FACT).read_bytes() == b"theirs\n"
    assert not Path(mine.root, "aaa.md").exists()
    assert not list(Path(mine.root).rglob("*tmp"))


def test_outside_edits_become_a_commit_of_their_own_first(mine: Store, git) -> None:
    """In a private store nothing that a person wrote is lost from the history, not even what we replace at once."""
    Path(mine.root, FACT).write_bytes(b"by hand\n")

    write(mine, FACT, b"ours\n")

    assert git(mine.root, "log", "-3", "--format=%(trailers:key=Ctx-Op,valueonly)").split() == [
        "memory.update", "snapshot", "memory.add",
    ]  # fmt: skip
    assert git(mine.root, "show", f"HEAD~1:{FACT}") == "by hand\n"
    assert git(mine.root, "show", f"HEAD:{FACT}") == "ours\n"
    assert git(mine.root, "status", "--porcelain") == ""


def test_a_deletion_outside_is_recorded_before_the_file_is_made_anew(mine: Store, git) -> None:
    """The history tells that the file was gone in between."""
    Path(mine.root, FACT).unlink()

    write(mine, FACT, b"back\n")

    assert git(mine.root, "log", "--format=", "--name-status", "-2").split() == ["A", FACT, "D", FACT]


def test_delete_and_its_empty_folder(mine: Store, git) -> None:
    """Deleting the last file of a folder removes the folder; deleting what is not there is NotFound."""
    with mine.transaction("memory.delete", actor="me") as tx:
        tx.delete(FACT)
        tx.delete("facts/2026-11/b-000002.md")

    assert not Path(mine.root, "facts").exists()
    assert git(mine.root, "ls-files").split() == ["rules.md"]
    with pytest.raises(NotFound), mine.transaction("memory.delete", actor="me") as tx:
        tx.delete(FACT)


def test_a_file_may_become_a_folder_and_back(mine: Store, git) -> None:
    """Index and tree follow when a path changes its kind."""
    write(mine, "x", b"file\n")
    with mine.transaction("t", actor="me") as tx:
        tx.delete("x")
    write(mine, "x/y.md", b"below\n")

    assert git(mine.root, "ls-files", "x").split() == ["x/y.md"]
    with pytest.raises(Refused):
        write(mine, "x", b"file\n")
    assert git(mine.root, "status", "--porcelain") == ""


def test_odd_names_survive(mine: Store, git) -> None:
    """Quotes, blanks and other scripts in a file name reach the history as they are."""
    names = ['"quoted".md', "with blank.md", "中文 名.md", "emoji🎉.md", "[glob]*.md", "-dash.md", ":(icase)x.md"]
    with mine.transaction("t", actor="me") as tx:
        for name in names:
            tx.write(name, name.encode())
    for name in names:
        write(mine, name, b"again\n")

    listed = set(git(mine.root, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0"))
    assert set(names) <= listed
    assert git(mine.root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "path", ["", "/etc/x", "../x", "a/../../x", "a//b", ".git/config", "a/.GIT/hooks/x", "a\\b", "a\nb"]
)
def test_paths_do_not_lead_out(mine: Store, path: str) -> None:
    """A path that could leave the store, or reach into its repository, is refused."""
    with pytest.raises(Invalid), mine.transaction("t", actor="me") as tx:
        tx.write(path, b"x")


def test_links_are_not_followed(mine: Store, tmp_path: Path) -> None:
    """Neither a folder nor a file that is a symbolic link is read or written through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    Path(mine.root, "out").symlink_to(outside)
    Path(mine.root, "file.md").symlink_to(outside / "secret.md")

    for path in ("out/secret.md", "file.md", "out/new.md"):
        with pytest.raises(Refused), mine.transaction("t", actor="me") as tx:
            tx.read(path)
        with pytest.raises(Refused), mine.transaction("t", actor="me") as tx:
            tx.write(path, b"x")
    assert sorted(outside.iterdir()) == [outside / "secret.md"]


def test_modes(mine: Store, git) -> None:
    """A script can be made executable, and stays so when its text changes."""
    write(mine, "run.sh", b"echo\n", executable=True)
    write(mine, "run.sh", b"echo 2\n")
    assert os.access(Path(mine.root, "run.sh"), os.X_OK)
    write(mine, "run.sh", b"echo 2\n", executable=False)

    assert not os.access(Path(mine.root, "run.sh"), os.X_OK)
    assert git(mine.root, "log", "--format=", "--raw", "--abbrev=4", "-3", "--", "run.sh").split()[:2] == [
        ":100755", "100644",
    ]  # fmt: skip
    assert git(mine.root, "status", "--porcelain") == ""


def test_bad_trailer_key(mine: Store) -> None:
    """A trailer key that git would not read is the caller's mistake."""
    with pytest.raises(UsageFault), mine.transaction("t", actor="me", trailers=[("Bad key:", "x")]) as tx:
        tx.write("x.md", b"x")


def test_staged_with_other_content_is_a_conflict(mine: Store, git) -> None:
    """What a person has staged is neither swept into our commit nor overwritten."""
    Path(mine.root, FACT).write_bytes(b"staged\n")
    git(mine.root, "add", FACT)
    Path(mine.root, FACT).write_bytes(b"then edited\n")
    before = count(mine)

    with pytest.raises(Conflict):
        write(mine, FACT, b"ours\n")

    assert count(mine) == before
    assert Path(mine.root, FACT).read_bytes() == b"then edited\n"
    assert git(mine.root, "show", f":{FACT}") == "staged\n"


def test_other_staged_files_stay_staged(team: Store, git) -> None:
    """Our commit holds our paths only; the person's half-done work stays staged and uncommitted."""
    Path(team.root, "theirs.md").write_text("half done\n")
    git(team.root, "add", "theirs.md")

    for number in range(3):
        write(team, f"knowledge/eng/doc{number}.md", b"doc\n")

    assert git(team.root, "status", "--porcelain") == "A  theirs.md\n"
    assert "theirs" not in git(team.root, "log", "--name-only", "--format=")


def test_team_edits_belong_to_the_person(team: Store, git) -> None:
    """In the team's store a path with uncommitted changes is a Conflict, a new untracked one too."""
    Path(team.root, "knowledge/eng/KB.md").write_text("edited\n")
    Path(team.root, "new.md").write_text("draft\n")

    for path in ("knowledge/eng/KB.md", "new.md"):
        with pytest.raises(Conflict):
            write(team, path, b"ours\n")
    assert write(team, "other.md", b"fine\n")


def test_team_commits_are_the_persons(team: Store, git, home: Path) -> None:
    """The team's history names the person that git knows, or the user when git knows nobody."""
    write(team, "a.md", b"a\n")
    assert git(team.root, "log", "-1", "--format=%an <%ae>").strip() == "Test <test@example.org>"

    (home / ".gitconfig").unlink()
    again = private.open_team(team.root)
    write(again, "b.md", b"b\n")

    assert git(team.root, "log", "-1", "--format=%an <%ae>").strip() == "me <me@localhost>"


def test_team_line_endings_follow_git(team: Store, git) -> None:
    """With autocrlf the blob is what `git add` would have stored, and the status is empty."""
    git(team.root, "config", "core.autocrlf", "true")

    write(team, "crlf.md", b"a\r\nb\r\n")

    assert git(team.root, "cat-file", "-p", "HEAD:crlf.md") == "a\nb\n"
    assert git(team.root, "status", "--porcelain") == ""


def test_team_filters_are_applied(team: Store, git) -> None:
    """A path under a clean filter (large files, for one) is stored as the filter gives it."""
    git(team.root, "config", "filter.upper.clean", "tr a-z A-Z")
    git(team.root, "config", "filter.upper.smudge", "tr A-Z a-z")
    write(team, ".gitattributes", b"* text=auto\n*.big filter=upper\n")

    with team.transaction("t", actor="me") as tx:
        tx.write("x.big", b"large\n")
        tx.write("x.md", b"plain\n")

    assert git(team.root, "cat-file", "-p", "HEAD:x.big") == "LARGE\n"
    assert git(team.root, "cat-file", "-p", "HEAD:x.md") == "plain\n"
    assert git(team.root, "status", "--porcelain") == ""


def test_private_bytes_are_kept_as_they_are(mine: Store, home: Path) -> None:
    """No global setting changes a byte of a private file."""
    with (home / ".gitconfig").open("a") as file:
        file.write("[core]\n\tautocrlf = true\n\tattributesFile = ~/attributes\n")
    (home / "attributes").write_text("*.md filter=upper text eol=lf\n")

    write(mine, "crlf.md", b"a\r\nb\r\n")

    assert mine.git.run("cat-file", "-p", "HEAD:crlf.md") == b"a\r\nb\r\n"
    assert mine.outside_edits() == []


def test_hostile_surroundings(mine: Store, git, monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path) -> None:
    """Inherited GIT_* variables, global signing and hooks do not reach our commits."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "post-index-change", "reference-transaction", "post-commit"):
        (hooks / name).write_text("#!/bin/sh\ntouch " + str(tmp_path / "ran") + "\nexit 1\n")
        (hooks / name).chmod(0o755)
    with (home / ".gitconfig").open("a") as file:
        file.write(f"[commit]\n\tgpgsign = true\n[core]\n\thooksPath = {hooks}\n")
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    for key, value in {
        "GIT_DIR": other / ".git", "GIT_INDEX_FILE": other / ".git" / "index", "GIT_WORK_TREE": other,
        "GIT_PREFIX": "sub/", "GIT_QUARANTINE_PATH": "/nowhere", "GIT_OBJECT_DIRECTORY": other / ".git" / "objects",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true",
        "GIT_AUTHOR_NAME": "Somebody", "GIT_EDITOR": "false",
    }.items():  # fmt: skip
        monkeypatch.setenv(key, str(value))

    commit = write(mine, "x.md", b"x\n")

    assert commit
    assert mine.git.run("log", "-1", "--format=%an") == b"me\n"
    assert not (tmp_path / "ran").exists()
    assert sorted(path.name for path in other.iterdir()) == [".git"]
    assert not (other / ".git" / "index").exists()


@pytest.mark.parametrize("how", ["detached", "merge", "rebase", "cherry-pick"])
def test_git_in_the_middle_of_something_is_refused(team: Store, git, how: str) -> None:
    """A detached HEAD, a merge, rebase or cherry-pick under way refuses with a hint, and nothing is written."""
    git(team.root, "switch", "-qc", "side")
    Path(team.root, "f").write_text("side\n")
    git(team.root, "add", "f")
    git(team.root, "commit", "-qm", "side")
    git(team.root, "switch", "-q", "main")
    Path(team.root, "f").write_text("main\n")
    git(team.root, "add", "f")
    git(team.root, "commit", "-qm", "main")
    if how == "detached":
        git(team.root, "checkout", "-q", "--detach")
    else:
        git(team.root, how, "side", ok=False)

    with pytest.raises(Refused) as caught:
        write(team, "x.md", b"x\n")

    assert caught.value.hint
    assert caught.value.hint.startswith("git -C ")
    assert not Path(team.root, "x.md").exists()


def test_a_held_index_lock_is_waited_for_and_never_deleted(mine: Store) -> None:
    """A person's lock ends in a Conflict with nothing moved; when it goes in time, the write is made."""
    lock = Path(mine.git_dir, "index.lock")
    lock.write_bytes(b"")
    mine.stage.patience = 0.2

    with pytest.raises(Conflict) as caught:
        write(mine, "x.md", b"x\n")
    assert lock.exists()
    assert str(lock) in caught.value.message
    assert not Path(mine.root, "x.md").exists()

    mine.stage.patience = 5.0
    threading.Timer(0.3, lock.unlink).start()
    assert write(mine, "x.md", b"x\n")


def test_a_held_branch_lock_takes_everything_back(mine: Store, git) -> None:
    """When the branch cannot move at the end, files and index are as they were."""
    mine.stage.patience = 0.2
    lock = Path(mine.git_dir, "refs/heads/main.lock")
    lock.write_bytes(b"")

    with pytest.raises(Conflict):
        write(mine, FACT, b"ours\n")

    assert lock.exists()
    assert Path(mine.root, FACT).read_bytes() == b"likes tea\n"
    assert git(mine.root, "status", "--porcelain") == ""
    lock.unlink()
    assert write(mine, FACT, b"ours\n")


def test_a_branch_that_moves_under_us_is_built_upon(mine: Store, git, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit by a person between our reading and our moving the branch is kept as the parent."""
    real = mine.stage.put

    def put(*args: object, **how: object) -> None:
        monkeypatch.setattr(mine.stage, "put", real)
        git(mine.root, "commit", "--allow-empty", "-qm", "in between")
        real(*args, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(mine.stage, "put", put)

    write(mine, FACT, b"ours\n")

    assert git(mine.root, "log", "-2", "--format=%s").split("\n")[:2] == ["memory: update", "in between"]
    assert git(mine.root, "status", "--porcelain") == ""


def test_an_index_that_fails_does_not_fail_the_write(mine: Store) -> None:
    """A search index that raises marks the store dirty; the commit stands and later callbacks run."""
    seen: list[list[str]] = []

    def broken(paths: object) -> None:
        raise OSError("index is broken")

    mine.after_commit += [broken, lambda paths: seen.append(list(paths))]

    assert write(mine, "x.md", b"x\n")

    assert seen == [["x.md"]]
    assert "index is broken" in (mine.dirty() or "")
    mine.clear_dirty()
    assert mine.dirty() is None


def test_a_second_transaction_in_the_same_thread_is_a_bug(mine: Store) -> None:
    """It fails at once instead of waiting for itself."""
    with mine.transaction("a", actor="me"), pytest.raises(RuntimeError), mine.transaction("b", actor="me"):
        pass


def test_threads_and_forks_share_the_lock(mine: Store) -> None:
    """A thread waits for another; the wait is bounded and names the holder; a forked child holds nothing."""
    impatient = Store(mine.root, mine.git_dir, mine.state_dir, mine.name, True, patience=0.2)
    faults: list[Exception] = []

    def try_it() -> None:
        try:
            write(impatient, "y.md", b"y\n")
        except Conflict as fault:
            faults.append(fault)

    with mine.transaction("a", actor="me") as tx:
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        child = os.fork()
        if child == 0:
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(5)"])
        tx.write("x.md", b"x\n")

    assert str(os.getpid()) in str(faults[0])
    try_it()
    assert len(faults) == 1
    os.kill(child, 9)
    os.waitpid(child, 0)


def test_full_disk_or_no_permission_takes_everything_back(mine: Store, git, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the last of several files cannot be written, the first ones are as they were."""
    real = os.replace

    def replace(source: str, target: str) -> None:
        if str(target).endswith("rules.md"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr("os.replace", replace)
    with pytest.raises(Refused, match="No space"), mine.transaction("t", actor="me") as tx:
        tx.write(FACT, b"changed\n")
        tx.write("new.md", b"new\n")
        tx.write("rules.md", b"changed\n")
    monkeypatch.undo()

    assert git(mine.root, "status", "--porcelain") == ""
    assert Path(mine.root, FACT).read_bytes() == b"likes tea\n"
    assert write(mine, "after.md", b"x\n")


def test_a_repository_inside_the_store_is_left_alone(team: Store, git, tmp_path: Path) -> None:
    """A sub-module is not written into, which would replace it by a folder."""
    git(tmp_path, "init", "-q", "lib")
    git(tmp_path / "lib", "commit", "-q", "--allow-empty", "-m", "x")
    git(team.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "lib"), "sub")
    git(team.root, "commit", "-qm", "sub")

    with pytest.raises(Refused):
        write(team, "sub/x.md", b"x\n")
    assert write(team, "beside.md", b"x\n")
    assert git(team.root, "status", "--porcelain") == ""


def test_ignored_files_of_the_team_are_the_persons(team: Store, git) -> None:
    """A file that git ignores has no history; it is not written over."""
    write(team, ".gitignore", b"*.local.md\n")
    Path(team.root, "x.local.md").write_text("only here\n")

    with pytest.raises(Conflict):
        write(team, "x.local.md", b"ours\n")
    assert Path(team.root, "x.local.md").read_text() == "only here\n"


def test_a_team_that_is_itself_a_submodule(tmp_path: Path, git) -> None:
    """Its git directory lies elsewhere; team and private stores work all the same."""
    lib = private.create_team(tmp_path / "lib")
    write(lib, "README.md", b"x\n")
    git(tmp_path, "init", "-q", "super")
    git(tmp_path / "super", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(lib.root), "context")
    team = private.open_team(tmp_path / "super/context")

    store = private.create_private(team, "memory/me", {"a.md": b"a\n"}, actor="me")
    write(team, "x.md", b"x\n")

    assert store.root == str(tmp_path / "super/context/memory/me")
    assert private.open_private(team, "memory/me").root == store.root
    assert git(store.root, "status", "--porcelain") == ""
    assert git(team.root, "status", "--porcelain") == ""


def test_a_worktree_of_a_bare_repository(tmp_path: Path, git) -> None:
    """Without a main work tree the private store lies in the one where it was made, and all find it there."""
    seed = private.create_team(tmp_path / "seed")
    write(seed, "README.md", b"x\n")
    git(tmp_path, "clone", "-q", "--bare", "seed", "bare.git")
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", name, str(tmp_path / name))
    one, two = private.open_team(tmp_path / "one"), private.open_team(tmp_path / "two")
    made = private.create_private(one, "tasks", {"a.md": b"a\n"}, actor="me")

    assert made.root == str(tmp_path / "one/tasks")
    assert private.open_private(two, "tasks").root == made.root
    assert write(private.open_private(two, "tasks"), "b.md", b"b\n")


def test_sha256_repositories(tmp_path: Path, git) -> None:
    """A team with SHA-256 names can be written; its private stores have the usual ones."""
    git(tmp_path, "init", "-q", "--object-format=sha256", "-b", "main", "team")
    team = private.open_team(tmp_path / "team")

    assert len(write(team, "x.md", b"x\n") or "") == 64
    assert write(team, "x.md", b"y\n")
    assert git(team.root, "status", "--porcelain") == ""
    assert len(private.create_private(team, "tasks", {"a.md": b"a\n"}, actor="me").head().commit or "") == 40


def test_reftable_is_refused_with_the_way_out(team: Store) -> None:
    """A repository whose references we cannot read is not written."""
    Path(team.common_dir, "reftable").mkdir()

    with pytest.raises(Refused, match="reftable"):
        write(team, "x.md", b"x\n")


def test_more_files_than_fit_on_a_command_line(team: Store, git) -> None:
    """A big import into the team's store is one commit, and its paths are checked like any other."""
    with team.transaction("import", actor="me") as tx:
        for number in range(1500):
            tx.write(f"knowledge/eng/{number:04}.md", b"%d\n" % number)
    assert git(team.root, "status", "--porcelain") == ""
    Path(team.root, "knowledge/eng/0007.md").write_text("edited\n")

    with pytest.raises(Conflict, match="0007"), team.transaction("import", actor="me") as tx:
        for number in range(1500):
            tx.write(f"knowledge/eng/{number:04}.md", b"again\n")


def test_many_files_at_once(mine: Store, git) -> None:
    """A thousand files are one commit."""
    before = count(mine)
    with mine.transaction("import", actor="me") as tx:
        for number in range(1000):
            tx.write(f"facts/2026-12/{number:04}.md", b"%d\n" % number)

    assert count(mine) == before + 1
    assert git(mine.root, "status", "--porcelain") == ""
    assert len(git(mine.root, "ls-files", "facts/2026-12").split()) == 1000


def test_packed_references_and_gc(mine: Store, git) -> None:
    """A garbage collection between two writes, which packs the branch, changes nothing for us."""
    git(mine.root, "gc", "-q", "--prune=now")
    assert not Path(mine.git_dir, "refs/heads/main").exists()

    assert write(mine, "x.md", b"x\n")
    assert git(mine.root, "fsck", "--full") == ""


def test_a_linked_worktree_commits_to_its_own_branch(team: Store, git, tmp_path: Path) -> None:
    """The team store of a linked worktree has that worktree's index and branch."""
    git(team.root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "wt"))
    side = private.open_team(tmp_path / "wt")

    write(side, "s.md", b"s\n")

    assert git(tmp_path / "wt", "log", "-1", "--format=%s", "side").strip() == "memory: update"
    assert git(tmp_path / "wt", "status", "--porcelain") == ""
    assert git(team.root, "status", "--porcelain") == ""
    assert not Path(team.root, "s.md").exists()


def test_no_git_is_said_clearly(mine: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git on the PATH the message says so."""
    from ctxrepo.errors import CtxError

    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CtxError, match="git is not installed"):
        write(mine, "x.md", b"x\n")


def test_credentials_are_masked() -> None:
    """Git repeats URLs and headers in its errors; the secrets in them are not shown."""
    from ctxrepo.store.git import mask

    text = "fatal: unable to access 'https://joe:ghp_secret@host/x.git/': Authorization: Basic c2VjcmV0"

    assert "secret" not in mask(text)
    assert "c2VjcmV0" not in mask(text)
    assert "host/x.git" in mask(text)


def test_a_store_is_cheap_to_import() -> None:
    """Writing does not import GitPython, which alone would cost more than the transaction."""
    code = "import sys, ctxrepo.store.store; print('git' in sys.modules, 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False"]
