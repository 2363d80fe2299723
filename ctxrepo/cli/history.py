"""`ctxrepo log | show | why | undo`: what happened, to what, why, and back."""

from __future__ import annotations

from typing import Any

import click

from ctxrepo.cli import output
from ctxrepo.cli.call import Call, Command, pass_call


def register(root: click.Group) -> None:
    """Adds the commands to `ctxrepo`."""
    for command in (log, show, why, undo):
        root.add_command(command)


@click.command(cls=Command)
@click.argument("ref", required=False, metavar="[REF]")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@pass_call
def log(call: Call, ref: str | None, limit: int) -> None:
    """List operations, newest first: of the whole workspace, or of one asset or path.

    Example: ctxrepo log memory/me/facts
    """
    with call.open() as repo:
        found = repo.log(ref, limit=limit)

    def text() -> None:
        rows = [
            (e["id"][: output.SHORT], output.moment(e["time"]), e["store"], _who(e), e["op"] or "-", e["subject"])
            for e in found["results"]
        ]
        output.table(("id", "time", "store", "who", "operation", "what"), rows)

    call.emit(found, text)


@click.command(cls=Command)
@click.argument("ref")
@pass_call
def show(call: Call, ref: str) -> None:
    """Show an asset as its file holds it, or an operation with its diff.

    REF is a path, an id, the beginning or the tail of an id; or the id of an operation from `ctxrepo log`.

    Example: ctxrepo show 3kq9zt
    """
    with call.open() as repo:
        found = repo.show(ref)
    call.emit(found, lambda: _print_operation(found) if found["class"] == "operation" else print_file(found))


def print_file(asset: dict[str, Any]) -> None:
    """An asset: where it lies, and its file as it is."""
    output.heading(asset["path"])
    output.line(asset["source_text"].rstrip())
    if "problem" in asset:
        output.note(f"It cannot be read: {asset['problem']}")


def _print_operation(entry: dict[str, Any]) -> None:
    output.heading(f"{entry['id'][: output.SHORT]}  {entry['subject']}")
    output.line(f"{output.moment(entry['time'])} by {_who(entry)} in {entry['store']}")
    for name, value in entry["trailers"].items():
        output.line(f"{name}: {value}")
    if entry["diff"]:
        output.line()
        output.line(entry["diff"].rstrip())


@click.command(cls=Command)
@click.argument("ref")
@pass_call
def why(call: Call, ref: str) -> None:
    """Say why an asset is believed: source, age, validity, what it replaced, every change.

    Example: ctxrepo why 3kq9zt
    """
    with call.open() as repo:
        found = repo.why(ref)

    def text() -> None:
        output.heading(found["title"])
        output.line(found["path"])
        for sentence in found["because"]:
            output.line(f"  {sentence}")
        if found["chain"]:
            output.line("What took whose place, oldest first")
            rows = [
                (
                    "→" if row["path"] == found["path"] else "",
                    row["tail"],
                    row["created"][:10],
                    row["status"],
                    row["title"],
                )
                for row in found["chain"]
            ]
            output.table(("", "id", "created", "status", "text"), rows)
        output.line("Changes")
        rows = [
            (e["id"][: output.SHORT], output.moment(e["time"]), _who(e), e["op"] or e["subject"], e["reason"])
            for e in found["history"]
        ]
        output.table(("id", "time", "who", "operation", "reason"), rows)

    call.emit(found, text)


@click.command(cls=Command)
@click.argument("op")
@pass_call
def undo(call: Call, op: str) -> None:
    """Undo one operation, named by its id from `ctxrepo log`, with a new commit.

    Example: ctxrepo undo 490ab3725f
    """
    with call.open() as repo:
        found = repo.undo(op)

    def text() -> None:
        what = f"{found['undone'][: output.SHORT]} ({found['subject']})"
        if found["commit"] is None:
            output.line(f"Nothing of {what} is left to undo.")
            return
        output.line(f"Undid {what}.")
        for path in found["paths"]:
            output.line(f"  {path}")
        if found["note"]:
            output.note(found["note"])
        output.line(f"Bring it back with: ctxrepo undo {found['commit'][: output.SHORT]}")

    call.emit(found, text)


def _who(entry: dict[str, Any]) -> str:
    """The person, and the agent that spoke."""
    return f"{entry['actor']} ({entry['agent']})" if entry["agent"] else str(entry["actor"])
