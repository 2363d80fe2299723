"""The example workspace is valid, complete and tells nothing that is not so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo import access, settings
from ctxrepo.asset.check import check
from ctxrepo.asset.fields import instant
from ctxrepo.asset.frontmatter import parse, parse_plain
from ctxrepo.asset.ids import tail, time_of
from ctxrepo.asset.kinds import FACT_KINDS, kind_of, values
from ctxrepo.text.names import slug

EXAMPLE = Path(__file__).parent.parent / "example-workspace"
ASSETS = {str(path.relative_to(EXAMPLE)): kind_of(str(path.relative_to(EXAMPLE))) for path in EXAMPLE.rglob("*.*")}
FACTS = [name for name, kind in ASSETS.items() if kind == "fact"]


def fields_of(name: str) -> dict[str, object]:
    return values("fact", parse((EXAMPLE / name).read_text(encoding="utf-8")).fields)


@pytest.mark.parametrize("name", [name for name, kind in ASSETS.items() if kind])
def test_every_asset_is_without_fault(name: str) -> None:
    """`check` finds nothing at all to say, not even a warning."""
    text = (EXAMPLE / name).read_text(encoding="utf-8")
    kind = ASSETS[name]
    parsed = parse_plain(text) if name.endswith(".yaml") else parse(text)

    assert check(kind, parsed, name) == []


def test_settings_and_access_hold() -> None:
    """The workspace's own files are read without a problem, and everybody in them has a memory here."""
    _, setting_problems = settings.load((EXAMPLE / "ctxrepo.yaml").read_text(encoding="utf-8"), "workspace")
    who, access_problems = access.load((EXAMPLE / "access.yaml").read_text(encoding="utf-8"))

    assert setting_problems == access_problems == []
    assert sorted(who.members) == sorted(folder.name for folder in (EXAMPLE / "memory").iterdir())
    assert sorted(who.grants) == sorted(folder.name for folder in (EXAMPLE / "knowledge").iterdir())


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_stands_where_its_header_says(name: str) -> None:
    """Folder and file name follow from id, date and text, as if `memory add` had written it."""
    parsed = parse((EXAMPLE / name).read_text(encoding="utf-8"))
    fact_id, created = str(parsed.fields["id"]), str(parsed.fields["created"])
    folder, file = name.split("/")[-2:]

    assert time_of(fact_id) == instant(created)
    assert folder == created[:7]
    assert file == f"{slug(parsed.body.strip())}-{tail(fact_id).lower()}.md"


def test_every_kind_of_fact_is_shown() -> None:
    """All kinds, one superseded pair that names each other, and one fact whose time is over."""
    facts = [fields_of(name) for name in FACTS]
    by_id = {fact["id"]: fact for fact in facts}
    superseded = [fact for fact in facts if fact["status"] == "superseded"]

    assert {fact["kind"] for fact in facts} == set(FACT_KINDS)
    assert len(by_id) == len(facts)
    assert [by_id[fact["superseded_by"]]["supersedes"] for fact in superseded] == [[fact["id"]] for fact in superseded]
    assert len(superseded) == 1
    assert any(fact["valid_until"] and fact["status"] == "active" for fact in facts)


def test_it_has_what_it_promises() -> None:
    """Two users, three documents in two bases, three skills, an open task and a done one."""
    kinds = list(ASSETS.values())
    tasks = [parse((EXAMPLE / name).read_text(encoding="utf-8")) for name, kind in ASSETS.items() if kind == "task"]

    assert {kind: kinds.count(kind) for kind in ("kb", "document", "skill", "rules")} == {
        "kb": 2,
        "document": 3,
        "skill": 3,
        "rules": 2,
    }
    assert sorted(str(task.fields["status"]) for task in tasks) == ["done", "open"]


@pytest.mark.parametrize(("argument", "code"), [("INV-2026-004471", 0), ("INV-2026-009999", 3), ("4471", 2), ("", 2)])
def test_the_script_of_the_skill_does_what_the_skill_says(argument: str, code: int) -> None:
    """Exit codes are those of the table in SKILL.md, and the answer is one JSON object."""
    script = EXAMPLE / "skills" / "query-invoice-status" / "scripts" / "query_invoice.py"

    done = subprocess.run([sys.executable, str(script), argument], capture_output=True, text=True)

    assert done.returncode == code
    assert (json.loads(done.stdout)["status"] == "refund pending") if code == 0 else done.stderr
