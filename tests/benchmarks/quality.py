"""Public question sets as stores of real files, asked through the same call that the hook and the CLI use.

Nothing of the data is kept in the repository. The folder is `CTXREPO_BENCH`, or `shared/bench` beside the
repository; every set in it is a `docs.jsonl` (id, group, text) and a `queries.jsonl` (group, text, gold ids).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxrepo.index.place import index_dir
from ctxrepo.index.reader import Reader, Scope
from ctxrepo.index.writer import StoreIndex
from ctxrepo.recall import engine

CASES = Path(__file__).parents[1] / "cases" / "recall"
SETTINGS = {
    "recall.threshold": 0.4,
    "recall.limit": 3,
    "recall.floor": 0.3,
    "recall.half_life_days": 30.0,
    "recall.preference_days": 60.0,
}
FIXED_NOW = datetime(2026, 11, 29, tzinfo=UTC).timestamp()


def _bench_data() -> Path | None:
    named = os.environ.get("CTXREPO_BENCH")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "bench"
    return folder if (folder / "locomo_turn" / "docs.jsonl").is_file() else None


BENCH = _bench_data()
"""The folder of evaluation data, None if this machine has none. Read at import: tests run without the variable."""


def load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def public(name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Documents and questions of a public set."""
    assert BENCH is not None
    return load(BENCH / name / "docs.jsonl"), load(BENCH / name / "queries.jsonl")


@dataclass
class Corpus:
    """An indexed store and which file holds which document."""

    reader: Reader
    ids: dict[str, str]
    classes: tuple[str, ...]
    ends: dict[str, float] = field(default_factory=dict)

    def ask(
        self, text: str, place: str | None, *, limit: int, threshold: float, now: float | None = None
    ) -> list[tuple[str, float]]:
        """Ids of the best documents with their relevance; without `now` everything is of today."""
        scope = Scope(places={place, "*"} if place else None, agents=None, now=None, classes=self.classes)
        ageless = SETTINGS | {"recall.floor": 1.0}
        hits, _ = engine.recall(
            self.reader,
            text,
            scope,
            settings=ageless if now is None else SETTINGS,
            now=FIXED_NOW if now is None else now,
            limit=limit,
            threshold=threshold,
        )
        return [(self.ids[hit["path"]], hit["relevance"]) for hit in hits]


def _indexed(root: Path, prefix: str, files: Iterable[tuple[str, str]]) -> Reader:
    for path, text in files:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    state = root.parent / f"{root.name}.state"
    report = StoreIndex(str(root), str(state), prefix=prefix).sync()
    assert not report.fault, report.fault
    return Reader(index_dir(str(state)))


def facts(root: Path, documents: Sequence[dict[str, Any]]) -> Corpus:
    """Documents as facts of one user; `project`, `session`, `turn` and `created` are kept where they are given."""
    ids: dict[str, str] = {}
    files = []
    for number, document in enumerate(documents):
        path = f"facts/2024-{1 + number // 1000:02d}/{number:05d}.md"
        ids[f"memory/me/{path}"] = document["id"]
        header = {"kind": "fact", "project": "*", "agent": "*"}
        header |= {name: document[name] for name in ("project", "session", "turn", "created") if name in document}
        lines = "\n".join(f"{name}: {json.dumps(value)}" for name, value in header.items())
        files.append((path, f"---\n{lines}\n---\n{document['text']}\n"))
    return Corpus(_indexed(root, "memory/me", files), ids, ("memory",))


def knowledge(root: Path, documents: Sequence[dict[str, Any]]) -> Corpus:
    """Documents as knowledge, a base for each group."""
    ids: dict[str, str] = {}
    files = []
    for number, document in enumerate(documents):
        path = f"knowledge/{document['group'] or 'base'}/{number:05d}.md"
        ids[path] = document["id"]
        files.append((path, f"---\nstatus: verified\n---\n{document['text']}\n"))
    return Corpus(_indexed(root, "", files), ids, ("knowledge",))


def conversations(root: Path, documents: Sequence[dict[str, Any]]) -> Corpus:
    """LoCoMo turns as memories of one user: conversation = project, the session and the turn as the ids name them."""
    made = []
    ends: dict[str, float] = {}
    for document in documents:
        session, turn = document["id"].rsplit(":", 1)
        said = re.match(r"(\d+:\d+ [ap]m) on (\d+ \w+, \d{4})", document["text"])
        assert said is not None
        moment = datetime.strptime(f"{said[1]} {said[2]}", "%I:%M %p %d %B, %Y").replace(tzinfo=UTC)
        project = document["group"]
        ends[project] = max(ends.get(project, 0.0), moment.timestamp())
        made.append(
            {"id": document["id"], "text": document["text"], "project": project, "session": session}
            | {"turn": int(turn), "created": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}
        )
    corpus = facts(root, made)
    corpus.ends = ends
    return corpus


table: list[Row] = []
"""What was measured in this run, in order; the summary prints it."""


@dataclass
class Found:
    """Recall at `k` and mean reciprocal rank over questions."""

    recall: float
    mrr: float


def measure(questions: Sequence[dict[str, Any]], answer: Callable[[dict[str, Any]], list[str]], k: int) -> Found:
    recalls, ranks = [], []
    for question in questions:
        gold, got = set(question["gold"]), answer(question)
        recalls.append(len(gold & set(got[:k])) / len(gold))
        ranks.append(next((1 / (place + 1) for place, one in enumerate(got) if one in gold), 0.0))
    return Found(sum(recalls) / len(recalls), sum(ranks) / len(ranks))


@dataclass
class Row:
    """One line of the table: what was measured, the figure, and what it has to reach."""

    figure: float
    reach: float
    at_least: bool
    what: str

    @property
    def holds(self) -> bool:
        return self.figure >= self.reach if self.at_least else self.figure <= self.reach

    def judge(self) -> None:
        """Puts this line into the table and fails if it misses."""
        table.append(self)
        assert self.holds, str(self)

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"{self.figure:6.3f}  {sign} {self.reach:<5g} {'' if self.holds else 'MISSED ':7}{self.what}"


def reach(figure: float, least: float, what: str) -> None:
    Row(figure, least, True, what).judge()


def stay_under(figure: float, most: float, what: str) -> None:
    Row(figure, most, False, what).judge()
