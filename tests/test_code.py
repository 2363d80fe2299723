"""The source keeps its own rules: style, types, layers, sizes, and a README that says the truth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ctxrepo.asset.schema import reference

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "ctxrepo").rglob("*.py"))


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "ruff", "check"],
        ["-m", "ruff", "format", "--check"],
        ["-m", "mypy"],
        ["-c", "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"],
    ],
    ids=["style", "format", "types", "layers"],
)
def test_the_checkers_are_content(command: list[str]) -> None:
    """ruff, its formatter, mypy and import-linter find nothing."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_why_it_exists_and_stays_small(path: Path) -> None:
    """Each module opens with prose and has at most 600 lines."""
    text = path.read_text(encoding="utf-8")

    assert text.startswith('"""')
    assert text.count("\n") <= 600


def test_ci_runs_the_command_of_the_readme() -> None:
    """A person who follows the README runs what CI runs."""
    command = (ROOT / ".ci" / "run").read_text(encoding="utf-8").rstrip("\n").rpartition("\n")[2]

    assert command.endswith("pytest")
    assert command in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_the_readme_lists_the_fields_as_they_are(request: pytest.FixtureRequest) -> None:
    """The tables of the README are those that `check` goes by; `--update` writes them."""
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    head, start, rest = text.partition("<!-- fields -->\n")
    _, end, tail = rest.partition("<!-- /fields -->")
    current = f"{head}{start}\n{reference()}\n{end}{tail}"
    if request.config.getoption("--update"):
        readme.write_text(current, encoding="utf-8")

    assert readme.read_text(encoding="utf-8") == current
