"""A workspace of the user `me`, and the verbs on it with this test's clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from tests.conftest import Clock
from tests.support.template import new_workspace


@pytest.fixture
def team(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a new workspace."""
    return new_workspace(tmp_path / "team", tmp_path_factory)


@pytest.fixture
def repo(team: Path, clock: Clock) -> ContextRepository:
    """The workspace as the person `me` sees it from the project billing."""
    return open_workspace(team, project="github.com/acme/billing", clock=clock)
