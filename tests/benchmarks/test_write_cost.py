"""What one write costs, in CPU of this process and its children, beside `git add FILE && git commit`.

Both run in a store of the same files, the plain repository with git's own defaults, ours as ctxrepo makes it. A
write here is `memory.add` as a user calls it: checks, transaction, commit, and the search index that follows.
"""

from __future__ import annotations

import itertools
import os
import resource
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from ctxrepo.store import private
from ctxrepo.store.store import Store
from ctxrepo.workspace.setup import init_workspace

from .corpus import facts

pytestmark = pytest.mark.bench

SMALL, LARGE = 1_000, 100_000
ROUNDS = 9


def cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime)


def cost(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median CPU milliseconds of a warm call."""
    action()
    taken = []
    for _ in range(rounds):
        before = cpu()
        action()
        taken.append(cpu() - before)
    return statistics.median(taken)


def fill(git_dir: Path, root: Path, count: int) -> None:
    """Commits `count` facts and checks them out, by the fastest way git has."""
    where = ["git", f"--git-dir={git_dir}", f"--work-tree={root}"]
    stream = subprocess.Popen([*where, "fast-import", "--quiet", "--force"], stdin=subprocess.PIPE)
    assert stream.stdin is not None
    stream.stdin.write(b"commit refs/heads/main\ncommitter a <a@b> 1700000000 +0000\ndata 1\nx\n")
    for path, text in facts(count):
        data = text.encode()
        stream.stdin.write(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
    stream.stdin.close()
    assert stream.wait() == 0
    subprocess.run([*where, "reset", "--quiet", "--hard"], check=True)


def private_store(folder: Path, count: int) -> Store:
    store = private.create_private(private.create_team(folder), "memory/me", actor="me")
    fill(Path(store.git_dir), Path(store.root), count)
    return store


def live_workspace(folder: Path, count: int) -> ContextRepository:
    """A workspace whose user has `count` committed and indexed facts."""
    init_workspace(str(folder), user="me")
    repo = open_workspace(folder)
    store = repo.store("memory/me")
    fill(Path(store.git_dir), Path(store.root), count)
    repo.sync("memory/me")
    return repo


def ours(repo: ContextRepository) -> float:
    numbers = itertools.count()
    taken = cost(lambda: repo.memory.add(f"one more fact, number {next(numbers)} 发布窗口"))
    assert repo.store("memory/me").git.run("status", "--porcelain") == b""
    assert repo.recall("one more fact 发布窗口", threshold=0.0)["results"]
    return taken


def by_hand(root: str | Path) -> float:
    numbers = itertools.count()
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def write() -> None:
        name = f"facts/2019-01/hand-{next(numbers)}.md"
        Path(root, name).write_text("---\nid: 01\n---\none more fact\n")
        subprocess.run(["git", "add", name], cwd=root, check=True, env=env)
        subprocess.run(["git", "commit", "--quiet", "-m", "x"], cwd=root, check=True, env=env)

    return cost(write)


def test_one_fact_in_a_large_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A transaction costs at most 0.35 of `git add && git commit`, and at most 6 times that of a small store."""
    small = ours(live_workspace(tmp_path / "small", SMALL))
    repo = live_workspace(tmp_path / "large", LARGE)
    large = ours(repo)
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(tmp_path / "plain")], check=True)
    fill(tmp_path / "plain/.git", tmp_path / "plain", LARGE)
    plain = by_hand(tmp_path / "plain")

    ratio = large / plain
    with capsys.disabled():
        print(
            f"\n| ratio | reach | one fact, CPU with children |\n|---|---|---|\n"
            f"| {ratio:.2f} | 0.35 | {large:.1f} ms, search index and all / {plain:.0f} ms of git add && git commit, "
            f"{LARGE:,} files |\n"
            f"| {large / small:.1f} | 6 | growth from {SMALL:,} files ({small:.1f} ms) to {LARGE:,} |"
        )
    assert ratio <= 0.35
    assert large / small <= 6


def test_ten_thousand_edits_in_one_snapshot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A snapshot of 10,000 changed files takes at most three times the CPU of `git add -A && git commit`."""
    count = 10_000
    store = private_store(tmp_path / "ours", count)
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(tmp_path / "plain")], check=True)
    fill(tmp_path / "plain/.git", tmp_path / "plain", count)
    for root in (Path(store.root), tmp_path / "plain"):
        for path in root.rglob("*.md"):
            path.write_text(path.read_text() + "changed\n")

    before = cpu()
    report = store.snapshot()
    taken = cpu() - before
    before = cpu()
    subprocess.run(["git", "add", "-A"], cwd=tmp_path / "plain", check=True)
    subprocess.run(["git", "commit", "--quiet", "-m", "x"], cwd=tmp_path / "plain", check=True)
    plain = cpu() - before

    with capsys.disabled():
        print(
            f"\n| ratio | reach | snapshot |\n|---|---|---|\n"
            f"| {taken / plain:.2f} | 3 | {taken:.0f} ms / {plain:.0f} ms of git add -A, commit; {count:,} files |"
        )
    assert len(report.paths) == count
    assert taken / plain <= 3
