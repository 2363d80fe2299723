"""Forgetting by default: what leaves recall, what never does, and that it can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxrepo.api import ContextRepository
from ctxrepo.asset.frontmatter import Parsed
from ctxrepo.asset.kinds import values
from ctxrepo.memory import usage
from ctxrepo.memory.forget import Forgetting, forget, forgotten
from ctxrepo.memory.held import Held, read_all
from ctxrepo.store import history

STORE = "memory/me"
DAY = 86_400.0
NOW = 1_795_946_400.0


def held(days: float, **fields: Any) -> Held:
    header = {"id": "01M6Z4N400H23EBRDYX1T8BGN6", "kind": "fact", "importance": 0.2, **fields}
    return Held("facts/a.md", "e", Parsed(header, {}, "t", 1, "t"), values("fact", header), header["id"], "t",
                NOW - days * DAY)  # fmt: skip


def never(_: Any) -> None:
    return None


def gone(fact: Held, **how: Any) -> bool:
    return bool(forgotten([fact], Forgetting(**{"rule": never} | how), at=NOW, now="2026-11-29T10:00:00Z"))


@pytest.mark.parametrize(
    ("days", "fields", "expected"),
    [
        (181, {}, True),
        (179, {}, False),
        (400, {"importance": 0.5}, False),
        (400, {"kind": "experience"}, True),
        (400, {"kind": "preference"}, False),
        (400, {"kind": "rule"}, False),
        (400, {"kind": "decision"}, False),
        (400, {"kind": "correction"}, False),
        (61, {"kind": "task-state", "importance": 0.9}, True),
        (59, {"kind": "task-state"}, False),
        (400, {"last_used": "2026-11-01T00:00:00Z"}, False),
        (400, {"updated": "2026-11-01T00:00:00Z"}, False),
        (400, {"status": "superseded"}, False),
        (400, {"status": "candidate"}, False),
    ],
)
def test_the_documented_defaults(days: float, fields: dict[str, Any], expected: bool) -> None:
    """Little facts that nobody recalled for half a year and task states of two months go; nothing else does."""
    assert gone(held(days, **fields)) is expected


def test_settings_move_the_defaults() -> None:
    """Days, importance and zero days (never) are the owner's to set; a recall in the log counts."""
    fact = held(100, importance=0.4)

    assert gone(fact, days=90, importance=0.4)
    assert not gone(held(4000), days=0)
    assert not gone(held(400), recalled={fact.id: NOW - DAY})


def test_forgotten_is_out_of_recall_and_still_a_file(repo: ContextRepository) -> None:
    """The file stays with its status and reason, one commit says so, and undo brings it back for good."""
    fact = repo.memory.add("Printer paper is in the cellar", importance=0.1)
    path = Path(repo.layout.store_root(STORE)).parent.parent / fact["path"]
    text = path.read_text(encoding="utf-8").replace("2026-11-29", "2025-11-29")
    path.write_text(text, encoding="utf-8")

    told = forget(repo, dry_run=True)
    assert (told["commit"], [row["id"] for row in told["results"]]) == (None, [fact["id"]])
    assert "status: active" in path.read_text(encoding="utf-8")

    found = forget(repo)

    assert "status: forgotten" in path.read_text(encoding="utf-8")
    assert "nobody recalled it" in str(read_all(repo)[0].fields["reason"])
    assert repo.recall("printer paper", threshold=0)["results"] == []
    assert history.entry(repo.store(STORE), found["commit"]).op == "memory.forget"
    assert forget(repo)["commit"] is None

    repo.undo(found["commit"])
    assert path.read_text(encoding="utf-8") == text
    assert forget(repo)["results"] == []


def test_a_recall_yesterday_keeps_a_fact(repo: ContextRepository) -> None:
    """The usage log is asked even before consolidation folded it in."""
    fact = repo.memory.add("Printer paper is in the cellar", importance=0.1)
    path = Path(repo.layout.store_root(STORE)).parent.parent / fact["path"]
    path.write_text(path.read_text(encoding="utf-8").replace("2026-11-29", "2025-11-29"), encoding="utf-8")
    usage.record(repo.layout.state_dir(STORE), ids=[fact["id"]], now=repo.clock() - DAY)

    assert forget(repo)["results"] == []
