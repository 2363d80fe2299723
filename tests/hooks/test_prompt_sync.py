"""What a prompt sets going in the background: one sync at a time, for the next prompt, in nobody's way."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrepo.index.heartbeat import is_watching
from tests.hooks.conftest import ASKS_CHILI, CHILI
from tests.support.git import git, repository
from tests.support.live import COMMAND, EVENT, Fired, Live, eventually, payload

TEA = "Tea orders go to the Hangzhou office on Mondays"
ASKS_TEA = "Which office takes the tea orders on Mondays?"
BACKGROUND: dict[str, str | None] = {"CTXREPO_BACKGROUND": None}


def ask(live: Live, prompt: str = ASKS_TEA, **options: object) -> Fired:
    """Fires the hook as it runs for a user: with its detached sync."""
    options["env"] = {**BACKGROUND, **options.pop("env", {})}  # type: ignore[dict-item]
    return live.fire(prompt, **options)  # type: ignore[arg-type]


def by_hand(live: Live, name: str, text: str = TEA) -> Path:
    path = live.mine() / "facts" / f"{name}.md"
    path.write_text(text + "\n", encoding="utf-8")
    return path


def committed(live: Live, path: Path) -> bool:
    """Whether the store's history holds the file; a sync has then done all of its work on that store."""
    listing = git(live.mine(), "ls-tree", "-r", "--name-only", "HEAD", "--", str(path.relative_to(live.mine())))
    return bool(listing)


def syncs_of(live: Live) -> Iterator[int]:
    """Ids of the processes that sync this workspace now."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"sync" in words and os.fsencode(live.root) in words:
                yield int(name)


def at_rest(live: Live) -> bool:
    return not list(syncs_of(live))


def stamp(live: Live) -> Path:
    return live.local / "sync-asked"


def test_a_fact_written_by_hand_is_there_at_the_next_prompt(live: Live) -> None:
    """The first prompt does not know it yet and starts the sync that indexes and commits it."""
    path = by_hand(live, "tea")
    assert TEA not in ask(live).context
    assert eventually(lambda: TEA in live.fire(ASKS_TEA).context)
    assert eventually(lambda: committed(live, path))
    assert path.read_text(encoding="utf-8").startswith("---\nid: 01")


def test_one_sync_in_fifteen_seconds(live: Live) -> None:
    """A second prompt right after starts none; one that comes later does, also when the clock was set back."""
    first = by_hand(live, "first")
    ask(live)
    assert eventually(lambda: committed(live, first) and at_rest(live))
    for name, age in (("later", 16), ("clock set back", -3600)):
        path = by_hand(live, name)
        ask(live)
        time.sleep(0.7)
        assert at_rest(live)
        assert not committed(live, path)
        moment = time.time() - age
        os.utime(stamp(live), (moment, moment))
        ask(live)
        assert eventually(lambda path=path: committed(live, path) and at_rest(live))  # type: ignore[misc]


def test_many_hooks_at_once_start_one_sync(live: Live) -> None:
    """Eight agents ask in the same moment; the workspace is looked through once."""
    seen: set[int] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.update(syncs_of(live))

    path = by_hand(live, "tea")
    with (live.local / "state" / "memory" / "me" / "lock").open("r+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # syncs pile up where all can be seen
        command = [COMMAND, *EVENT, "--workspace", str(live.root), "--user", "me"]
        environment = {name: value for name, value in os.environ.items() if name != "CTXREPO_BACKGROUND"}
        hooks = [subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) for _ in range(8)]
        watching = threading.Thread(target=look)
        watching.start()
        for hook in hooks:
            hook.communicate(json.dumps(payload("hello there", live.root)).encode(), timeout=20)
        assert eventually(lambda: bool(seen))
        time.sleep(0.5)
        done.set()
        watching.join()
    assert len(seen) == 1
    assert eventually(lambda: committed(live, path) and at_rest(live))


def test_a_hook_that_is_about_to_start_one_keeps_others_from_it(live: Live) -> None:
    """Between looking at the stamp and writing it nobody else gets in."""
    path = by_hand(live, "tea")
    stamp(live).touch()
    with stamp(live).open("r+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert CHILI in ask(live, ASKS_CHILI).context
        assert at_rest(live)
    ask(live)
    assert eventually(lambda: committed(live, path) and at_rest(live))


def test_a_sync_that_has_to_wait_delays_no_prompt(live: Live) -> None:
    """The hook is gone long before its sync, and so are its pipes; when the host kills its group the sync goes on."""
    path = by_hand(live, "tea")
    with (live.local / "state" / "memory" / "me" / "lock").open("r+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        fired = ask(live, ASKS_CHILI)
        assert CHILI in fired.context
        assert fired.seconds < 1.5
        (worker,) = [number for _ in range(1) if eventually(lambda: not at_rest(live)) for number in syncs_of(live)]
        assert os.getsid(worker) == worker
        assert {os.readlink(f"/proc/{worker}/fd/{number}") for number in (0, 1, 2)} == {os.devnull}
    assert eventually(lambda: committed(live, path) and at_rest(live))


def test_the_sync_outlives_the_process_group_of_the_hook(live: Live) -> None:
    """A host that kills everything it started leaves the sync alone."""
    path = by_hand(live, "tea")
    with (live.local / "state" / "memory" / "me" / "lock").open("r+") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        shell = subprocess.Popen(
            ["sh", "-c", '"$@"; exec sleep 60', "sh", COMMAND, *EVENT, "--workspace", str(live.root), "--user", "me"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env={name: value for name, value in os.environ.items() if name != "CTXREPO_BACKGROUND"},
        )
        assert shell.stdin
        shell.stdin.write(json.dumps(payload("hello there", live.root)).encode())
        shell.stdin.close()
        assert eventually(lambda: not at_rest(live))
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait(10)
    assert eventually(lambda: committed(live, path) and at_rest(live))


@pytest.fixture
def watcher(live: Live) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([COMMAND, "watch", "--workspace", str(live.root)], stderr=subprocess.DEVNULL)
    assert eventually(lambda: is_watching(str(live.local)))
    yield child
    child.terminate()
    child.wait(10)


def test_while_a_watcher_runs_no_sync_is_started(live: Live, watcher: subprocess.Popen[bytes]) -> None:
    """The watcher keeps everything fresh; the hook only asks whether it lives."""
    assert CHILI in ask(live, ASKS_CHILI).context
    assert not stamp(live).exists()
    watcher.kill()
    watcher.wait(10)
    assert CHILI in ask(live, ASKS_CHILI).context
    assert stamp(live).exists()
    assert eventually(lambda: at_rest(live))


@pytest.mark.parametrize("what", ["hook-me.json", "state/memory/me/index", "state"])
def test_what_is_missing_heals_by_prompting(live: Live, what: str) -> None:
    """Configuration or index gone: the first prompt is silent, a later one is answered, and nobody did anything."""
    place = live.local / what
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    assert ask(live, ASKS_CHILI).out == b""
    assert eventually(lambda: CHILI in live.fire(ASKS_CHILI).context)
    assert eventually(lambda: at_rest(live))


def test_a_broken_configuration_heals_by_prompting(live: Live) -> None:
    """Also one that is whole JSON, but of another version."""
    (live.local / "hook-me.json").write_text('{"user": "me", "settings": {}, "bases": []}')
    assert ask(live, ASKS_CHILI).out == b""
    assert eventually(lambda: CHILI in live.fire(ASKS_CHILI).context)
    assert eventually(lambda: at_rest(live))


def test_nothing_of_the_project_is_run(live: Live, tmp_path: Path) -> None:
    """A cloned project with a `click.py` or `yaml.py` of its own does not get them imported by our sync."""
    project = repository(tmp_path / "project")
    for name in ("click", "yaml", "git", "json", "ctxrepo", "sitecustomize"):
        (project / f"{name}.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')\n", encoding="utf-8")
    path = by_hand(live, "tea")
    ask(live, place=project)
    assert eventually(lambda: committed(live, path) and at_rest(live))
    assert not (tmp_path / "owned").exists()


def test_the_sync_does_not_care_where_it_was_started(live: Live, tmp_path: Path) -> None:
    """From a folder that is gone, inside somebody's commit with git's variables set, without HOME."""
    project = repository(tmp_path / "project")
    before = git(project, "log", "--format=%H"), git(project, "status", "--porcelain")
    inside = {"GIT_DIR": str(project / ".git"), "GIT_INDEX_FILE": str(project / ".git" / "index"), "HOME": None}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    gone = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh"]
    for name, options in (("env", {"env": inside, "place": project}), ("gone", {"place": scratch, "wrap": gone})):
        path = by_hand(live, name)
        stamp(live).unlink(missing_ok=True)
        ask(live, **options)
        assert eventually(lambda path=path: committed(live, path) and at_rest(live)), name  # type: ignore[misc]
    assert (git(project, "log", "--format=%H"), git(project, "status", "--porcelain")) == before


def test_a_linked_worktree_asks_for_itself(live: Live, tmp_path: Path) -> None:
    """Its team files are others, so its hook has a configuration of its own, and git removes it with the worktree."""
    git(live.root, "worktree", "add", "-q", str(tmp_path / "linked"))
    options = ["--workspace", str(tmp_path / "linked"), "--user", "me"]
    assert ask(live, ASKS_CHILI, options=options).out == b""
    assert eventually(lambda: CHILI in live.fire(ASKS_CHILI, options=options).context)
    assert eventually(lambda: at_rest(Live(tmp_path / "linked")))
    own = live.root / ".git" / "worktrees" / "linked" / "ctxrepo"
    assert sorted(path.name for path in own.iterdir()) == ["hook-me.json", "sync-asked"]
    git(live.root, "worktree", "remove", str(tmp_path / "linked"))
    assert not own.exists()
    assert CHILI in live.fire(ASKS_CHILI).context
