"""The README and the transcripts are executed: what they show is what a user gets."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ctxrepo.cli.demo import make_live
from tests.support.transcripts import run

TESTS = Path(__file__).parent
DOCUMENTS = [TESTS.parent / "README.md", *sorted((TESTS / "transcripts").glob("*.txt"))]


def prepare(kind: str, folder: Path) -> None:
    """Fills a folder: `empty`, `example` (the plain files) or `live` (a workspace, you are mei)."""
    if kind == "example":
        shutil.copytree(TESTS.parent / "example-workspace", folder, dirs_exist_ok=True)
    elif kind == "live":
        make_live(folder, "mei")
    else:
        assert kind == "empty"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_document_is_true(document: Path, home: Path, request: pytest.FixtureRequest) -> None:
    """Every command of the document prints what stands below it; `--update` rewrites the document."""
    reports = run(document, home, prepare, update=request.config.getoption("--update"))

    assert not reports, "\n\n".join(reports)
