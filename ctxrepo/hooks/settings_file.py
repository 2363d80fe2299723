"""Our hooks in an agent's settings, as text: put in, found again, taken out.

The shape is that of Claude Code, which other hosts copied: under `hooks` a list per event, in it groups,
in a group's own `hooks` the handlers with their `command`. What is ours is told by the command alone, so
that a file which the host rewrote, or a person rearranged, can still be disconnected.

`remove_hooks(add_hooks(text))` is `text` again, byte for byte; see `ctxrepo.hooks.jsontext` for how. A file
that did not exist is None, before and after.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ctxrepo.hooks.jsontext import Child, JsonFault, Node, append, apply, came_along, cut, one_line, parse

HOOKS = "hooks"
NEW_FILE = "{\n}\n"
"""What is left of a file that `add_hooks` created, once our hooks are out of it."""


class Entry(NamedTuple):
    """One handler to be called at one event of the host."""

    event: str
    handler: dict[str, Any]


# Places in the path from the root down to a handler.
GROUP, HANDLER = 2, 4


class _Found(NamedTuple):
    event: str
    command: str
    path: list[tuple[Node, Child]]  # each container on the way with the child that leads on


def add_hooks(text: str | None, entries: list[Entry], is_ours: Callable[[str], bool]) -> str:
    """Puts the handlers in, replacing ours that differ; the same text when they are all there.

    Args:
        text: the settings, None for a file that does not exist.
        is_ours: tells by its command whether a handler is one of ours.

    Raises:
        JsonFault: the text is no JSON, or not of the shape that the host reads.
    """
    if text is not None:
        wanted = sorted((entry.event, str(entry.handler["command"])) for entry in entries)
        if sorted((found.event, found.command) for found in _ours(text, is_ours)) == wanted:
            return text
    result = remove_hooks(text, is_ours)
    for entry in entries:
        result = _add(result, entry)
    return result or ""


def remove_hooks(text: str | None, is_ours: Callable[[str], bool]) -> str | None:
    """Takes our handlers out, with the groups, lists and objects that came along with them.

    Returns:
        The settings as they were before; None when the file was ours altogether. Raises as `add_hooks`.
    """
    if text is None:
        return None
    made_by_us = False
    while found := list(_ours(text, is_ours)):
        made_by_us = text.startswith(NEW_FILE[:2])
        text = _remove(text, found[-1].path)
    return None if made_by_us and text == NEW_FILE else text


def _add(text: str | None, entry: Entry) -> str:
    group = {HOOKS: [entry.handler]}
    settings = {HOOKS: {entry.event: [group]}}
    if text is None:
        return json.dumps(settings, ensure_ascii=False, indent=2) + "\n"
    root = _root(text)
    if root is None:
        start = 1 if text.startswith("\ufeff") else 0
        return text[:start] + one_line(settings) + text[start:]
    hooks = root.get(HOOKS)
    if hooks is None:
        return apply(text, append(text, root, HOOKS, settings[HOOKS]))
    groups = _expect(text, hooks, "{").get(entry.event)
    if groups is None:
        return apply(text, append(text, hooks.value, entry.event, [group]))
    return apply(text, append(text, _expect(text, groups, "["), None, group))


def _remove(text: str, path: list[tuple[Node, Child]]) -> str:
    """Cuts at the highest place below which everything is ours."""
    handlers = path[HANDLER][0]
    level = HANDLER if len(handlers.children) > 1 else GROUP
    while 0 < level <= GROUP and len(path[level][0].children) == 1 and came_along(text, path[level][0]):
        level -= 1
    container, child = path[level]
    if level == 0 and len(container.children) == 1 and text[container.start + 1] == " ":
        return text[: container.start] + text[container.end :]
    return apply(text, cut(text, container, child))


def _ours(text: str, is_ours: Callable[[str], bool]) -> Iterator[_Found]:
    """Our handlers in the order of the file; keys that occur twice are all looked at."""
    root = _root(text)
    for member in root.children if root else []:
        for event in member.value.children if member.key == HOOKS else []:
            for group in event.value.children:
                for inner in group.value.children:
                    for handler in inner.value.children if inner.key == HOOKS else []:
                        command = handler.value.get("command")
                        if root and command and command.value.string and is_ours(command.value.string):
                            nodes = (root, member.value, event.value, group.value, inner.value)
                            path = list(zip(nodes, (member, event, group, inner, handler), strict=True))
                            yield _Found(event.key or "", command.value.string, path)


def _root(text: str) -> Node | None:
    root = parse(text)
    if root and root.opening != "{":
        raise JsonFault(text, root.start, "expected an object `{…}` at the top")
    return root


def _expect(text: str, child: Child, opening: str) -> Node:
    if child.value.opening != opening:
        kind = "an object" if opening == "{" else "a list"
        raise JsonFault(text, child.start, f"expected {kind} under `{child.key}`")
    return child.value
