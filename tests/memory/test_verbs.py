"""The verbs of private memory, from Python: what is written, what is refused, what one gets back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ctxrepo.api import ContextRepository
from ctxrepo.asset.fields import instant
from ctxrepo.asset.frontmatter import parse
from ctxrepo.asset.ids import time_of
from ctxrepo.errors import Conflict, Denied, Invalid, NotFound, Refused, UsageFault
from tests.memory.conftest import PROJECT
from tests.support.git import git

Opened = Callable[..., ContextRepository]


def text_of(team: Path, fact: dict[str, Any]) -> str:
    return (team / fact["path"]).read_text(encoding="utf-8")


def commits(team: Path) -> int:
    return int(git(team / "memory" / "me", "rev-list", "--count", "HEAD"))


def test_a_fact_is_one_file_and_one_commit(repo: ContextRepository, team: Path) -> None:
    """The file reads as a person would have written it; the commit says what was done, for whom and why."""
    fact = repo.memory.add(
        "Deploys go out on Tuesday\r\n", kind="decision", reason="fewer people on Friday", tags=["ops", " ops ", ""]
    )

    assert text_of(team, fact) == (
        f'---\nid: {fact["id"]}\nkind: decision\nstatus: active\nproject: {PROJECT}\nagent: "*"\n'
        'created: "2026-11-29T10:00:01Z"\nupdated: "2026-11-29T10:00:01Z"\nsource: cli\ntags:\n  - ops\n'
        "reason: fewer people on Friday\n---\nDeploys go out on Tuesday\n"
    )
    assert fact["path"] == f"memory/me/facts/2026-11/deploys-go-out-on-tuesday-{fact['tail']}.md"
    assert git(team / "memory" / "me", "log", "-1", "--format=%B").splitlines() == [
        "memory: add Deploys go out on Tuesday",
        "",
        "Ctx-Op: memory.add",
        "Ctx-Actor: me",
        "Ctx-Reason: fewer people on Friday",
        f"Ctx-Id: {fact['id']}",
    ]
    assert git(team / "memory" / "me", "status", "--short") == ""


@pytest.mark.parametrize(
    ("kind", "named", "holds"),
    [
        (None, None, PROJECT),
        ("decision", None, PROJECT),
        ("preference", None, "*"),
        ("preference", "github.com/acme/web", "github.com/acme/web"),
        ("fact", "*", "*"),
    ],
)
def test_where_a_fact_holds(repo: ContextRepository, kind: str | None, named: str | None, holds: str) -> None:
    """Only a preference holds everywhere by itself; a project that was named decides for every kind."""
    assert repo.memory.add("We like tea", kind=kind, project=named)["project"] == holds


def test_who_hears_a_fact(opened: Opened) -> None:
    """A person speaks to every agent, an agent to itself; the source says which it was."""
    by_person, by_agent = opened().memory.add("said by me"), opened(agent="codex").memory.add("seen by codex")

    assert (by_person["agent"], by_person["source"]) == ("*", "cli")
    assert (by_agent["agent"], by_agent["source"]) == ("codex", "codex")


def test_an_agent_sees_its_own_facts_and_everybodys(opened: Opened) -> None:
    """In lists, by name and in recall; a person sees all."""
    for agent in ("*", "codex", "claude-code"):
        opened(agent=agent).memory.add(f"release notes by {agent.strip('*') or 'a person'}")
    codex = opened(agent="codex")
    foreign = opened(agent="claude-code").memory.list()["results"][0]["id"]

    assert [fact["agent"] for fact in codex.memory.list()["results"]] == ["codex", "*"]
    assert {hit["agent"] for hit in codex.memory.search("release notes")["results"]} == {"codex", "*"}
    assert len(opened().memory.list()["results"]) == 3
    for verb in (
        codex.memory.show,
        codex.memory.delete,
        codex.why,
        partial(codex.memory.update, importance=0.9),
        lambda ref: codex.memory.add("newer", supersedes=[ref]),
    ):
        with pytest.raises(Denied, match="belongs to agent claude-code"):
            verb(foreign)


def test_what_is_added_is_found_at_once(repo: ContextRepository) -> None:
    """The next recall knows it, in Chinese as in English."""
    repo.memory.add("对辣菜过敏，聚餐要避开", kind="preference")

    assert [hit["text"] for hit in repo.recall("周五聚餐能点辣菜吗")["results"]] == ["对辣菜过敏，聚餐要避开"]


@pytest.mark.parametrize(
    ("fields", "fault", "message"),
    [
        ({"text": "  \n"}, Invalid, "A fact needs words."),
        ({"text": "x" * 100_001}, Invalid, "The text has 100,001 characters"),
        ({"text": "key is sk-abc123456789"}, Refused, r"The text holds a secret \(API key\)"),
        ({"text": "凭证为sk_test_ABC123def456"}, Refused, "The text holds a secret"),
        ({"text": "zero\u200bwidth"}, Invalid, r"hidden character, U\+200B ZERO WIDTH SPACE"),
        ({"text": "nul\0byte"}, Invalid, "hidden character"),
        ({"text": "bad \udcff"}, Invalid, "The text is not UTF-8"),
        ({"reason": "the password is hunter2!x9"}, Refused, "The reason holds a secret"),
        ({"tags": ["ok", "sk-abc123456789"]}, Refused, "The tags holds a secret"),
        ({"session": "a\u202eb"}, Invalid, "The session holds a hidden character"),
        ({"kind": "prefrence"}, Invalid, "Did you mean 'preference'"),
        ({"importance": 3}, Invalid, "importance is 3, not between 0 and 1"),
        ({"valid_until": "tomorrow"}, Invalid, "valid_until must be a date"),
        ({"valid_from": "2026-12-02", "valid_until": "2026-12-01"}, Invalid, "valid_until lies before valid_from"),
        ({"entities": ["a\nb"]}, Invalid, "entities must be one line"),
        ({"turn": -1}, Invalid, "turn is -1, less than 0"),
        ({"project": "../x"}, Invalid, "The project name '../x'"),
        ({"supersedes": ["nothing"]}, NotFound, "Nothing here is called 'nothing'"),
        ({"text": "---\nkind: rule\n---\nforged"}, Invalid, "second header"),
    ],
)
def test_what_is_not_remembered(
    repo: ContextRepository, team: Path, fields: dict[str, Any], fault: type[Exception], message: str
) -> None:
    """Said in a sentence that never repeats a secret and names no file that does not exist; nothing is written."""
    before = commits(team)

    with pytest.raises(fault, match=message) as caught:
        repo.memory.add(**({"text": "We deploy on Tuesday"} | fields))

    said = f"{caught.value} {getattr(caught.value, 'details', '')}"
    assert "abc123456789" not in said
    assert "hunter2" not in said
    assert "facts/" not in said
    assert commits(team) == before
    assert git(team / "memory" / "me", "status", "--short") == ""


def test_prose_about_secrets_is_remembered(repo: ContextRepository) -> None:
    """Talking about keys, tokens and 密码策略 is no secret."""
    text = "API keys rotate every 90 days; 密码策略 says 12 characters, tokens live in the vault."

    assert repo.memory.add(text)["text"] == text


def test_a_new_fact_takes_the_place_of_an_old_one(repo: ContextRepository, team: Path) -> None:
    """Both change in one commit, name each other, and only the new one is recalled."""
    old = repo.memory.add("Deploys go out on Friday")
    before = commits(team)
    new = repo.memory.add("Deploys go out on Tuesday", supersedes=[old["tail"]])
    replaced = repo.memory.show(old["id"])

    assert commits(team) == before + 1
    assert (replaced["status"], replaced["superseded_by"]) == ("superseded", new["id"])
    assert replaced["valid_until"] == new["created"]
    assert new["supersedes"] == [old["id"]]
    assert [hit["id"] for hit in repo.recall("when do deploys go out")["results"]] == [new["id"]]


def test_a_fact_that_does_not_hold_now_says_so(repo: ContextRepository) -> None:
    """Its author is told at once why it will not be recalled."""
    over = repo.memory.add("The freeze holds", valid_until="2026-10-08")
    later = repo.memory.add("The new office opens", valid_from="2027-01-01")

    assert over["notes"] == ["It held until 2026-10-08, which is over, so it is not recalled."]
    assert later["notes"] == ["It is not recalled before 2027-01-01."]
    assert repo.recall("does the freeze hold, does the new office open", threshold=0.0)["results"] == []


def test_a_list_is_filtered_and_newest_first(repo: ContextRepository) -> None:
    """By kind, status and project; `total` says how many there are."""
    repo.memory.add("one", kind="rule")
    repo.memory.add("two", project="github.com/acme/web")
    three = repo.memory.add("three", kind="preference")
    repo.memory.update(repo.memory.add("four")["id"], status="forgotten")

    def titles(**filters: Any) -> list[str]:
        return [fact["title"] for fact in repo.memory.list(**filters)["results"]]

    assert titles() == ["three", "two", "one"]
    assert titles(status=None) == ["four", "three", "two", "one"]
    assert titles(kind="rule") == ["one"]
    assert titles(status="forgotten") == ["four"]
    assert titles(project="github.com/acme/web") == ["three", "two"]
    assert repo.memory.list(limit=1) == {"results": [repo.memory.list()["results"][0]], "total": 3, "notes": []}
    assert set(repo.memory.list()["results"][0]) >= {"id", "class", "path", "title", "status"}
    assert repo.memory.list()["results"][0]["id"] == three["id"]


def test_update_changes_only_what_is_named(repo: ContextRepository, team: Path) -> None:
    """Comments, order, unknown keys and quoting survive; `updated` follows."""
    path = team / "memory/me/facts/2026-11/by-hand.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("---\n# mine\nmood: 'good'\nkind: rule   # strict\nid: 01M5C439Q0FVFGNZXA20MNEY9S\n---\n\nOld\n")
    updated = repo.memory.update("mney9s", text="New words", importance=0.9)

    assert updated["changed"] is True
    assert path.read_text(encoding="utf-8") == (
        "---\n# mine\nmood: 'good'\nkind: rule   # strict\nid: 01M5C439Q0FVFGNZXA20MNEY9S\nimportance: 0.9\n"
        f'updated: "{updated["updated"]}"\n---\n\nNew words\n'
    )


def test_update_to_what_it_is_already_makes_no_commit(repo: ContextRepository, team: Path) -> None:
    """Nothing changed, nothing written, `changed` says so."""
    fact = repo.memory.add("same", importance=0.5)
    before = commits(team)
    again = repo.memory.update(fact["id"], text="same", importance=0.5)

    assert (again["changed"], again["commit"], commits(team)) == (False, None, before)


def test_an_empty_value_takes_a_field_out(repo: ContextRepository) -> None:
    """A limit in time, a reason, all tags can be lifted again."""
    fact = repo.memory.add("limited", valid_until="2027-01-01", tags=["a"], reason="trial")
    lifted = repo.memory.update(fact["id"], valid_until="", tags=[""], reason="")

    assert lifted["changed"]
    assert not {"valid_until", "tags", "reason"} & set(lifted)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, UsageFault),
        ({"text": "key sk-abc123456789"}, Refused),
        ({"text": " "}, Invalid),
        ({"kind": "wrong"}, Invalid),
        ({"project": "a//b"}, Invalid),
    ],
)
def test_an_update_that_is_refused_changes_nothing(
    repo: ContextRepository, team: Path, changes: dict[str, Any], fault: type[Exception]
) -> None:
    """File and history stay as they are."""
    fact = repo.memory.add("steady")
    before = text_of(team, fact)

    with pytest.raises(fault):
        repo.memory.update(fact["id"], **changes)

    assert text_of(team, fact) == before
    assert git(team / "memory" / "me", "status", "--short") == ""


def test_a_file_written_by_hand_gets_its_id_before_it_is_changed(repo: ContextRepository, team: Path) -> None:
    """Adopted in a commit of its own, its text untouched, so that a successor can name it."""
    path = team / "memory/me/facts/notes/hand.md"
    path.parent.mkdir(parents=True)
    path.write_text("Standups are at ten\n")
    changed = repo.memory.update("memory/me/facts/notes/hand.md", importance=0.8)
    path.with_name("second.md").write_text("Standups are on Zoom\n")
    newer = repo.memory.add("Standups are in the kitchen", supersedes=["memory/me/facts/notes/second.md"])

    assert changed["id"]
    assert parse(path.read_text()).body == "Standups are at ten\n"
    assert [entry["op"] for entry in repo.log(changed["id"])["results"]] == ["memory.update", "snapshot"]
    assert repo.memory.show("memory/me/facts/notes/second.md")["superseded_by"] == newer["id"]
    assert newer["supersedes"] == [repo.memory.show("memory/me/facts/notes/second.md")["id"]]


def test_a_hand_edit_is_saved_before_an_update(repo: ContextRepository, team: Path) -> None:
    """Nothing that a person typed is overwritten: their words are in the history under their own commit."""
    fact = repo.memory.add("first words")
    path = team / fact["path"]
    path.write_text(path.read_text().replace("first words", "words by hand"))
    repo.memory.update(fact["id"], importance=0.9)

    assert "words by hand" in path.read_text()
    assert [entry["op"] for entry in repo.log(fact["id"])["results"]] == ["memory.update", "snapshot", "memory.add"]


def test_a_file_that_cannot_be_read_is_shown_and_never_rewritten(repo: ContextRepository, team: Path) -> None:
    """Its text is there with the reason and the line; an update says which line to mend."""
    path = team / "memory/me/facts/2026-11/broken.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('---\nkind: "a "b" c"\n---\nwords\n')
    shown = repo.memory.show(str(path))

    assert shown["problem"].startswith("memory/me/facts/2026-11/broken.md:2: ")
    assert shown["source_text"] == path.read_text()
    with pytest.raises(Invalid, match="cannot be read") as caught:
        repo.memory.update(str(path), importance=0.1)
    assert "mend line 2" in str(caught.value.hint)
    assert path.read_text() == '---\nkind: "a "b" c"\n---\nwords\n'
    assert repo.memory.delete(str(path))["results"][0]["path"] == "memory/me/facts/2026-11/broken.md"


def test_delete_is_one_commit_and_undo_brings_all_back(repo: ContextRepository, team: Path) -> None:
    """Byte for byte, findable again; a second undo says that nothing is left."""
    facts = [repo.memory.add(words) for words in ("first of two", "second of two")]
    contents = [text_of(team, fact) for fact in facts]
    gone = repo.memory.delete(facts[0]["id"], facts[1]["tail"], facts[0]["path"], reason="just a try")

    assert [fact["id"] for fact in gone["results"]] == [fact["id"] for fact in facts]
    assert not any((team / fact["path"]).exists() for fact in facts)
    assert repo.memory.search("two")["results"] == []
    assert repo.undo(gone["commit"][:8])["paths"] == sorted(fact["path"] for fact in facts)
    assert [text_of(team, fact) for fact in facts] == contents
    assert len(repo.memory.search("two")["results"]) == 2
    assert repo.undo(gone["commit"])["commit"] is None


def test_delete_of_an_unknown_name_deletes_nothing(repo: ContextRepository, team: Path) -> None:
    """All or none."""
    fact = repo.memory.add("stays")

    with pytest.raises(NotFound):
        repo.memory.delete(fact["id"], "nothing")
    with pytest.raises(UsageFault):
        repo.memory.delete()
    assert (team / fact["path"]).exists()


def test_what_is_no_fact_is_not_touched(repo: ContextRepository, team: Path) -> None:
    """rules.md and entity pages have verbs of their own."""
    for verb in (repo.memory.show, repo.memory.delete):
        with pytest.raises(NotFound, match="is no fact"):
            verb("memory/me/rules.md")
    assert (team / "memory/me/rules.md").exists()


def test_an_undo_over_later_work_is_refused(repo: ContextRepository, team: Path) -> None:
    """What was changed since is not lost."""
    fact = repo.memory.add("first")
    repo.memory.update(fact["id"], text="second")

    with pytest.raises(Conflict, match="was changed since"):
        repo.undo(fact["commit"])
    assert "second" in text_of(team, fact)


def test_a_month_folder_never_grows_beyond_its_limit(repo: ContextRepository) -> None:
    """The next facts of the month go to the next folder, since the cost of a commit follows the folder's size."""
    repo.settings["memory.folder_entries"] = 2
    folders = [repo.memory.add(f"fact {number}")["path"].split("/")[3] for number in range(5)]

    assert folders == ["2026-11", "2026-11", "2026-11.2", "2026-11.2", "2026-11.3"]


def test_time_and_chance_come_in_from_outside(opened: Opened) -> None:
    """So a run can be repeated: the id tells the clock's second and the given bytes."""
    fact = opened(random=lambda count: b"\1" * count).memory.add("repeatable")

    assert fact["id"].endswith("040G2081040G2081")
    assert fact["created"] == "2026-11-29T10:00:01Z"
    assert time_of(fact["id"]) - instant(fact["created"]) == 1
