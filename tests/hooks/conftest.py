"""A workspace in which a prompt finds something; made once, and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.live import Live

CHILI = "对辣菜过敏，聚餐要避开"
ASKS_CHILI = "周五聚餐能点辣菜吗"


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the workspace lies that is copied."""
    return tmp_path_factory.mktemp("original") / "team"


@pytest.fixture
def live(tmp_path: Path, original: Path) -> Live:
    """One user who cannot eat chili."""
    if not original.exists():
        Live.made(original).add(CHILI, kind="preference")
    shutil.copytree(original, tmp_path / "team", symlinks=True)
    return Live(tmp_path / "team")
