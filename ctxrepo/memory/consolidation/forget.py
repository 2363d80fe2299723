"""Forgetting: what leaves recall because nobody needs it, by the owner's rules and by documented defaults.

Forgotten is not deleted.  The file stays under `facts/` with `status: forgotten`, recall passes it by, and `undo` or
`memory update ID --status active` brings it back; real deletion is `purge`.

Defaults, when no rule of the owner says otherwise:

* a task state that nobody recalled for 60 days,
* a fact or experience of little importance (`memory.forget_importance`, 0.3) that nobody recalled for half a year
  (`memory.forget_days`, 180; 0 switches this off).

Preferences and rules are never forgotten by a default, nor by a rule that does not name their kind; decisions and
corrections only by a rule.  What a `keep` rule fits is never forgotten.  A rule of rules.md that cannot be read forgets
nothing.  "Nobody recalled" counts from the latest of creation, change and recall.  What an undo
brought back stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxrepo.asset.fields import DAY
from ctxrepo.asset.frontmatter import render
from ctxrepo.memory import usage
from ctxrepo.memory.consolidation.planning import Decision
from ctxrepo.memory.consolidation.restraint import alone, brought_back
from ctxrepo.memory.held import ALIVE, Held, moment, read_all, read_one
from ctxrepo.memory.rules.page import rules_of
from ctxrepo.memory.rules.rule import Rule, first_match, forget_rule, known
from ctxrepo.store.files import etag
from ctxrepo.workspace.workspace import Workspace

OP = "memory.forget"
DAYS = 180.0
IMPORTANCE = 0.3
TASKDAYS = 60.0
_NAMED = 100  # facts named in the commit


class Forgetting(NamedTuple):
    """How one store forgets."""

    rules: Sequence[Rule] = ()
    days: float = DAYS
    importance: float = IMPORTANCE
    recalled: Mapping[str, float] = {}  # id → Unix seconds of the last recall in the usage log
    ended: frozenset[str] = frozenset()  # projects that are over

    @classmethod
    def of(cls, workspace: Workspace) -> Forgetting:
        """The owner's rules, the settings and the usage log of a workspace."""
        store = workspace.memory_store
        page = read_one(workspace.layout.store_root(store), "rules.md", "rules")
        settings = workspace.settings
        return cls(
            rules=tuple(rules_of(page.parsed)[0]) if page else (),
            days=float(str(settings.get("memory.forget_days", DAYS))),
            importance=float(str(settings.get("memory.forget_importance", IMPORTANCE))),
            recalled={
                ident: max(at for at, _ in events)
                for ident, events in usage.counts(workspace.layout.state_dir(store)).items()
            },
            ended=frozenset(page.lines("ended_projects") if page else ()),
        )


def forget(workspace: Workspace, *, dry_run: bool = False) -> dict[str, Any]:
    """Forgets what the rules and defaults say, in one commit.

    Args:
        dry_run: tell, write nothing.

    Returns:
        `results` (id, path, text, why) and `commit`.

    Raises:
        Refused: a consolidation of this store is running.
    """
    with alone(workspace):
        store = workspace.memory_store
        if not dry_run:
            workspace.snapshot(store)
        spared = brought_back(workspace)
        facts = {fact.path: fact for fact in read_all(workspace) if fact.path not in spared}
        decisions = forgotten(
            list(facts.values()), Forgetting.of(workspace), at=workspace.clock(), now=workspace.stamp()
        )
        rows = [(facts[path], changes, decision) for decision in decisions for path, changes in decision.edits.items()]
        commit = None if dry_run or not rows else _write(workspace, rows)
        return {
            "results": [
                {"id": fact.id, "path": f"{store}/{fact.path}", "text": fact.text, "why": decision.why}
                for fact, _, decision in rows
            ],
            "commit": commit,
        }


def forgotten(facts: Sequence[Held], how: Forgetting, *, at: float, now: str) -> list[Decision]:
    """Which facts leave recall, and why.

    Args:
        facts: those to look at.
        how: rules, settings and uses.
        at, now: the time in Unix seconds, and as assets write it.
    """
    found = []
    for fact in facts:
        if fact.fields["status"] not in ALIVE or not fact.id:
            continue
        seen = view(fact, how, at)
        if first_match(how.rules, "keep", known(seen)):
            continue
        name = forget_rule(how.rules)(seen)
        why = f"rule {name}" if name else _by_default(seen, how)
        if why:
            changes = {"status": "forgotten", "reason": f"forgotten: {why}", "updated": now}
            found.append(Decision("forgotten", {fact.path: changes}, why, (fact.id,)))
    return found


def view(fact: Held, how: Forgetting, at: float) -> dict[str, Any]:
    """What a condition may ask about a fact; ages are in days."""
    touched = [fact.created, fact.moment("updated"), fact.moment("last_used"), how.recalled.get(fact.id)]
    latest = max(when for when in touched if when is not None)
    return {
        "kind": str(fact.fields["kind"]),
        "text": fact.text,
        "project": str(fact.fields["project"] or "*"),
        "agent": str(fact.fields["agent"] or "*"),
        "source": str(fact.fields["source"] or ""),
        "tags": fact.lines("tags"),
        "entities": fact.lines("entities"),
        "importance": fact.number("importance", 0.5),
        "confidence": fact.number("confidence", 0.8),
        "age": max(0.0, at - fact.created) / DAY,
        "idle": max(0.0, at - latest) / DAY,
        "uses": int(fact.number("uses")),
        "status": str(fact.fields["status"]),
        "ended": fact.fields["project"] in how.ended,
        "expired": (until := moment(fact.parsed.fields.get("valid_until"), end=True)) is not None and until <= at,
    }


def _by_default(seen: Mapping[str, Any], how: Forgetting) -> str | None:
    kind, idle = seen["kind"], seen["idle"]
    if kind == "task-state" and idle >= TASKDAYS:
        return f"a task state that nobody recalled for {idle:.0f} days"
    if kind in ("fact", "experience") and how.days and idle >= how.days and seen["importance"] <= how.importance:
        return f"importance {seen['importance']:g}, and nobody recalled it for {idle:.0f} days"
    return None


def _write(workspace: Workspace, rows: Sequence[tuple[Held, Mapping[str, Any], Decision]]) -> str | None:
    """Writes the new status of what is still as it was read; a file that moved is looked at again next time."""
    contents = [(fact, render(fact.parsed, changes).encode(), decision) for fact, changes, decision in rows]
    with workspace.transaction(
        workspace.memory_store, OP, subject="memory: forget", reason="nobody needs it any more"
    ) as tx:
        done = 0
        for fact, content, decision in contents:
            data = tx.read(fact.path)
            if data is None or etag(data) != fact.etag:
                continue
            tx.write(fact.path, content, fact.etag)
            done += 1
            if done <= _NAMED:
                tx.trailer("Ctx-Decision", f"forgotten {fact.id}: {decision.why[:120]}")
        tx.subject = f"memory: forget {done} facts" if done != 1 else "memory: forget 1 fact"
    return tx.commit_id
