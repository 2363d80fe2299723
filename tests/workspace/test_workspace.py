"""Opening a workspace from wherever one is, naming an asset in it, and what is found when something is damaged."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from ctxrepo.errors import CtxError, Invalid, NotFound, UsageFault
from ctxrepo.workspace.layout import Layout, find_root
from tests.support.git import git, repository
from tests.support.live import Live, eventually
from tests.support.template import new_workspace

TEA = "Tea orders go to the Hangzhou office on Mondays"


@pytest.fixture
def live(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Live:
    return Live(new_workspace(tmp_path / "team", tmp_path_factory))


def opened(live: Live, user: str = "me", project: str = "*") -> ContextRepository:
    return open_workspace(live.root, user=user, project=project)


def texts(repo: ContextRepository, query: str = "tea orders") -> list[str]:
    return [hit["text"] for hit in repo.recall(query, limit=20, threshold=0.0)["results"]]


class TestOpening:
    """Which workspace, and whose memory."""

    def test_from_any_folder_in_it(self, live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its top, a knowledge base, a private store, a link to it, and the git directory all mean it."""
        path = live.add(TEA)
        (live.root / "knowledge" / "eng").mkdir(parents=True)
        (tmp_path / "link").symlink_to(live.root / "knowledge")
        monkeypatch.delenv("CTXREPO_WORKSPACE")
        for place in (live.root, live.root / "knowledge" / "eng", path.parent, tmp_path / "link", live.local):
            assert open_workspace(place).layout.root == str(live.root)
            monkeypatch.chdir(place)
            assert open_workspace().layout.root == str(live.root)

    def test_the_environment_names_it_for_those_outside(self, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
        """`CTXREPO_WORKSPACE` counts before the current folder, an argument before both."""
        other = Live.made(live.root.parent / "other")
        monkeypatch.setenv("CTXREPO_WORKSPACE", str(live.root))
        monkeypatch.chdir(other.root)
        assert open_workspace().layout.root == str(live.root)
        assert open_workspace(other.root).layout.root == str(other.root)

    def test_a_folder_outside_is_refused_with_what_to_do(self, tmp_path: Path) -> None:
        """No workspace there: exit 3 and the command that makes one."""
        with pytest.raises(NotFound, match="no workspace") as caught:
            open_workspace(tmp_path)
        assert caught.value.exit_code == 3
        assert "ctxrepo init DIR --user NAME" in str(caught.value.hint)

    def test_a_settings_file_further_down_makes_no_workspace(self, live: Live) -> None:
        """Somebody's document folder with a `ctxrepo.yaml` in it is still a folder of this workspace."""
        inner = live.root / "knowledge" / "eng"
        inner.mkdir(parents=True)
        (inner / "ctxrepo.yaml").write_text("recall: {limit: 50}\n", encoding="utf-8")
        assert open_workspace(inner).layout.root == str(live.root)

    def test_another_repository_inside_is_not_this_workspace(self, live: Live) -> None:
        """A repository with a `ctxrepo.yaml` of its own is a workspace of its own; without one the outer counts."""
        assert find_root(str(repository(live.root / "knowledge" / "sub"))) == str(live.root)
        (live.root / "knowledge" / "sub" / "ctxrepo.yaml").touch()
        inner = Live.made(live.root / "knowledge" / "sub")
        assert find_root(str(inner.mine())) == str(inner.root)

    def test_a_path_that_is_no_text_is_refused(self, live: Live) -> None:
        """Git, JSON and the search index need UTF-8; saying so beats a crash deep inside."""
        place = live.root.rename(live.root.parent / os.fsdecode(b"latin-\xe9"))
        with pytest.raises(Invalid, match="no UTF-8"):
            open_workspace(place)

    def test_from_a_folder_that_was_deleted(self, live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The shell still stands in it; a workspace that is named works all the same."""
        live.add(TEA)
        gone = tmp_path / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        with opened(live) as repo:
            assert texts(repo) == [TEA]
            assert repo.memory.show(repo.memory.list()["results"][0]["path"])["text"] == TEA

    def test_whose_memory_is_said_or_known_or_the_only_one(self, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
        """Named, else `CTXREPO_USER`, else this clone's user, else the only one; else a question, never a guess."""
        assert open_workspace(live.root).user == "me"
        Live.made(live.root, "you")
        assert open_workspace(live.root).user == "you"
        assert open_workspace(live.root, user="me").user == "me"
        monkeypatch.setenv("CTXREPO_USER", "me")
        assert open_workspace(live.root).user == "me"
        monkeypatch.delenv("CTXREPO_USER")
        (live.local / "settings.yaml").unlink()
        with pytest.raises(UsageFault, match="Whose memory") as caught:
            open_workspace(live.root)
        assert caught.value.details == ["ctxrepo … --user me", "ctxrepo … --user you"]

    @pytest.mark.parametrize("name", ["nobody", "../me", "me/../you", "ME", "", "me ", "con", "a\u202eb"])
    def test_a_user_without_a_store_here_is_refused(self, live: Live, name: str) -> None:
        """Unknown or impossible names open nothing, and make nothing."""
        before = sorted(os.listdir(live.root / "memory"))
        if name:
            with pytest.raises(CtxError) as caught:
                open_workspace(live.root, user=name)
            assert caught.value.exit_code in (3, 4)
        assert sorted(os.listdir(live.root / "memory")) == before


class TestNaming:
    """What a person may call an asset."""

    def test_by_path_from_wherever_one_stands(self, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
        """The path in the workspace, from the current folder, absolute, and through a link."""
        path = live.add(TEA)
        link = live.root.parent / "link"
        link.symlink_to(live.mine())
        relative = path.relative_to(live.root)
        inside = path.relative_to(live.mine())
        with opened(live) as repo:
            for place, name in (
                (live.root.parent, relative),
                (live.root.parent, inside),
                (live.mine(), inside),
                (path.parent, path.name),
                (live.root.parent, path),
                (live.root.parent, f"team/{relative}"),
                (live.root / "memory", f"./me/../me/{inside}"),
                (live.root.parent, link / inside),
            ):
                monkeypatch.chdir(place)
                assert repo.find(str(name)).path == str(relative), (place, name)

    def test_by_id_its_beginning_or_its_tail(self, live: Live) -> None:
        """As the file name shows it or as the list prints it, in any case."""
        path = live.add(TEA)
        with opened(live) as repo:
            ident = repo.memory.list()["results"][0]["id"]
            names = [ident, ident.lower(), ident[:20], ident[-6:], ident[-6:].lower(), ident[-4:], path.stem[-6:]]
            assert {repo.find(name).entry.id for name in names} == {ident}

    def test_an_ambiguous_name_lists_the_candidates(self, live: Live) -> None:
        """Two facts of the same millisecond begin alike; both stand in the details, nothing is chosen."""
        for tail, text in (("AAAA", "first"), ("BBBB", "second")):
            live.write([f"---\nid: 01KA0000000000000000{tail}ZZ\n---\n{text}"], folder=f"facts/{tail}")
        with opened(live) as repo, pytest.raises(UsageFault, match="means 2 assets") as caught:
            repo.find("01KA0000")
        assert [detail.split()[-1] for detail in sorted(caught.value.details)] == ["first", "second"]
        with opened(live) as repo:
            assert repo.find("AAAAZZ").entry.title == "first"

    @pytest.mark.parametrize(
        "name",
        ["", "x", "abc", "nothing-like-it", "memory/you/facts/x.md", "../../etc/passwd", "a\0b", "\udcff", "%", "____"],
    )
    def test_an_unknown_name_finds_nothing(self, live: Live, name: str) -> None:
        """Too short, foreign, outside, or no name at all: exit 3, never somebody else's file and never a crash."""
        live.add(TEA)
        with opened(live) as repo, pytest.raises(NotFound):
            repo.find(name)

    def test_another_users_asset_has_no_name(self, live: Live) -> None:
        """Neither path nor id of another's fact is known, although it lies beside ours."""
        Live.made(live.root, "you")
        path = live.add("secret tea", user="you")
        with opened(live, user="you") as repo:
            ident = repo.find(path.name[-9:-3]).entry.id
        with opened(live) as repo:
            for name in (ident, str(path.relative_to(live.root)), str(path)):
                with pytest.raises(NotFound):
                    repo.find(name)


class TestWorktrees:
    """The team's repository checked out more than once."""

    def linked(self, live: Live, branch: str = "two") -> Path:
        place = live.root.parent / "linked"
        git(live.root, "worktree", "add", "-q", "-b", branch, str(place))
        return place

    def test_a_linked_worktree_sees_the_same_private_stores(self, live: Live) -> None:
        """What was added there is here, and the other way round; no second store comes into being."""
        live.add(TEA)
        place = self.linked(live)
        with open_workspace(place, user="me", project="*") as there:
            assert texts(there) == [TEA]
            added = there.memory.add("Tea from the linked worktree", project="*")
            assert there.find(added["path"]).entry.id == added["id"]
            with opened(live) as here:
                assert set(texts(here)) == {TEA, "Tea from the linked worktree"}
                here.memory.delete(added["id"])
            assert texts(there) == [TEA]
        assert not (place / "memory").exists()
        assert git(live.mine(), "status", "--porcelain") == ""

    def test_each_worktree_has_team_files_of_its_own(self, live: Live) -> None:
        """A document of one branch is not found in the worktree of another."""
        place = self.linked(live)
        document = place / "knowledge" / "eng" / "deploy.md"
        document.parent.mkdir(parents=True)
        document.write_text("---\ntitle: Deploy\n---\nDeploys happen on Tuesday.\n", encoding="utf-8")
        with open_workspace(place, user="me") as there, opened(live) as here:
            assert there.find("knowledge/eng/deploy.md").entry.title == "Deploy"
            with pytest.raises(NotFound):
                here.find("knowledge/eng/deploy.md")

    def test_worktrees_of_a_bare_repository_share_them_too(self, tmp_path: Path) -> None:
        """Without a main worktree the stores stay where they were made, and every worktree finds them there."""
        first = repository(tmp_path / "seed")
        git(tmp_path, "clone", "-q", "--bare", str(first), "hub.git")
        for name in ("a", "b"):
            git(tmp_path / "hub.git", "worktree", "add", "-q", "-b", name, str(tmp_path / name))
        Live.made(tmp_path / "a").add(TEA)
        shutil.copy(tmp_path / "a" / "ctxrepo.yaml", tmp_path / "b")
        with open_workspace(tmp_path / "b", user="me", project="*") as repo:
            assert texts(repo) == [TEA]
            repo.memory.add("Tea from b", project="*")
            repo.sync_all()
        assert set(Live(tmp_path / "a").found("tea")) == {TEA, "Tea from b"}
        assert not (tmp_path / "b" / "memory").exists()
        fired = Live(tmp_path / "b").fire("Which office takes the tea orders on Mondays?")
        assert TEA in fired.context


class TestSettings:
    """Three files, each allowed to say less than one might think."""

    def test_they_hold_by_the_next_sync(self, live: Live, home: Path) -> None:
        """The workspace's, the user's and this machine's file reach the hook's configuration, the later one wins."""
        config = live.local / "hook-me.json"
        (live.root / "ctxrepo.yaml").write_text("recall: {limit: 7, threshold: 0.2}\n", encoding="utf-8")
        own = home / ".config" / "ctxrepo" / "settings.yaml"
        own.parent.mkdir(parents=True)
        own.write_text("recall:\n  limit: 5\n", encoding="utf-8")
        with opened(live) as repo:
            own.write_text("recall:\n  limit: 4\n", encoding="utf-8")
            repo.sync_all()
        settings = json.loads(config.read_text())["settings"]
        assert (settings["recall.limit"], settings["recall.threshold"]) == (4, 0.2)

    def test_what_is_wrong_with_them_is_shown_and_the_rest_holds(self, live: Live, home: Path) -> None:
        """`status` names file, line and reason; a clone cannot set what is not its business."""
        (live.root / "ctxrepo.yaml").write_text(
            "recall:\n  limit: 7\n  treshold: 0.2\nuser: mallory\n", encoding="utf-8"
        )
        own = home / ".config" / "ctxrepo" / "settings.yaml"
        own.parent.mkdir(parents=True)
        own.write_bytes(b"recall: [\n")
        with opened(live) as repo:
            said = "\n".join(repo.status()["attention"])
            assert repo.settings["recall.limit"] == 7
            assert repo.user == "me"
        assert "ctxrepo.yaml:3: recall.treshold" in said
        assert "ctxrepo.yaml:4: user: may not come with a clone" in said
        assert f"{own}:" in said


class TestHealing:
    """The index is a cache: whatever happens to it, the next read is right."""

    @pytest.mark.parametrize("damage", ["gone", "catalog", "tantivy", "scopes", "current", "marked", "foreign"])
    def test_a_damaged_index_is_made_anew_by_reading(self, live: Live, damage: str) -> None:
        """Without asking and without a message."""
        live.add(TEA)
        folder = live.local / "state" / "memory" / "me" / "index"
        (generation,) = [path for path in folder.iterdir() if path.is_dir()]
        if damage == "gone":
            shutil.rmtree(folder)
        elif damage == "catalog":
            (generation / "catalog.db").write_bytes(b"no database" * 1000)
        elif damage == "tantivy":
            for path in (generation / "tantivy").glob("*.idx"):
                path.write_bytes(b"")
        elif damage == "scopes":
            (generation / "scopes.json").write_text("{")
        elif damage == "current":
            (folder / "current").write_bytes(b"\xff\n")
        elif damage == "marked":
            (folder / "damaged").touch()
        else:
            generation.rename(folder / "0.0-abc")
            (folder / "current").write_text("0.0-abc\n")
        with opened(live) as repo:
            assert texts(repo) == [TEA]
            assert [row["title"] for row in repo.memory.list()["results"]] == [TEA]

    @pytest.mark.parametrize("suffix", ["store", "idx", "fast", "term", "fieldnorm"])
    def test_damage_that_no_size_tells_of_heals_by_reading_too(self, live: Live, suffix: str) -> None:
        """A file as long as before whose bytes are others is noticed where it is read, and the answer is right."""
        live.add(TEA)
        for path in (live.local / "state" / "memory" / "me" / "index").rglob(f"*.{suffix}"):
            path.write_bytes(bytes(byte ^ 0x55 for byte in path.read_bytes()))
        with opened(live) as repo:
            assert texts(repo) == [TEA]

    def test_an_open_workspace_goes_on_when_its_index_is_replaced(self, live: Live) -> None:
        """Another process rebuilds while we hold the old one open."""
        live.add(TEA)
        with opened(live) as repo:
            assert texts(repo) == [TEA]
            shutil.rmtree(live.local / "state" / "memory" / "me" / "index")
            live.add("Tea of another process")
            assert set(texts(repo)) == {TEA, "Tea of another process"}

    def test_a_store_that_cannot_be_saved_stops_no_other(self, live: Live) -> None:
        """With a merge under way in one's own store the others are synced, and the row says what to do."""
        Live.made(live.root)
        git(live.mine(), "commit", "-q", "--allow-empty", "-m", "x")
        (live.local / "stores" / "memory" / "me.git" / "MERGE_HEAD").write_text(git(live.mine(), "rev-parse", "HEAD"))
        live.mine().joinpath("facts").mkdir(exist_ok=True)
        (live.mine() / "facts" / "tea.md").write_text(TEA, encoding="utf-8")
        task = live.root / "tasks" / "trip"
        task.mkdir(parents=True)
        (task / "TASK.md").write_text("---\ntitle: Trip\n---\n", encoding="utf-8")
        rows = {row["name"]: row for row in live.sync()["results"]}
        assert "A merge is under way in memory/me" in rows["memory/me"]["problems"][0]
        assert rows["memory/me"]["added"] == 1
        assert rows["tasks"]["snapshot"]
        assert texts(opened(live)) == [TEA]

    def test_a_store_without_its_repository_stops_no_other(self, live: Live) -> None:
        """Sync and status go on with the rest and name the command that mends it."""
        live.add(TEA)
        shutil.rmtree(live.local / "stores" / "tasks.git")
        with opened(live) as repo:
            rows = {row["name"]: row for row in repo.sync_all()["results"]}
            status = repo.status()
        assert "doctor --fix" in rows["tasks"]["problems"][0]
        assert rows["memory/me"]["problems"] == rows["team"]["problems"] == []
        assert [store["name"] for store in status["stores"]] == ["memory/me", "team"]
        assert any("tasks" in said for said in status["attention"])


class TestFreshness:
    """When a read looks through the files first."""

    def test_a_small_store_is_looked_through_at_every_read(self, live: Live) -> None:
        """One process, many reads, and between them a person with an editor: each read knows the last edit."""
        with opened(live) as repo:
            for number in range(6):
                live.mine().joinpath("facts").mkdir(exist_ok=True)
                (live.mine() / "facts" / "tea.md").write_text(f"Tea orders, edition {number}\n", encoding="utf-8")
                assert texts(repo) == [f"Tea orders, edition {number}"]

    def test_a_large_store_is_given_rest_between_reads(self, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where a look is dear, an edit is found a little later; what we wrote or could not follow is there at once."""
        monkeypatch.setattr("ctxrepo.workspace.workspace.CHEAP_LOOK", 0.0)
        monkeypatch.setattr("ctxrepo.workspace.workspace.REST", 10**6)
        path = live.add(TEA)
        edited = [TEA.replace("Mondays", day) for day in ("Fridays", "Sundays")]
        with opened(live) as repo:
            assert texts(repo) == texts(repo) == [TEA]
            path.write_text(path.read_text().replace(TEA, edited[0]), encoding="utf-8")
            repo.memory.add("Tea of our own", project="*")
            assert set(texts(repo)) == {TEA, "Tea of our own"}
            (live.local / "state" / "memory" / "me" / "index" / "behind").touch()
            assert set(texts(repo)) == {edited[0], "Tea of our own"}
        monkeypatch.setattr("ctxrepo.workspace.workspace.REST", 100)
        with opened(live) as repo:
            assert edited[0] in (texts(repo) and texts(repo) and texts(repo))
            path.write_text(path.read_text().replace(*edited), encoding="utf-8")
            assert eventually(lambda: edited[1] in texts(repo))


def test_a_moved_workspace_is_whole(live: Live) -> None:
    """Nothing on disk holds the old place: reading, writing and git go on after a rename."""
    live.add(TEA)
    moved = Live(live.root.rename(live.root.parent / "elsewhere"))
    moved.add("Tea after the move")
    assert set(moved.found("tea")) == {TEA, "Tea after the move"}
    assert git(moved.mine(), "status", "--porcelain") == ""
    assert Layout.of(str(moved.root)) is not None
