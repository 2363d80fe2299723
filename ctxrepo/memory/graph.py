"""The things that memory is about and how they hang together, as a drawing or as data.

Nodes are entities, sized by the facts that name them; an edge joins two that one fact names, heavier with each,
or carries the verb of a relation that extraction wrote down (`relations: ["A | verb | B"]`).  Mermaid and DOT
are text formats for other tools; SVG is drawn here (a spring layout of a hundred nodes is forty lines, a
drawing library is a dependency).  Names come out of anybody's text, so every format escapes them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import combinations
from typing import Any, NamedTuple

from ctxrepo.errors import NotFound
from ctxrepo.memory.held import Held, read_all
from ctxrepo.workspace.workspace import Workspace

FORMATS = ("mermaid", "dot", "json", "svg")
MOST = 80
_NAMES = 12  # entities of one fact that are joined with each other; more make a list, not a relation


class Node(NamedTuple):
    """An entity."""

    name: str
    facts: tuple[str, ...]  # ids of the facts that name it


class Edge(NamedTuple):
    """Two entities that facts join; `label` is a verb, "" when they only occur together."""

    one: str
    other: str
    label: str
    weight: int


class Graph(NamedTuple):
    """What is drawn."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph(
    facts: Iterable[Held], *, entity: str | None = None, depth: int = 1, limit: int = MOST,
    aliases: Mapping[str, str] | None = None,
) -> Graph:  # fmt: skip
    """Builds the graph of facts that are recalled.

    Args:
        entity: only what lies within `depth` steps of it; None for everything.
        depth: steps to go from `entity`.
        limit: nodes at most; those that most facts name stay.
        aliases: other names, case-folded, to the name that stands for them (see `alias_names`).

    Raises:
        NotFound: no fact names `entity`.
    """
    known = dict(aliases or {})
    named: dict[str, list[str]] = {}
    together: Counter[tuple[str, str, str]] = Counter()
    for fact in facts:
        if not fact.alive:
            continue
        names = list(dict.fromkeys(_spelled(name, known) for name in fact.lines("entities")))
        told = [_relation(line, known) for line in fact.lines("relations")]
        for one, verb, other in filter(None, told):
            together[one, other, verb] += 1
            names += [name for name in (one, other) if name not in names]
        for name in names:
            named.setdefault(name, []).append(fact.id)
        joined = {frozenset((one, other)) for one, _, other in filter(None, told)}
        for one, other in combinations(names[:_NAMES], 2):
            if frozenset((one, other)) not in joined:
                together[(*sorted((one, other)), "")] += 1  # type: ignore[index]
    chosen = set(named)
    if entity is not None:
        start = _spelled(entity, known)
        if start not in named:
            raise NotFound(f"No fact names {entity!r}.", hint="ctxrepo memory graph")
        chosen = _within(start, depth, together)
    ranked = sorted(chosen, key=lambda name: (-len(named[name]), name))
    if entity is not None:
        ranked.sort(key=lambda name: name != _spelled(entity, known))
    kept = set(ranked[:limit])
    nodes = tuple(Node(name, tuple(dict.fromkeys(named[name]))) for name in ranked[:limit])
    edges = (Edge(*ends, weight) for ends, weight in sorted(together.items()) if kept.issuperset(ends[:2]))
    return Graph(nodes, tuple(edges))


def alias_names(pages: Iterable[Held]) -> dict[str, str]:
    """Aliases of entity pages to their titles, both ways of writing case-folded."""
    return {
        _fold(alias): title
        for page in pages
        for title in page.lines("title")[:1]
        for alias in (title, *page.lines("aliases"))
    }


def of_workspace(workspace: Workspace, *, entity: str | None = None, depth: int = 1, limit: int = MOST) -> Graph:
    """The graph of a workspace's user; other names of a thing count as the thing."""
    aliases = alias_names(read_all(workspace, "entities", "entity"))
    return graph(read_all(workspace), entity=entity, depth=depth, limit=limit, aliases=aliases)


def render(found: Graph, form: str) -> str:
    """The graph as text in one of `FORMATS`."""
    return _RENDERERS[form](found)


def as_data(found: Graph) -> dict[str, Any]:
    """The graph as plain lists and dicts."""
    return {
        "nodes": [{"name": node.name, "facts": list(node.facts)} for node in found.nodes],
        "edges": [
            {"from": edge.one, "to": edge.other, "label": edge.label, "weight": edge.weight} for edge in found.edges
        ],
    }


def _fold(name: str) -> str:
    return " ".join(name.casefold().split())


def _spelled(name: str, known: dict[str, str]) -> str:
    """One spelling for all ways to write a name: the first that was met, or its page's title."""
    return known.setdefault(_fold(name), " ".join(name.split()))


def _relation(line: str, known: dict[str, str]) -> tuple[str, str, str] | None:
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != 3 or not all(parts):
        return None
    return _spelled(parts[0], known), parts[1], _spelled(parts[2], known)


def _within(start: str, depth: int, edges: Iterable[tuple[str, str, str]]) -> set[str]:
    beside: dict[str, set[str]] = {}
    for one, other, _ in edges:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    found, border = {start}, {start}
    for _ in range(depth):
        border = {name for known in border for name in beside.get(known, ())} - found
        found |= border
    return found


def _mermaid(found: Graph) -> str:
    number = {node.name: f"n{at}" for at, node in enumerate(found.nodes)}
    lines = ["graph LR"]
    lines += [f'    {number[node.name]}["{_mermaid_text(node.name)} ({len(node.facts)})"]' for node in found.nodes]
    for edge in found.edges:
        arrow = f'-->|"{_mermaid_text(edge.label)}"|' if edge.label else "---"
        lines.append(f"    {number[edge.one]} {arrow} {number[edge.other]}")
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    """Text inside quotes: Mermaid knows entities, written `#name;`, and breaks at most punctuation."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return "".join(f"#{ord(char)};" if char in '"#<>&|[]{}();\\`' else char for char in plain)


def _dot(found: Graph) -> str:
    lines = ["graph memory {", "    node [shape=box, style=rounded];"]
    lines += [f"    {_dot_text(node.name)} [tooltip={_dot_text(f'{len(node.facts)} facts')}];" for node in found.nodes]
    for edge in found.edges:
        details = f"label={_dot_text(edge.label)}, dir=forward" if edge.label else f"penwidth={min(5, edge.weight)}"
        lines.append(f"    {_dot_text(edge.one)} -- {_dot_text(edge.other)} [{details}];")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_text(text: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json(found: Graph) -> str:
    return json.dumps(as_data(found), ensure_ascii=False, indent=2) + "\n"


def _svg(found: Graph) -> str:
    width, height = 960, 640
    at = _layout(found, width, height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for edge in found.edges:
        (x, y), (u, v) = at[edge.one], at[edge.other]
        stroke = min(4, edge.weight)
        parts.append(
            f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{u:.0f}" y2="{v:.0f}" stroke="#b8bec8" stroke-width="{stroke}"/>'
        )
        if edge.label:
            middle = f'x="{(x + u) / 2:.0f}" y="{(y + v) / 2:.0f}"'
            parts.append(f'<text {middle} fill="#6b7280" text-anchor="middle">{_svg_text(edge.label)}</text>')
    for node in found.nodes:
        x, y = at[node.name]
        radius = 5 + min(14, 3 * math.sqrt(len(node.facts)))
        parts.append(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.0f}" fill="#4f7cac">'
            f"<title>{_svg_text(node.name)}: {len(node.facts)} facts</title></circle>"
            f'<text x="{x:.0f}" y="{y - radius - 4:.0f}" text-anchor="middle">{_svg_text(node.name)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _svg_text(text: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in text)
    return escape(plain if len(plain) <= 40 else plain[:39] + "…")


def _layout(found: Graph, width: float, height: float, rounds: int = 120) -> dict[str, tuple[float, float]]:
    """Places of the nodes: a spring per edge, repulsion between all, begun on a circle, so always the same."""
    names = [node.name for node in found.nodes]
    if not names:
        return {}
    place = {
        name: [math.cos(2 * math.pi * n / len(names)), math.sin(2 * math.pi * n / len(names))]
        for n, name in enumerate(names)
    }
    ideal = 1.6 / math.sqrt(len(names))
    for turn in range(rounds):
        push = {name: [0.0, 0.0] for name in names}
        for one, other in combinations(names, 2):
            _pull(place, push, one, other, lambda gap: -ideal * ideal / gap)
        for edge in found.edges:
            if edge.one != edge.other:
                _pull(place, push, edge.one, edge.other, lambda gap: gap * gap / ideal)
        heat = 0.15 * (1 - turn / rounds)
        for name, (dx, dy) in push.items():
            size = math.hypot(dx, dy) or 1.0
            place[name][0] += dx / size * min(size, heat)
            place[name][1] += dy / size * min(size, heat)
    return _scaled(place, width, height)


def _pull(
    place: Mapping[str, Sequence[float]], push: Mapping[str, list[float]], one: str, other: str,
    force: Callable[[float], float],
) -> None:  # fmt: skip
    dx, dy = place[other][0] - place[one][0], place[other][1] - place[one][1]
    gap = max(0.01, math.hypot(dx, dy))
    pull = force(gap) / gap
    push[one][0] += dx * pull
    push[one][1] += dy * pull
    push[other][0] -= dx * pull
    push[other][1] -= dy * pull


def _scaled(place: Mapping[str, Sequence[float]], width: float, height: float) -> dict[str, tuple[float, float]]:
    xs, ys = zip(*place.values(), strict=True)
    wide, high = max(xs) - min(xs) or 1.0, max(ys) - min(ys) or 1.0
    margin = 60.0
    return {
        name: (
            margin + (x - min(xs)) / wide * (width - 2 * margin),
            margin + (y - min(ys)) / high * (height - 2 * margin),
        )
        for name, (x, y) in place.items()
    }


_RENDERERS: dict[str, Callable[[Graph], str]] = {"mermaid": _mermaid, "dot": _dot, "json": _json, "svg": _svg}
