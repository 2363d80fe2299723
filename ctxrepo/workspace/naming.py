"""Finding the asset that somebody means, and saying what is near when nothing answers to the name.

`Workspace.find` takes names as they are: a path, an id, the beginning or the tail of one.  People also type a
file's name, a word of it, or a tail with a slip; such names find nothing, because a guess must not be changed or
deleted, but the error lists what they may have meant.

An agent that speaks under its own name sees its own facts and everybody's, here as in recall.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from ctxrepo.asset.ids import tail
from ctxrepo.errors import Denied, NotFound, UsageFault
from ctxrepo.index.catalog import Entry
from ctxrepo.workspace.layout import TEAM
from ctxrepo.workspace.workspace import ALL_AGENTS, Found, Workspace

_SHOWN = 5
_ALIKE = 0.75
_TITLE = 80


def find(workspace: Workspace, ref: str, *, stores: tuple[str, ...] | None = None) -> Found:
    """The one asset that `ref` names.

    Args:
        ref: a path, an id, or the beginning or tail of an id.
        stores: look only there.

    Raises:
        NotFound: nothing answers to it; what comes near stands in the details.
        UsageFault: several do; they stand in the details.
        Denied: it is another agent's fact.
    """
    try:
        found = workspace.find(ref, stores=stores)
    except NotFound as fault:
        near = list(_near(workspace, ref, stores or workspace.store_names()))[:_SHOWN]
        if not near:
            raise
        raise NotFound(fault.message, hint=_example(near), details=[_line(hit) for hit in near]) from None
    except UsageFault as fault:
        raise UsageFault(
            fault.message, hint="name it by more characters of its id, or by its path", details=fault.details
        ) from None
    refuse_foreign(workspace, found)
    return found


def refuse_foreign(workspace: Workspace, found: Found) -> None:
    """Keeps an agent to its own facts and everybody's.

    Raises:
        Denied: the fact belongs to another agent.
    """
    entry = found.entry
    if ALL_AGENTS in (workspace.agent, entry.agent or ALL_AGENTS) or entry.agent == workspace.agent:
        return
    raise Denied(
        f"{found.path} belongs to agent {entry.agent}, not to {workspace.agent}.",
        hint=f"ctxrepo memory list --agent {workspace.agent}",
    )


def _near(workspace: Workspace, ref: str, stores: tuple[str, ...]) -> Iterator[Found]:
    """Assets whose file name or title holds `ref`, then those whose tail is nearly it."""
    wanted = ref.casefold().rstrip("/").rpartition("/")[2].removesuffix(".md")
    if not wanted:
        return
    entries: list[Found] = []
    for name in stores:
        with workspace.index(name).catalog() as catalog:
            broken = (catalog.entry(problem.path) for problem in catalog.problems())
            entries += [Found(name, entry) for entry in (*catalog.entries(), *broken) if entry]
    visible = [hit for hit in entries if _may_see(workspace, hit.entry)]
    holding = [hit for hit in visible if wanted in _stem(hit.entry) or wanted in hit.entry.title.casefold()]
    yield from holding
    for hit in visible:
        ending = tail(hit.entry.id)
        if hit not in holding and ending and SequenceMatcher(None, wanted, ending).ratio() >= _ALIKE:
            yield hit


def _may_see(workspace: Workspace, entry: Entry) -> bool:
    return workspace.agent == ALL_AGENTS or (entry.agent or ALL_AGENTS) in (ALL_AGENTS, workspace.agent)


def _stem(entry: Entry) -> str:
    folder, _, name = entry.path.casefold().rpartition("/")
    return folder.rpartition("/")[2] if name in ("skill.md", "task.md") else name.removesuffix(".md")


def _line(hit: Found) -> str:
    title = hit.entry.title if len(hit.entry.title) <= _TITLE else hit.entry.title[: _TITLE - 1] + "…"
    return f"{tail(hit.entry.id) or hit.path}  {title}"


def _example(near: list[Found]) -> str:
    first = near[0]
    return f"ctxrepo show {tail(first.entry.id) or first.path}"


def place(store: str, path: str) -> str:
    """The path in the workspace of a path in a store."""
    return path if store == TEAM else f"{store}/{path}"
