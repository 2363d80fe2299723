"""What the recall hook must know about a workspace, as one small JSON file.

The hook may not read YAML, ask git or open the catalog; `sync` writes this file whenever what stands
in it has changed, and the hook reads it at every prompt.  A missing or broken file makes the hook
silent once and starts a sync.

Where things lie does not stand in it: `layout` tells, also after the workspace was moved or copied.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ctxrepo import disk
from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse
from ctxrepo.errors import CtxError
from ctxrepo.index.catalog import Catalog
from ctxrepo.settings import compiled


def hook_config(user: str, settings: Mapping[str, object], bases: list[tuple[str, str]]) -> dict[str, object]:
    """The content of the file for one user."""
    return {"user": user, "settings": compiled(settings), "bases": [list(base) for base in bases]}


def knowledge_bases(root: str, catalog: Catalog) -> list[tuple[str, str]]:
    """(name, purpose) of every active knowledge base whose KB.md is what the default branch holds.

    The purpose is put into prompts unasked, so what nobody has reviewed is left out, and so is what cannot be read.
    """
    found = []
    for entry in catalog.entries(classes=("base",), statuses=("active",)):
        if not entry.reviewed:
            continue
        try:
            with open(os.path.join(root, entry.path), "rb") as handle:
                fields = parse(decode(handle.read())).fields
        except (OSError, FrontmatterError):
            continue
        found.append((entry.place, " ".join(str(fields.get("description") or fields.get("title") or "").split())))
    return sorted(found)


def write_if_changed(path: str, content: Mapping[str, object]) -> bool:
    """Writes `content` as JSON unless the file says the same already."""
    data = json.dumps(content, indent=1, sort_keys=True).encode("ascii") + b"\n"
    try:
        with open(path, "rb") as handle:
            if handle.read() == data:
                return False
    except OSError:
        pass
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        disk.replace(path, data, shared=True)
    except OSError as err:
        raise CtxError(f"{path} cannot be written: {err.strerror}.", hint="ctxrepo doctor") from err
    return True
