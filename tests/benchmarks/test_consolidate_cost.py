"""What a consolidation of a whole memory costs: 10,000 facts of which 30 % say what others say."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from ctxrepo.asset.ids import new_id
from ctxrepo.memory.comparison.digest import digest
from ctxrepo.memory.consolidation.consolidate import consolidate
from ctxrepo.workspace.setup import init_workspace

pytestmark = pytest.mark.bench

FACTS, SECONDS, GROWTH = 10_000, 60.0, 2.3
_PEOPLE = [
    a + b for a in ("An", "Be", "Ca", "Da", "El", "Fi", "Ga", "Ha") for b in ("na", "ri", "to", "ck", "va", "mo")
]
_THINGS = [
    f"{a} {b}"
    for a in ("billing", "search", "checkout", "export", "import", "audit", "login", "payment", "ledger", "price")
    for b in ("service", "worker", "job", "module", "page", "queue", "script", "pipeline")
]


def texts(count: int) -> list[str]:
    """Facts in two languages; three of ten repeat another in a slightly other dress."""
    chance = random.Random(7)
    made: list[str] = []
    for number in range(round(count * 0.7)):
        person, thing, value = chance.choice(_PEOPLE), chance.choice(_THINGS), chance.randrange(2, 999)
        made.append(
            chance.choice(
                (
                    f"{person} owns the {thing} in region {number}",
                    f"The {thing} {number} has a timeout of {value} seconds",
                    f"{thing} 第 {number} 版由 {person} 负责，上线前要跑 {value} 个用例",
                    f"Ticket #{number} of the {thing} waits for {person}",
                    f"{person} 的第 {number} 个需求是给 {thing} 加导出功能",
                )
            )
        )
    repeated = [
        chance.choice((f"{text}.", text, text.replace("The ", "the ")))
        for text in chance.choices(made, k=count - len(made))
    ]
    return made + repeated


def memory_of(folder: Path, count: int) -> ContextRepository:
    """A workspace with so many facts, committed and indexed."""
    init_workspace(str(folder), user="me")
    repo = open_workspace(folder, user="me", project="acme")
    seed = random.Random(3)
    root = Path(repo.layout.store_root("memory/me"))
    for number, text in enumerate(texts(count)):
        path = root / "facts" / f"2026-11.{number // 1000}" / f"fact-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        ident = new_id(1_795_000_000 + number, seed.randbytes)
        header = f"id: {ident}\nkind: fact\nproject: acme\ncreated: 2026-11-29T10:00:00Z\nsession: s{number}\n"
        path.write_text(f"---\n{header}---\n\n{text}\n", encoding="utf-8")
    repo.snapshot("memory/me")
    return repo


def costs(folder: Path, count: int) -> Iterator[float]:
    """CPU and wall seconds of a run, and what it did."""
    repo = memory_of(folder, count)
    digest.cache_clear()
    cpu, wall = _cpu(), time.perf_counter()
    found = consolidate(repo)
    yield _cpu() - cpu
    yield time.perf_counter() - wall
    assert found["counts"]["merged"] == pytest.approx(0.3 * count, rel=0.02)
    assert set(found["counts"]) == {"merged"}
    assert consolidate(repo)["commit"] is None


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def test_ten_thousand_facts_in_a_minute_and_near_linear(tmp_path: Path) -> None:
    """10,000 facts with 30 % duplicates take at most 60 s; twice the facts at most 2.3 times the CPU."""
    half, _ = costs(tmp_path / "half", FACTS // 2)
    whole, wall = costs(tmp_path / "whole", FACTS)
    print(f"\n{FACTS} facts: {wall:.1f} s wall, {whole:.1f} s CPU; {whole / half:.2f} times that of half as many")

    assert wall <= SECONDS
    assert whole / half <= GROWTH
