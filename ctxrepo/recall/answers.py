"""Recall for people and programs: memory first, shared knowledge beside it when asked, and every reason.

Scores of two stores cannot be compared, their relevance can: it means the same everywhere.  So each
store is asked by itself and the hits meet on relevance × time × importance × confidence.

`explain` also says what stayed out and why: too little relevance, another project or agent, expired,
superseded, forgotten, not reviewed.  For that the same store is searched once more without the scope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ctxrepo.asset.fields import Unfit, instant, nearest
from ctxrepo.asset.ids import tail
from ctxrepo.errors import UsageFault
from ctxrepo.index.place import IndexUnavailable
from ctxrepo.index.reader import SERVED, Scope
from ctxrepo.recall import engine
from ctxrepo.text.analyzer import query_terms
from ctxrepo.workspace.health import losses
from ctxrepo.workspace.layout import TASKS, TEAM
from ctxrepo.workspace.workspace import ALL_AGENTS, Workspace

CLASSES = {"memory": None, "entity": None, "knowledge": TEAM, "skill": TEAM, "task": TASKS}
"""Searchable classes and the store they lie in; None = the user's own."""

FINISHED = ("done", "archived")
"""Statuses of tasks that are searched when somebody asks for tasks, though no prompt brings them back unasked."""

_EXPLAINED = 10
_INTERNAL = ("crc32", "score", "id", "class", "part", "parts", "start", "text")


def recall(
    workspace: Workspace,
    query: str,
    *,
    knowledge: bool = False,
    classes: Sequence[str] = (),
    limit: int | None = None,
    threshold: float | None = None,
    explain: bool = False,
) -> dict[str, Any]:
    """What `query` brings back for the workspace's user, agent and project.

    Args:
        query: a question or prompt.
        knowledge: shared, reviewed documents too.
        classes: what to search: memory, entity, knowledge, skill, task; memory when none is named.
        limit: hits at most; the setting `recall.limit` when None.
        threshold: least relevance, 0 to 1; the setting `recall.threshold` when None.
        explain: add `left_out`, `terms` and what was asked for.

    Returns:
        `results`, best first, each with `relevance`, `score` and its `factors`; the `threshold` that held; and,
        when nothing reached it, `nearest`, what came closest, and `notes` on what is damaged.

    Raises:
        UsageFault: an unknown class, or no words.
    """
    if not query.strip():
        raise UsageFault("Nothing was asked.", hint='ctxrepo recall "…"')
    settings = workspace.settings
    most = int(str(settings["recall.limit"])) if limit is None else limit
    least = float(str(settings["recall.threshold"])) if threshold is None else threshold
    stores = _by_store(workspace, [*(classes or ("memory",)), *["knowledge"] * knowledge])
    try:
        return _answer(workspace, query, stores, most, least, explain)
    except IndexUnavailable:  # a part that only this question read was damaged; reading again makes the index anew
        return _answer(workspace, query, stores, most, least, explain)


def _answer(
    workspace: Workspace, query: str, stores: Mapping[str, Sequence[str]], most: int, least: float, explain: bool
) -> dict[str, Any]:
    settings = workspace.settings
    now = workspace.clock()
    hits: list[dict[str, Any]] = []
    too_weak: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    for store, wanted in stores.items():
        scope = _scope(workspace, store, wanted, now)
        reader = workspace.reader(store)
        found, below = engine.recall(
            reader, query, scope, settings=settings, now=now, limit=most, threshold=least, thorough=explain
        )
        hits += found
        too_weak += below
        if explain:
            left_out += [(hit | {"why": f"relevance {hit['relevance']:.2f} is under {least:g}"}) for hit in below]
            anything = Scope(places=None, agents=None, now=None, classes=wanted, statuses=None, reviewed=False)
            wide, _ = engine.recall(
                reader, query, anything, settings=settings, now=now, limit=most + _EXPLAINED, threshold=least
            )
            inside = {hit["path"] for hit in found}
            left_out += [_outside(hit, scope) for hit in wide if hit["path"] not in inside]
    hits.sort(key=lambda hit: -hit["score"])
    result: dict[str, Any] = {"query": query, "threshold": least, "results": [_shown(hit) for hit in hits[:most]]}
    if not hits:
        result["notes"] = [note for store in stores for note in losses(workspace, store)]
    if too_weak and not hits:
        result["nearest"] = _shown(max(too_weak, key=lambda hit: hit["relevance"]))
    if explain:
        left_out += [hit | {"why": f"only {most} are shown"} for hit in hits[most:]]
        result |= {
            "terms": query_terms(query),
            "user": workspace.user,
            "agent": workspace.agent,
            "project": workspace.project,
            "left_out": [_shown(hit) for hit in _distinct(left_out)][:_EXPLAINED],
        }
    return result


def _by_store(workspace: Workspace, classes: Sequence[str]) -> dict[str, list[str]]:
    stores: dict[str, list[str]] = {}
    for name in dict.fromkeys(classes):
        if name not in CLASSES:
            raise UsageFault(
                f"There is no class {name!r}.{nearest(name, list(CLASSES))}", hint=f"one of {', '.join(CLASSES)}"
            )
        stores.setdefault(CLASSES[name] or workspace.memory_store, []).append(name)
    return stores


def _scope(workspace: Workspace, store: str, classes: Sequence[str], now: float) -> Scope:
    """What this user, agent and project may see of a store; shared assets are for every project."""
    if store == TEAM:
        return Scope(places=None, agents=None, now=now, classes=classes)
    places = {workspace.project, "*"}
    if store == TASKS:
        return Scope(places=places, agents=None, now=now, classes=classes, statuses=(*SERVED, *FINISHED))
    agents = None if workspace.agent == ALL_AGENTS else {workspace.agent, ALL_AGENTS}
    return Scope(places=places, agents=agents, now=now, classes=classes)


def _outside(hit: dict[str, Any], scope: Scope) -> dict[str, Any]:
    """A hit of the whole store with the reason why it is none of the scope; another agent's keeps its words."""
    foreign = scope.agents is not None and hit["agent"] not in scope.agents
    return hit | {"why": _why_outside(hit, scope)} | ({"text": "…"} if foreign else {})


def _why_outside(hit: dict[str, Any], scope: Scope) -> str:
    """Why a hit of the whole store is none of the scope."""
    status = str(hit.get("status", "active"))
    if scope.statuses is not None and status not in scope.statuses:
        return f"{status} by {tail(hit['superseded_by'])}" if hit.get("superseded_by") else status
    if not hit.get("reviewed", True):
        return "not reviewed: the default branch does not hold it so"
    if scope.places is not None and hit["place"] not in scope.places:
        return f"holds in project {hit['place']}"
    if scope.agents is not None and hit["agent"] not in scope.agents:
        return f"belongs to agent {hit['agent']}"
    now = scope.now or 0.0
    with suppress(Unfit):
        if hit.get("valid_from") and instant(hit["valid_from"]) > now:
            return f"holds from {hit['valid_from']} on"
        if hit.get("valid_until") and instant(hit["valid_until"], end=True) <= now:
            return f"expired {hit['valid_until']}"
    return "ranked lower"


def _distinct(hits: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({hit["path"]: hit for hit in reversed(hits)}.values())[::-1]


def _shown(hit: dict[str, Any]) -> dict[str, Any]:
    """A hit as the command line and the Python API give it."""
    ident = str(hit.get("id", ""))
    named = {"id": ident, "tail": tail(ident), "class": hit["class"], "path": hit["path"], "text": hit["text"]}
    rest = {name: value for name, value in hit.items() if name not in _INTERNAL}
    return {**named, "kind": "", "created": "", **rest, "score": round(hit["score"], 4)}
