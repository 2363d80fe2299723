"""`ctxrepo memory …` as a person meets it: what is said, and the next command in every answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.git import git, repository


def test_add_says_where_the_fact_holds_and_how_to_widen_it(ctx: Command, tmp_path: Path) -> None:
    """In a project's folder: that project only, and the command that makes it hold everywhere works."""
    project = repository(tmp_path / "billing")
    git(project, "remote", "add", "origin", "git@github.com:acme/billing.git")
    came = ctx("memory", "add", "We deploy on Tuesday", "--workspace", str(ctx.folder), cwd=project)
    tail = came.lines[0].split()[1]

    assert came.lines == [
        f"Remembered {tail} (fact)",
        f"  memory/me/facts/{came.lines[1].split('/')[3]}/we-deploy-on-tuesday-{tail}.md",
        "  Holds in project github.com/acme/billing only.",
        f'  To make it hold everywhere: ctxrepo memory update {tail} --project "*"',
    ]
    assert "Holds in every project." in ctx("memory", "update", tail, "--project", "*").out


def test_add_in_the_workspace_itself_warns_of_its_narrow_scope(ctx: Command) -> None:
    """The first thing a newcomer does; otherwise the fact would never be recalled in a project."""
    assert "That project is this workspace itself" in ctx("memory", "add", "We deploy on Tuesday").out
    assert "workspace itself" not in ctx("memory", "add", "I like tea", "--kind", "preference").out
    assert "workspace itself" not in ctx("memory", "add", "We deploy", "--project", "github.com/acme/web").out


def test_add_of_a_preference_holds_everywhere(ctx: Command) -> None:
    """And for one agent only when an agent says it."""
    assert ctx("memory", "add", "茶要热的", "--kind", "preference").lines[-1] == "  Holds in every project."
    said = ctx("memory", "add", "Use tabs", "--kind", "preference", "--agent", "codex").lines[-1]
    assert said == "  Holds in every project, for agent codex only."


def test_add_reads_stdin(ctx: Command) -> None:
    """Line breaks are kept, other encodings refused with the command that converts."""
    fact = ctx.json("memory", "add", "-", stdin="第一行\n第二行\n".encode())
    refused = ctx("memory", "add", "-", stdin="中文".encode("gb18030"), code=4)

    assert fact["text"] == "第一行\n第二行"
    assert "not UTF-8" in refused.err
    assert refused.hint.startswith("iconv -f GB18030 -t UTF-8")
    ctx("memory", "add", "-", stdin=b"", code=4)


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("key is sk-abc123456789", 1, "holds a secret (API key); nothing was stored.", "say where it is kept instead"),
        ("zero\u200bwidth", 4, "holds a hidden character, U+200B ZERO WIDTH SPACE", "write it again"),
        ("", 4, "A fact needs words.", 'ctxrepo memory add "…"'),
        ("bad \udcff byte", 4, "is not UTF-8", "iconv"),
    ],
)
def test_what_is_refused_is_explained(ctx: Command, text: str, code: int, message: str, hint: str) -> None:
    """What is wrong, and what to do instead; nothing on stdout."""
    came = ctx("memory", "add", text, code=code)

    assert came.out == ""
    assert message in came.err
    assert hint in came.hint
    assert "abc123456789" not in came.err


def test_add_says_when_a_fact_is_over_already(ctx: Command) -> None:
    """Otherwise one wonders why it is never recalled."""
    assert "which is over, so it is not recalled" in ctx("memory", "add", "Frozen", "--until", "2020-01-01").out


def test_list_is_a_table_with_ids_to_copy(ctx: Command) -> None:
    """Newest first; an empty one says how to see more; a cut one says how much is left."""
    assert ctx("memory", "list").out == "No facts that are active; --all shows every one.\n"
    assert ctx("memory", "list", "--all").out == "No facts.\n"
    first, second = ctx.add("对辣菜过敏", "--kind", "preference"), ctx.add("Tea", "--project", "*")
    listed = ctx("memory", "list", "--limit", "1")

    assert ctx("memory", "list").lines[0].split() == ["id", "created", "kind", "status", "project", "text"]
    assert [line.split()[0] for line in ctx("memory", "list").lines[1:]] == [second, first]
    assert len(listed.lines) == 2
    assert listed.err == "1 more: ctxrepo memory list --limit 2\n"


def test_a_file_written_by_hand_is_listed_with_how_it_gets_an_id(ctx: Command, team: Path) -> None:
    """And has one after that command."""
    path = team / "memory/me/facts/notes/hand.md"
    path.parent.mkdir(parents=True)
    path.write_text("Written by hand\n")
    listed = ctx("memory", "list")

    assert listed.lines[1].split()[0] == "-"
    assert listed.err.strip().endswith("ctxrepo sync")
    ctx("sync")
    assert len(ctx("memory", "list").lines[1].split()[0]) == 6


def test_show_prints_the_file(ctx: Command, team: Path) -> None:
    """Its path, then itself."""
    fact = ctx.json("memory", "add", "Shown")

    assert ctx("memory", "show", fact["tail"]).out == f"{fact['path']}\n{(team / fact['path']).read_text()}"


def test_a_file_cannot_repaint_the_screen(ctx: Command, team: Path) -> None:
    """Escapes, carriage returns and bidirectional marks are written out, in every view."""
    path = team / "memory/me/facts/notes/evil.md"
    path.parent.mkdir(parents=True)
    path.write_text(
        "---\nid: 01M5C439Q0FVFGNZXA20MNEY9S\n---\nred \x1b[31m, back\rover, \u202eright\u2066\n", newline=""
    )
    ctx("sync")

    for arguments in (
        ("memory", "show", "mney9s"),
        ("memory", "list"),
        ("why", "mney9s"),
        ("show", "mney9s"),
        ("memory", "search", "red"),
        ("show", ctx.json("log", "mney9s")["results"][0]["id"]),
    ):
        out = ctx(*arguments).out
        assert not {"\x1b", "\r", "\u202e", "\u2066"} & set(out)
        assert "⟨U+001B⟩[31m" in out


def test_search_has_no_threshold(ctx: Command) -> None:
    """What recall leaves out is found."""
    ctx.add("The office plants need water on Monday", "--project", "*")
    question = "who feeds the museum's plants"

    assert "Nothing recalled." in ctx("recall", question, "--threshold", "1").out
    assert "office plants" in ctx("memory", "search", question).out


def test_update_says_what_changed_and_how_to_undo_it(ctx: Command, team: Path) -> None:
    """The command that it prints works."""
    tail = ctx.add("Deploys on Tuesday", "--project", "*")
    came = ctx("memory", "update", tail, "--text", "Deploys on Wednesday", "--reason", "moved")

    assert came.lines[0] == f"Updated {tail} (fact)"
    undo = came.lines[-1].removeprefix("  Undo with: ctxrepo ").split()
    assert ctx(*undo).lines[0].startswith("Undid ")
    assert ctx.json("memory", "show", tail)["text"] == "Deploys on Tuesday"
    assert ctx("memory", "update", tail, "--text", "Deploys on Tuesday").lines[0].startswith("Nothing to change in")
    assert "Nothing was named" in ctx("memory", "update", tail, code=2).err


def test_delete_says_how_to_bring_it_back(ctx: Command, team: Path) -> None:
    """Several at once are one commit; the same again is not found."""
    tails = [ctx.add(words) for words in ("one", "two")]
    came = ctx("memory", "delete", *tails, "--reason", "just a try")

    assert [line for line in came.lines if line.startswith("Deleted")] == [f"Deleted {tail} (fact)" for tail in tails]
    ctx("memory", "delete", tails[0], code=3)
    ctx(*came.lines[-1].removeprefix("Undo with: ctxrepo ").split())
    assert len(ctx("memory", "list").lines) == 3


def test_an_ambiguous_name_lists_what_it_may_mean(ctx: Command) -> None:
    """Exit code 2, one candidate a line."""
    for words in ("one of two", "two of two"):
        ctx.add(words)
    begin = ctx.json("memory", "list")["results"][0]["id"][:5]
    came = ctx("memory", "show", begin, code=2)

    assert f"'{begin}' means 2 assets." in came.err
    assert "one of two" in came.err
    assert "two of two" in came.err


def test_a_near_miss_shows_what_was_meant(ctx: Command) -> None:
    """A word of the file's name finds nothing, and says so with the name that does."""
    tail = ctx.add("Deploys on Tuesday")
    came = ctx("memory", "show", "deploys", code=3)

    assert "Nothing here is called 'deploys'." in came.err
    assert tail in came.err
    assert came.hint == f"ctxrepo show {tail}"


def test_json_of_every_verb_has_the_fields_of_an_asset(ctx: Command) -> None:
    """id, class, path, text or title, status; lists under `results`."""
    fact = ctx.json("memory", "add", "Deploys go out on Tuesday", "--project", "*")
    wanted = {"id", "class", "path", "status"}

    assert wanted | {"text", "commit", "notes", "project", "agent"} <= set(fact)
    for arguments in (("memory", "list"), ("memory", "search", "deploys"), ("recall", "when do deploys go out")):
        (row,) = ctx.json(*arguments)["results"]
        assert wanted <= set(row)
        assert row["class"] == "memory"
        assert row.get("text") or row.get("title")
    assert wanted <= set(ctx.json("memory", "show", fact["tail"]))
    assert {"changed", "commit"} <= set(ctx.json("memory", "update", fact["tail"], "--importance", "0.9"))
    assert {"results", "commit"} == set(ctx.json("memory", "delete", fact["tail"]))
