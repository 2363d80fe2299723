"""A Markdown note as statements: list items and paragraphs, each with its line and the headings above it.

Code blocks, tables, HTML comments, quotations of other notes and rules are no statements.  An item that ends in a colon
only introduces those below it and is put before each of them.  Links and emphasis become their words, because a
memory is read without its note; links to other notes are kept as what the statement is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,3}[.)])[ \t]+(?P<text>.*)$")
_TASK = re.compile(r"\[([ xX/-])\][ \t]+")
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|%%.*?(?:%%|\Z)", re.DOTALL)
_RULE = re.compile(r"[ \t]*(?:[-*_][ \t]*){3,}$")
_WIKI = re.compile(r"(?P<embed>!?)\[\[(?P<target>[^\[\]|#^]*)(?:[#^][^\[\]|]*)?(?:\|(?P<label>[^\[\]]*))?\]\]")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[(?P<label>[^\[\]]+)\]\((?P<target>[^()\s]*)[^()]*\)")
_STRONG = re.compile(r"(\*\*|(?<!\w)__)(?=\S)(.+?)(?<=\S)\1(?![\w(]|\.\w)")
_EMPHASIS = re.compile(r"(?<![\w*_])([*_])(?=[^\s*_])([^*_\n]+?)(?<=[^\s*_])\1(?![\w*_])")
_STRUCK = re.compile(r"~~.+?~~")
_TAG = re.compile(r"(?:(?<=\s)|^)#(?P<tag>[^\W\d][\w/-]*)")
_BLOCK_ID = re.compile(r"\s\^[\w-]+$")


class Statement(NamedTuple):
    """One statement of a note."""

    text: str
    line: int
    headings: tuple[str, ...]
    item: bool  # in a list
    task: bool = False  # a box to tick


def statements(body: str, first_line: int = 1) -> Iterator[Statement]:
    """Yields the statements of a note's body, in order.

    Args:
        body: without front-matter.
        first_line: the line of the file in which it begins.
    """
    headings: list[tuple[int, str]] = []
    above: list[tuple[int, str]] = []  # (indentation, item that introduces)
    held: list[str] = []
    start = depth = 0
    is_item = task = False
    fence = ""

    def finish() -> Iterator[Statement]:
        nonlocal task
        text = " ".join(part.strip() for part in held)
        held.clear()
        if not text:
            return
        if is_item and text.rstrip("*_ ").endswith((":", "：")):
            above.append((depth, text))
            return
        led = " ".join([*(each for _, each in above if is_item), text])
        yield Statement(led, start, tuple(title for _, title in headings), is_item, task)
        task = False

    plain = _HIDDEN.sub(lambda found: "\n" * found[0].count("\n"), body)
    for number, line in enumerate(plain.split("\n"), first_line):
        mark = _FENCE.match(line)
        if fence or mark:
            yield from finish()
            if not fence and mark:
                fence = mark[1]
            elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        heading, item = _HEADING.match(line), _ITEM.match(line)
        if not line.strip() or heading or _RULE.match(line) or line.lstrip().startswith(("|", ">")):
            yield from finish()
            if heading:
                level = len(heading[1])
                headings[:] = [each for each in headings if each[0] < level] + [(level, unmarked(heading[2]))]
            if heading or line.strip():
                above.clear()
        elif item:
            yield from finish()
            depth = len(item["indent"].expandtabs(4))
            above[:] = [each for each in above if each[0] < depth]
            box = _TASK.match(item["text"])
            is_item, task, start = True, box is not None, number
            held.append(item["text"][box.end() :] if box else item["text"])
        elif held:
            held.append(line)
        else:
            if not line.startswith((" ", "\t")):
                above.clear()
            is_item, task, start = False, False, number
            held.append(line)
    yield from finish()


def unmarked(text: str) -> str:
    """The words of a line: links and emphasis without their marks, tags and pictures gone, code marks kept."""
    parts = re.split(r"(`[^`]+`)", text)
    for at in range(0, len(parts), 2):
        part = _IMAGE.sub("", _STRUCK.sub("", parts[at]))
        part = _WIKI.sub(lambda found: "" if found["embed"] else (found["label"] or found["target"]).strip(), part)
        part = _LINK.sub(_labelled, part)
        part = _STRONG.sub(r"\2", part)
        part = _EMPHASIS.sub(r"\2", part)
        parts[at] = _BLOCK_ID.sub("", _TAG.sub("", part))
    return " ".join("".join(parts).split())


def links(text: str) -> tuple[str, ...]:
    """Names of the notes that a text links to."""
    named = (found["target"].rpartition("/")[2].strip() for found in _WIKI.finditer(text) if not found["embed"])
    return tuple(dict.fromkeys(name for name in named if name))


def tags(text: str) -> tuple[str, ...]:
    """Tags that stand in a text, without their sign."""
    return tuple(dict.fromkeys(found["tag"] for found in _TAG.finditer(re.sub(r"`[^`]*`", "", text))))


def _labelled(found: re.Match[str]) -> str:
    """A link's label, with the address behind it where that is one on the net."""
    outside = found["target"].startswith(("http://", "https://")) and found["target"] != found["label"]
    return f"{found['label']} ({found['target']})" if outside else found["label"]
