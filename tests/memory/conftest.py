"""A workspace of the user `me`, opened from Python with this test's clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ctxrepo.api import ContextRepository, open_workspace
from tests.conftest import Clock
from tests.support.template import new_workspace

PROJECT = "github.com/acme/billing"


@pytest.fixture
def team(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a new workspace."""
    return new_workspace(tmp_path / "team", tmp_path_factory)


@pytest.fixture
def opened(team: Path, clock: Clock) -> Callable[..., ContextRepository]:
    """Opens the workspace; ids are the same in every run."""
    seed = Random(7)

    def open_it(**options: Any) -> ContextRepository:
        return open_workspace(team, **{"project": PROJECT, "clock": clock, "random": seed.randbytes} | options)

    return open_it


@pytest.fixture
def repo(opened: Callable[..., ContextRepository]) -> ContextRepository:
    """The workspace as the person `me`, who works on billing."""
    return opened()
