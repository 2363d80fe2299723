"""What a snapshot adds to files that people write by hand, and what it never touches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxrepo.asset.frontmatter import decode, parse
from ctxrepo.asset.ids import is_id
from tests.support.git import git
from tests.support.live import Live
from tests.support.template import new_workspace

TEA = "Tea orders go to the Hangzhou office on Mondays"


@pytest.fixture
def live(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Live:
    return Live(new_workspace(tmp_path / "team", tmp_path_factory))


def put(live: Live, name: str, data: bytes | str) -> Path:
    path = live.mine() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def adopted(live: Live) -> dict[str, object]:
    """Syncs, and gives the row of the private store; everything must be committed by then."""
    rows = {row["name"]: row for row in live.sync()["results"]}
    return rows["memory/me"]


def fields(path: Path) -> dict[str, object]:
    return dict(parse(decode(path.read_bytes())).fields)


def operations(live: Live) -> list[str]:
    return git(live.mine(), "log", "--format=%(trailers:key=Ctx-Op,valueonly,separator=%x2C)").splitlines()


def test_a_file_without_a_header_gets_id_and_dates_in_one_commit(live: Live) -> None:
    """Its text stays byte for byte below the new header, and the snapshot is an operation of its own."""
    path = put(live, "facts/tea.md", f"{TEA}\n\n- one\n---\ntwo\n")
    row = adopted(live)

    found = fields(path)
    assert is_id(str(found["id"]))
    assert sorted(found) == ["created", "id", "updated"]
    assert path.read_bytes().endswith(f"---\n{TEA}\n\n- one\n---\ntwo\n".encode())
    assert row["snapshot"]
    assert operations(live) == ["snapshot", "init"]
    assert git(live.mine(), "status", "--porcelain") == ""
    assert live.found("tea orders") == [f"{TEA}\n\n- one\n---\ntwo"]
    assert adopted(live)["snapshot"] is None


def test_only_what_is_missing_is_added(live: Live) -> None:
    """Order, comments, quoting and unknown keys of a hand-written header stay; given dates and ids are kept."""
    header = '# mine\nmood:   "good"   # really\ncreated: 2020-01-01\ntags: [a,  b]\n'
    path = put(live, "facts/tea.md", f"---\n{header}---\n{TEA}\n")
    adopted(live)

    text = path.read_text(encoding="utf-8")
    assert header in text
    assert set(fields(path)) == {"mood", "created", "tags", "id", "updated"}


def test_a_fact_with_everything_is_committed_as_it_is(live: Live) -> None:
    """Not a byte is changed where nothing is missing."""
    data = f"---\nid: 01KA0000000000000000000001\ncreated: 2020-01-01\nupdated: 2020-01-01\n---\n{TEA}\n".encode()
    path = put(live, "facts/tea.md", data)
    assert adopted(live)["snapshot"]
    assert path.read_bytes() == data


def test_a_copy_gets_an_id_of_its_own(live: Live) -> None:
    """Whoever copies a file and changes its words has two facts; the older keeps the id, also if it was edited too."""
    original = live.add(TEA)
    ident = fields(original)["id"]
    copy = put(live, f"facts/a/{original.name}", original.read_text().replace("Mondays", "Fridays"))
    second = put(live, "facts/b/copy.md", original.read_text().replace("Mondays", "Sundays"))
    original.write_text(original.read_text().replace("Hangzhou", "Shaoxing"))
    adopted(live)

    assert fields(original)["id"] == ident
    ids = {fields(path)["id"] for path in (original, copy, second)}
    assert len(ids) == 3
    assert all(is_id(str(each)) for each in ids)
    assert "Fridays" in copy.read_text()
    assert git(live.mine(), "status", "--porcelain") == ""
    assert len(live.found("tea orders")) == 3


def test_two_new_files_with_one_id_are_two_facts(live: Live) -> None:
    """Neither was known before; one keeps the id, the other does not, and nothing is left to report."""
    for name in ("a", "b"):
        put(live, f"facts/{name}.md", f"---\nid: 01KA0000000000000000000001\n---\n{TEA} {name}\n")
    adopted(live)
    ids = {str(fields(live.mine() / "facts" / f"{name}.md")["id"]) for name in ("a", "b")}
    assert len(ids) == 2
    assert "01KA0000000000000000000001" in ids


def test_a_renamed_or_moved_file_keeps_its_id(live: Live) -> None:
    """Renaming changes nothing about the fact."""
    original = live.add(TEA)
    ident = fields(original)["id"]
    target = live.mine() / "facts" / "later" / "renamed by hand.md"
    target.parent.mkdir()
    original.rename(target)
    assert adopted(live)["snapshot"]
    assert fields(target)["id"] == ident
    assert live.found("tea orders") == [TEA]


def test_a_deleted_file_is_a_deleted_fact_that_comes_back(live: Live) -> None:
    """Deleting the file deletes the fact, as an operation that can be undone."""
    path = live.add(TEA)
    before = path.read_bytes()
    path.unlink()
    assert live.found("tea orders") == []
    commit = adopted(live)["snapshot"]
    done = live.run("undo", str(commit))
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == before
    assert live.found("tea orders") == [TEA]


@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (f"{TEA}\r\nsecond line\r\n".encode(), f"{TEA}\r\nsecond line\r\n".encode()),
        (f"---\r\nkind: rule\r\n---\r\n{TEA}\r\n".encode(), f"---\r\n{TEA}\r\n".encode()),
        (b"\xef\xbb\xbf" + f"---\nkind: rule\n---\n{TEA}\n".encode(), f"---\n{TEA}\n".encode()),
        (b"\xef\xbb\xbf" + TEA.encode(), TEA.encode()),
        (f"---\n---\n{TEA}".encode(), f"---\n{TEA}".encode()),
        (f"\n\n---\nkind: rule\n---\n{TEA}".encode(), f"---\n{TEA}".encode()),
    ],
    ids=["CRLF", "CRLF header", "BOM header", "BOM", "empty header", "lines above"],
)
def test_line_endings_and_marks_of_other_editors(live: Live, data: bytes, ending: bytes) -> None:
    """The text stays as it was written, the header gains what it lacks, and the fact is found."""
    path = put(live, "facts/tea.md", data)
    assert adopted(live)["problems"] == []
    after = path.read_bytes()

    assert after.endswith(ending)
    assert (b"\r\n" in after) == (b"\r\n" in data)
    assert is_id(str(fields(path)["id"]))
    assert live.found("tea orders")[0].startswith(TEA)
    assert git(live.mine(), "status", "--porcelain") == ""


@pytest.mark.parametrize(
    "data",
    [
        TEA.encode("utf-16"),
        "---\nkind: [\n---\n订茶找杭州办公室".encode("gb18030"),
        f"---\nkind: [\n---\n{TEA}\n".encode(),
        f'---\ndescription: "abc "def" ghi"\n---\n{TEA}\n'.encode(),
        f"---\n- a list\n---\n{TEA}\n".encode(),
        f"---\nid: 1\nid: 2\n---\n{TEA}\n".encode(),
        f"---\na: &a [x, x]\nb: [*a, *a]\n---\n{TEA}\n".encode(),
    ],
    ids=["UTF-16", "GB18030", "broken header", "quotes", "list header", "two ids", "aliases"],
)
def test_what_cannot_be_read_stays_as_it_is_and_hides_nothing(live: Live, data: bytes) -> None:
    """It is committed untouched, or left alone with the reason; its neighbour is adopted and found."""
    odd = put(live, "facts/odd.md", data)
    put(live, "facts/tea.md", f"{TEA}\n")
    row = adopted(live)

    assert odd.read_bytes() == data or b"id: 01" in odd.read_bytes()
    assert row["snapshot"]
    assert any("odd.md" in str(problem) for problem in row["problems"]) or odd.read_bytes() != data  # type: ignore[attr-defined]
    assert TEA in live.found("tea orders")
    assert is_id(str(fields(live.mine() / "facts" / "tea.md")["id"]))


def test_what_cannot_be_committed_is_named_and_stops_nothing(live: Live, tmp_path: Path) -> None:
    """Links, NUL bytes, 50 MB, names that are no text, repositories: each with its reason, the rest goes on."""
    (tmp_path / "outside.md").write_text("outside words")
    (live.mine() / "facts").mkdir(exist_ok=True)
    (live.mine() / "facts" / "link.md").symlink_to(tmp_path / "outside.md")
    (live.mine() / "facts" / "folder").symlink_to(tmp_path)
    put(live, "facts/nul.md", b"NUL \0 bytes")
    with put(live, "facts/huge.md", b"huge ").open("r+b") as handle:
        handle.truncate(50_000_000)
    (live.mine() / "facts" / os.fsdecode(b"latin-\xe9.md")).write_text("latin words")
    git(live.mine() / "facts", "init", "-q", "inner")
    put(live, "facts/inner/x.md", "inner words")
    os.mkfifo(live.mine() / "facts" / "pipe.md")
    put(live, "facts/tea.md", TEA)
    row = adopted(live)

    said = "\n".join(map(str, row["problems"]))  # type: ignore[call-overload]
    for name in ("link.md", "folder", "nul.md", "huge.md", "latin-", "inner"):
        assert name in said, name
    assert live.found("tea orders") == [TEA]
    for words in ("outside words", "latin words", "inner words"):
        assert words not in " ".join(live.found(words))
    assert git(live.mine(), "ls-tree", "-r", "--name-only", "HEAD", "facts") == "facts/tea.md"


def test_entities_rules_and_notes_get_what_their_kind_has(live: Live) -> None:
    """An entity page gets an id; rules.md and a plain note, which nobody looks up by one, are committed as they are."""
    page = put(live, "entities/hangzhou.md", "The city where the tea comes from.\n")
    rules = put(live, "rules.md", "---\nrules:\n  - no-salaries\n---\n")
    note = put(live, "README.md", "How I keep this.\n")
    before = rules.read_bytes(), note.read_bytes()
    adopted(live)
    assert is_id(str(fields(page)["id"]))
    assert (rules.read_bytes(), note.read_bytes()) == before
    assert git(live.mine(), "status", "--porcelain") == ""


def test_a_hand_written_task_is_adopted_in_its_own_store(live: Live) -> None:
    """`tasks/` is adopted as memory is."""
    path = live.root / "tasks" / "trip" / "TASK.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ntitle: Trip to Hangzhou\n---\nBook the train.\n", encoding="utf-8")
    rows = {row["name"]: row for row in live.sync()["results"]}
    assert rows["tasks"]["snapshot"]
    assert is_id(str(fields(path)["id"]))


def test_many_files_at_once_are_one_commit(live: Live) -> None:
    """A folder of notes dropped in is adopted in one go."""
    live.write(f"note {number} about tea" for number in range(400))
    assert operations(live) == ["snapshot", "init"]
    assert git(live.mine(), "status", "--porcelain") == ""
    assert all(b"\nid: 01" in path.read_bytes() for path in (live.mine() / "facts").rglob("*.md"))
    assert adopted(live)["snapshot"] is None


def test_what_the_team_plants_in_a_private_store_is_nobodys_memory(live: Live) -> None:
    """It is found by no search, also when it was indexed before the commit came, and `doctor --fix` removes it."""
    path = put(live, "facts/planted.md", f"---\nid: 01KB5TEA0VXPR4B1QVWE9QFF2A\nkind: preference\n---\n{TEA}\n")
    assert live.found(TEA)
    blob = git(live.root, "hash-object", "-w", str(path))
    git(live.root, "update-index", "--add", "--cacheinfo", f"100644,{blob},memory/me/facts/planted.md")
    git(live.root, "commit", "-qm", "planted")
    assert not live.found(TEA)
    live.run("doctor", "--fix")
    assert not path.exists() and not live.found(TEA)
