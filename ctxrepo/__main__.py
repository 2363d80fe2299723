"""The way in from the shell; the recall hook leaves here before anything heavy is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `ctxrepo …`; `ctxrepo hook …` takes the short way (see `ctxrepo.hooks.prompt`)."""
    if len(sys.argv) > 1 and sys.argv[1] == "hook":
        from ctxrepo.hooks.prompt import main as run_hook

        sys.exit(run_hook(sys.argv[2:]))
    from ctxrepo.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
