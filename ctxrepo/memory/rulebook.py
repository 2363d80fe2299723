"""The verbs of `memory rule`: set, list, test and remove lines of `rules.md`, each one commit.

The file belongs to its owner: it is rewritten through the front-matter writer, which keeps prose, comments and the
order of what else stands there.  A rule that does not parse is refused before anything is written.
"""

from __future__ import annotations

from typing import Any

from ctxrepo.asset.frontmatter import Parsed, decode, parse
from ctxrepo.errors import NotFound
from ctxrepo.memory.consolidation.forget import Forgetting, view
from ctxrepo.memory.held import read_all
from ctxrepo.memory.rules.grammar import RuleError, make_rule
from ctxrepo.memory.rules.page import rules_of, with_rule, without_rule
from ctxrepo.memory.rules.rule import Rule, known
from ctxrepo.memory.screening import refuse_unseen
from ctxrepo.workspace.workspace import Workspace

FILE = "rules.md"
SHOWN = 100


class Rulebook:
    """The memory rules of a workspace's user."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._store = workspace.memory_store

    def set(
        self, name: str, *, when: str, do: str, kind: str | None = None, importance: float | None = None
    ) -> dict[str, Any]:
        """Adds a rule, or replaces the one of that name.

        Args:
            when: the condition, see `ctxrepo.memory.rules.grammar`.
            do: ignore, remember, forget or keep.
            kind, importance: what `remember` gives to what it keeps.

        Raises:
            RuleError: it cannot be read.
            Refused: it holds a secret.
        """
        rule = make_rule(name, when, do, kind, importance)
        refuse_unseen("rule", str(rule))
        with self._workspace.transaction(
            self._store, "memory.rule", subject=f"memory: rule {rule.name} {rule.action}"
        ) as tx:
            data = tx.read(FILE)
            tx.write(FILE, with_rule(None if data is None else parse(decode(data)), rule).encode())
        return _row(rule) | {"commit": tx.commit_id}

    def remove(self, name: str) -> dict[str, Any]:
        """Takes a rule out.

        Raises:
            NotFound: there is none of that name.
        """
        with self._workspace.transaction(self._store, "memory.rule", subject=f"memory: remove rule {name}") as tx:
            data = tx.read(FILE)
            content = None if data is None else without_rule(parse(decode(data)), name)
            if content is None:
                raise _no_rule(name)
            tx.write(FILE, content.encode())
        return {"name": name, "commit": tx.commit_id}

    def list(self) -> dict[str, Any]:
        """The rules, and the lines that are none with the reason."""
        rules, faults = _rules(self._workspace)
        return {"results": [_row(rule) for rule in rules], "problems": [_fault(fault) for fault in faults]}

    def test(self, name: str) -> dict[str, Any]:
        """Facts of today that a rule matches; nothing is changed.

        Raises:
            NotFound: there is no rule of that name.
        """
        rule = next((rule for rule in _rules(self._workspace)[0] if rule.name == name), None)
        if rule is None:
            raise _no_rule(name)
        how = Forgetting.of(self._workspace)
        at = self._workspace.clock()
        found = [
            {"id": fact.id, "path": f"{self._store}/{fact.path}", "kind": fact.fields["kind"], "text": fact.text}
            for fact in read_all(self._workspace)
            if fact.alive and rule.matches(known(view(fact, how, at)))
        ]
        return {"rule": _row(rule), "results": found[:SHOWN], "total": len(found)}


def _rules(workspace: Workspace) -> tuple[list[Rule], list[RuleError]]:
    parsed = read_rules(workspace)
    return rules_of(parsed) if parsed else ([], [])


def read_rules(workspace: Workspace) -> Parsed | None:
    """The user's `rules.md` as it is on disk; None if there is none.

    Raises:
        FrontmatterError: it cannot be read.
    """
    try:
        with open(f"{workspace.layout.store_root(workspace.memory_store)}/{FILE}", "rb") as handle:
            return parse(decode(handle.read()))
    except FileNotFoundError:
        return None


def _row(rule: Rule) -> dict[str, Any]:
    row: dict[str, Any] = {"name": rule.name, "when": rule.when, "do": rule.action}
    return row | {
        name: value for name, value in (("kind", rule.kind), ("importance", rule.importance)) if value is not None
    }


def _fault(fault: RuleError) -> dict[str, Any]:
    return {"line": fault.line, "column": fault.column, "message": fault.reason}


def _no_rule(name: str) -> NotFound:
    return NotFound(f"There is no rule called {name!r}.", hint="ctxrepo memory rule list")
