"""`ctxrepo memory consolidate | forget | graph | recommend`: what looks at the whole memory at once."""

from __future__ import annotations

import click

from ctxrepo.cli import output
from ctxrepo.cli.call import Call, Choice, Command, pass_call
from ctxrepo.memory.graph import FORMATS

_SHOWN = 30
_WIDTH = 90


def register(root: click.Group) -> None:
    """Adds the commands to the group `memory`, which is there already."""
    memory = root.commands["memory"]
    if isinstance(memory, click.Group):
        for command in (consolidate, forget, graph, recommend, work):
            memory.add_command(command)


@click.command("consolidate", cls=Command)
@click.option("--dry-run", is_flag=True, help="Tell what would be done, write nothing.")
@pass_call
def consolidate(call: Call, dry_run: bool) -> None:
    """Merge what says the same, settle what changed, mark conflicts, forget; one commit.

    Example: ctxrepo memory consolidate --dry-run
    """
    with call.open() as repo:
        found = repo.memory.consolidate(dry_run=dry_run)

    def text() -> None:
        for decision in found["decisions"][:_SHOWN]:
            output.line(f"{decision['sort']}: {decision['why']}")
            for ident, words in zip(decision["ids"], decision["texts"], strict=True):
                output.line(f"  {ident[-6:].lower()}  {output.shortened(words, _WIDTH)}")
        if len(found["decisions"]) > _SHOWN:
            output.note(f"{len(found['decisions']) - _SHOWN} more: use `--json` to see them all.")
        counts = ", ".join(f"{count} {sort}" for sort, count in found["counts"].items()) or "nothing to do"
        output.line(f"{found['facts']} facts: {counts}; {output.counted(len(found['pages']), 'entity page')}.")
        if found["left"]:
            output.note(f"{len(found['left'])} files were changed meanwhile and are left for the next run.")
        output.undo_hint(found["commit"])

    call.emit(found, text)


@click.command("work", cls=Command)
@pass_call
def work(call: Call) -> None:
    """Capture what hooks have left in the spool, and consolidate if the night's run is due.

    The watcher and `ctxrepo sync` start this by themselves.
    """
    from ctxrepo.memory.housework import work as run

    with call.open() as repo:
        found = run(repo)

    def text() -> None:
        output.line(f"{output.counted(found['captured'], 'waiting turn')} captured, {found['given_up']} given up.")
        if found["consolidated"]:
            output.line(f"Consolidated {found['consolidated']['facts']} facts.")

    call.emit(found, text)


@click.command("forget", cls=Command)
@click.option("--dry-run", is_flag=True, help="Tell what would be forgotten, write nothing.")
@pass_call
def forget(call: Call, dry_run: bool) -> None:
    """Take out of recall what your rules and the defaults say; the files stay.

    Example: ctxrepo memory forget --dry-run
    """
    with call.open() as repo:
        found = repo.memory.forget(dry_run=dry_run)

    def text() -> None:
        for row in found["results"]:
            output.line(f"{row['id'][-6:].lower()}  {output.shortened(row['text'], _WIDTH)}")
            output.line(f"  {row['why']}")
        verb = "would be forgotten" if dry_run else "forgotten"
        output.line(f"{output.counted(len(found['results']), 'fact')} {verb}.")
        output.undo_hint(found["commit"])

    call.emit(found, text)


@click.command("graph", cls=Command)
@click.option("--entity", metavar="NAME", help="Only what lies around this thing.")
@click.option("--depth", type=click.IntRange(1, 5), default=1, show_default=True, help="Steps around it.")
@click.option(
    "--format", "form", type=Choice(FORMATS), default="mermaid", show_default=True, help="mermaid, dot, json or svg."
)
@click.option("--limit", type=click.IntRange(1, 300), default=80, show_default=True, help="Things at most.")
@pass_call
def graph(call: Call, entity: str | None, depth: int, form: str, limit: int) -> None:
    """Draw the things that memory is about and how they hang together.

    Example: ctxrepo memory graph --entity 辣菜 --format svg > graph.svg
    """
    from ctxrepo.memory import graph as graphs

    with call.open() as repo:
        found = graphs.of_workspace(repo, entity=entity, depth=depth, limit=limit)
    call.emit(graphs.as_data(found), lambda: output.line(graphs.render(found, form).rstrip("\n")))


@click.command("recommend", cls=Command)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many at most.")
@click.option("--least", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Value they must reach.")
@pass_call
def recommend(call: Call, limit: int, least: float) -> None:
    """List memories that may be worth sharing, with the reasons.

    Example: ctxrepo memory recommend --limit 5
    """
    with call.open() as repo:
        found = repo.memory.recommend(limit=limit, least=least)
    rows = found["results"]

    def text() -> None:
        for row in rows:
            output.line(f"{row['value']:.2f}  {row['id'][-6:].lower()}  {output.shortened(row['text'], _WIDTH)}")
            output.line(f"      {'; '.join(row['reasons'])}")
        output.line(f"{len(rows)} of {found['facts']} facts are worth a look.")

    call.emit(found, text)
