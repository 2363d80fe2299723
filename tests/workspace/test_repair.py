"""`ctxrepo doctor --fix` brings back what can be brought back, through the installed command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.git import git
from tests.support.live import Live


@pytest.fixture
def live(tmp_path: Path) -> Live:
    made = Live.made(tmp_path / "team")
    made.add("对辣菜过敏，聚餐要避开")
    return made


def test_a_store_whose_repository_is_gone_gets_a_new_one_with_all_its_files(live: Live) -> None:
    """Every command says so and names the mend; after it the facts are committed and recalled again."""
    shutil.rmtree(live.local / "stores" / "memory" / "me.git")

    refused = live.run("memory", "list")
    assert refused.returncode == 3 and "ctxrepo doctor --fix" in refused.stderr
    fixed = live.run("doctor", "--fix")

    assert fixed.returncode == 0, fixed.stdout + fixed.stderr
    assert git(live.mine(), "status", "--porcelain") == ""
    assert live.found("聚餐") == ["对辣菜过敏，聚餐要避开"]


def test_a_missing_git_index_is_made_anew(live: Live) -> None:
    """Without it a person's own commit would delete every fact."""
    (live.local / "stores" / "memory" / "me.git" / "index").unlink()

    found = live.run("doctor")
    assert found.returncode == 1 and "index" in found.stdout
    assert live.run("doctor", "--fix").returncode == 0

    assert git(live.mine(), "status", "--porcelain") == ""
    git(live.mine(), "commit", "--allow-empty", "-qam", "by hand")
    assert live.found("聚餐") == ["对辣菜过敏，聚餐要避开"]
