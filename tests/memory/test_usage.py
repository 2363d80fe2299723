"""The log of recalls: many processes, torn lines, a bound, and nothing of the prompt's words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.memory import usage

HOT = ("dataclasses", "typing", "pathlib", "subprocess", "logging", "datetime", "hashlib")
WRITER = """
import sys
from ctxrepo.memory import usage
for turn in range(200):
    usage.record(sys.argv[1], ids=[f"{sys.argv[2]}-{turn}"], session=sys.argv[2])
"""


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / usage.LOG).read_text(encoding="utf-8").splitlines()]


def test_an_event_has_the_names_of_the_conventions(tmp_path: Path) -> None:
    """Keys are those of the GenAI conventions, the prompt is a checksum, content is nowhere."""
    usage.record(
        str(tmp_path), ids=["A", "B"], prompt_hash=usage.hash_of("对辣菜过敏吗"), session="s1", turn="t1",
        store="memory/me", agent="codex", host="codex", injected_chars=210, duration_ms=4.26, now=1_795_946_400.1234,
    )  # fmt: skip

    assert lines(tmp_path) == [
        {
            "ts": "2026-11-29T10:00:00.123Z",
            "event": "search_memory",
            "gen_ai.operation.name": "search_memory",
            "gen_ai.conversation.id": "s1",
            "ctxrepo.turn.id": "t1",
            "ctxrepo.agent": "codex",
            "ctxrepo.host": "codex",
            "gen_ai.memory.store.id": "memory/me",
            "ctxrepo.prompt.hash": usage.hash_of("对辣菜过敏吗"),
            "gen_ai.memory.record.count": 2,
            "ctxrepo.record.ids": ["A", "B"],
            "ctxrepo.injected.chars": 210,
            "ctxrepo.truncated": False,
            "duration_ms": 4.3,
        }
    ]


def test_many_processes_lose_no_event(tmp_path: Path) -> None:
    """Four processes that write at once leave every one of their events, whole."""
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "abcd"]

    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    assert len(usage.counts(str(tmp_path))) == 800


def test_the_log_is_bounded(tmp_path: Path) -> None:
    """Full, it starts anew and keeps one older part; what is left is the newest."""
    for turn in range(300):
        usage.record(str(tmp_path), ids=[f"id{turn}"], limit=5_000)

    sizes = [path.stat().st_size for path in tmp_path.glob("usage*.jsonl")]
    assert len(sizes) == 2
    assert max(sizes) <= 5_000
    assert "id299" in usage.counts(str(tmp_path))


def test_a_torn_line_hides_no_other(tmp_path: Path) -> None:
    """What a dying process or a foreign tool left is skipped."""
    usage.record(str(tmp_path), ids=["A"])
    with (tmp_path / usage.LOG).open("ab") as log:
        log.write(b'{"ts": "2026-11-29T10:00:00Z", "ctxrepo.record.ids": ["X"\n[1, 2]\n\xff\xfe\n{"a": 1}\n')
    usage.record(str(tmp_path), ids=["B"])

    assert set(usage.counts(str(tmp_path))) == {"A", "B"}


def test_a_log_that_cannot_be_written_fails_no_recall(tmp_path: Path) -> None:
    """A file where the folder should be is passed over in silence."""
    (tmp_path / "state").write_text("")

    usage.record(str(tmp_path / "state"), ids=["A"])

    assert list(usage.read(str(tmp_path / "state"))) == []


def test_recalled_and_used_are_told_apart(tmp_path: Path) -> None:
    """Of each id its recalls and its uses in an answer are known, in order."""
    usage.record(str(tmp_path), ids=["A", "B"], now=10.0)
    usage.used(str(tmp_path), ["A"], now=20.0)

    assert usage.counts(str(tmp_path)) == {"A": [(10.0, False), (20.0, True)], "B": [(10.0, False)]}


def test_scrubbing_leaves_no_trace_of_an_id(tmp_path: Path) -> None:
    """A purged id and a purged prompt are in no byte of either file; the rest stays."""
    for turn in range(60):
        usage.record(str(tmp_path), ids=["GONE", f"id{turn}"], limit=5_000)
    usage.record(str(tmp_path), ids=["other"], prompt_hash="deadbeef", limit=50_000)

    changed = usage.scrub(str(tmp_path), lambda ident: ident == "GONE", {"deadbeef"})

    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert changed > 10
    assert b"GONE" not in content
    assert b"deadbeef" not in content
    assert "id59" in usage.counts(str(tmp_path))


@pytest.mark.parametrize("module", HOT)
def test_the_recall_hook_pays_for_no_import(module: str) -> None:
    """Loading the log's module loads nothing that is slow to load."""
    code = f"import sys; from ctxrepo.memory import usage; sys.exit({module!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0
