"""What the recall hook costs an agent: CPU of the whole process, beside a bare start of the same Python.

The store holds 100,000 memories of one user in an index of at least 8 segments, and the prompts are ones
that recall something, so the hook does all of its work. Ratios are taken inside one run, prompt by prompt in turn.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.api import open_workspace
from ctxrepo.workspace.setup import init_workspace

from .corpus import facts, memory_store, queries

pytestmark = pytest.mark.bench

COUNT = 100_000
SEGMENTS = 8
ROUNDS = 25
REACH = 4.0


def spent(command: list[str], payload: bytes) -> tuple[float, bytes]:
    """CPU seconds of one process, and what it printed."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        child.stdin.write(payload)
        child.stdin.close()
        answer = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_utime + usage.ru_stime, answer


def workspace(folder: Path) -> Path:
    """A workspace whose user has `COUNT` memories, indexed in several segments."""
    root = folder / "team"
    init_workspace(str(root), user="me")
    shutil.copytree(memory_store(COUNT) / "facts", root / "memory" / "me" / "facts")
    with open_workspace(root) as repo:
        repo.sync("memory/me")
        for number in range(12):
            if repo.reader("memory/me").num_segments >= SEGMENTS:
                break
            repo.memory.add(f"segment {number} 发布窗口改到周二")
        assert repo.reader("memory/me").num_segments >= SEGMENTS
        assert repo.reader("memory/me").num_docs >= COUNT
    return root


def test_the_recall_hook_costs_little_more_than_starting_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """≤ 4.0 × `python -c pass`, with an answer."""
    monkeypatch.setenv("CTXREPO_BACKGROUND", "off")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # an installed package is compiled
    root = workspace(tmp_path)
    script = Path(sys.executable).parent / "ctxrepo"
    hook = [str(script), "hook", "claude-code", "user-prompt-submit", "--workspace", str(root), "--user", "me"]
    bare = [sys.executable, "-c", "pass"]
    everywhere = [text.rpartition("---\n")[2] for _, text in facts(400)[::10] if 'project: "*"' in text]
    prompts = ([body.split("。")[0][:120] for body in everywhere] + queries(ROUNDS))[:ROUNDS]
    spent(hook, b"{}")
    ratios, hooks, bares, answered = [], [], [], 0
    for prompt in prompts:
        payload = {"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
        cost, answer = spent(hook, json.dumps(payload).encode())
        start, _ = spent(bare, b"")
        if answer:
            answered += 1
            ratios.append(cost / start)
            hooks.append(cost)
            bares.append(start)
    ratio = statistics.median(ratios)
    with capsys.disabled():
        print(
            f"\n{ratio:5.2f} × (reach ≤ {REACH})  recall hook, whole process, {COUNT:,} memories: "
            f"{1000 * statistics.median(hooks):.1f} ms CPU, bare Python {1000 * statistics.median(bares):.1f} ms, "
            f"{answered} of {len(prompts)} prompts answered"
        )
    assert answered >= 8
    assert ratio <= REACH
