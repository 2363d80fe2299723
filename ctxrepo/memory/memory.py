"""Everything one can do with private memory, as one object: `repo.memory`.

The verbs of single facts are `MemoryVerbs`; what reads or changes many of them has a module of its own,
imported when it is asked for, because extraction and comparison compile patterns that `memory list` does not need.
A language model, if the user has chosen one, is consulted here and nowhere below.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ctxrepo.memory.verbs import MemoryVerbs

if TYPE_CHECKING:
    from ctxrepo.memory.rulebook import Rulebook


class Memory(MemoryVerbs):
    """The memory of a workspace's user, with every verb of `ctxrepo memory`."""

    @property
    def rules(self) -> Rulebook:
        """What to remember and what not: `set`, `list`, `test`, `remove`."""
        from ctxrepo.memory.rulebook import Rulebook

        return Rulebook(self._workspace)

    def capture(
        self, data: str | Mapping[str, Any], *, session: str | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Remembers what a turn or a transcript holds. See `capture.Capture.capture`."""
        from ctxrepo.memory import by_model
        from ctxrepo.memory.capture import Capture

        model = by_model.model_of(self._workspace)
        ask = by_model.propose(model, _tell) if model else None
        return Capture(self._workspace).capture(data, session=session, dry_run=dry_run, propose=ask)

    def consolidate(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Merges, settles, forgets, in one commit. See `consolidate.consolidate`."""
        from ctxrepo.memory import by_model
        from ctxrepo.memory.consolidation.consolidate import consolidate

        model = by_model.model_of(self._workspace)
        return consolidate(self._workspace, dry_run=dry_run, llm=by_model.judge(model, _tell) if model else None)

    def forget(self, *, dry_run: bool = False) -> dict[str, Any]:
        """Takes out of recall what the rules and defaults say. See `forget.forget`."""
        from ctxrepo.memory.consolidation.forget import forget

        return forget(self._workspace, dry_run=dry_run)

    def purge(
        self, *refs: str, words: tuple[str, ...] = (), even_if_held: bool = False, dry_run: bool = False
    ) -> dict[str, Any]:
        """Deletes facts for good, from history too. See `purge.purge_facts`."""
        from ctxrepo.memory.purge import purge_facts

        return purge_facts(self._workspace, *refs, words=words, even_if_held=even_if_held, dry_run=dry_run)

    def graph(self, *, entity: str | None = None, depth: int = 1, limit: int = 80) -> dict[str, Any]:
        """The things that memory is about and how they hang together. See `graph.graph`."""
        from ctxrepo.memory import graph as graphs

        return graphs.as_data(graphs.of_workspace(self._workspace, entity=entity, depth=depth, limit=limit))

    def recommend(self, *, limit: int = 10, least: float = 0.5) -> dict[str, Any]:
        """Memories that may be worth sharing, with the reasons. See `recommend.recommended`."""
        from ctxrepo.memory.held import read_all
        from ctxrepo.memory.recommend import as_row, recommended

        facts = read_all(self._workspace)
        found = recommended(facts, at=self._workspace.clock(), least=least, limit=limit)
        return {"results": [as_row(self._store, each) for each in found], "facts": len(facts)}

    def import_from(self, source: str, path: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Takes memories of another program in as candidates. See `importing.run.import_memories`."""
        from ctxrepo.memory.importing.run import import_memories

        return import_memories(self._workspace, source, path, dry_run=dry_run)


def _tell(sentence: str) -> None:
    """What a model could not do is said on stderr; the rules have done their part."""
    sys.stderr.write(sentence + "\n")
