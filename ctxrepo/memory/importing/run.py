"""From a foreign store of memories to candidates of ours: read, screen, compare, show; then one commit.

What comes in was written by other programs and often by models, so it lands as `candidate`: it is not recalled
until its owner says so.  Secrets and hidden characters are left out and named by kind.  What is there already, in
whatever state (also as a candidate of an earlier import, also forgotten or found wrong), is not taken in again,
so an import may be repeated and yields what is new.  `source` says where each came from, as in
`import:claude-md CLAUDE.md:12`.
"""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxrepo.asset.check import check
from ctxrepo.asset.frontmatter import parse, render
from ctxrepo.errors import CtxError, UsageFault
from ctxrepo.memory import held
from ctxrepo.memory.comparison.candidates import Candidates
from ctxrepo.memory.comparison.compare import relation
from ctxrepo.memory.comparison.digest import Digest, digest
from ctxrepo.memory.extraction.entities import entities
from ctxrepo.memory.extraction.extract import EVERYWHERE as EVERYWHERE_SCOPE
from ctxrepo.memory.extraction.extract import extract
from ctxrepo.memory.extraction.transcript import Turn
from ctxrepo.memory.facts import EVERYWHERE, file_name, joined, month_folder, new_header
from ctxrepo.memory.importing import exports, notes
from ctxrepo.memory.importing.items import Found, Item, Left
from ctxrepo.memory.screening import refuse_unseen, refuse_words
from ctxrepo.store.files import ABSENT
from ctxrepo.text.hidden import find_hidden, show_hidden
from ctxrepo.text.secrets import mask
from ctxrepo.workspace.workspace import Workspace

READERS: Mapping[str, Callable[[str], Found]] = {
    "claude-md": notes.claude_md,
    "mem0": exports.mem0,
    "basic-memory": notes.basic_memory,
    "chatgpt": exports.chatgpt,
    "obsidian": notes.obsidian,
}
OP = "memory.import"
CONFIDENCE = 0.6
_NAMED = 50
_LONGEST_NAME = 80
_LONGEST_SOURCE = 300


@dataclass(slots=True)
class _Plan:
    """What will be written, and a row for everything that was read."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    news: list[tuple[Item, dict[str, Any]]] = field(default_factory=list)


def import_memories(workspace: Workspace, source: str, path: str, *, dry_run: bool = False) -> dict[str, Any]:
    """Takes memories of another program in as candidates.

    Args:
        source: a key of `READERS`.
        path: its file or folder.
        dry_run: show what would be taken in; write nothing.

    Returns:
        `results`: a row for each statement (`verdict` new, duplicate or left, `why`, text, kind, where, line, id,
        path); `counts` by verdict; `commit`, None when nothing was written.

    Raises:
        UsageFault: no such source. NotFound, Invalid: the path cannot be read as that.
    """
    if source not in READERS:
        raise UsageFault(f"{source!r} is no source.", hint=f"ctxrepo import {next(iter(READERS))} PATH")
    found = list(READERS[source](os.path.expanduser(path)))
    plan = _planned(workspace, source, found)
    commit = None if dry_run or not plan.news else _write(workspace, source, plan)
    counts = Counter(row["verdict"] for row in plan.rows)
    return {
        "source": source,
        "dry_run": dry_run,
        "results": plan.rows,
        "counts": {verdict: counts[verdict] for verdict in ("new", "duplicate", "left")},
        "commit": commit,
    }


def _planned(workspace: Workspace, source: str, found: Iterable[Item | Left]) -> _Plan:
    plan = _Plan()
    items = [each for each in found if isinstance(each, Item)]
    known = _Known(held.read_all(workspace), items)
    for each in found:
        if isinstance(each, Left):
            plan.rows.append(_row("left", each.why, mask(show_hidden(each.text)), each))
            continue
        refusal = _refusal(each)
        if refusal:
            plan.rows.append(_row("left", refusal, mask(show_hidden(each.text))[:200], each))
            continue
        twin = known.twin(each.text)
        if twin:
            plan.rows.append(_row("duplicate", f"says the same as {twin}", each.text, each))
            continue
        header = _header(workspace, source, each)
        known.add(each.text, f"{each.where}:{each.line}" if each.line else each.where)
        plan.news.append((each, header))
        row = _row("new", "", each.text, each) | {"kind": header["kind"], "id": header["id"]}
        plan.rows.append(row)
    return plan


class _Known:
    """The facts that are there, and those of this import, found by what they say."""

    def __init__(self, facts: Iterable[held.Held], items: Iterable[Item]) -> None:
        present = [(fact.text, fact.id or fact.path) for fact in facts]
        digests = [digest(text) for text, _ in present]
        coming = [digest(item.text) for item in items if len(item.text) < 2000]
        self._candidates = Candidates([*digests, *coming])
        self._names: list[str] = []
        self._digests: list[Digest] = []
        self._same: dict[str, str] = {}
        for (text, name), read in zip(present, digests, strict=True):
            self._keep(text, name, read)

    def twin(self, text: str) -> str:
        """What says the same already, "" if nothing does."""
        same = self._same.get(_key(text))
        if same:
            return same
        read = digest(text)
        for number in self._candidates.like(read):
            if relation(self._digests[number], read).kind == "duplicate":
                return self._names[number]
        return ""

    def add(self, text: str, name: str) -> None:
        self._keep(text, name, digest(text))

    def _keep(self, text: str, name: str, read: Digest) -> None:
        self._candidates.add(len(self._names), read)
        self._names.append(name)
        self._digests.append(read)
        self._same.setdefault(_key(text), name)


def _refusal(item: Item) -> str:
    """Why a statement must not become memory, "" if it may."""
    try:
        refuse_words(item.text)
        for name in ("entities", "tags", "reason", "where"):
            refuse_unseen(name, getattr(item, name))
    except CtxError as fault:
        return fault.message.partition(";")[0].rstrip(".")
    return ""


def _header(workspace: Workspace, source: str, item: Item) -> dict[str, Any]:
    told = next(iter(extract(Turn(item.text), today=workspace.now.date())), None)
    kind = item.kind or (told.kind if told else "fact")
    personal = item.everywhere or kind == "preference" or bool(told and told.project_scope == EVERYWHERE_SCOPE)
    place = f"{item.where}:{item.line}" if item.line else item.where
    return new_header(
        fact_id=workspace.new_id(),
        kind=kind,
        now=workspace.stamp(),
        project=EVERYWHERE if personal else workspace.project,
        agent=workspace.agent,
        source=f"import:{source} {' '.join(place.split())}"[:_LONGEST_SOURCE],
        extra={
            "importance": told.importance if told else None,
            "confidence": CONFIDENCE,
            "entities": joined(_names(item.entities or entities(item.text))),
            "tags": joined(_names(item.tags)),
            "reason": item.reason.strip() or None,
        },
    ) | {"status": "candidate", **({"created": item.created} if item.created else {})}


def _names(values: Iterable[str]) -> Iterator[str]:
    yield from (" ".join(value.split())[:_LONGEST_NAME] for value in values)


def _write(workspace: Workspace, source: str, plan: _Plan) -> str | None:
    """Writes the files in one commit; all is rendered, checked and placed before the store is locked."""
    store = workspace.memory_store
    files = list(_rendered(workspace, plan))
    count = len(files)
    subject = f"memory: import {count} candidate{'s' * (count > 1)} from {source}"
    with workspace.transaction(store, OP, subject=subject) as tx:
        tx.trailer("Ctx-Source", source)
        for number, (path, ident, content) in enumerate(files):
            tx.write(path, content, ABSENT)
            if number < _NAMED:
                tx.trailer("Ctx-Id", ident)
    return tx.commit_id


def _rendered(workspace: Workspace, plan: _Plan) -> Iterator[tuple[str, str, bytes]]:
    """Yields path, id and content of each new fact; what does not fit its table is left out, in its row."""
    store = workspace.memory_store
    limit = int(str(workspace.settings["memory.folder_entries"]))
    root = workspace.layout.store_root(store)
    planned: Counter[str] = Counter()

    def entries(folder: str) -> int:
        if folder not in planned:
            full = os.path.join(root, folder)
            planned[folder] = len(os.listdir(full)) if os.path.isdir(full) else 0
        return planned[folder]

    rows = {row["id"]: row for row in plan.rows if row["id"]}
    for item, header in plan.news:
        content = render(None, header, body=item.text.strip() + "\n")
        problems = [each for each in check("fact", parse(content), "fact", new=True) if each.level == "error"]
        row = rows[header["id"]]
        if problems:
            row |= {"verdict": "left", "why": f"{problems[0].field} {problems[0].message}", "id": ""}
            continue
        folder = month_folder(header["created"], entries, limit)
        planned[folder] += 1
        path = f"{folder}/{file_name(item.text, header['id'])}"
        row["path"] = f"{store}/{path}"
        yield path, header["id"], content.encode()


def _row(verdict: str, why: str, text: str, origin: Item | Left) -> dict[str, Any]:
    kind = origin.kind if isinstance(origin, Item) else ""
    return {
        "verdict": verdict,
        "why": why,
        "text": text,
        "kind": kind,
        "where": show_hidden(origin.where) if find_hidden(origin.where) else origin.where,
        "line": origin.line,
        "id": "",
        "path": "",
    }


def _key(text: str) -> str:
    """Equal for two texts that differ in case, white space, width or closing mark only."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".。!！;；")
