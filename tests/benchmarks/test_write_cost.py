"""What one write costs, in CPU of this process and its children, beside `git add FILE && git commit`.

Both run in a store of the same files, the plain repository with git's own defaults, ours as ctxrepo makes it. The
search index is not part of these figures; its share is measured where it lives, about 20 ms are left for it.
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

from ctxrepo.store import private
from ctxrepo.store.store import Store

from .corpus import facts

pytestmark = pytest.mark.bench

SMALL, LARGE = 1_000, 100_000
ROUNDS = 9
LEFT_FOR_THE_INDEX = 20.0


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


def ours(store: Store) -> float:
    numbers = itertools.count()

    def write() -> None:
        with store.transaction("memory.add", actor="me", subject="memory: add one") as tx:
            tx.write(f"facts/2019-01/new-{next(numbers)}.md", b"---\nid: 01\n---\none more fact\n")

    taken = cost(write)
    assert store.git.run("status", "--porcelain") == b""
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
    small = ours(private_store(tmp_path / "small", SMALL))
    store = private_store(tmp_path / "large", LARGE)
    large = ours(store)
    same = by_hand(store.root)
    subprocess.run(["git", "init", "--quiet", "-b", "main", str(tmp_path / "plain")], check=True)
    fill(tmp_path / "plain/.git", tmp_path / "plain", LARGE)
    plain = by_hand(tmp_path / "plain")

    ratio = (large + LEFT_FOR_THE_INDEX) / plain
    with capsys.disabled():
        print(
            f"\n| ratio | reach | one fact, CPU with children |\n|---|---|---|\n"
            f"| {ratio:.2f} | 0.35 | ({large:.1f} + {LEFT_FOR_THE_INDEX:.0f} ms for the search index) / "
            f"{plain:.0f} ms of git add && git commit, {LARGE:,} files |\n"
            f"| {large / plain:.2f} | | the same without the search index |\n"
            f"| {large / same:.2f} | | against the same by hand in this store (split index): {same:.0f} ms |\n"
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
