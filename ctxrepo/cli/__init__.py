"""The command line: parses and prints, nothing else; one file per noun."""

from __future__ import annotations

from ctxrepo.cli.main import run

__all__ = ["run"]
