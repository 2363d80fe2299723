"""Consolidation: what it decides, that it loses nothing, and that it is one commit that can be taken back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxrepo.api import ContextRepository
from ctxrepo.asset.check import check
from ctxrepo.asset.frontmatter import parse
from ctxrepo.errors import Refused
from ctxrepo.memory import usage
from ctxrepo.memory.consolidation.consolidate import consolidate
from ctxrepo.memory.consolidation.pages import BEGIN
from ctxrepo.memory.consolidation.planning import decide
from ctxrepo.memory.consolidation.restraint import alone
from ctxrepo.memory.held import read_all
from ctxrepo.store import history
from tests.support.git import git

STORE = "memory/me"


def statuses(repo: ContextRepository) -> dict[str, str]:
    return {fact.text: str(fact.fields["status"]) for fact in read_all(repo)}


def commits(repo: ContextRepository) -> int:
    return len(history.log(repo.store(STORE), limit=1000))


class Slow:
    """A model that is waited for: while it thinks, the test does something."""

    def __init__(self, meanwhile: Callable[[], object], answer: str | None = None) -> None:
        self.meanwhile = meanwhile
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def __call__(self, old: str, new: str) -> str | None:
        self.asked.append((old, new))
        if len(self.asked) == 1:
            worker = threading.Thread(target=self.meanwhile)
            worker.start()
            worker.join(30)
            assert not worker.is_alive()
        return self.answer


def test_what_says_the_same_becomes_one_fact(repo: ContextRepository) -> None:
    """Sources and counts add up, the better wording stays, the others name it and leave recall."""
    first = repo.memory.add("I prefer pnpm", session="a", turn=3, entities=["pnpm"], importance=0.4)
    repo.memory.add("The user prefers pnpm.", session="b", tags=["tools"], importance=0.8)
    best = repo.memory.add("User prefers pnpm as package manager", session="c", entities=["npm"])

    found = consolidate(repo)

    kept, *losers = sorted(read_all(repo), key=lambda fact: str(fact.fields["status"]))
    assert kept.id == best["id"]
    assert kept.fields["importance"] == 0.8
    assert sorted(kept.lines("sources")) == ["cli#a:3", "cli#b", "cli#c"]
    assert kept.number("seen") == 3
    assert set(kept.lines("entities")) == {"pnpm", "npm"}
    assert kept.lines("tags") == ["tools"]
    assert kept.number("confidence") > 0.8
    assert [str(loser.fields["superseded_by"]) for loser in losers] == [kept.id, kept.id]
    assert found["counts"] == {"merged": 2}
    assert [hit["text"] for hit in repo.recall("which package manager, pnpm?")["results"]] == [kept.text]
    assert repo.memory.show(first["id"])["text"] == "I prefer pnpm"


def test_a_change_ends_the_old_fact_and_an_error_denies_it(repo: ContextRepository) -> None:
    """Superseded keeps its time of validity, invalidated never was true, and both name their successor."""
    old = repo.memory.add("项目经理是王芳")
    new = repo.memory.add("项目经理换成了陈晨")
    wrong = repo.memory.add("The tax rate is 19 %")
    right = repo.memory.add("That was wrong, the tax rate is 7 %")

    consolidate(repo)

    ended, denied = repo.memory.show(old["id"]), repo.memory.show(wrong["id"])
    assert (ended["status"], ended["superseded_by"], ended["valid_until"]) == ("superseded", new["id"], new["created"])
    assert (denied["status"], denied["superseded_by"]) == ("invalidated", right["id"])
    assert "valid_until" not in denied
    assert list(repo.memory.show(new["id"])["supersedes"]) == [old["id"]]


def test_a_contradiction_marks_both_and_is_recalled(repo: ContextRepository) -> None:
    """Nobody said which holds, so both stay, name each other and are recalled with that mark."""
    one = repo.memory.add("The office is in Berlin")
    other = repo.memory.add("The office is in Hamburg")

    consolidate(repo)

    shown = [repo.memory.show(fact["id"]) for fact in (one, other)]
    assert [fact["status"] for fact in shown] == ["conflict", "conflict"]
    assert [list(fact["conflicts_with"]) for fact in shown] == [[other["id"]], [one["id"]]]
    assert {hit["status"] for hit in repo.recall("where is the office", threshold=0)["results"]} == {"conflict"}


def test_a_contradiction_that_somebody_decided_stays_decided(repo: ContextRepository) -> None:
    """Made active again, both are left alone; with one deleted, the other is active by the next run."""
    one = repo.memory.add("The office is in Berlin")
    other = repo.memory.add("The office is in Hamburg")
    consolidate(repo)
    for fact in (one, other):
        repo.memory.update(fact["id"], status="active")

    assert consolidate(repo)["commit"] is None

    third = repo.memory.add("Line length is 100")
    fourth = repo.memory.add("Line length is 120")
    consolidate(repo)
    repo.memory.delete(third["id"])
    consolidate(repo)
    assert repo.memory.show(fourth["id"])["status"] == "active"
    assert "conflicts_with" not in repo.memory.show(fourth["id"])


def test_projects_and_agents_keep_their_own(opened: Callable[..., ContextRepository]) -> None:
    """The same words in two projects, or of two agents, are two facts; what holds everywhere takes in the rest."""
    repo = opened()
    repo.memory.add("The test command is make check", project="github.com/acme/a")
    repo.memory.add("The test command is make check", project="github.com/acme/b")
    opened(agent="codex").memory.add("Answers are in French", project="github.com/acme/a")
    opened(agent="cursor").memory.add("Answers are in French", project="github.com/acme/a")
    assert consolidate(repo)["commit"] is None

    everywhere = repo.memory.add("The test command is make check", project="*")
    found = consolidate(repo)

    assert found["counts"] == {"merged": 2}
    assert found["decisions"][0]["ids"][0] == everywhere["id"]


def test_running_twice_changes_nothing(repo: ContextRepository) -> None:
    """After a run there is nothing left to decide, so there is no second commit."""
    for text in (
        "We use npm", "We switched from npm to pnpm", "用户住在上海", "用户搬到深圳了", "The office is in Berlin",
        "The office is in Hamburg", "User likes dark mode", "The user prefers a dark theme", "Retries happen 3 times",
        "Correction: retries happen 5 times, not 3",
    ):  # fmt: skip
        repo.memory.add(text, entities=["office", "npm"])
    first = consolidate(repo)
    files = {fact.path: fact.etag for fact in read_all(repo)}

    second = consolidate(repo)

    assert set(first["counts"]) == {"merged", "superseded", "invalidated", "conflict"}
    assert second["commit"] is None
    assert (second["decisions"], second["pages"]) == ([], [])
    assert files == {fact.path: fact.etag for fact in read_all(repo)}


def test_a_dry_run_tells_and_writes_nothing(repo: ContextRepository, team: Path) -> None:
    """What would be done is told with its reasons; no file and no commit comes of it."""
    repo.memory.add("Standup is at 9:30")
    repo.memory.add("The standup is at 9:30")
    before, files = commits(repo), {fact.path: fact.etag for fact in read_all(repo)}

    found = consolidate(repo, dry_run=True)

    assert found["counts"] == {"merged": 1}
    assert set(found["decisions"][0]["texts"]) == {"Standup is at 9:30", "The standup is at 9:30"}
    assert found["commit"] is None
    assert (commits(repo), {fact.path: fact.etag for fact in read_all(repo)}) == (before, files)


def test_one_commit_that_explains_itself(repo: ContextRepository) -> None:
    """Whatever a run does is one commit whose subject counts and whose trailers name each decision."""
    for text in ("Standup is at 9:30", "The standup is at 9:30", "We use npm", "We switched from npm to pnpm"):
        repo.memory.add(text)
    before = commits(repo)

    found = consolidate(repo)

    entry = history.entry(repo.store(STORE), found["commit"])
    assert commits(repo) == before + 1
    assert entry.op == "memory.consolidate"
    assert entry.subject == "memory: consolidate (1 merged, 1 superseded)"
    assert [value.split()[0] for key, value in entry.trailers if key == "Ctx-Decision"] == ["merged", "superseded"]


def test_a_run_can_be_undone_and_is_not_repeated(repo: ContextRepository) -> None:
    """Undo brings every file back, and the next run respects that a person wanted it so."""
    repo.memory.add("Standup is at 9:30")
    repo.memory.add("The standup is at 9:30")
    before = {fact.path: fact.etag for fact in read_all(repo)}
    found = consolidate(repo)

    repo.undo(found["commit"])

    assert {fact.path: fact.etag for fact in read_all(repo)} == before
    assert consolidate(repo)["counts"] == {}


def test_a_fact_added_while_a_model_thinks_is_still_there(
    repo: ContextRepository, opened: Callable[..., ContextRepository]
) -> None:
    """No lock is held while a model is asked, and what is added meanwhile is not touched."""
    repo.memory.add("The billing export for Linden runs with flag A in summer")
    repo.memory.add("The billing export for Linden runs without flag A after autumn")
    other = opened()

    def meanwhile() -> None:
        other.memory.add("The meeting room is called Oslo")

    model = Slow(meanwhile, "supersede")
    found = consolidate(repo, llm=model)

    assert model.asked
    assert "The meeting room is called Oslo" in statuses(repo)
    assert statuses(repo)["The meeting room is called Oslo"] == "active"
    assert found["counts"] == {"superseded": 1}


def test_an_edit_while_a_model_thinks_wins(repo: ContextRepository, opened: Callable[..., ContextRepository]) -> None:
    """A fact that would be merged and is edited meanwhile keeps the edit; the run leaves it and the next takes it."""
    kept = repo.memory.add("Standup is at 9:30")
    loser = repo.memory.add("The standup is at 9:30")
    repo.memory.add("We use npm")
    repo.memory.add("We switched from npm to pnpm")
    repo.memory.add("The billing export for Linden runs with flag A in summer")
    repo.memory.add("The billing export for Linden runs without flag A after autumn")
    other = opened()

    found = consolidate(repo, llm=Slow(lambda: other.memory.update(loser["id"], text="Standup is at 9:45 on Fridays")))

    assert repo.memory.show(loser["id"])["text"] == "Standup is at 9:45 on Fridays"
    assert repo.memory.show(loser["id"])["status"] == "active"
    assert repo.memory.show(kept["id"])["status"] == "active"
    assert len(found["left"]) == 1
    assert found["counts"] == {"superseded": 1}


def test_a_delete_and_a_hand_edit_while_a_model_thinks_win(
    repo: ContextRepository, opened: Callable[..., ContextRepository]
) -> None:
    """A file deleted or edited by hand meanwhile stays so; nothing is written over it or brought back."""
    one = repo.memory.add("Standup is at 9:30")
    two = repo.memory.add("The standup is at 9:30")
    three = repo.memory.add("We use npm")
    repo.memory.add("We switched from npm to pnpm")
    repo.memory.add("The billing export for Linden runs with flag A in summer")
    repo.memory.add("The billing export for Linden runs without flag A after autumn")
    other = opened()
    by_hand = Path(repo.layout.store_root(STORE)).parent.parent / three["path"]

    def meanwhile() -> None:
        other.memory.delete(one["id"])
        by_hand.write_text(by_hand.read_text(encoding="utf-8").replace("We use npm", "We use npm 10"), "utf-8")

    consolidate(repo, llm=Slow(meanwhile))

    assert "We use npm 10" in by_hand.read_text(encoding="utf-8")
    assert statuses(repo)["We use npm 10"] == "active"
    assert repo.memory.show(two["id"])["status"] == "active"
    assert one["id"] not in {fact.id for fact in read_all(repo)}


def test_two_runs_never_overlap(repo: ContextRepository, opened: Callable[..., ContextRepository]) -> None:
    """A second run is turned away while one thinks, and may begin once it has ended."""
    repo.memory.add("Standup is at 9:30")
    repo.memory.add("The standup is at 9:30")
    refusals: list[Refused] = []

    def second() -> None:
        with pytest.raises(Refused, match="running already") as refused:
            consolidate(repo)
        refusals.append(refused.value)

    with alone(opened()):
        worker = threading.Thread(target=second)
        worker.start()
        worker.join(30)

    assert len(refusals) == 1
    assert consolidate(repo)["counts"] == {"merged": 1}


@pytest.mark.parametrize("answer", ["duplicate", "nonsense", None, "distinct"])
def test_a_model_decides_only_open_pairs(repo: ContextRepository, answer: str | None) -> None:
    """A model is asked about pairs that share most of their words, and an answer that is none changes nothing."""
    repo.memory.add("The billing export for Linden runs with flag A in summer")
    repo.memory.add("The billing export for Linden runs without flag A after autumn")
    repo.memory.add("The cat is called Milo")
    asked: list[tuple[str, str]] = []

    def model(old: str, new: str) -> str | None:
        asked.append((old, new))
        return answer

    found = consolidate(repo, llm=model)

    assert len(asked) == 1
    assert found["counts"] == ({"merged": 1} if answer == "duplicate" else {})


def test_uses_are_folded_in_once(repo: ContextRepository) -> None:
    """Recalls raise importance, uses in answers raise confidence, and no event counts twice."""
    fact = repo.memory.add("Deploys happen on Tuesday")
    folder = repo.layout.state_dir(STORE)
    at = repo.clock()
    for turn in range(3):
        usage.record(folder, ids=[fact["id"]], now=at + turn)
    usage.used(folder, [fact["id"]], now=at + 5)

    first = consolidate(repo)
    shown = repo.memory.show(fact["id"])
    second = consolidate(repo)

    assert first["counts"] == {"used": 1}
    assert shown["importance"] > 0.5
    assert shown["confidence"] > 0.8
    assert next(held for held in read_all(repo)).number("uses") == 3
    assert second["commit"] is None


def test_entity_pages_tell_what_is_known(repo: ContextRepository) -> None:
    """A thing that two facts name gets a page; rewritten only when changed, and a person's lines stay."""
    repo.memory.add("Tom handles customer support", entities=["Tom"], project="*")
    assert consolidate(repo)["pages"] == []
    repo.memory.add("Tom is online after three", entities=["tom"], project="*")

    assert consolidate(repo)["pages"] == ["entities/tom.md"]
    page = Path(repo.layout.store_root(STORE)) / "entities" / "tom.md"
    text = page.read_text(encoding="utf-8")
    assert "- Tom is online after three [2026-11-29](<../facts/2026-11/" in text
    assert check("entity", parse(text), "memory/me/entities/tom.md") == []

    page.write_text(text.replace(BEGIN, f"Ask before calling.\n\n{BEGIN}") + "\nSee also Ana.\n", encoding="utf-8")
    assert consolidate(repo)["pages"] == []
    repo.memory.add("Tom has a dog", entities=["Tom"], project="*")
    consolidate(repo)
    text = page.read_text(encoding="utf-8")
    assert text.index("Ask before calling.") < text.index("Tom has a dog") < text.index("See also Ana.")


def test_a_hand_written_page_keeps_its_words_and_its_aliases_count(repo: ContextRepository) -> None:
    """A page without our block gets one below its text; facts under an alias belong to it."""
    page = Path(repo.layout.store_root(STORE)) / "entities" / "refunds.md"
    page.parent.mkdir()
    page.write_text("---\ntitle: 退款\naliases: [refund]\n---\n\n- mine\n", encoding="utf-8")
    repo.memory.add("退款选了方案 B", entities=["退款"])
    repo.memory.add("A refund needs two signatures", entities=["Refund"])

    consolidate(repo)

    text = page.read_text(encoding="utf-8")
    assert text.index("- mine") < text.index(BEGIN) < text.index("方案 B")
    assert "two signatures" in text
    assert [path.name for path in page.parent.iterdir()] == ["refunds.md"]


def test_files_that_cannot_be_read_hide_nothing(repo: ContextRepository) -> None:
    """A broken file is left as it is, and what is beside it is consolidated."""
    repo.memory.add("Standup is at 9:30")
    repo.memory.add("The standup is at 9:30")
    broken = Path(repo.layout.store_root(STORE)) / "facts" / "broken.md"
    broken.write_bytes(b"---\n: [\n---\nStandup is at 9:30\n")

    assert consolidate(repo)["counts"] == {"merged": 1}
    assert broken.read_bytes() == b"---\n: [\n---\nStandup is at 9:30\n"


def test_expired_candidates_and_ended_facts_take_no_part(repo: ContextRepository) -> None:
    """What is over, imported and unconfirmed, or already ended is compared with nothing."""
    repo.memory.add("Standup is at 9:30", valid_until="2020-01-01")
    repo.memory.add("The standup is at 9:30")
    forgotten = repo.memory.add("Standup at 9:30")
    repo.memory.update(forgotten["id"], status="forgotten")

    assert consolidate(repo, forget=False)["commit"] is None


def test_every_written_file_passes_check(repo: ContextRepository) -> None:
    """What consolidation writes is what `check` accepts, and git holds exactly what is on disk."""
    for text in ("Standup is at 9:30", "The standup is at 9:30", "We use npm", "We switched from npm to pnpm"):
        repo.memory.add(text)
    consolidate(repo)

    assert [check("fact", fact.parsed, fact.path) for fact in read_all(repo)] == [[], [], [], []]
    assert repo.store(STORE).outside_edits() == []


def test_decisions_are_pure(repo: ContextRepository) -> None:
    """The same facts give the same decisions, whatever was compared before."""
    for text in ("Standup is at 9:30", "The standup is at 9:30", "We use npm", "We switched from npm to pnpm"):
        repo.memory.add(text)
    facts = read_all(repo)

    def edits() -> Iterator[dict[str, dict[str, Any]]]:
        yield from (decision.edits for decision in decide(facts, now="2026-11-29T10:00:00Z", at=1.7955e9))

    assert list(edits()) == list(edits())


def test_git_knows_where_a_merged_fact_went(repo: ContextRepository, team: Path) -> None:
    """The log of a merged fact ends with the consolidation that merged it."""
    repo.memory.add("Standup is at 9:30")
    loser = repo.memory.add("The standup is at 9:30")
    consolidate(repo)

    where = Path(repo.layout.store_root(STORE))
    kept = repo.memory.show(repo.memory.show(loser["id"]).get("superseded_by", loser["id"]))
    assert kept["status"] == "active"
    assert "memory: consolidate" in git(where, "log", "-1", "--format=%s")
