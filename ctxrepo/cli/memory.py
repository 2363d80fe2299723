"""`ctxrepo memory …`: the private facts of one user."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from ctxrepo.asset.kinds import FACT_KINDS, FACT_STATUSES
from ctxrepo.cli import output
from ctxrepo.cli.call import Call, Choice, Group, pass_call
from ctxrepo.cli.history import print_file
from ctxrepo.cli.recall import print_hits
from ctxrepo.errors import Invalid
from ctxrepo.workspace.layout import current_folder

EVERYWHERE = "*"


def register(root: click.Group) -> None:
    """Adds the group to `ctxrepo`."""
    root.add_command(memory)


@click.group(cls=Group)
def memory() -> None:
    """What is known about you and your work: add, list, show, search, update, delete."""


def _fact_options(command: Any) -> Any:
    """The header fields that `add` and `update` set."""
    options = [
        click.option("--kind", type=Choice(FACT_KINDS), metavar="KIND", help=f"{', '.join(FACT_KINDS)}."),
        click.option("--importance", type=click.FloatRange(0, 1), help="0 to 1; 0.5 when not given."),
        click.option("--confidence", type=click.FloatRange(0, 1), help="0 to 1; 0.8 when not given."),
        click.option("--entity", "entities", multiple=True, metavar="NAME", help="A thing it is about; repeatable."),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="A free label; repeatable."),
        click.option("--from", "valid_from", metavar="DATE", help="Holds from this day or time on."),
        click.option("--until", "valid_until", metavar="DATE", help="Holds until this day or time."),
        click.option("--reason", metavar="WHY", help="Why; stands in the file and in the commit."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _read_text(text: str) -> str:
    """The words of a fact: as given, or from stdin for `-`."""
    if text != "-":
        return text
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise Invalid(
            f"What came on stdin is not UTF-8 (byte {fault.start}); nothing was stored.",
            hint="iconv -f GB18030 -t UTF-8 FILE | ctxrepo memory add -",
        ) from None


def print_fact(fact: dict[str, Any], verb: str) -> None:
    """What happened to which fact, and where it holds."""
    named = fact["tail"] or "(no id)"
    output.line(f"{verb} {named} ({fact.get('kind') or 'fact'})")
    output.line(f"  {fact['path']}")


def _print_scope(fact: dict[str, Any]) -> None:
    where = "every project" if fact["project"] == EVERYWHERE else f"project {fact['project']} only"
    whom = "" if fact["agent"] == EVERYWHERE else f", for agent {fact['agent']} only"
    output.line(f"  Holds in {where}{whom}.")
    for note in fact["notes"]:
        output.line(f"  {note}")


@memory.command("add")
@click.argument("text")
@_fact_options
@click.option("--supersedes", "supersedes", multiple=True, metavar="REF", help="A fact that it replaces; repeatable.")
@click.option("--session", metavar="ID", help="The session it comes from.")
@click.option("--turn", type=click.IntRange(0), metavar="N", help="Its place in that session.")
@pass_call
def add(call: Call, /, text: str, **fields: Any) -> None:
    """Remember TEXT; `-` reads it from stdin.

    A preference holds in every project, anything else in the project of the current folder; --project P
    names another, --project "*" makes it hold everywhere.

    Example: ctxrepo memory add "对辣菜过敏，聚餐要避开" --kind preference
    """
    with call.open() as repo:
        fact = repo.memory.add(_read_text(text), project=call.project, **fields)
        in_workspace = _stands_in(repo.layout.root) and not repo.settings["project"]

    def show() -> None:
        print_fact(fact, "Remembered")
        _print_scope(fact)
        if call.project or fact["project"] == EVERYWHERE:
            return
        output.line(f'  To make it hold everywhere: ctxrepo memory update {fact["tail"]} --project "*"')
        if in_workspace:
            output.line("  That project is this workspace itself; in a project's own folder its facts hold there.")

    call.emit(fact, show)


def _stands_in(root: str) -> bool:
    """Whether the current folder is the workspace, or lies in it."""
    here = os.path.realpath(current_folder())
    top = os.path.realpath(root)
    return here == top or here.startswith(top + os.sep)


@memory.command("list")
@click.option("--kind", type=Choice(FACT_KINDS), metavar="KIND", help=f"{', '.join(FACT_KINDS)}.")
@click.option("--status", type=Choice(FACT_STATUSES), metavar="STATUS", help=f"{', '.join(FACT_STATUSES)}.")
@click.option("--all", "everything", is_flag=True, help="Whatever its status.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True)
@pass_call
def list_(call: Call, kind: str | None, status: str | None, everything: bool, limit: int) -> None:
    """List facts, newest first; only active ones unless told otherwise.

    With --project only what holds in that project.

    Example: ctxrepo memory list --kind preference
    """
    with call.open() as repo:
        wanted = None if everything else status or "active"
        found = repo.memory.list(kind=kind, status=wanted, project=call.project, limit=limit)

    def text() -> None:
        rows = [
            (f["tail"] or "-", f["created"][:10] or "-", f["kind"], f["status"], f["project"], f["title"])
            for f in found["results"]
        ]
        if not rows:
            output.line("No facts." if everything else f"No facts that are {wanted}; --all shows every one.")
            for note in found["notes"]:
                output.note(note)
            return
        output.table(("id", "created", "kind", "status", "project", "text"), rows)
        if found["total"] > len(rows):
            output.note(f"{found['total'] - len(rows)} more: ctxrepo memory list --limit {found['total']}")
        if any(not fact["id"] for fact in found["results"]):
            output.note("Files written by hand get an id and dates with: ctxrepo sync")

    call.emit(found, text)


@memory.command("show")
@click.argument("ref")
@pass_call
def show(call: Call, ref: str) -> None:
    """Show one fact as its file holds it. REF: path, id, or the beginning or tail of the id.

    Example: ctxrepo memory show 3kq9zt
    """
    with call.open() as repo:
        fact = repo.memory.show(ref)
    call.emit(fact, lambda: print_file(fact))


@memory.command("search")
@click.argument("query")
@click.option("--knowledge", is_flag=True, help="Search the team's reviewed documents as well.")
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True)
@pass_call
def search(call: Call, query: str, knowledge: bool, limit: int) -> None:
    """Search facts for QUERY, best first, however little relevant.

    Example: ctxrepo memory search invoice
    """
    with call.open() as repo:
        found = repo.memory.search(query, knowledge=knowledge, limit=limit)
    call.emit(found, lambda: print_hits(found))


@memory.command("update")
@click.argument("ref")
@click.option("--text", metavar="TEXT", help="The new words; `-` reads them from stdin.")
@_fact_options
@click.option(
    "--status",
    type=Choice(("active", "invalidated", "forgotten")),
    metavar="STATUS",
    help="active, invalidated (was wrong) or forgotten (out of recall).",
)
@pass_call
def update(call: Call, /, ref: str, text: str | None, **fields: Any) -> None:
    """Change a fact; only what is named changes, and an empty value takes a field out.

    With --project P it holds there from now on, with --project "*" everywhere.

    Example: ctxrepo memory update 3kq9zt --text "Deploys go out on Tuesday" --importance 0.8
    """
    with call.open() as repo:
        words = None if text is None else _read_text(text)
        fact = repo.memory.update(ref, text=words, project=call.project, **fields)

    def shown() -> None:
        print_fact(fact, "Updated" if fact["changed"] else "Nothing to change in")
        if fact["changed"]:
            _print_scope(fact)
            output.line(f"  Undo with: ctxrepo undo {fact['commit'][: output.SHORT]}")

    call.emit(fact, shown)


@memory.command("delete")
@click.argument("refs", nargs=-1, required=True, metavar="REF…")
@click.option("--reason", metavar="WHY", help="Why; stands in the commit.")
@pass_call
def delete(call: Call, refs: tuple[str, ...], reason: str | None) -> None:
    """Delete facts in one commit; `ctxrepo undo` brings them back.

    Example: ctxrepo memory delete 3kq9zt --reason "just a try"
    """
    with call.open() as repo:
        found = repo.memory.delete(*refs, reason=reason)

    def text() -> None:
        for fact in found["results"]:
            print_fact(fact, "Deleted")
        output.undo_hint(found["commit"])

    call.emit(found, text)
