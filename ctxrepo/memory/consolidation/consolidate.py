"""Consolidation: nightly, or at once, one commit that tidies the whole memory and says what it did.

It reads everything first, decides without holding anything (a language model may take minutes), renders what
is to be written, and only then takes the store's lock for as long as the writing takes.  Under the lock every
file of a decision must still have the bytes that were read; a fact edited or deleted meanwhile takes the decisions
that rest on it along, and they are made anew in the next run.  Facts added meanwhile are simply not touched.
The list that was read is never written back: that is how other tools lose what was said in between.

Two runs never overlap: a lock of its own, which the kernel releases when its holder dies, turns the second away.

Decay is no rewriting.  A fact's age weighs at recall (`recall.ranking`), where it costs nothing and needs no
nightly commit; what is stored is use: how often and when last it was recalled, folded in from the usage log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ctxrepo.asset.fields import stamp
from ctxrepo.asset.frontmatter import parse, render
from ctxrepo.asset.kinds import values
from ctxrepo.memory import usage
from ctxrepo.memory.consolidation.forget import Forgetting, forgotten
from ctxrepo.memory.consolidation.pages import FOLDER, Page, pages
from ctxrepo.memory.consolidation.planning import Decision, Judge, components, composed, decide, summary
from ctxrepo.memory.consolidation.restraint import alone, brought_back
from ctxrepo.memory.held import Held, moment, read_all
from ctxrepo.store.files import ABSENT, etag
from ctxrepo.workspace.workspace import Workspace

OP = "memory.consolidate"
_NAMED = 100  # decisions named in the commit; all of them stand in the files
_RISE = 0.04
_HIGHEST = 0.9


class Draft(NamedTuple):
    """What a run would write, made without the lock."""

    groups: list[list[Decision]]
    content: dict[str, bytes]  # path → new bytes
    expected: dict[str, str]  # path → etag of the bytes the decision was made on
    pages: list[Page]


def consolidate(
    workspace: Workspace,
    *,
    dry_run: bool = False,
    llm: Judge | None = None,
    forget: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Merges, supersedes, marks conflicts, counts uses, forgets, and rewrites the entity pages that changed.

    Args:
        dry_run: decide and tell, write nothing.
        llm: asked about pairs that the rules leave open; see `planning.Judge`. Never called under a lock.
        forget: apply the rules and defaults of forgetting too.
        say: called with a sentence per step, for somebody who waits.

    Returns:
        `decisions` (sort, why, ids, texts), `counts`, `pages`, `left` (paths that moved meanwhile), `commit`.

    Raises:
        Refused: another consolidation of this store is running.
    """
    with alone(workspace):
        store = workspace.memory_store
        if not dry_run:
            workspace.snapshot(store)
        facts = read_all(workspace)
        present = read_all(workspace, FOLDER, "entity")
        say(f"{len(facts)} facts read.")
        made = draft(workspace, facts, present, llm=llm, forget=forget)
        say(f"{sum(map(len, made.groups))} decisions made.")
        if dry_run:
            return _told(facts, made.groups, made.pages, (), None)
        return _write(workspace, facts, made)


def draft(
    workspace: Workspace, facts: Sequence[Held], present: Sequence[Held], *, llm: Judge | None, forget: bool
) -> Draft:
    """Decides and renders; no lock is held and nothing is written."""
    now, at = workspace.stamp(), workspace.clock()
    spared = brought_back(workspace)
    decisions = decide(facts, now=now, at=at, spared=spared, judge=llm)
    decisions += _used(facts, usage.counts(workspace.layout.state_dir(workspace.memory_store)))
    if forget:
        ended = {path for decision in decisions for path in decision.edits if decision.sort not in ("used",)}
        left = [fact for fact in facts if fact.path not in ended and fact.path not in spared]
        decisions += forgotten(left, Forgetting.of(workspace), at=at, now=now)
    edits, drops = composed(decisions)
    by_path = {fact.path: fact for fact in facts}
    content: dict[str, bytes] = {}
    after = dict(by_path)
    for path, changes in edits.items():
        fact = by_path[path]
        if changes or drops.get(path):
            text = render(fact.parsed, changes, drops.get(path, ()))
            content[path] = text.encode()
            parsed = parse(text)
            after[path] = fact._replace(parsed=parsed, fields=values("fact", parsed.fields))
    written = pages(list(after.values()), present, now=now, new_id=workspace.new_id)
    return Draft(components(decisions), content, {path: by_path[path].etag for path in edits}, written)


def _used(facts: Sequence[Held], events: Mapping[str, Sequence[tuple[float, bool]]]) -> list[Decision]:
    """Counts of use that the log has and the facts have not."""
    found = []
    for fact in facts:
        known = moment(fact.parsed.fields.get("last_used")) or 0.0
        new = [(at, in_answer) for at, in_answer in events.get(fact.id, ()) if int(at) > known]
        if not new or not fact.alive:
            continue
        last = max(at for at, _ in new)
        answered = sum(in_answer for _, in_answer in new)
        recalled = len(new) - answered
        changes: dict[str, Any] = {
            "uses": int(fact.number("uses")) + max(recalled, answered),
            "last_used": stamp(datetime.fromtimestamp(int(last), UTC)),
        }
        importance = _risen(fact.number("importance", 0.5), recalled)
        if importance != fact.number("importance", 0.5):
            changes["importance"] = importance
        if answered:
            changes["confidence"] = _risen(fact.number("confidence", 0.8), answered, 0.95)
        why = f"recalled {recalled} times, used in an answer {answered} times"
        found.append(Decision("used", {fact.path: changes}, why, (fact.id,)))
    return found


def _risen(value: float, times: int, highest: float = _HIGHEST) -> float:
    """A weight that rises towards `highest` with each use, at most five at a time, and never falls."""
    if value >= highest:
        return value
    return round(highest - (highest - value) * (1 - _RISE) ** min(times, 5), 3)


def _write(workspace: Workspace, facts: Sequence[Held], made: Draft) -> dict[str, Any]:
    """Writes what still rests on unchanged files, in one commit."""
    store = workspace.memory_store
    reason = "the same said twice, changes, conflicts, uses and what nobody needs any more"
    with workspace.transaction(store, OP, subject="memory: consolidate", reason=reason) as tx:
        kept, left = [], []
        for group in made.groups:
            paths = {path for decision in group for path in decision.edits}
            moved = [path for path in sorted(paths) if etag(tx.read(path)) != made.expected[path]]
            if moved:
                left += moved
                continue
            kept.append(group)
            for path in sorted(paths & made.content.keys()):
                tx.write(path, made.content[path], made.expected[path])
        written = []
        for page in made.pages if not left else ():
            if etag(tx.read(page.path)) == page.etag:
                tx.write(page.path, page.content.encode(), page.etag or ABSENT)
                written.append(page)
        decisions = [decision for group in kept for decision in group]
        told = ", ".join(f"{count} {sort}" for sort, count in summary(decisions).items())
        pages_told = f"{len(written)} page{'s' if len(written) > 1 else ''}" if written else ""
        tx.subject = f"memory: consolidate ({'; '.join(filter(None, (told, pages_told))) or 'nothing to do'})"
        for decision in decisions[:_NAMED]:
            if decision.sort != "used":
                tx.trailer("Ctx-Decision", f"{decision.sort} {' '.join(decision.ids[:8])}: {decision.why[:120]}")
        if len(decisions) > _NAMED:
            tx.trailer("Ctx-Decision", f"and {len(decisions) - _NAMED} more, see the files")
    return _told(facts, kept, written, left, tx.commit_id)


def _told(
    facts: Sequence[Held],
    groups: Sequence[Sequence[Decision]],
    written: Sequence[Page],
    left: Sequence[str],
    commit: str | None,
) -> dict[str, Any]:
    texts = {fact.id: fact.text for fact in facts}
    decisions = [decision for group in groups for decision in group]
    return {
        "facts": len(facts),
        "decisions": [
            {
                "sort": decision.sort,
                "why": decision.why,
                "ids": list(decision.ids),
                "texts": [texts.get(ident, "") for ident in decision.ids],
            }
            for decision in decisions
        ],
        "counts": dict(summary(decisions)),
        "pages": [page.path for page in written],
        "left": sorted(set(left)),
        "commit": commit,
    }
