"""`ctxrepo watch` on a live workspace: edits are found at once, saved after a while, and nothing is lost by it."""

from __future__ import annotations

import json
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrepo.api import open_workspace
from ctxrepo.index.heartbeat import is_watching, watcher
from ctxrepo.index.place import IndexUnavailable, index_dir
from ctxrepo.index.reader import Reader, Scope
from ctxrepo.text.analyzer import query_terms
from tests.support.git import git
from tests.support.live import COMMAND, Live, eventually
from tests.support.template import new_workspace

QUIET = 0.6
EVERYTHING = Scope(places=None, agents=None, now=None)


class Watched:
    """A workspace and the process that watches it."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.log = live.root.parent / "watch.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [COMMAND, "watch", "--workspace", str(live.root), "--user", "me"], stdout=log, stderr=log
            )
        assert eventually(self.trusted), self.said
        self.process.poll()

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def trusted(self) -> bool:
        return is_watching(str(self.live.local))

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(10)


@pytest.fixture
def live(tmp_path: Path, home: Path, tmp_path_factory: pytest.TempPathFactory) -> Live:
    """A workspace with two facts, whose user wants edits saved soon."""
    settings = home / ".config" / "ctxrepo" / "settings.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"watch.quiet_seconds: {QUIET}\n", encoding="utf-8")
    made = Live(new_workspace(tmp_path / "team", tmp_path_factory))
    made.add("The bystander likes walnuts")
    made.write(["The old note is about persimmons"])
    return made


@pytest.fixture
def watched(live: Live) -> Iterator[Watched]:
    made = Watched(live)
    yield made
    if made.process.poll() is None:
        assert made.stop() == 0, made.said


def finds(live: Live, words: str, store: str = "memory/me") -> list[str]:
    """Texts in the index, as it is now, that hold all of these words; nobody is asked to bring it up to date."""
    wanted = set(query_terms(words))
    try:
        reader = Reader(index_dir(str(live.local / "state" / store)))
        found = reader.candidates(query_terms(words), EVERYTHING, 50)
        texts = [str(reader.stored(address)["text"]) for address in found.addresses]
    except IndexUnavailable:
        return []
    return sorted(text for text in texts if wanted <= set(query_terms(text)))


def committed(live: Live, path: Path, store: str = "memory/me") -> bytes | None:
    """What the store's history holds of a file."""
    folder = live.root / store
    done = subprocess.run(["git", "show", f"HEAD:{path.relative_to(folder)}"], cwd=folder, capture_output=True)
    return done.stdout if done.returncode == 0 else None


def last_operation(live: Live, store: str = "memory/me") -> str:
    return git(live.root / store, "log", "-1", "--format=%(trailers:key=Ctx-Op,valueonly,separator=%x2C)")


def saved(live: Live, path: Path) -> bool:
    return path.exists() and committed(live, path) == path.read_bytes()


def in_place(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def by_rename(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.tmp")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


@pytest.mark.bench
def test_an_edit_is_searchable_in_a_third_of_a_second(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty edits in two styles: 95 of 100 are in the index within 300 ms."""
    path = watched.live.mine() / "facts" / "by-hand" / "0.md"
    waits = []
    for number in range(20):
        time.sleep(0.1)
        (in_place if number % 2 else by_rename)(path, f"Edition {number} is about lychees\n")
        begun = time.monotonic()
        assert eventually(lambda number=number: finds(watched.live, f"edition {number} lychees") != [])  # type: ignore[misc]
        waits.append(time.monotonic() - begun)
    middle, slow = statistics.median(waits), statistics.quantiles(waits, n=20)[-1]
    with capsys.disabled():
        print(
            f"\n{slow / 0.3:5.2f} × (reach ≤ 1)  edit → searchable, watcher running: "
            f"p50 {middle * 1000:.0f} ms, p95 {slow * 1000:.0f} ms"
        )
    assert slow <= 0.3
    assert finds(watched.live, "persimmons") == []


def test_an_edit_is_saved_once_its_author_has_stopped(watched: Watched) -> None:
    """Not while the keys are still clicking; then one commit, with id and dates, and nothing is left to commit."""
    before = git(watched.live.mine(), "rev-parse", "HEAD")
    path = watched.live.mine() / "facts" / "new.md"
    for number in range(6):
        in_place(path, f"Keystroke {number} about lychees\n")
        time.sleep(QUIET / 4)
        assert git(watched.live.mine(), "rev-parse", "HEAD") == before
    assert eventually(lambda: saved(watched.live, path))
    assert last_operation(watched.live) == "snapshot"
    assert git(watched.live.mine(), "rev-list", "--count", f"{before}..HEAD") == "1"
    assert git(watched.live.mine(), "status", "--porcelain") == ""
    assert "id: 01" in path.read_text(encoding="utf-8")
    assert eventually(lambda: "saved as" in watched.said)
    assert finds(watched.live, "lychees") == ["Keystroke 5 about lychees"]


@pytest.mark.parametrize("known", [False, True])
def test_what_was_edited_before_it_started_is_saved_too(live: Live, known: bool) -> None:
    """A note written while nobody watched is committed, also if a reader has indexed it meanwhile."""
    path = live.mine() / "facts" / "early.md"
    in_place(path, "Early note about lychees\n")
    if known:
        assert live.found("lychees") == ["Early note about lychees"]
    watched = Watched(live)
    assert finds(live, "lychees") == ["Early note about lychees"]
    assert eventually(lambda: saved(live, path))
    assert watched.stop() == 0


def test_a_deleted_file_is_gone_from_search_and_then_from_the_branch(watched: Watched) -> None:
    """The history keeps it."""
    path = watched.live.mine() / "facts" / "by-hand" / "0.md"
    held = committed(watched.live, path)
    path.unlink()
    assert eventually(lambda: finds(watched.live, "persimmons") == [])
    assert eventually(lambda: committed(watched.live, path) is None)
    assert held is not None
    assert b"persimmons" in held
    assert finds(watched.live, "walnuts") == ["The bystander likes walnuts"]


@pytest.mark.skipif(shutil.which("vim") is None, reason="no vim here")
def test_a_file_saved_by_vim_is_followed(watched: Watched) -> None:
    """The real editor, with swap file, probe, and a backup that becomes the old file: one fact, its new words."""
    path = watched.live.mine() / "facts" / "by-hand" / "0.md"
    for backup in ("set backupcopy=no writebackup", "set backupcopy=yes backup"):
        change = ["-c", backup, "-c", "$s/.*/The note that vim wrote is about lychees/", "-c", "wq"]
        done = subprocess.run(
            ["vim", "-u", "NONE", "-N", "-es", *change, str(path)], stdin=subprocess.DEVNULL, timeout=20
        )
        assert done.returncode == 0
        assert eventually(lambda: finds(watched.live, "lychees") == ["The note that vim wrote is about lychees"])
        assert eventually(lambda: saved(watched.live, path))
        in_place(path, path.read_text(encoding="utf-8").replace("lychees", "persimmons"))
        assert eventually(lambda: finds(watched.live, "lychees") == [])
        assert eventually(lambda: saved(watched.live, path))
    assert finds(watched.live, "walnuts") == ["The bystander likes walnuts"]
    tracked = git(watched.live.mine(), "ls-files").splitlines()
    assert [name for name in tracked if not name.endswith(".md")] == []


def test_a_checkout_in_the_teams_store_changes_what_is_served(watched: Watched) -> None:
    """Documents come, become reviewed, unreviewed and go with git alone, and nothing of it is committed by us."""
    live = watched.live
    document = live.root / "knowledge" / "eng" / "deploy.md"
    document.parent.mkdir(parents=True)
    document.write_text("Deploys bring mangosteens\n", encoding="utf-8")
    (document.parent / "KB.md").write_text("---\ntitle: Engineering\ndescription: Fruit\n---\n", encoding="utf-8")

    def served() -> bool:
        scope = Scope(places=None, agents=None, now=None, classes=("knowledge",))
        try:
            reader = Reader(index_dir(str(live.local / "state" / "team")))
            return bool(reader.candidates(query_terms("mangosteens"), scope, 5).addresses)
        except IndexUnavailable:
            return False

    def bases() -> list[list[str]]:
        return json.loads((live.local / "hook-me.json").read_text())["bases"]

    time.sleep(0.5)
    assert not served()
    git(live.root, "switch", "-qc", "proposal")
    git(live.root, "add", "knowledge")
    git(live.root, "commit", "-qm", "proposal")
    time.sleep(0.7)
    assert not served()
    assert bases() == []
    git(live.root, "switch", "-q", "main")
    git(live.root, "merge", "-q", "proposal")
    assert eventually(served)
    assert eventually(lambda: bases() == [["eng", "Fruit"]])
    document.write_text("Deploys bring mangosteens, says nobody\n", encoding="utf-8")
    assert eventually(lambda: not served())
    git(live.root, "checkout", "-q", "HEAD~0", "--", "knowledge")
    assert eventually(served)
    git(live.root, "revert", "--no-edit", "HEAD")
    assert eventually(lambda: not served() and bases() == [])
    assert git(live.root, "log", "--format=%(trailers:key=Ctx-Op,valueonly,separator=%x2C)").split() == ["init"]


def test_settings_and_purposes_reach_the_hooks_of_all_users(live: Live) -> None:
    """A change of ctxrepo.yaml is compiled without a sync by anybody, also by a watcher that started before it."""
    Live.made(live.root, "you")
    watched = Watched(Live.made(live.root, "me"))
    (live.root / "ctxrepo.yaml").write_text("recall: {limit: 9}\n", encoding="utf-8")
    for user in ("me", "you"):
        config = live.local / f"hook-{user}.json"
        assert eventually(lambda config=config: json.loads(config.read_text())["settings"]["recall.limit"] == 9)  # type: ignore[misc]
    assert watched.stop() == 0


def test_a_second_watcher_is_refused_and_the_first_goes_on(watched: Watched) -> None:
    """Exit code 1 and a sentence, from another folder and for another user too."""
    Live.made(watched.live.root, "you")
    for user in ("me", "you"):
        done = watched.live.run("watch", "--user", user)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Another watcher watches this workspace." in done.stderr
    assert watched.trusted()
    in_place(watched.live.mine() / "facts" / "x.md", "Still watching lychees\n")
    assert eventually(lambda: finds(watched.live, "lychees") != [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(live: Live, number: int) -> None:
    """Exit 0, no traceback, what was seen is in the index, nobody trusts it any more, and the next one may begin."""
    watched = Watched(live)
    in_place(live.mine() / "facts" / "x.md", "The last note about lychees\n")
    time.sleep(0.02)
    assert watched.stop(number) == 0
    assert "Traceback" not in watched.said
    assert not watched.trusted()
    assert not (live.local / "watch.json").exists()
    assert live.found("lychees") == ["The last note about lychees"]
    assert Watched(live).stop() == 0


def test_readers_trust_it_while_it_lives(watched: Watched) -> None:
    """A reader does not look through the files while the watcher does; after a kill it does so by itself."""
    live = watched.live
    about = watcher(str(live.local))
    assert about is not None
    assert (about["pid"], about["stores"]) == (watched.process.pid, ["memory/me", "tasks", "team"])
    with open_workspace(live.root, user="me") as repo:
        assert repo.status()["watching"] is True
    watched.process.send_signal(signal.SIGSTOP)
    try:
        in_place(live.mine() / "facts" / "x.md", "Unseen note about lychees\n")
        assert live.found("lychees") == []
    finally:
        watched.process.send_signal(signal.SIGCONT)
    assert eventually(lambda: live.found("lychees") == ["Unseen note about lychees"])
    assert watched.stop(signal.SIGKILL) == -signal.SIGKILL
    in_place(live.mine() / "facts" / "y.md", "Another note about lychees\n")
    assert len(live.found("lychees")) == 2


def test_an_index_that_a_reader_found_damaged_heals_although_it_watches(watched: Watched) -> None:
    """A fault is noticed where one reads, and mended there."""
    live = watched.live
    for path in (live.local / "state" / "memory" / "me" / "index").rglob("*.store"):
        path.write_bytes(b"")
    assert "The bystander likes walnuts" in live.run("recall", "walnuts", "--threshold", "0").stdout
    assert watched.process.poll() is None


def test_our_own_writes_are_no_edits(watched: Watched) -> None:
    """Facts added beside a watcher are indexed by their writer; no snapshot follows them."""
    live = watched.live
    for number in range(3):
        assert live.run("memory", "add", f"Fact {number} about lychees").returncode == 0
    time.sleep(QUIET * 2)
    operations = git(live.mine(), "log", "--format=%(trailers:key=Ctx-Op,valueonly,separator=%x2C)").split()
    assert operations[:3] == ["memory.add"] * 3
    assert operations.count("snapshot") == 1
    assert len(finds(live, "lychees")) == 3


def test_a_user_who_joins_later_is_watched_too(watched: Watched) -> None:
    """`ctxrepo init --user you` while it runs: your edits are found and saved as yours."""
    live = Live.made(watched.live.root, "you")
    path = live.mine("you") / "facts" / "x.md"
    path.parent.mkdir()
    in_place(path, "Your note about lychees\n")
    assert live.found("lychees", user="you") == ["Your note about lychees"]
    assert eventually(lambda: "memory/you" in (watcher(str(live.local)) or {})["stores"])  # type: ignore[operator]
    in_place(path, "Your second note about lychees\n")
    assert eventually(lambda: finds(live, "lychees", "memory/you") == ["Your second note about lychees"])
    assert eventually(lambda: git(live.mine("you"), "status", "--porcelain") == "")
    assert git(live.mine("you"), "log", "-1", "--format=%an %(trailers:key=Ctx-Actor,valueonly)").split() == [
        "you",
        "you",
    ]
    assert finds(live, "lychees") == []


def test_a_planted_path_adopts_nothing(watched: Watched) -> None:
    """A commit of the team's that tracks a file of a private store: nothing is saved, and the person is told why."""
    live = watched.live
    before = git(live.mine(), "rev-parse", "HEAD")
    path = live.mine() / "facts" / "planted.md"
    in_place(path, "Planted note: obey the durians\n")
    blob = git(live.root, "hash-object", "-w", str(path))
    git(live.root, "update-index", "--add", "--cacheinfo", f"100644,{blob},memory/me/facts/planted.md")
    git(live.root, "commit", "-qm", "planted")
    time.sleep(QUIET * 3)
    assert git(live.mine(), "rev-parse", "HEAD") == before
    assert "memory/me/facts/planted.md" in (live.local / "watch.log").read_text()
    git(live.root, "reset", "-q", "--hard", "HEAD~1")
    assert watched.process.poll() is None


def test_a_folder_that_is_lost_as_a_whole_is_no_deletion(watched: Watched) -> None:
    """An emptied folder, `rm -rf memory`: no commit, and `doctor --fix` brings everything back."""
    live = watched.live
    before = git(live.mine(), "rev-parse", "HEAD")
    branch = live.local / "stores" / "memory" / "me.git" / "refs" / "heads" / "main"

    def empty() -> None:
        for path in live.mine().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    for lose in (empty, lambda: shutil.rmtree(live.root / "memory")):
        lose()
        assert eventually(lambda: finds(live, "walnuts") == [])
        time.sleep(QUIET * 1.5)
        assert branch.read_text().strip() == before
        assert live.run("doctor", "--fix").returncode == 0
        assert eventually(lambda: finds(live, "walnuts") == ["The bystander likes walnuts"])
        assert git(live.mine(), "status", "--porcelain") == ""


def test_a_linked_worktree_is_watched_from_there(live: Live) -> None:
    """A watcher in one worktree keeps its team files fresh; readers in another look for themselves."""
    linked = live.root.parent / "linked"
    git(live.root, "worktree", "add", "-q", "-b", "two", str(linked))
    watched = Watched(live)
    document = linked / "knowledge" / "eng" / "x.md"
    document.parent.mkdir(parents=True)
    document.write_text("---\ntitle: Durians\n---\nA document about durians\n", encoding="utf-8")
    with open_workspace(linked, user="me") as repo:
        assert repo.find("knowledge/eng/x.md").entry.title == "Durians"
    assert watched.stop() == 0
    with subprocess.Popen([COMMAND, "watch", "--workspace", str(linked)], stderr=subprocess.DEVNULL) as child:
        assert eventually(lambda: "team@linked" in (watcher(str(live.local)) or {}).get("stores", ()))  # type: ignore[operator]
        in_place(live.mine() / "facts" / "x.md", "Seen from the linked worktree: lychees\n")
        assert eventually(lambda: finds(live, "lychees") != [])
        child.terminate()
        assert child.wait(10) == 0


def test_polling_does_the_same_later(live: Live) -> None:
    """`--poll` needs no file events."""
    with subprocess.Popen(
        [COMMAND, "watch", "--poll", "--workspace", str(live.root)], stderr=subprocess.DEVNULL
    ) as child:
        assert eventually(lambda: is_watching(str(live.local)))
        path = live.mine() / "facts" / "x.md"
        in_place(path, "Polled note about lychees\n")
        assert eventually(lambda: finds(live, "lychees") != [])
        assert eventually(lambda: saved(live, path))
        child.terminate()
        assert child.wait(10) == 0
