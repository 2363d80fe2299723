"""`memory purge` on a whole workspace: the words of a fact are nowhere on this machine, others keep theirs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from ctxrepo.errors import NotFound, Refused, UsageFault
from ctxrepo.memory import spool, usage
from ctxrepo.memory.purge import purge_facts
from ctxrepo.memory.sieve import GONE, FactSieve
from ctxrepo.workspace.setup import init_workspace

WORDS = "I hid the spare key under the third blue flowerpot"
HAN = "我把备用钥匙藏在第三个蓝色花盆下面"
ID = "01K0000000000000000000SECR"


@pytest.fixture
def repo(tmp_path: Path, clock) -> ContextRepository:
    init_workspace(tmp_path / "w", user="me")
    return open_workspace(tmp_path / "w", user="me", project="home", clock=clock)


def holding(repo: ContextRepository, words: str) -> list[str]:
    """Files of the workspace, git objects of the private store included, that hold the words."""
    root = repo.layout.root
    done = subprocess.run(["grep", "-rlaF", "-e", words, root], capture_output=True, text=True, check=False)
    found = done.stdout.splitlines()
    git_dir = repo.store(repo.memory_store).git_dir
    listing = subprocess.run(
        ["git", f"--git-dir={git_dir}", "cat-file", "--batch-all-objects", "--batch"], capture_output=True, check=True
    )
    return found + ["(git objects)"] * (words.encode() in listing.stdout)


@pytest.mark.parametrize("words", [WORDS, HAN])
def test_gone_everywhere(repo: ContextRepository, words: str) -> None:
    """Versions, messages, entity pages, quotations, index, usage log, waiting turns and backups lose the words."""
    fact = repo.memory.add(words, reason=f"because {words}", entities=["spare key"])
    other = repo.memory.add("The garden gate is painted green", entities=["garden"])
    quoting = repo.memory.add(f"My sister wrote down: {words}, I think")
    repo.memory.update(fact["id"], text=f"{words}, since May")
    root = Path(repo.layout.store_root("memory/me"))
    (root / "entities").mkdir(exist_ok=True)
    page = f"---\nid: 01K00000000000000000000PAG\ntitle: spare key\n---\n\n- {words}, since May\n- bought in 2019\n"
    (root / "entities/spare-key.md").write_text(page, encoding="utf-8")
    repo.snapshot("memory/me")
    (root / f"{fact['path'].removeprefix('memory/me/')}~").write_text(words, encoding="utf-8")
    state = repo.layout.state_dir("memory/me")
    usage.record(state, ids=[fact["id"], other["id"]], session="s")
    turn = {"messages": [{"role": "user", "content": f"note: {words}. Also tea."}]}
    waiting = Path(spool.put(repo.layout.local, "me", turn, agent="*", project="home"))
    theirs = Path(spool.put(repo.layout.local, "me2", {"user": "somebody else's turn"}, agent="*", project="home"))
    Path(repo.layout.local, "hook-errors.log").write_text(f"ValueError: {words}\nother\n", encoding="utf-8")
    assert repo.recall(words)["results"]
    assert len(holding(repo, words)) > 4

    receipt = purge_facts(repo, fact["id"])

    assert holding(repo, words) == []
    assert holding(repo, json.dumps(words)[1:-1]) == []
    assert words not in json.dumps(receipt, ensure_ascii=False)
    assert receipt["files"] == 1
    assert len(receipt["versions"]) == 2
    assert receipt["usage_events"] == 1
    assert [event["ctxrepo.record.ids"] for event in usage.read(state)] == [[other["id"]]]
    assert "Also tea." in waiting.read_text(encoding="utf-8")
    assert "somebody else's turn" in theirs.read_text(encoding="utf-8")
    assert "- bought in 2019" in (root / "entities/spare-key.md").read_text(encoding="utf-8")
    assert GONE in repo.memory.show(quoting["id"])["text"]
    assert repo.memory.show(other["id"])["text"] == "The garden gate is painted green"
    with pytest.raises(NotFound):
        repo.memory.show(fact["id"])
    assert [hit["id"] for hit in repo.recall("garden gate painted")["results"]] == [other["id"]]


def test_history_of_others_and_undo_go_on(repo: ContextRepository) -> None:
    """Other facts keep their operations, and an operation from before the purge can still be undone."""
    kept = repo.memory.add("The boiler is serviced in October")
    fact = repo.memory.add(WORDS)
    repo.memory.update(kept["id"], text="The boiler is serviced in November")
    purge_facts(repo, fact["id"])
    operations = repo.log(kept["path"])["results"]
    assert [each["op"] for each in operations][:2] == ["memory.update", "memory.add"]
    repo.undo(operations[0]["id"])
    assert repo.memory.show(kept["id"])["text"] == "The boiler is serviced in October"
    assert "memory.purge" in [each["op"] for each in repo.log()["results"]]


def test_deleted_before(repo: ContextRepository) -> None:
    """A fact that was deleted already is known by its id, whole or in part, and its words go as well."""
    fact = repo.memory.add(WORDS)
    repo.memory.delete(fact["id"])
    assert "(git objects)" in holding(repo, WORDS)
    purge_facts(repo, fact["tail"])
    assert holding(repo, WORDS) == []


def test_edited_and_renamed_by_hand(repo: ContextRepository) -> None:
    """Hand edits are part of the history: renamed, edited, and with the header taken away, all versions go."""
    fact = repo.memory.add(WORDS)
    root = Path(repo.layout.store_root("memory/me"))
    path = root / fact["path"].removeprefix("memory/me/")
    other = path.with_name("my own name.md")
    path.rename(other)
    repo.snapshot("memory/me")
    other.write_text(other.read_text() + "\nand a torch, behind the second row of bricks\n")
    repo.snapshot("memory/me")
    purge_facts(repo, fact["id"])
    assert holding(repo, WORDS) == []
    assert holding(repo, "behind the second row of bricks") == []
    assert not other.exists()


def test_short_words_of_others_stay(repo: ContextRepository) -> None:
    """Words too short to be telling are not blackened in other facts; the receipt names those."""
    fact = repo.memory.add("likes tea")
    other = repo.memory.add("My sister likes tea and biscuits")
    receipt = purge_facts(repo, fact["id"])
    assert repo.memory.show(other["id"])["text"] == "My sister likes tea and biscuits"
    assert receipt["also_said_in"] == [other["path"]]
    with pytest.raises(NotFound):
        repo.memory.show(fact["id"])


def test_further_words(repo: ContextRepository) -> None:
    """Words that are named go from every file, whoever wrote it."""
    fact = repo.memory.add(WORDS)
    other = repo.memory.add("The code of the alarm is seven-seven-two-nine-one, said Ada")
    purge_facts(repo, fact["id"], words=("seven-seven-two-nine-one",))
    assert repo.memory.show(other["id"])["text"] == f"The code of the alarm is {GONE}, said Ada"
    assert holding(repo, "seven-seven-two-nine-one") == []


def test_elsewhere_is_named(repo: ContextRepository) -> None:
    """What other stores hold is not ours to change; the receipt names the files."""
    with repo.store("tasks").transaction("task.note", actor="me") as tx:
        tx.write("t1/TASK.md", f"---\ntitle: move\n---\n\n{WORDS}\n".encode())
    fact = repo.memory.add(WORDS)
    assert purge_facts(repo, fact["id"])["elsewhere"] == ["tasks/t1/TASK.md"]


def test_preview_and_refusals(repo: ContextRepository) -> None:
    """A dry run changes nothing and says what stands in the way; unknown names and held histories are refused."""
    fact = repo.memory.add(WORDS)
    store = repo.store("memory/me")
    store.git.run("remote", "add", "backup", "ssh://example.org/me.git")
    head = store.head().commit
    preview = purge_facts(repo, fact["tail"], dry_run=True)
    assert preview["ids"] == [fact["id"]]
    assert preview["held_by"] == ["remote backup"]
    with pytest.raises(Refused, match="remote backup"):
        purge_facts(repo, fact["id"])
    with pytest.raises(NotFound):
        purge_facts(repo, "zzzzzz")
    with pytest.raises(UsageFault):
        purge_facts(repo)
    assert store.head().commit == head
    assert repo.memory.show(fact["id"])["text"] == WORDS
    assert purge_facts(repo, fact["id"], even_if_held=True)["held_by"] == ["remote backup"]


def test_command_line(repo: ContextRepository) -> None:
    """Nobody to ask is a refusal; with `--yes` it is done, and neither output holds the words."""
    fact = repo.memory.add(WORDS)
    base = [sys.executable, "-m", "ctxrepo", "--workspace", repo.layout.root, "memory", "purge", fact["tail"]]
    asked = subprocess.run(base, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert asked.returncode == 1
    assert "--yes" in asked.stderr
    assert repo.memory.show(fact["id"])["text"] == WORDS
    preview = subprocess.run([*base, "--dry-run"], capture_output=True, text=True, check=True)
    assert preview.stdout == f"{fact['tail']} would be purged.\n"
    done = subprocess.run([*base, "--yes"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Purged {fact['tail']}: 1 version,")
    assert WORDS not in done.stdout + done.stderr
    assert holding(repo, WORDS) == []


def fact_file(text: str, ident: str = ID) -> bytes:
    return f"---\nid: {ident}\nkind: fact\n---\n\n{text}\n".encode()


def test_sieve_knows_versions_by_id_and_place() -> None:
    """A version is a file with the id, or one without any where such a file lay; another id there is another fact."""
    sieve = FactSieve([ID])
    path = "facts/2026-11/x-aaaaaa.md"
    assert sieve.suspects(fact_file(WORDS))
    assert not sieve.suspects(fact_file(f"id: {ID}", "01K00000000000000000000THE"))
    sieve.learn(path, fact_file(WORDS))
    assert sieve.drops(path, b"no header at all\n")
    assert sieve.drops(path, fact_file("other words"))
    assert not sieve.drops(path, fact_file("other words", "01K00000000000000000000THE"))
    assert not sieve.drops("facts/2026-11/y-bbbbbb.md", b"no header at all\n")


def test_sieve_cleans_messages() -> None:
    """A message of the fact keeps operation and ids; in another one only the words go, whole words that is."""
    sieve = FactSieve([ID])
    sieve.learn("facts/2026-11/key-aaaaaa.md", fact_file("the spare key is blue"))
    own = "memory: add the spare key is blue\n\nCtx-Op: memory.add\nCtx-Actor: me\nCtx-Reason: he said so\nCtx-Id: 1\n"
    assert sieve.message(own, touched=True) == f"memory: add {GONE}\n\nCtx-Op: memory.add\nCtx-Actor: me\nCtx-Id: 1\n"
    assert sieve.message("note: the spare key is blue.\n", touched=False) == f"note: {GONE}.\n"
    assert sieve.message("the spare key is bluest\n", touched=False) == "the spare key is bluest\n"
    assert sieve.message("snapshot: facts/2026-11/key-aaaaaa.md\n", touched=False) == f"snapshot: {GONE}\n"


def test_sieve_renames_files_that_quote() -> None:
    """The name of another fact's file is made of its words, so it loses them too, and keeps the tail of its id."""
    sieve = FactSieve([ID])
    sieve.learn("facts/2026-11/k-aaaaaa.md", fact_file(WORDS))
    named = "facts/2026-11/she-said-i-hid-the-spare-key-under-the-third-blue-bbbbbb.md"
    assert sieve.placed(named) == "facts/2026-11/she-said-purged-bbbbbb.md"
    assert sieve.placed("facts/2026-11/hide-and-seek-cccccc.md") == "facts/2026-11/hide-and-seek-cccccc.md"


@pytest.mark.bench
def test_ten_thousand_facts(repo: ContextRepository) -> None:
    """A purge among 10,000 facts and 1,000 commits takes at most 10 seconds."""
    store = repo.store("memory/me")
    for batch in range(1000):
        with store.transaction("memory.add", actor="me", subject=f"memory: add ten, {batch}") as tx:
            for number in range(batch * 10, batch * 10 + 10):
                ident = f"01K{number:023d}"
                path = f"facts/2026-{batch % 12 + 1:02d}/fact-{number:06d}.md"
                tx.write(path, fact_file(f"Fact {number} is about the weather in town {number * 7}", ident))
    fact = repo.memory.add(WORDS)
    repo.sync("memory/me")
    start, used = time.perf_counter(), time.process_time()
    receipt = purge_facts(repo, fact["id"])
    taken = time.perf_counter() - start
    print(f"purge of 1 among 10,000 facts: {taken:.1f} s, own CPU {time.process_time() - used:.1f} s")
    assert receipt["commits_rewritten"] > 1000
    assert holding(repo, WORDS) == []
    assert taken < 10
