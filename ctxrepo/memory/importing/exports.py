"""Readers of JSON exports: mem0, ChatGPT, and the knowledge graph of the MCP memory server.

*mem0*: a list of memories, under `results` or `memories` or bare, or one a line; the words are in `memory`, `text`,
`content` or `data`.

*chatgpt*: `conversations.json` of a data export, or the ZIP that holds it.  Two things are taken: what ChatGPT itself
kept (messages of the assistant to its tool `bio`), and what a person said that the rules of capture call worth
keeping.  Only the branch that was last shown counts, not abandoned ones; the assistant's words never become facts.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from ctxrepo.errors import Invalid
from ctxrepo.memory.extraction.extract import EVERYWHERE, extract
from ctxrepo.memory.extraction.transcript import Turn, clean, is_machine_made
from ctxrepo.memory.importing.items import LARGEST, Found, Item, Left, read_file, read_json, stamp, texts

_WORDS = ("memory", "text", "content", "data")
_LISTS = ("results", "memories", "data", "items")
_MEMBER = "conversations.json"


def mem0(path: str) -> Found:
    """Reads an export of mem0, or `memory.json` of the MCP memory server."""
    where = os.path.basename(path)
    value = read_json(read_file(path), where)
    for _ in range(2):
        if isinstance(value, Mapping):
            value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    entries = [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
    if not entries:
        raise Invalid(f"{where} holds no list of memories.", hint="export it as JSON with get_all()")
    for number, entry in enumerate(entries, 1):
        place = f"{where}#{entry.get('id') or number}"
        if entry.get("type") in ("entity", "relation"):
            yield from _graph(entry, place)
            continue
        words = next((entry[name] for name in _WORDS if isinstance(entry.get(name), str) and entry[name].strip()), None)
        if words is None:
            yield Left(place, 0, "it has no words")
            continue
        metadata = entry.get("metadata")
        more = metadata if isinstance(metadata, Mapping) else {}
        category = texts(entry.get("categories")) + texts(more.get("category"))
        created = stamp(entry.get("updated_at")) or stamp(entry.get("created_at"))
        yield Item(words.strip(), place, tags=category, created=created, everywhere=bool(entry.get("user_id")))


def _graph(entry: Mapping[str, Any], place: str) -> Found:
    """An entity with observations, or a relation, of the MCP memory server."""
    if entry["type"] == "relation":
        words = " ".join(str(entry.get(name) or "") for name in ("from", "relationType", "to"))
        about = tuple(str(entry[name]) for name in ("from", "to") if entry.get(name))
        yield Item(words.replace("_", " "), place, entities=about)
        return
    name = str(entry.get("name") or "")
    for observation in texts(entry.get("observations")):
        told = observation if name.lower() in observation.lower() else f"{name}: {observation}"
        yield Item(told, place, entities=(name,) if name else (), tags=texts(entry.get("entityType")))


def chatgpt(path: str) -> Found:
    """Reads a data export of ChatGPT: the ZIP, its folder, or `conversations.json`."""
    data, where = _conversations(path)
    value = read_json(data, where)
    if not isinstance(value, list):
        raise Invalid(f"{where} holds no list of conversations.")
    for number, conversation in enumerate(value, 1):
        if not isinstance(conversation, Mapping) or not isinstance(conversation.get("mapping"), Mapping):
            yield Left(f"{where}#{number}", 0, "it is no conversation")
            continue
        name = str(conversation.get("conversation_id") or conversation.get("id") or number)
        yield from _conversation(conversation, f"{where}#{name}")


def _conversations(path: str) -> tuple[bytes, str]:
    if os.path.isdir(path):
        path = os.path.join(path, _MEMBER)
    if not path.endswith(".zip"):
        return read_file(path), os.path.basename(path)
    try:
        with zipfile.ZipFile(io.BytesIO(read_file(path))) as archive:
            names = [name for name in archive.namelist() if name.rpartition("/")[2] == _MEMBER]
            if not names:
                raise Invalid(f"{path} holds no {_MEMBER}.", hint=f"unzip -l {path}")
            with archive.open(names[0]) as member:
                data = member.read(LARGEST + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as fault:
        raise Invalid(f"{path} is no ZIP archive that can be read: {fault}.") from None
    if len(data) > LARGEST:
        raise Invalid(f"{_MEMBER} in {path} has more than {LARGEST:,} bytes.")
    return data, _MEMBER


def _conversation(conversation: Mapping[str, Any], where: str) -> Found:
    answer = ""
    for message in _shown(conversation["mapping"], conversation.get("current_node")):
        text = _words(message)
        author = message.get("author")
        role = author.get("role") if isinstance(author, Mapping) else None
        created = stamp(message.get("create_time") or conversation.get("create_time"))
        place = f"{where}/{message.get('id') or '?'}"
        if role == "assistant" and message.get("recipient") == "bio":
            for line in filter(None, map(str.strip, text.split("\n"))):
                yield Item(line, place, created=created, everywhere=True)
        elif role == "assistant" and message.get("recipient") in (None, "all"):
            answer = clean(text)
        elif role == "user" and text and not is_machine_made(text):
            day = date.fromisoformat(created[:10]) if created else date.min
            for fact in extract(Turn(clean(text)), today=day, before=answer):
                yield Item(
                    fact.text,
                    place,
                    kind=fact.kind,
                    entities=fact.entities,
                    created=created,
                    everywhere=fact.project_scope == EVERYWHERE,
                    reason=fact.reason or "",
                )


def _shown(mapping: Mapping[str, Any], current: object) -> list[Mapping[str, Any]]:
    """The messages from the first to the one shown last; all, by time, when nobody noted which that is."""
    found: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    node = current
    while isinstance(node, str) and node in mapping and node not in seen and isinstance(mapping[node], Mapping):
        seen.add(node)
        message = mapping[node].get("message")
        found += [message] if isinstance(message, Mapping) else []
        node = mapping[node].get("parent")
    if found:
        return found[::-1]
    loose = (node.get("message") for node in mapping.values() if isinstance(node, Mapping))
    return sorted((each for each in loose if isinstance(each, Mapping)), key=_moment)


def _moment(message: Mapping[str, Any]) -> float:
    when = message.get("create_time")
    return float(when) if isinstance(when, int | float) else 0.0


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return "\n".join(_parts(content)) if isinstance(content, Mapping) else ""


def _parts(content: Mapping[str, Any]) -> Iterator[str]:
    if content.get("content_type") not in (None, "text", "multimodal_text"):
        return
    for part in content.get("parts") or []:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield part["text"]
