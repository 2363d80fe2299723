"""What the recall hook must know about a workspace, as one small JSON file.

The hook may not read YAML, ask git or open the catalog; `sync` writes this file whenever what stands
in it has changed, and the hook reads it at every prompt.  A missing or broken file makes the hook
silent once and starts a sync.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse
from ctxrepo.errors import CtxError
from ctxrepo.index import place
from ctxrepo.settings import compiled
from ctxrepo.workspace.layout import TEAM, Layout, memory_of


def hook_config(
    layout: Layout, user: str, settings: Mapping[str, object], bases: Iterable[tuple[str, str]]
) -> dict[str, object]:
    """The content of the file for one user."""
    stores = {"memory": memory_of(user), "team": TEAM}
    return {
        "user": user,
        "settings": compiled(settings),
        "roots": {key: layout.store_root(name) for key, name in stores.items()},
        "indexes": {key: place.index_dir(layout.state_dir(name)) for key, name in stores.items()},
        "prefix": memory_of(user),
        "bases": [list(base) for base in bases],
    }


def knowledge_bases(root: str) -> list[tuple[str, str]]:
    """(name, purpose) of every active knowledge base in the working tree; a base that cannot be read is left out."""
    folder = os.path.join(root, "knowledge")
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name, "KB.md")
        try:
            with open(path, "rb") as handle:
                fields = parse(decode(handle.read())).fields
        except (OSError, FrontmatterError):
            continue
        if fields.get("status") in (None, "active"):
            found.append((name, " ".join(str(fields.get("description") or fields.get("title") or "").split())))
    return found


def write_if_changed(path: str, content: Mapping[str, object]) -> bool:
    """Writes `content` as JSON unless the file says the same already."""
    data = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"
    try:
        with open(path, "rb") as handle:
            if handle.read() == data:
                return False
    except OSError:
        pass
    try:
        with open(f"{path}.{os.getpid()}", "wb") as handle:
            handle.write(data)
        os.replace(f"{path}.{os.getpid()}", path)
    except OSError as err:
        raise CtxError(f"{path} cannot be written: {err.strerror}.", hint="ctxrepo doctor") from err
    return True
