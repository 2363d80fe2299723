"""The catalog: names, lists, and what is reviewed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from ctxrepo.index.reader import Scope
from ctxrepo.index.writer import StoreIndex
from tests.index.conftest import Store, fact

FIRST = "01M09RDPM0S6X55NP1M2XAFMJQ"
SECOND = "01M09RDPM0S6X55NP1M2XT8BGN"
THIRD = "01M3JT45E04HHGY9VRF0ZK3XNS"


@pytest.fixture
def named(store: Store) -> Store:
    """Three facts with ids, one without, an entity page and the rules."""
    facts = {
        "tea-xafmjq": fact("tea first", id=FIRST, created="2026-11-03T00:00:00Z", kind="preference"),
        "jam-xt8bgn": fact("jam", id=SECOND, created="2026-11-02T00:00:00Z", status="superseded", project="shop"),
        "oil-zk3xns": fact("# Oil\n\nmore", id=THIRD, created="2026-11-01T00:00:00Z", agent="codex"),
        "by-hand": "written by hand\nsecond line",
    }
    for name, text in facts.items():
        store.write(f"facts/2026-11/{name}.md", text)
    store.write("entities/tee.md", fact("- likes tea", title="Tee", id="01M7B11Z80P4N0YQSM6NEFGW1S"))
    store.write("rules.md", fact("", rules="[]"))
    store.sync()
    return store


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        (FIRST, ["tea-xafmjq"]),
        (FIRST.lower(), ["tea-xafmjq"]),
        ("xafmjq", ["tea-xafmjq"]),
        ("XT8BGN", ["jam-xt8bgn"]),
        ("01M09RDPM0", ["tea-xafmjq", "jam-xt8bgn"]),
        ("facts/2026-11/by-hand.md", ["by-hand"]),
        ("01M", []),
        ("", []),
        ("%", []),
        ("____", []),
        ("01M%", []),
        ("nosuch", []),
        ("'; DROP TABLE file; --", []),
    ],
)
def test_a_name_is_a_path_an_id_or_either_end_of_one(named: Store, name: str, paths: list[str]) -> None:
    """Whatever the case; several answers are the candidates; nothing that people type is a pattern."""
    with named.index.catalog() as catalog:
        assert sorted(entry.path for entry in catalog.find(name)) == sorted(f"facts/2026-11/{p}.md" for p in paths)


def test_lists_are_newest_first_and_filtered_by_what_is_asked(named: Store) -> None:
    """Kinds, statuses, places and agents narrow; limit and offset page."""
    with named.index.catalog() as catalog:
        facts = catalog.entries(classes=["memory"])
        assert [entry.id for entry in facts] == [FIRST, SECOND, THIRD, ""]
        assert [entry.title for entry in facts] == ["tea first", "jam", "Oil", "written by hand"]
        assert [entry.id for entry in catalog.entries(kinds=["preference"])] == [FIRST]
        assert [entry.id for entry in catalog.entries(statuses=["superseded"])] == [SECOND]
        assert [entry.id for entry in catalog.entries(places=["shop"])] == [SECOND]
        assert [entry.id for entry in catalog.entries(agents=["codex"])] == [THIRD]
        assert [entry.id for entry in catalog.entries(classes=["memory"], limit=2, offset=1)] == [SECOND, THIRD]
        assert [entry.cls for entry in catalog.entries(classes=["entity", "rules"])] == ["entity", "rules"]
        assert catalog.count() == 6
        found = catalog.entry("facts/2026-11/by-hand.md")
        assert found is not None
        assert (found.kind, found.status, found.agent, found.place, found.reviewed) == (
            "fact",
            "active",
            "*",
            "*",
            True,
        )
        assert catalog.entry("facts/2026-11/none.md") is None


def test_rules_are_known_and_never_found(named: Store) -> None:
    """They are instructions to us, not memories."""
    scope = Scope(places=None, agents=None, now=None, classes=("memory", "entity", "rules"), statuses=None)
    assert "rules.md" not in named.hits("rules", scope)
    assert "rules.md" in named.paths()


class Tree:
    """The default branch of a team store, as a plain mapping."""

    def __init__(self, ident: str, blobs: Mapping[str, str], before: Mapping[str, Tree] | None = None) -> None:
        self.id = ident
        self._blobs = dict(blobs)
        self._before = before or {}
        self.listed = 0

    def blobs(self) -> Mapping[str, str]:
        self.listed += 1
        return self._blobs

    def changed_since(self, old: str) -> Mapping[str, str | None] | None:
        if old not in self._before:
            return None
        was = self._before[old]._blobs
        return {p: self._blobs.get(p) for p in was.keys() | self._blobs.keys() if was.get(p) != self._blobs.get(p)}


def _blob(data: bytes, algorithm: str = "sha1") -> str:
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data).hexdigest()


class Team(Store):
    """A team store with two documents, one skill, and private stores inside that are none of its business."""

    def __init__(self, base: Path, algorithm: str = "sha1") -> None:
        super().__init__(base, prefix="")
        self.algorithm = algorithm
        self.index = StoreIndex(
            str(self.root), str(self.state), folders=("knowledge", "skills"), shared=True, algorithm=algorithm
        )
        self.write("knowledge/billing/KB.md", fact("about", title="Billing", description="invoices and refunds"))
        self.write("knowledge/billing/refunds.md", fact("refund within seven days", title="Refunds", status="verified"))
        self.write("knowledge/billing/taxes.md", fact("tax on a refund", title="Taxes", status="verified"))
        self.write("skills/refund/SKILL.md", fact("steps", name="refund", description="handles a refund"))
        self.write("memory/me/facts/2026-11/x.md", "private refund")
        self.write("knowledge/billing/originals/scan.md", "scanned refund")

    def blobs(self) -> dict[str, str]:
        files = [path for path in self.root.rglob("*.md") if "memory" not in path.parts]
        return {str(path.relative_to(self.root)): _blob(path.read_bytes(), self.algorithm) for path in files}

    def reviewed(self, question: str = "refund") -> set[str]:
        scope = Scope(places=None, agents=None, now=None, classes=("knowledge", "skill"))
        return set(self.hits(question, scope))

    def found(self, question: str = "refund") -> set[str]:
        scope = Scope(places=None, agents=None, now=None, classes=("knowledge", "skill"), reviewed=False)
        return set(self.hits(question, scope))


DOCUMENTS = {"knowledge/billing/refunds.md", "knowledge/billing/taxes.md", "skills/refund/SKILL.md"}


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_only_what_the_default_branch_holds_is_reviewed(tmp_path: Path, algorithm: str) -> None:
    """An edit by hand makes it unreviewed at once, and undoing the edit makes it reviewed again."""
    team = Team(tmp_path, algorithm)
    tree = Tree("tree1", team.blobs())
    team.index.sync(tree)
    assert team.found() == team.reviewed() == DOCUMENTS
    path = "knowledge/billing/refunds.md"
    old = (team.root / path).read_bytes()
    team.write(path, fact("refund within thirty days, says the intern", title="Refunds", status="verified"))
    team.index.sync(tree)
    assert team.reviewed() == DOCUMENTS - {path}
    assert team.found() == DOCUMENTS
    with team.index.catalog() as catalog:
        assert {entry.path for entry in catalog.entries() if not entry.reviewed} == {path}
    team.write(path, old)
    team.index.apply([path], tree)
    assert team.reviewed() == DOCUMENTS
    assert tree.listed == 1


def test_a_moved_branch_changes_what_is_reviewed_without_a_file_changing(tmp_path: Path) -> None:
    """Only the difference of the trees is looked at; an unknown old tree is listed as a whole."""
    team = Team(tmp_path)
    blobs = team.blobs()
    skill = "skills/refund/SKILL.md"
    first = Tree("tree1", {path: blob for path, blob in blobs.items() if path != skill})
    team.index.sync(first)
    assert team.reviewed() == DOCUMENTS - {skill}
    second = Tree("tree2", blobs, {"tree1": first})
    report = team.index.sync(second)
    assert report.changed == [skill]
    assert second.listed == 0
    assert team.reviewed() == DOCUMENTS
    assert not team.index.sync(second)
    third = Tree("tree3", {skill: blobs[skill]})
    team.index.sync(third)
    assert third.listed == 1
    assert team.reviewed() == {skill}
    team.index.sync(Tree("", {}))
    assert team.reviewed() == set()
    assert team.found() == DOCUMENTS


def test_a_kill_while_the_branch_moves_leaves_nobody_judged_by_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next sync looks at everything again."""
    team = Team(tmp_path)
    first = Tree("tree1", {})
    team.index.sync(first)

    def torn(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ctxrepo.index.writer.Batch.apply", torn)
    second = Tree("tree2", team.blobs(), {"tree1": first})
    with pytest.raises(KeyboardInterrupt):
        team.index.sync(second)
    monkeypatch.undo()
    assert team.index.sync(second)
    assert team.reviewed() == DOCUMENTS
    assert not team.index.sync(second)


def test_a_team_store_is_its_shared_folders_and_nothing_else(tmp_path: Path) -> None:
    """Private memory beside it, originals and files that are no assets are not in its index."""
    team = Team(tmp_path)
    team.write("knowledge/mounted/x.md", "refund of another store")
    (team.root / "knowledge" / "mounted" / ".git").write_text("gitdir: elsewhere")
    team.index.sync(Tree("t", team.blobs()))
    assert team.paths() == {*DOCUMENTS, "knowledge/billing/KB.md"}
    assert not team.index.apply(["memory/me/facts/2026-11/x.md", "README.md", "knowledge/mounted/x.md"])
    assert team.found() == DOCUMENTS


def test_bases_are_a_scope(tmp_path: Path) -> None:
    """A document belongs to its base; who may not read the base does not find it."""
    team = Team(tmp_path)
    team.write("knowledge/secret/plan.md", fact("refund plan", title="Plan", status="verified"))
    team.index.sync(Tree("t", team.blobs()))
    scope = Scope(places={"billing"}, agents={"*"}, now=None, classes=("knowledge",))
    assert set(team.hits("refund plan", scope)) == {"knowledge/billing/refunds.md", "knowledge/billing/taxes.md"}
