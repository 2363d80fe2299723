"""The way in from the shell; the recall hook leaves here before anything heavy is imported."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Run `ctxrepo …`; `ctxrepo hook …` takes the short way (see `ctxrepo.hooks.prompt`)."""
    if len(sys.argv) > 1 and sys.argv[1] == "hook":
        gc.disable()  # the process ends before a collection would pay
        from ctxrepo.hooks.prompt import main as run_hook

        os._exit(run_hook(sys.argv[2:]))  # tearing the interpreter down would cost a tenth of the whole
    from ctxrepo.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
