"""What a file becomes in the index: one row of the catalog, and the documents that a search finds.

Pure: bytes in, values out; `writer` reads the files and `schema` talks to tantivy. A fact is one document, so
that its score is its own; longer texts are passages of about 600 characters, because BM25 as tantivy has it
(b = 0.75) buries a short note among long ones. Every passage of a file carries the file's title and description
in `head`, and the first one also in `body`, so that a search of the body alone finds a document by its name.

A fact's `group` is its session and `turn` its place in it; a passage's are its file and its number. Ranking
lifts a hit by its neighbours and its group without knowing which of the two it sees.

Fields that are missing or of a wrong type get the default of their kind (`kinds.values`): `check` complains about
them, and a search must find a hand-written file as it is. The exception is what decides who may see it: a status,
project or agent that is there and makes no sense fits no scope, instead of every one. A file that cannot be read at
all is a row with a problem and no documents, so it is reported and hides nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from zlib import crc32

from ctxrepo.asset.fields import instant
from ctxrepo.asset.frontmatter import FrontmatterError, Parsed, decode, parse
from ctxrepo.asset.kinds import kind_of, values
from ctxrepo.index.reader import KINDS
from ctxrepo.text.analyzer import tokens
from ctxrepo.text.passages import passages

ANY = "*"
LONG_FACT = 2_000
"""Characters from which on even a fact is cut into passages: a pasted log must not be one document."""

TITLE_LENGTH = 120

IMPORTANCE = 0.5
CONFIDENCE = 0.8
"""Of assets whose kind has no such field."""

CLASSES = {
    "fact": "memory",
    "entity": "entity",
    "document": "knowledge",
    "kb": "base",
    "skill": "skill",
    "task": "task",
}
"""Kind of file → class of asset; what is not named here (rules, settings) is catalogued and not searched."""


_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Document:
    """One unit of search. Times are Unix seconds, None = unlimited."""

    body: str
    head: str
    group: int
    turn: int
    kind: int
    created: int
    valid_from: int | None
    valid_until: int | None
    length: int
    importance: float
    confidence: float
    stored: bytes


@dataclass(frozen=True, slots=True)
class Row:
    """What the catalog remembers of a file besides its state on disk. Text as in the file, "" = not given."""

    cls: str
    kind: str = ""
    status: str = ""
    id: str = ""
    title: str = ""
    project: str = ""
    agent: str = ""
    session: str = ""
    turn: int = 0
    created: str = ""
    updated: str = ""
    superseded_by: str = ""
    problem: str = ""
    problem_line: int = 0


@dataclass(frozen=True, slots=True)
class Description:
    """A file, ready for the catalog and the index. `place` is a project, or the base of a knowledge document."""

    row: Row
    place: str = ANY
    agent: str = ANY
    documents: list[Document] = field(default_factory=list)
    stumbled: bool = False  # our own code failed on it: to be tried again at every scan, the next version may do better


def describe(path: str, data: bytes, modified: float, reviewed: bool = True) -> Description | None:
    """What the index keeps of a file.

    Args:
        path: in the workspace, such as `memory/me/facts/2026-11/x.md`; it decides the kind.
        data: the file's bytes.
        modified: its time of modification in Unix seconds, for files that do not say when they were created.
        reviewed: whether the default branch holds it as it is.

    Returns:
        None for a path that is no asset.
    """
    kind = kind_of(path)
    if kind is None:
        return None
    cls = CLASSES.get(kind, kind)
    if kind not in CLASSES:
        return Description(Row(cls, kind=kind, title=_name_of(path)))
    try:
        parsed = parse(decode(data))
    except FrontmatterError as err:
        return unreadable(path, err.message, err.line)
    return _described(path, kind, cls, parsed, modified, reviewed, crc32(data))


def unreadable(path: str, message: str, line: int = 0) -> Description:
    """A file that is there and cannot be used, with the reason."""
    kind = kind_of(path) or ""
    return Description(Row(CLASSES.get(kind, kind), title=_name_of(path), problem=message, problem_line=line))


def _described(
    path: str, kind: str, cls: str, parsed: Parsed, modified: float, reviewed: bool, checksum: int
) -> Description:
    fields = values(kind, parsed.fields)
    text = parsed.body.strip()
    name = _text(fields, "title") or _text(fields, "name")
    row = Row(
        cls=cls,
        kind=_text(fields, "kind") if kind == "fact" else kind,
        status=_guarded(parsed.fields, fields, "status") or "active",
        id=_text(fields, "id"),
        title=(name or _first_line(text) or _name_of(path))[:TITLE_LENGTH],
        project=_guarded(parsed.fields, fields, "project"),
        agent=_guarded(parsed.fields, fields, "agent"),
        session=_text(fields, "session"),
        turn=_turn(fields.get("turn")),
        created=_text(fields, "created"),
        updated=_text(fields, "updated"),
        superseded_by=_text(fields, "superseded_by"),
    )
    if kind in ("document", "kb"):
        where = path.split("/")[1]
    else:
        where = (row.project or ANY) if kind in ("fact", "task") else ANY
    agent = (row.agent or ANY) if kind == "fact" else ANY
    stored: dict[str, object] = {
        "path": path,
        "class": cls,
        "kind": row.kind,
        "status": row.status,
        "id": row.id,
        "title": "" if kind == "fact" else row.title,
        "description": _text(fields, "description"),
        "place": where,
        "agent": agent,
        "created": row.created,
        "updated": row.updated,
        "session": row.session,
        "turn": row.turn,
        "valid_from": _text(fields, "valid_from") or _text(fields, "effective_from"),
        "valid_until": _text(fields, "valid_until") or _text(fields, "effective_until"),
        "superseded_by": row.superseded_by,
        "entities": _list(fields.get("entities")),
        "tags": _list(fields.get("tags")),
        "importance": fields.get("importance", IMPORTANCE),
        "confidence": fields.get("confidence", CONFIDENCE),
        "reviewed": reviewed,
        "crc32": checksum,
    }
    stored = {key: value for key, value in stored.items() if value not in ("", [], None)}
    head = "" if kind == "fact" else _head(fields, row.title)
    created = _seconds(row.created)
    common = _Common(kind == "fact", row, head, int(modified) if created is None else created, stored)
    return Description(row, where, agent, _documents(path, text, common))


@dataclass(frozen=True, slots=True)
class _Common:
    """What all documents of one file share."""

    is_fact: bool
    row: Row
    head: str
    created: int
    stored: dict[str, object]


def _documents(path: str, text: str, common: _Common) -> list[Document]:
    row, is_fact, stored = common.row, common.is_fact, common.stored
    head = tokens(common.head) if common.head else []
    if is_fact and len(text) <= LONG_FACT:
        ranges = [(0, len(text))] if text else []
    else:
        ranges = passages(text) or ([(0, 0)] if head else [])
    group = _group(f"session:{row.session}" if row.session else "") if is_fact else _group(f"file:{path}")
    made = []
    for number, (start, stop) in enumerate(ranges):
        body = tokens(text[start:stop])
        if number == 0 and head:
            body = head + body
        blob = stored | {"text": text[start:stop]}
        if len(ranges) > 1:
            blob |= {"part": number, "parts": len(ranges), "start": start}
        made.append(
            Document(
                body=" ".join(body),
                head=" ".join(head),
                group=group,
                turn=row.turn if is_fact else number,
                kind=KINDS.index(row.kind) if row.kind in KINDS else 0,
                created=common.created,
                valid_from=_seconds(stored.get("valid_from")),
                valid_until=_seconds(stored.get("valid_until"), end=True),
                length=len(body),
                importance=_share(stored["importance"]),
                confidence=_share(stored["confidence"]),
                stored=_encoded(blob).encode(),
            )
        )
    return made


def _seconds(value: object, end: bool = False) -> int | None:
    """Unix seconds of a date or date-time, None if it is neither; with `end` a date alone means its last moment."""
    if not value:
        return None
    try:
        return int(instant(value, end=end))
    except (ValueError, OverflowError):
        return None


def _group(name: str) -> int:
    """A 48-bit number that stands for a session or file; 0 for none."""
    return int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=6).digest()) if name else 0


def _head(fields: Mapping[str, object], title: str) -> str:
    names = [title, _text(fields, "name"), _text(fields, "description"), *_list(fields.get("aliases"))]
    return "\n".join(dict.fromkeys(name for name in names if name))


def _guarded(written: Mapping[str, object], understood: Mapping[str, object], name: str) -> str:
    """A value that decides who may see the file: as written if it was not understood, never the default for it."""
    value, given = understood.get(name), written.get(name)
    if given is None or (isinstance(value, str) and value == given):
        return _text(understood, name)
    return f"{given}"


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def _list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else []


def _turn(value: object) -> int:
    return value if isinstance(value, int) and abs(value) < 2**53 else 0


def _share(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.5


def _first_line(text: str) -> str:
    for line in text.split("\n"):
        found = line.strip().lstrip("#").strip()
        if found:
            return found
    return ""


def _name_of(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[0] or name
