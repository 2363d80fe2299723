"""Readers of folders of Markdown: instructions for agents, Basic Memory, Obsidian.

*claude-md* (CLAUDE.md, AGENTS.md and the like, a file or a folder of a project): every list item and paragraph is an
instruction. A link that imports another file (`@docs/style.md`) is named, not followed.

*basic-memory*: observations `- [category] text #tag (context)`; relations say what a note is about. A note without
observations is a document, which belongs in a knowledge base; so it is named and left.

*obsidian*: a short note is one memory, of a longer one the list items; what is prose or a task to tick is counted and
left. Templates, trash and settings are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ctxrepo.asset.frontmatter import FrontmatterError, Parsed, parse
from ctxrepo.memory.importing.items import Found, Item, Left, markdown_files, read_text, stamp, texts
from ctxrepo.memory.importing.markdown import links, statements, tags, unmarked

INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "MEMORY.md")
_SHORT = 400
_CATEGORIES = {
    "decision": "decision",
    "preference": "preference",
    "rule": "rule",
    "requirement": "rule",
    "constraint": "rule",
    "correction": "correction",
    "lesson": "experience",
    "insight": "experience",
    "experience": "experience",
    "learning": "experience",
}
_OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()]{1,60})\]\s+(?P<text>.+)$", re.DOTALL)
_RELATION = re.compile(r"(?P<verb>[^\[\]]{0,80}?)\s*\[\[(?P<target>[^\[\]]+)\]\]\s*(?:\([^()]*\))?\s*$")
_CONTEXT = re.compile(r"\s+\((?P<context>[^()]+)\)\s*$")
_IMPORT = re.compile(r"(?:^|\s)@(?P<path>[\w./~-]+\.\w+)")


def claude_md(path: str) -> Found:
    """Reads instruction files; of a folder those with a usual name, at any depth, and `.claude/`."""
    for file, where in _instruction_files(path):
        note = _note(file, where)
        if isinstance(note, Left):
            yield note
            continue
        for each in statements(note.body, note.body_line):
            imported = _IMPORT.search(each.text)
            if imported and len(each.text.split()) <= 6:
                yield Left(where, each.line, f"it imports {imported['path']}; import that file as well")
                continue
            text = unmarked(each.text)
            if _says_something(text):
                about = tuple(title for title in each.headings[1:] if title)
                yield Item(text, where, each.line, kind="rule", tags=_as_tags(about))


def basic_memory(path: str) -> Found:
    """Reads notes with observations and relations."""
    for file, where in markdown_files(path, ("node_modules",)):
        note = _note(file, where)
        if isinstance(note, Left):
            yield note
            continue
        title = str(note.fields.get("title") or os.path.basename(file).removesuffix(".md"))
        created = stamp(note.fields.get("created") or note.fields.get("date"))
        about = [title]
        found = []
        for each in statements(note.body, note.body_line):
            observed = _OBSERVATION.match(each.text) if each.item and not each.task else None
            if observed:
                found.append((each.line, observed["category"].strip().lower(), observed["text"]))
            elif each.item and (related := _RELATION.match(each.text)):
                about.append(unmarked(f"[[{related['target']}]]"))
        for line, category, raw in found:
            context = _CONTEXT.search(raw)
            named = (*tags(raw), *texts(note.fields.get("tags")))
            yield Item(
                unmarked(raw[: context.start()] if context else raw),
                where,
                line,
                kind=_CATEGORIES.get(category, ""),
                entities=(title, *links(raw)),
                tags=_as_tags((category, *named)),
                created=created,
                reason=context["context"] if context else "",
            )
        if not found:
            yield Left(where, 0, "it holds no observations; as a document it belongs in a knowledge base", title)


def obsidian(path: str) -> Found:
    """Reads the notes of a vault."""
    for file, where in markdown_files(path, ("templates", "Templates", "_templates")):
        note = _note(file, where)
        if isinstance(note, Left):
            yield note
            continue
        title = os.path.basename(file).removesuffix(".md")
        created = stamp(note.fields.get("created") or note.fields.get("date"))
        common = texts(note.fields.get("tags"))
        said = list(statements(note.body, note.body_line))
        whole = " ".join(unmarked(each.text) for each in said)
        if said and len(whole) <= _SHORT and not any(each.task or each.headings for each in said):
            raw = " ".join(each.text for each in said)
            named = _as_tags((*common, *tags(raw)))
            about = (title, *links(raw))
            yield Item(_titled(title, whole), where, said[0].line, entities=about, tags=named, created=created)
            continue
        left = [each for each in said if each.task or not each.item]
        for each in said:
            text = unmarked(each.text)
            if each.item and not each.task and _says_something(text):
                about = (title, *links(each.text))
                named = _as_tags((*common, *tags(each.text)))
                yield Item(text, where, each.line, entities=about, tags=named, created=created)
        if left:
            yield Left(where, left[0].line, f"{len(left)} paragraphs or tasks are no single statements", title)


def _note(file: str, where: str) -> Parsed | Left:
    text = read_text(file, where)
    if isinstance(text, Left):
        return text
    try:
        return parse(text)
    except FrontmatterError as fault:
        return Left(where, fault.line, f"its header cannot be read: {fault.message}")


def _instruction_files(path: str) -> Iterator[tuple[str, str]]:
    if not os.path.isdir(path):
        yield from markdown_files(path)
        return
    for file, where in markdown_files(path, ("node_modules", "vendor", "dist", "build")):
        if os.path.basename(file) in INSTRUCTIONS:
            yield file, where
    own = os.path.join(path, ".claude")
    if os.path.isdir(own) and not os.path.islink(own):
        for file, where in markdown_files(own, ("skills", "commands", "agents", "plugins", "projects")):
            yield file, f".claude/{where}"


def _titled(title: str, text: str) -> str:
    """The words of a short note, after its title unless they repeat it."""
    words = [word for word in re.split(r"\W+", title.lower()) if word]
    return text if all(word in text.lower() for word in words) else f"{title}: {text}"


def _says_something(text: str) -> bool:
    """Whether a line is more than a name: two words, or four Chinese characters."""
    return len(text.split()) >= 2 or sum(char >= "\u2e80" for char in text) >= 4


def _as_tags(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(" ".join(name.split()).lstrip("#")[:60] for name in names if name.strip("# ")))
