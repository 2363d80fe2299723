"""What one can do with private memory: add, list, show, update, delete.

Each verb is one operation and one commit in the owner's own repository; several facts that belong
together (a fact and the one it supersedes) are written in the same commit.  What comes in is screened
here, whoever calls: secrets and invisible characters are refused, not stored and masked, because a
person at the keyboard can still say it differently.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ctxrepo.asset.check import check, refuse_errors
from ctxrepo.asset.frontmatter import Parsed, decode, parse, render
from ctxrepo.asset.ids import tail
from ctxrepo.asset.kinds import values
from ctxrepo.errors import Invalid, NotFound, Refused
from ctxrepo.index.catalog import Entry
from ctxrepo.memory.facts import default_project, file_name, joined, month_folder, new_header, superseding
from ctxrepo.store.files import ABSENT
from ctxrepo.store.tx import Tx
from ctxrepo.text.names import confined
from ctxrepo.text.secrets import find_secrets
from ctxrepo.workspace.workspace import Found, Workspace

Fact = dict[str, Any]


class MemoryVerbs:
    """The memory of a workspace's user."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._store = workspace.memory_store

    def add(
        self,
        text: str,
        *,
        kind: str | None = None,
        project: str | None = None,
        source: str | None = None,
        supersedes: tuple[str, ...] = (),
        session: str | None = None,
        reason: str | None = None,
        **fields: Any,
    ) -> Fact:
        """Remembers `text`, the user's own words.

        Args:
            kind: preference, rule, decision, correction, fact, experience or task-state; fact when not given.
            project: where it holds, `*` for everywhere; else everywhere for a preference, and the
                workspace's project for anything else.
            source: where it comes from; `cli` or the agent's name when not given.
            supersedes: names of facts that it takes the place of; they get `valid_until` in the same commit.
            session: the session it comes from, with `turn` its place in it.
            reason: why; stands in the commit as well.
            fields: importance, confidence (0 to 1), entities, tags, valid_from, valid_until, turn.

        Raises:
            Refused: it holds a secret.
            Invalid: a field does not fit its table, or the text is empty or holds invisible characters.
        """
        workspace = self._workspace
        _refuse_secrets(text)
        sort = kind or "fact"
        holds = confined(project, "project") if project and project != "*" else project
        now = workspace.stamp()
        replaced = [self._find(ref) for ref in supersedes]
        listed = {name: joined(fields.pop(name, None) or ()) for name in ("entities", "tags")}
        header = new_header(
            fact_id=workspace.new_id(),
            kind=sort,
            now=now,
            project=holds or default_project(sort, workspace.project),
            agent=workspace.agent,
            source=source or ("cli" if workspace.agent == "*" else workspace.agent),
            extra={
                **fields,
                **listed,
                "session": session,
                "reason": reason,
                "supersedes": [hit.entry.id for hit in replaced],
            },
        )
        content = render(None, header, body=text.strip() + "\n")
        folder = month_folder(now, self._entries, int(str(workspace.settings["memory.folder_entries"])))
        path = f"{folder}/{file_name(text, header['id'])}"
        refuse_errors(check("fact", parse(content), f"{self._store}/{path}", new=True))
        subject = f"memory: add {' '.join(text.split())[:60]}"
        with workspace.transaction(self._store, "memory.add", subject=subject, reason=reason, session=session) as tx:
            tx.trailer("Ctx-Id", header["id"])
            tx.write(path, content.encode(), ABSENT)
            for hit in replaced:
                self._rewrite(tx, hit, superseding(header["id"], now))
        return self._fact(path, parse(content)) | {"commit": tx.commit_id}

    def list(
        self, *, kind: str | None = None, status: str | None = "active", project: str | None = None, limit: int = 100
    ) -> dict[str, Any]:
        """Facts, newest first.

        Args:
            kind: only of this kind.
            status: only with this status; None for whatever status.
            project: only those that hold in this project, global ones included.
            limit: how many to return; `total` says how many there are.
        """
        self._workspace.fresh(self._store)
        with self._workspace.index(self._store).catalog() as catalog:
            rows = catalog.entries(
                classes=("memory",),
                kinds=(kind,) if kind else (),
                statuses=(status,) if status else (),
                places=(project, "*") if project else (),
            )
        return {"results": [self._row(entry) for entry in rows[:limit]], "total": len(rows)}

    def show(self, ref: str) -> Fact:
        """One fact with everything its file holds.

        Raises:
            NotFound: nothing answers to `ref`. UsageFault: several do.
        """
        hit = self._find(ref)
        return self._fact(hit.entry.path, parse(decode(self._workspace.read(hit))))

    def update(
        self,
        ref: str,
        *,
        text: str | None = None,
        project: str | None = None,
        status: str | None = None,
        reason: str | None = None,
        **fields: Any,
    ) -> Fact:
        """Changes a fact; what is not named stays byte for byte.

        Args:
            ref: path, id, or the beginning or tail of the id.
            text: the new words.
            project: where it holds from now on.
            status: active, invalidated (was wrong) or forgotten (out of recall).
            reason: why; stands in the file and in the commit.
            fields: kind, importance, confidence, entities, tags, valid_from, valid_until.

        Raises:
            Refused: the new text holds a secret.
            Invalid: a field does not fit its table.
            Conflict: the file changed in this moment.
        """
        workspace = self._workspace
        hit = self._find(ref)
        if text is not None:
            _refuse_secrets(text)
        if project and project != "*":
            confined(project, "project")
        given: Fact = {"project": project, "status": status, "reason": reason, **fields}
        listed = {name: joined(given.pop(name) or ()) for name in ("entities", "tags") if name in given}
        changes: Fact = {name: value for name, value in (given | listed).items() if value not in (None, [], ())}
        subject = f"memory: update {hit.entry.title[:60]}"
        with workspace.transaction(self._store, "memory.update", subject=subject, reason=reason) as tx:
            tx.trailer("Ctx-Id", hit.entry.id)
            changed = self._rewrite(tx, hit, changes, body=None if text is None else text.strip() + "\n")
        return self.show(hit.path) | {"commit": tx.commit_id, "changed": changed}

    def delete(self, *refs: str, reason: str | None = None) -> dict[str, Any]:
        """Deletes facts in one commit; `Workspace.undo` of that commit brings them back.

        Raises:
            NotFound: nothing answers to a name; then nothing is deleted.
        """
        hits = list({hit.path: hit for hit in map(self._find, refs)}.values())
        if not hits:
            raise NotFound("Nothing to delete.", hint="ctxrepo memory list")
        what = hits[0].entry.title[:60] if len(hits) == 1 else f"{len(hits)} facts"
        with self._workspace.transaction(
            self._store, "memory.delete", subject=f"memory: delete {what}", reason=reason
        ) as tx:
            for hit in hits:
                tx.trailer("Ctx-Id", hit.entry.id)
                tx.delete(hit.entry.path)
        return {"results": [self._row(hit.entry) for hit in hits], "commit": tx.commit_id}

    def _find(self, ref: str) -> Found:
        found = self._workspace.find(ref, stores=(self._store,))
        if found.entry.cls != "memory":
            raise NotFound(f"{found.path} is no fact.", hint=f"ctxrepo show {found.path}")
        return found

    def _rewrite(self, tx: Tx, hit: Found, changes: Mapping[str, Any], body: str | None = None) -> bool:
        """Changes a fact inside a transaction; `updated` follows only when something else changes."""
        data = tx.read(hit.entry.path)
        if data is None:
            raise NotFound(f"{hit.path} is gone.", hint="ctxrepo memory list")
        parsed = parse(decode(data))
        same = {name: value for name, value in changes.items() if parsed.fields.get(name) == value}
        wanted = {name: value for name, value in changes.items() if name not in same}
        if not wanted and (body is None or body == parsed.body.lstrip("\n")):
            return False
        kept_gap = parsed.body[: len(parsed.body) - len(parsed.body.lstrip("\r\n"))]
        content = render(
            parsed, {**wanted, "updated": self._workspace.stamp()}, body=None if body is None else kept_gap + body
        )
        refuse_errors(check("fact", parse(content), hit.path, new=True))
        tx.write(hit.entry.path, content.encode())
        return True

    def _entries(self, folder: str) -> int:
        """How many files a folder of the store holds."""
        try:
            return len(os.listdir(os.path.join(self._workspace.layout.store_root(self._store), folder)))
        except OSError:
            return 0

    def _fact(self, path: str, parsed: Parsed) -> Fact:
        """A fact as the command line and the Python API give it."""
        fields = values("fact", parsed.fields)
        return {
            "id": fields["id"],
            "class": "memory",
            "path": f"{self._store}/{path}",
            "tail": tail(str(fields["id"] or "")),
            "text": parsed.body.strip(),
            **{name: value for name, value in fields.items() if name != "id" and value not in (None, (), [])},
            "source_text": parsed.text,
        }

    def _row(self, entry: Entry) -> Fact:
        """A fact as lists give it, from the catalog alone."""
        return {
            "id": entry.id,
            "class": "memory",
            "path": f"{self._store}/{entry.path}",
            "tail": tail(entry.id),
            "title": entry.title,
            "kind": entry.kind,
            "status": entry.status,
            "project": entry.project or "*",
            "agent": entry.agent or "*",
            "created": entry.created,
        }


def _refuse_secrets(text: str) -> None:
    """Refuses words that should not lie in a file in plain text.

    Raises:
        Invalid: there are no words. Refused: there is a secret among them, named by kind and never repeated.
    """
    if not text.strip():
        raise Invalid("A fact needs words.", hint='ctxrepo memory add "…"')
    secrets = sorted({secret.kind for secret in find_secrets(text)})
    if secrets:
        raise Refused(
            f"This text holds a secret ({', '.join(secrets)}); nothing was stored.",
            hint="say it without the secret, or name the place where it is kept",
        )
