"""Forgetting by default: what leaves recall, what never does, and that it can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxrepo.api import ContextRepository
from ctxrepo.asset.frontmatter import Parsed
from ctxrepo.asset.kinds import values
from ctxrepo.memory import usage
from ctxrepo.memory.consolidation.consolidate import consolidate
from ctxrepo.memory.consolidation.forget import Forgetting, forget, forgotten
from ctxrepo.memory.held import Held, read_all
from ctxrepo.memory.rules.grammar import parse_rule
from ctxrepo.store import history

STORE = "memory/me"
DAY = 86_400.0
NOW = 1_795_946_400.0


def held(days: float, **fields: Any) -> Held:
    header = {"id": "01M6Z4N400H23EBRDYX1T8BGN6", "kind": "fact", "importance": 0.2, **fields}
    return Held("facts/a.md", "e", Parsed(header, {}, "t", 1, "t"), values("fact", header), header["id"], "t",
                NOW - days * DAY)  # fmt: skip


def gone(fact: Held, **how: Any) -> bool:
    return bool(forgotten([fact], Forgetting(**how), at=NOW, now="2026-11-29T10:00:00Z"))


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


@pytest.mark.parametrize(
    ("line", "fields", "expected"),
    [
        ("old: when age > 20d do forget", {}, "rule old"),
        ("old: when age > 50d do forget", {}, None),
        ("old: when age > 20d do forget", {"kind": "preference"}, None),
        ("old: when kind = preference and age > 20d do forget", {"kind": "preference"}, "rule old"),
        ("old: when kind = rule do forget", {"kind": "preference"}, None),
        ("old: when never recalled in 20d do forget", {"last_used": "2026-11-28"}, None),
        ("old: when never recalled in 20d do forget", {"last_used": "2026-11-01"}, "rule old"),
        ("old: when project ended do forget", {"project": "atlantis"}, "rule old"),
        ("old: when project ended do forget", {"project": "acme"}, None),
        ("old: when importance < 0.3 and text ~ 'paper|纸' do forget", {}, "rule old"),
        ("old: when expired do forget", {"valid_until": "2026-11-01"}, "rule old"),
        ("old: when text ~ 'paper' do ignore", {}, None),
    ],
)
def test_rules_of_the_owner_decide(line: str, fields: dict[str, Any], expected: str | None) -> None:
    """Kind, age, recall, ended projects, importance and words are conditions; exempt kinds must be named."""
    fact = held(40, **fields)._replace(text="Printer paper is in the cellar")

    found = forgotten([fact], Forgetting((parse_rule(line),), ended=frozenset({"atlantis"})), at=NOW, now="now")

    assert [decision.why for decision in found] == ([expected] if expected else [])


def test_what_a_keep_rule_fits_is_kept_from_defaults_too() -> None:
    """`do keep` exempts a fact from every rule and from the defaults."""
    rules = (parse_rule("mine: when text ~ '^t$' do keep"), parse_rule("all: when always do forget"))

    assert not gone(held(4000), rules=rules)
    assert gone(held(4000), rules=rules[1:])


def test_rules_md_is_read_and_a_broken_rule_forgets_nothing(repo: ContextRepository) -> None:
    """The file's rules and ended projects count at the next run; a slip in one line disables that line only."""
    repo.memory.add("The old wiki is read-only", project="atlantis")
    keep = repo.memory.add("The new wiki is public", project="acme")
    rules = Path(repo.layout.store_root(STORE)) / "rules.md"
    lines = '  - "broken: when age >> 3 do forget"\n  - "over: when project ended do forget"\n'
    rules.write_text(f"---\nrules:\n{lines}ended_projects: [atlantis]\n---\n\nmine\n", encoding="utf-8")

    found = forget(repo)

    assert [row["why"] for row in found["results"]] == ["rule over"]
    assert repo.memory.show(keep["id"])["status"] == "active"
    assert consolidate(repo)["commit"] is None
