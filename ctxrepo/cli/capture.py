"""`ctxrepo memory capture` and `ctxrepo memory rule …`."""

from __future__ import annotations

from typing import Any

import click

from ctxrepo.asset.kinds import FACT_KINDS
from ctxrepo.cli import output
from ctxrepo.cli.call import Call, Choice, Command, Group, pass_call


def register(root: click.Group) -> None:
    """Adds the commands to the group `memory`, which is there already."""
    memory = root.commands["memory"]
    if isinstance(memory, click.Group):
        memory.add_command(capture)
        memory.add_command(rule)


@click.command("capture", cls=Command)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--session", help="The session's name, when the data does not say.")
@click.option("--dry-run", is_flag=True, help="Tell what would be remembered; write nothing.")
@pass_call
def capture(call: Call, file: Any, session: str | None, dry_run: bool) -> None:
    """Remember what a turn or a transcript holds.

    FILE or stdin: `{"user": …, "assistant": …}`, `{"messages": […]}`, or a transcript of Claude Code (JSONL).

    Example: echo '{"user": "我对辣菜过敏。", "assistant": "好的。"}' | ctxrepo memory capture
    """
    data = file.read().decode("utf-8", "replace")
    with call.open() as repo:
        found = repo.memory.capture(data, session=session, dry_run=dry_run)
    call.emit(found, lambda: _print_captured(found, dry_run))


def _print_captured(found: dict[str, Any], dry_run: bool) -> None:
    for row in found["results"]:
        name = row["path"] or row["id"]
        output.line(f"{row['action']} ({row['kind']}): {row['text']}")
        if not dry_run:
            output.line(f"  {name}")
        for old in row["replaces"]:
            output.line(f"  instead of {old[-6:].lower()}")
    for row in found["left_out"]:
        output.note(f"Left out, {row['why']}: {row['text']}" if row["text"] else f"Left out: {row['why']}")
    if not found["results"]:
        output.line("Nothing worth remembering.")


@click.group("rule", cls=Group)
def rule() -> None:
    """What to remember and what not: set, list, test, remove.

    \b
    A condition: text ~ 'pattern', kind = preference, kind in (fact, experience),
    project = 'github.com/acme/shop', project ended, tag = x, entity = x,
    importance < 0.4, uses < 2, age > 90d, never recalled in 90d, expired, always;
    joined by and, or, not and brackets.
    """


@rule.command("set")
@click.argument("name")
@click.option("--when", required=True, help="The condition.")
@click.option("--do", "action", required=True, type=Choice(("ignore", "remember", "forget", "keep")))
@click.option("--kind", type=Choice(FACT_KINDS), help="With remember: the kind that it gets.")
@click.option("--importance", type=click.FloatRange(0, 1), help="With remember: the importance that it gets.")
@pass_call
def set_(call: Call, name: str, when: str, action: str, kind: str | None, importance: float | None) -> None:
    """Add a rule, or replace the one of that name.

    Example: ctxrepo memory rule set no-salaries --when "text ~ 'salary|工资'" --do ignore
    """
    from ctxrepo.memory.rulebook import Rulebook

    with call.open() as repo:
        found = Rulebook(repo).set(name, when=when, do=action, kind=kind, importance=importance)
    call.emit(found, lambda: output.line(f"Rule {name} is set."))


@rule.command("list")
@pass_call
def list_(call: Call) -> None:
    """List the rules, and the lines of rules.md that are none."""
    from ctxrepo.memory.rulebook import Rulebook

    with call.open() as repo:
        found = Rulebook(repo).list()

    def text() -> None:
        output.table(("name", "do", "when"), [(row["name"], _action(row), row["when"]) for row in found["results"]])
        for fault in found["problems"]:
            output.note(f"rules.md:{fault['line']}:{fault['column']}: {fault['message']}")

    call.emit(found, text)


def _action(row: dict[str, Any]) -> str:
    kind = f" kind {row['kind']}" if "kind" in row else ""
    importance = f" importance {row['importance']:g}" if "importance" in row else ""
    return f"{row['do']}{kind}{importance}"


@rule.command("test")
@click.argument("name")
@pass_call
def test(call: Call, name: str) -> None:
    """Show which present facts a rule matches; nothing is changed."""
    from ctxrepo.memory.rulebook import Rulebook

    with call.open() as repo:
        found = Rulebook(repo).test(name)

    def text() -> None:
        output.line(
            f"{found['rule']['name']} ({_action(found['rule'])}) matches {output.counted(found['total'], 'fact')}"
        )
        rows = [(row["id"][-6:].lower(), row["kind"], output.shortened(row["text"], 80)) for row in found["results"]]
        output.table(("id", "kind", "text"), rows)

    call.emit(found, text)


@rule.command("remove")
@click.argument("name")
@pass_call
def remove(call: Call, name: str) -> None:
    """Take a rule out."""
    from ctxrepo.memory.rulebook import Rulebook

    with call.open() as repo:
        found = Rulebook(repo).remove(name)
    call.emit(found, lambda: output.line(f"Rule {name} is gone."))
