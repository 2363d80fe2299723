"""ctxrepo: memory, knowledge, skills and tasks of AI agents as Markdown files in git.

`open_workspace` is the whole Python entry; it is loaded on first use, because the recall hook
imports this package at every prompt and must not pay for what it does not use.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__", "open_workspace"]


def __getattr__(name: str) -> object:
    if name == "open_workspace":
        from ctxrepo.api import open_workspace

        return open_workspace
    raise AttributeError(f"module 'ctxrepo' has no attribute {name!r}")
