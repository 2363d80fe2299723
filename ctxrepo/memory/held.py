"""Every fact of a store as it is on disk at one moment, with the etag that a later write must find unchanged.

Consolidation, forgetting, the graph and recommendations all decide on the whole memory; they read it
once, without the lock, and whoever writes afterwards says which bytes the decision was made on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ctxrepo.asset.fields import Unfit, instant
from ctxrepo.asset.frontmatter import FrontmatterError, Parsed, decode, parse
from ctxrepo.asset.kinds import values
from ctxrepo.store.files import etag
from ctxrepo.workspace.workspace import Workspace

ALIVE = ("active", "conflict")


class Held(NamedTuple):
    """One file as it was read."""

    path: str  # in the store
    etag: str
    parsed: Parsed
    fields: Mapping[str, Any]  # of its kind's table, with defaults
    id: str
    text: str
    created: float  # Unix seconds

    @property
    def alive(self) -> bool:
        """Whether it is among what recall may bring."""
        return self.fields["status"] in ALIVE

    def number(self, name: str, default: float = 0.0) -> float:
        """A numeric header field, also of one that the table does not know."""
        value = self.parsed.fields.get(name, self.fields.get(name))
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default

    def lines(self, name: str) -> list[str]:
        """A list field as texts; a single value counts as a list of one."""
        value = self.parsed.fields.get(name) or self.fields.get(name)
        if value is None or value == "":
            return []
        return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]

    def moment(self, name: str) -> float | None:
        """A time field in Unix seconds."""
        return moment(self.parsed.fields.get(name))


def moment(value: object, *, end: bool = False) -> float | None:
    """Unix seconds of a date or time of a header; None when it is none."""
    if value is None or value == "":
        return None
    with suppress(Unfit, ValueError, TypeError):
        return float(instant(value, end=end))
    return None


def read_all(workspace: Workspace, folder: str = "facts", kind: str = "fact") -> list[Held]:
    """Facts (or entity pages) of the user's store in the order of their making; unreadable files are left out."""
    store = workspace.memory_store
    workspace.fresh(store)
    root = workspace.layout.store_root(store)
    with workspace.index(store).catalog() as catalog:
        paths = catalog.below(folder)
    found = [held for path in paths if (held := read_one(root, path, kind)) is not None]
    return sorted(found, key=lambda held: (held.created, held.id, held.path))


def read_one(root: str, path: str, kind: str = "fact") -> Held | None:
    """One file; None when it is gone or cannot be read."""
    try:
        with open(os.path.join(root, path), "rb") as handle:
            data = handle.read()
            modified = os.fstat(handle.fileno()).st_mtime
        parsed = parse(decode(data))
    except (OSError, FrontmatterError):
        return None
    fields = values(kind, parsed.fields)
    created = moment(parsed.fields.get("created"))
    return Held(
        path, etag(data), parsed, fields, str(fields.get("id") or ""), parsed.body.strip(),
        modified if created is None else created,
    )  # fmt: skip
