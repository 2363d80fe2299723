"""A generation from the writing side: made beside the current one, swapped in whole, swept away later.

`place` says where things lie; this module makes and removes them and tells whether one is intact. Only the holder
of the index lock calls it.

Intact means: the search index and the catalog belong together and no file of either was cut, exchanged or lost.
The catalog keeps a fingerprint for that: tantivy's opstamp and the size of every segment file, about fifty `stat`
calls. What that cannot see (a flipped byte) shows up when it is read, and the reader marks the index as damaged.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import tantivy

from ctxrepo.disk import Lock, replace
from ctxrepo.errors import CtxError
from ctxrepo.index import place
from ctxrepo.index.catalog import Catalog
from ctxrepo.index.schema import schema

_SYSTEM_FAULT = re.compile(r"\(os error (\d+)\)")
_DEAD = 20_000  # deleted documents that may lie around on top of as many as there are living ones


class IndexBusy(CtxError):
    """Another process writes this index for longer than the caller wants to wait."""

    def __init__(self) -> None:
        super().__init__("Another process is writing the search index.", hint="ctxrepo sync")


@contextmanager
def system_faults() -> Iterator[None]:
    """Gives back as an OSError what the system refused (no space, no right) and tantivy wrapped in a ValueError.

    A file that is missing stays a ValueError: that is damage of the index, and a rebuild mends it.
    """
    try:
        yield
    except ValueError as err:
        found = _SYSTEM_FAULT.search(str(err))
        number = int(found[1]) if found else errno.ENOENT
        if number == errno.ENOENT:
            raise
        raise OSError(number, os.strerror(number)) from err


@contextmanager
def locked(folder: str, wait: float) -> Iterator[None]:
    """Hold the right to write the index in `folder`.

    Args:
        folder: index folder of a store; made if missing.
        wait: seconds to wait for another holder.

    Raises:
        IndexBusy: it was not released in time.
    """
    os.makedirs(folder, exist_ok=True)
    with Lock(os.path.join(folder, place.LOCK), wait) as held:
        if not held:
            raise IndexBusy
        yield


@contextmanager
def building(folder: str) -> Iterator[str]:
    """A new generation to fill; `publish` makes it current. On an error nothing of it stays."""
    path = os.path.join(folder, f"{place.stamp()}-{secrets.token_hex(6)}")
    os.makedirs(os.path.join(path, place.TANTIVY))
    try:
        tantivy.Index(schema(), os.path.join(path, place.TANTIVY), reuse=False)
        save_scopes(path, {})
        yield path
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def publish(folder: str, generation: str) -> None:
    """Make `generation` the one that readers open."""
    replace(os.path.join(folder, place.CURRENT), os.fsencode(os.path.basename(generation) + "\n"))


def sweep(folder: str) -> None:
    """Remove what is neither current nor ours to keep: replaced generations and those of killed builders."""
    keep = {os.path.basename(place.current(folder) or ""), place.CURRENT, place.LOCK, place.BEHIND, place.DAMAGED}
    for name in os.listdir(folder):
        if name in keep:
            continue
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)


def load_scopes(generation: str) -> dict[str, int]:
    """Scope names and their numbers."""
    with open(os.path.join(generation, place.SCOPES), encoding="utf-8") as handle:
        found: dict[str, int] = json.load(handle)
    return found


def save_scopes(generation: str, scopes: dict[str, int]) -> None:
    """Write them; a number must be on disk before the first document that carries it."""
    replace(os.path.join(generation, place.SCOPES), json.dumps(scopes, ensure_ascii=False).encode())


def fingerprint(generation: str) -> str:
    """What the search index's files look like; another text means that they are not those of the last batch.

    Raises:
        OSError, ValueError, KeyError: there is no readable index.
    """
    folder = os.path.join(generation, place.TANTIVY)
    with open(os.path.join(folder, "meta.json"), encoding="utf-8") as handle:
        meta = json.load(handle)
    segments = {segment["segment_id"].replace("-", "") for segment in meta["segments"]}
    sizes = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.split(".", 1)[0] in segments:
                sizes.append((entry.name, entry.stat().st_size))
    return json.dumps([meta["opstamp"], sorted(segments), sorted(sizes)])


def is_intact(generation: str, catalog: Catalog) -> bool:
    """Whether search index and catalog belong together, or a killed writer's batch explains that they do not."""
    if catalog.meta("in_flight") == "1":
        return True
    try:
        load_scopes(generation)
        return catalog.meta("fingerprint") == fingerprint(generation)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_bloated(generation: str) -> bool:
    """Whether deleted documents take far more room than living ones, which only a rebuild gives back.

    Raises:
        OSError, ValueError, KeyError: there is no readable index.
    """
    with open(os.path.join(generation, place.TANTIVY, "meta.json"), encoding="utf-8") as handle:
        segments = json.load(handle)["segments"]
    dead = sum(segment["deletes"]["num_deleted_docs"] for segment in segments if segment["deletes"])
    alive = sum(segment["max_doc"] for segment in segments) - dead
    return bool(dead > alive + _DEAD)
