"""`ctxrepo memory …`: the private facts of one user."""

from __future__ import annotations

import sys
from typing import Any

import click

from ctxrepo.cli import output
from ctxrepo.cli.main import Call, Group

KINDS = ("preference", "rule", "decision", "correction", "fact", "experience", "task-state")
pass_call = click.make_pass_decorator(Call, ensure=True)


def register(root: click.Group) -> None:
    """Adds the group to `ctxrepo`."""
    root.add_command(memory)


@click.group(cls=Group)
def memory() -> None:
    """What is known about you and your work: add, list, show, search, update, delete."""


def _fact_options(command: Any) -> Any:
    """The header fields that `add` and `update` set."""
    options = [
        click.option("--kind", type=click.Choice(KINDS), help="What sort of fact it is."),
        click.option("--importance", type=click.FloatRange(0, 1), help="0 to 1; 0.5 when not given."),
        click.option("--confidence", type=click.FloatRange(0, 1), help="0 to 1; 0.8 when not given."),
        click.option("--entity", "entities", multiple=True, help="A named thing it is about; repeatable."),
        click.option("--tag", "tags", multiple=True, help="Repeatable."),
        click.option("--from", "valid_from", metavar="DATE", help="Holds from this day or time on."),
        click.option("--until", "valid_until", metavar="DATE", help="Holds until this day or time."),
        click.option("--reason", help="Why; stands in the commit too."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _read_text(text: str) -> str:
    return sys.stdin.buffer.read().decode("utf-8") if text == "-" else text


def print_fact(fact: dict[str, Any], verb: str) -> None:
    """One line that says what happened to which fact."""
    output.line(f"{verb} {fact['id']} ({fact['kind']}, project {fact['project']}, agent {fact['agent']})")
    output.line(f"  {fact['path']}")


@memory.command("add")
@click.argument("text")
@_fact_options
@click.option("--supersedes", "supersedes", multiple=True, metavar="REF", help="A fact that this one replaces.")
@click.option("--session", help="The session it comes from.")
@click.option("--turn", type=int, help="Its place in that session.")
@pass_call
def add(call: Call, /, text: str, **fields: Any) -> None:
    """Remember TEXT (`-` reads it from stdin).

    Example: ctxrepo memory add "对辣菜过敏，聚餐要避开" --kind preference
    """
    with call.open() as repo:
        fact = repo.memory.add(_read_text(text), **fields)
    call.emit(fact, lambda: print_fact(fact, "Added"))


@memory.command("list")
@click.option("--kind", type=click.Choice(KINDS))
@click.option("--status", help="active, superseded, invalidated, forgotten, candidate or conflict.")
@click.option("--all", "everything", is_flag=True, help="Whatever its status.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@pass_call
def list_(call: Call, kind: str | None, status: str | None, everything: bool, limit: int) -> None:
    """List facts, newest first; only active ones unless told otherwise.

    Example: ctxrepo memory list --kind preference
    """
    with call.open() as repo:
        wanted = None if everything else status or "active"
        found = repo.memory.list(kind=kind, status=wanted, project=call.options.get("project"), limit=limit)

    def text() -> None:
        rows = [
            (f["tail"], f["created"][:10], f["kind"], f["status"], f["project"], f["title"]) for f in found["results"]
        ]
        output.table(("id", "created", "kind", "status", "project", "text"), rows)
        if found["total"] > len(rows):
            output.note(f"{found['total'] - len(rows)} more: use `--limit {found['total']}`.")

    call.emit(found, text)


@memory.command("show")
@click.argument("ref")
@pass_call
def show(call: Call, ref: str) -> None:
    """Show one fact as its file holds it. REF: path, id, or the beginning or tail of the id."""
    with call.open() as repo:
        fact = repo.memory.show(ref)
    call.emit(fact, lambda: output.line(f"{fact['path']}\n{fact['source_text'].rstrip()}"))


@memory.command("search")
@click.argument("query")
@click.option("--knowledge", is_flag=True, help="Search the shared knowledge you may read as well.")
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True)
@pass_call
def search(call: Call, query: str, knowledge: bool, limit: int) -> None:
    """Search facts for QUERY, best first, without the recall threshold."""
    from ctxrepo.cli.workspace import print_hits

    with call.open() as repo:
        found = repo.recall(query, knowledge=knowledge, limit=limit, threshold=0.0)
    call.emit(found, lambda: print_hits(found))


@memory.command("update")
@click.argument("ref")
@click.option("--text", help="The new words; `-` reads them from stdin.")
@_fact_options
@click.option(
    "--status", type=click.Choice(("active", "invalidated", "forgotten")), help="Was wrong, or out of recall."
)
@pass_call
def update(call: Call, /, ref: str, text: str | None, **fields: Any) -> None:
    """Change a fact; only what is named changes.

    Example: ctxrepo memory update 3kq9zt --text "Deploys go out on Tuesday" --importance 0.8
    """
    with call.open() as repo:
        words = None if text is None else _read_text(text)
        fact = repo.memory.update(ref, text=words, project=call.options.get("project"), **fields)
    call.emit(fact, lambda: print_fact(fact, "Updated" if fact["changed"] else "Nothing to change in"))


@memory.command("delete")
@click.argument("refs", nargs=-1, required=True, metavar="REF…")
@click.option("--reason", help="Why; stands in the commit.")
@pass_call
def delete(call: Call, refs: tuple[str, ...], reason: str | None) -> None:
    """Delete facts; `ctxrepo undo` brings them back."""
    with call.open() as repo:
        found = repo.memory.delete(*refs, reason=reason)

    def text() -> None:
        for fact in found["results"]:
            print_fact(fact, "Deleted")
        output.line(f"Undo with: ctxrepo undo {found['commit'][:10]}")

    call.emit(found, text)
