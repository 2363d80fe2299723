"""Entity pages: what is known about one thing, on one page that a person may edit.

Consolidation owns a block between two comment lines and rewrites it when its content changes; whatever a
person writes above or below stays.  A thing gets a page once two facts are about it.  A page gathers facts from
every project of its owner, so each line names its project, and pages take no part in automatic recall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ctxrepo.asset.frontmatter import Parsed, render
from ctxrepo.memory.facts import EVERYWHERE
from ctxrepo.memory.held import Held
from ctxrepo.text.names import slug

FOLDER = "entities"
BEGIN = "<!-- facts, written by `ctxrepo memory consolidate`; what stands outside of these lines is yours -->"
END = "<!-- end of facts -->"
_FACTS = 40
_LEAST = 2


class Page(NamedTuple):
    """A page to be written."""

    path: str
    content: str
    etag: str  # of the bytes it replaces, "" for a new page


def pages(facts: Sequence[Held], present: Sequence[Held], *, now: str, new_id: Any) -> list[Page]:
    """The pages whose block of facts changed, and new ones.

    Args:
        facts: facts after all other decisions; those alive are told.
        present: the entity pages as they are.
        now: the time as assets write it.
        new_id: makes an id for a new page.
    """
    about: dict[str, list[Held]] = {}
    spelled: dict[str, str] = {}
    for fact in facts:
        if fact.alive:
            for name in dict.fromkeys(fact.lines("entities")):
                about.setdefault(_key(name), []).append(fact)
                spelled.setdefault(_key(name), name)
    written = []
    for page in present:
        names = [_key(name) for name in (*page.lines("title"), *page.lines("aliases"))]
        told = _distinct(fact for name in names for fact in about.pop(name, ()))
        content = _rewritten(page.parsed, told, now)
        if content is not None:
            written.append(Page(page.path, content, page.etag))
    taken = {page.path for page in present}
    for key, told in sorted(about.items()):
        distinct = _distinct(told)
        if len(distinct) < _LEAST:
            continue
        ident = new_id()
        path = f"{FOLDER}/{slug(spelled[key])}.md"
        if path in taken:
            path = f"{FOLDER}/{slug(spelled[key])}-{ident[-6:].lower()}.md"
        taken.add(path)
        header = {"id": ident, "title": spelled[key], "updated": now}
        written.append(Page(path, render(None, header, body=f"\n{_block(distinct)}"), ""))
    return written


def _rewritten(page: Parsed, told: Sequence[Held], now: str) -> str | None:
    """The page with its block anew; None when nothing changed or there is nothing to tell."""
    body = page.body
    start, stop = body.find(BEGIN), body.find(END)
    block = _block(told) if told else ""
    if 0 <= start < stop:
        tail = body[stop + len(END) :].removeprefix("\n")
        new = body[:start] + block + tail
        if not told:
            new = body[:start].rstrip("\n") + "\n" + tail
    elif len(told) >= _LEAST:
        new = f"{body.rstrip(chr(10))}\n\n{block}" if body.strip() else f"\n{block}"
    else:
        return None
    return None if new == body else render(page, {"updated": now}, body=new)


def _block(told: Sequence[Held]) -> str:
    newest = sorted(told, key=lambda fact: (-fact.created, fact.id))
    lines = [_line(fact) for fact in newest[:_FACTS]]
    if len(newest) > _FACTS:
        lines.append(f"- and {len(newest) - _FACTS} older ones")
    return "\n".join([BEGIN, *lines, END]) + "\n"


def _line(fact: Held) -> str:
    text = " ".join(fact.text.replace("<!--", "").replace("-->", "").split())
    text = text if len(text) <= 300 else text[:299] + "…"
    day = str(fact.parsed.fields.get("created") or "")[:10] or "fact"
    marks = [] if fact.fields["project"] in (EVERYWHERE, None, "") else [f"project {fact.fields['project']}"]
    marks += ["in conflict"] if fact.fields["status"] == "conflict" else []
    note = f" ({', '.join(marks)})" if marks else ""
    return f"- {text}{note} [{day}](<../{fact.path}>)"


def _distinct(facts: Iterable[Held]) -> list[Held]:
    return list({fact.path: fact for fact in facts}.values())


def _key(name: str) -> str:
    return " ".join(name.casefold().split())
