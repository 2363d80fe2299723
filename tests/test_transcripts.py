"""The README and the transcripts are executed: what they show is what a user gets."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.cli.demo import make_live
from tests.support.transcripts import START, run

TESTS = Path(__file__).parent
README = TESTS.parent / "README.md"
DOCUMENTS = [README, *sorted((TESTS / "transcripts").glob("*.txt"))]


def prepare(kind: str, folder: Path) -> None:
    """Fills a folder: `empty`, `example` (the plain files) or `live` (a workspace, you are mei)."""
    if kind == "example":
        shutil.copytree(TESTS.parent / "example-workspace", folder, dirs_exist_ok=True)
    elif kind == "live":
        make_live(folder, "mei")
    else:
        assert kind == "empty"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_document_is_true(
    document: Path, home: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of the document prints what stands below it; `--update` rewrites the document."""
    monkeypatch.setenv("CTXREPO_NOW", f"{START:%Y-%m-%dT%H:%M:%SZ}")
    reports = run(document, home, prepare, update=request.config.getoption("--update"))

    assert not reports, "\n\n".join(reports)


@pytest.mark.parametrize("program", re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S))
def test_the_python_of_the_readme_runs(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block runs as it stands in a live workspace and prints what it promises to."""
    monkeypatch.delenv("CTXREPO_WORKSPACE")
    prepare("live", tmp_path)

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
