"""`ctxrepo recall`: what a prompt would bring back, and why."""

from __future__ import annotations

from typing import Any

import click

from ctxrepo.cli import output
from ctxrepo.cli.call import Call, Choice, Command, pass_call
from ctxrepo.recall.answers import CLASSES

SUMMARY = 100
"""Characters of a hit's text in a table; `--json` gives all of it."""

WEIGHTS = ("relevance", "match", "time", "importance", "confidence")
"""Factors whose product, with match to the fourth power, is the score."""

MATCH = ("own", "neighbours", "session")
"""Parts of match; every other factor says how relevance came about."""


def register(root: click.Group) -> None:
    """Adds the command to `ctxrepo`."""
    root.add_command(recall)


@click.command(cls=Command)
@click.argument("query")
@click.option("--knowledge", is_flag=True, help="Recall from the team's reviewed documents as well.")
@click.option(
    "--class",
    "classes",
    multiple=True,
    type=Choice(tuple(CLASSES)),
    metavar="CLASS",
    help=f"What to search instead of memory: {', '.join(CLASSES)}. Repeatable.",
)
@click.option("--limit", type=click.IntRange(1, 200), help="At most so many; the setting recall.limit when not given.")
@click.option(
    "--threshold", type=click.FloatRange(0, 1), help="Least relevance; the setting recall.threshold when not given."
)
@click.option("--explain", is_flag=True, help="Show every factor, and what was left out and why.")
@pass_call
def recall(
    call: Call,
    query: str,
    knowledge: bool,
    classes: tuple[str, ...],
    limit: int | None,
    threshold: float | None,
    explain: bool,
) -> None:
    """Recall what the prompt QUERY would bring back.

    Example: ctxrepo recall "周五聚餐能点辣菜吗" --explain
    """
    with call.open() as repo:
        found = repo.recall(
            query, knowledge=knowledge, classes=classes, limit=limit, threshold=threshold, explain=explain
        )
    call.emit(found, lambda: print_hits(found))


def print_hits(found: dict[str, Any]) -> None:
    """Hits as a table, with factors and omissions when they were asked for."""
    rows = [
        (
            f"{hit['score']:.2f}",
            f"{hit['relevance']:.2f}",
            hit["tail"] or "-",
            hit["kind"] + (", in conflict" if hit.get("status") == "conflict" else ""),
            hit["created"][:10] or "-",
            _summary(hit),
        )
        for hit in found["results"]
    ]
    if rows:
        output.table(("score", "relevance", "id", "kind", "created", "text"), rows)
    else:
        output.line("Nothing recalled.")
        for note in found["notes"]:
            output.note(note)
    if "left_out" in found:
        _print_reasons(found)
    elif "nearest" in found:
        near = found["nearest"]
        output.line(
            f"The nearest, {near['tail'] or near['path']}, has relevance {near['relevance']:.2f}, "
            f"less than {found['threshold']:g}; --explain says why."
        )


def _print_reasons(found: dict[str, Any]) -> None:
    output.line()
    asked = ", ".join(f"{name} {found[name]}" for name in ("user", "agent", "project", "threshold"))
    output.line(f"Asked for {asked}")
    output.line(f"Searched  {' '.join(found['terms'])}")
    for hit in found["results"]:
        _print_factors(hit)
    if found["left_out"]:
        output.line("Left out")
        rows = [(left["tail"] or left["path"], left["why"], _summary(left)) for left in found["left_out"]]
        output.table(("id", "why", "text"), rows)


def _print_factors(hit: dict[str, Any]) -> None:
    """The score as a product, and below it what relevance and match are made of."""
    factors: dict[str, float] = hit["factors"]
    name = hit["tail"] or hit["path"]
    parts = {
        "relevance": [key for key in factors if key not in (*WEIGHTS, *MATCH)],
        "match": [key for key in MATCH if key in factors],
    }
    output.line(f"{name}  score {hit['score']:.2f} = {' × '.join(_factor(key, factors[key]) for key in WEIGHTS)}")
    for whole, keys in parts.items():
        output.line(f"{' ' * len(name)}  {whole}: " + ", ".join(f"{key} {factors[key]:g}" for key in keys))


def _factor(name: str, value: float) -> str:
    return f"{name} {value:g}⁴" if name == "match" else f"{name} {value:g}"


def _summary(hit: dict[str, Any]) -> str:
    """The first words of a hit; a document is named by its title, which its text need not repeat."""
    title, text = hit.get("title", ""), " ".join(hit["text"].split())
    words = f"{title}: {text.removeprefix(f'# {title}').lstrip()}" if title else text
    return words if len(words) <= SUMMARY else words[: SUMMARY - 1] + "…"
