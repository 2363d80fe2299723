"""What a snapshot adds to files that people wrote by hand: an id and dates, nothing else.

A person may drop a Markdown file into `facts/` with no header at all, or copy one and change its
words.  The first gets an id and dates in the commit that adopts it, its text untouched; the second claims the id
of its original, so the copy gets one of its own (the file that was known first keeps it).  A file that
cannot be read is committed as it is: `ctxrepo check` says what is wrong with it.  So are `rules.md` and
other files that nobody looks up by id.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse, render
from ctxrepo.asset.kinds import KINDS, kind_of
from ctxrepo.index.catalog import Catalog
from ctxrepo.index.documents import CLASSES

DATES = ("created", "updated")


def missing_header(
    kind: str, fields: Mapping[str, object], *, new_id: Callable[[], str], now: str
) -> dict[str, object]:
    """The entries that a hand-written file of this kind lacks; `now` as assets write times."""
    known = {field.name for field in KINDS[kind].fields}
    added: dict[str, object] = {"id": new_id()} if "id" in known and not fields.get("id") else {}
    return added | {name: now for name in DATES if name in known and not fields.get(name)}


def adoption(
    store: str, root: str, catalog: Catalog, *, new_id: Callable[[], str], now: str
) -> Callable[[str, bytes], bytes | None]:
    """The `adopt` function of a snapshot.

    Args:
        store: name of the private store, such as `memory/me`.
        root: its working tree.
        catalog: its catalog, brought up to date.
        new_id: makes an id.
        now: the time to write.
    """
    claims = {ident: _owner(root, paths) for ident, paths in catalog.duplicates().items()}

    def adopt(path: str, data: bytes) -> bytes | None:
        kind = kind_of(f"{store}/{path}")
        if kind not in CLASSES:
            return None
        try:
            parsed = parse(decode(data))
        except FrontmatterError:
            return None
        fields = dict(parsed.fields)
        if claims.get(str(fields.get("id") or ""), path) != path:
            del fields["id"]
        changes = missing_header(kind, fields, new_id=new_id, now=now)
        return render(parsed, changes).encode() if changes else None

    return adopt


def _owner(root: str, paths: Sequence[str]) -> str:
    """Which of the files that claim an id keeps it: the first known that is still there."""
    return next((path for path in paths if os.path.exists(os.path.join(root, path))), paths[0])
