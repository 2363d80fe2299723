"""A fact as a value: what a new one looks like, how an edit changes it, which folder it belongs in.

Pure functions; `ctxrepo.memory.verbs` brings the clock, the disk and the commit.  `now` is the time as assets write
it, `2026-11-29T10:00:00Z`.

Who hears a fact is decided when it is written.  A preference is about the person, so it holds in
every project; anything else was learnt while working on something, so it stays with the project
one stands in unless told otherwise.  A person at the keyboard speaks to all agents (`agent: "*"`),
an agent writes under its own name.  A file written by hand says nothing about where its author
stood, so what it leaves out reads as `"*"`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ctxrepo.text.names import slug

FOLDER = "facts"
EVERYWHERE = "*"


def default_project(kind: str, project: str) -> str:
    """Where a new fact of `kind` holds when nobody said so."""
    return EVERYWHERE if kind == "preference" else project


def new_header(
    *, fact_id: str, kind: str, now: str, project: str, agent: str, source: str, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Front-matter of a new fact, in the order in which people read it; `extra` values of None are left out."""
    header: dict[str, Any] = {"id": fact_id, "kind": kind, "status": "active", "project": project, "agent": agent}
    header |= {"created": now, "updated": now, "source": source}
    return header | {name: value for name, value in extra.items() if value not in (None, [], ())}


def superseding(new_id: str, now: str) -> dict[str, Any]:
    """What changes in the header of a fact that was true until `new_id` took its place."""
    return {"status": "superseded", "superseded_by": new_id, "valid_until": now, "updated": now}


def file_name(text: str, fact_id: str) -> str:
    """`<slug of the first words>-<tail of the id>.md`."""
    return f"{slug(text)}-{fact_id[-6:].lower()}.md"


def month_folder(now: str, entries: Callable[[str], int], limit: int) -> str:
    """`facts/2026-11`, or `facts/2026-11.2` … once the month's folder is full.

    Args:
        entries: how many files a folder (relative to the store) holds; 0 for a missing one.
        limit: how many it may hold; the cost of a commit follows the size of the touched folder.
    """
    month = f"{FOLDER}/{now[:7]}"
    if entries(month) < limit:
        return month
    part = 2
    while entries(f"{month}.{part}") >= limit:
        part += 1
    return f"{month}.{part}"


def joined(values: Iterable[str]) -> list[str]:
    """Distinct non-empty values in their first order, as list fields keep them."""
    return list(dict.fromkeys(value.strip() for value in values if value.strip()))
