"""Captures a turn or a transcript: what is worth remembering becomes facts, in one commit.

    transcript → turns not seen yet → sentences worth it → the owner's rules → secrets → what is there → one commit

Everything slow or undecided happens before the store is locked; under the lock a fact that is to be merged or
superseded must still be what was compared (else it stays as it is, and consolidation sees both).  What is left out is
reported with its reason; secrets are masked in that report.

Rejected: a commit for each fact (history becomes unreadable, and each costs 60 to 100 ms), and leaving duplicates to
the nightly run (the same preference said in five sessions a day would be recalled five times until then).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ctxrepo.asset.check import check
from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse, render
from ctxrepo.index.reader import Reader, Scope
from ctxrepo.memory import sessions
from ctxrepo.memory.comparison.compare import better_wording, digest, relation
from ctxrepo.memory.extraction import moments
from ctxrepo.memory.extraction.extract import EVERYWHERE as EVERYWHERE_SCOPE
from ctxrepo.memory.extraction.extract import PROJECT, Extracted, extract, statements, supported
from ctxrepo.memory.extraction.transcript import Turn, turns
from ctxrepo.memory.facts import EVERYWHERE, file_name, month_folder, new_header, superseding
from ctxrepo.memory.merging import merged_fields, provenance
from ctxrepo.memory.rulebook import read_rules
from ctxrepo.memory.rules.page import rules_of
from ctxrepo.memory.rules.rule import Known, Rule, first_match
from ctxrepo.memory.screening import refuse_unfit
from ctxrepo.store.files import ABSENT, etag
from ctxrepo.store.tx import Tx
from ctxrepo.text.analyzer import query_terms
from ctxrepo.text.hidden import find_hidden
from ctxrepo.text.secrets import find_secrets, mask
from ctxrepo.workspace.workspace import ALL_AGENTS, Workspace

OP = "memory.capture"
LIKE = 12
"""Facts that a new one is compared with."""

_MASKED = "⟨secret: "  # how `mask` shows a secret
_NAMED = 50
_CONFLICTS = 3  # contradictions of one fact that are marked; more of them are a series, no contradiction
_ECHO = 8  # letters of a recalled line that an assistant's sentence must hold to be taken for its echo

Propose = Callable[[Turn, date], list[Extracted]]
"""A language model's part: facts of a turn, each with a quotation."""


@dataclass(slots=True)
class _New:
    """A fact that will be written."""

    header: dict[str, Any]
    text: str
    turn: Turn
    action: str = "added"
    replaces: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Old:
    """A fact that is there, as it was compared, and what will change in it."""

    path: str
    etag: str
    text: str
    fields: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)
    body: str | None = None

    @property
    def id(self) -> str:
        return str(self.fields.get("id") or "")


class Capture:
    """Capturing for a workspace's user, agent and project."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._store = workspace.memory_store

    def capture(
        self,
        data: str | Mapping[str, Any] | Sequence[Turn],
        *,
        session: str | None = None,
        dry_run: bool = False,
        propose: Propose | None = None,
    ) -> dict[str, Any]:
        """Remembers what a turn or transcript holds.

        Args:
            data: JSON or JSONL as `transcript.turns` reads it, the object itself, or turns.
            session: the session's name, when the data does not say.
            dry_run: tell, write nothing.
            propose: what a language model finds in a turn; its facts pass the same gates as those of the rules.

        Returns:
            `results`: what was added, merged or known already (action, id, kind, text, path, replaces);
            `left_out`: what was not stored and why; `turns`, `skipped`: how many were read and passed over; `commit`.

        Raises:
            Invalid: the data is no turn and no transcript.
        """
        read = turns(data, session=session or "") if isinstance(data, str | Mapping) else list(data)
        run = _Run(self._workspace, read, propose)
        found = run.collect()
        commit = None if dry_run else self._write(run)
        if not dry_run:
            run.remember_turns()
        return {
            "results": found,
            "left_out": run.left_out,
            "turns": len(read),
            "skipped": run.skipped,
            "commit": commit,
        }

    def _write(self, run: _Run) -> str | None:
        """Writes everything that was decided, in one commit."""
        changed = [old for old in run.olds.values() if old.changes or old.body is not None]
        if not run.news and not changed:
            return None
        workspace = self._workspace
        what = run.news[0].text[:60] if len(run.news) == 1 else f"{len(run.news)} facts"
        subject = f"memory: capture {what}" if run.news else "memory: capture what was known"
        named = {new.turn.session for new in run.news if new.turn.session}
        one = named.pop() if len(named) == 1 else None
        contents = [(new, render(None, new.header, body=new.text + "\n")) for new in run.news]
        for _, content in contents:
            refuse_unfit(check("fact", parse(content), "fact", new=True))
        with workspace.transaction(self._store, OP, subject=subject, session=one) as tx:
            planned: Counter[str] = Counter()
            for new, content in contents:
                path = self._path(new, planned)
                tx.write(path, content.encode(), ABSENT)
                run.paths[new.header["id"]] = f"{self._store}/{path}"
            for new in run.news[:_NAMED]:
                tx.trailer("Ctx-Id", new.header["id"])
            for old in changed:
                self._change(tx, old)
        for row in run.rows:
            row["path"] = run.paths.get(row["id"], row["path"])
        return tx.commit_id

    def _path(self, new: _New, planned: Counter[str]) -> str:
        """Where a new fact goes; `planned` counts what this capture puts into each folder."""
        limit = int(str(self._workspace.settings["memory.folder_entries"]))
        root = self._workspace.layout.store_root(self._store)

        def entries(folder: str) -> int:
            try:
                return len(os.listdir(os.path.join(root, folder))) + planned[folder]
            except OSError:
                return planned[folder]

        folder = month_folder(new.header["created"], entries, limit)
        planned[folder] += 1
        return f"{folder}/{file_name(new.text, new.header['id'])}"

    def _change(self, tx: Tx, old: _Old) -> None:
        """Changes a fact that is still what it was compared as."""
        data = tx.read(old.path)
        if data is None or etag(data) != old.etag:
            return
        parsed = parse(decode(data))
        gap = parsed.body[: len(parsed.body) - len(parsed.body.lstrip("\r\n"))]
        body = None if old.body is None else gap + old.body + "\n"
        content = render(parsed, {**old.changes, "updated": self._workspace.stamp()}, body=body)
        tx.write(old.path, content.encode(), old.etag)


class _Run:
    """One capture: decides what is written, without writing."""

    def __init__(self, workspace: Workspace, read: Sequence[Turn], propose: Propose | None) -> None:
        self._workspace = workspace
        self._turns = read
        self._propose = propose
        self._now = workspace.stamp()
        parsed = read_rules(workspace)
        self._rules: list[Rule] = rules_of(parsed)[0] if parsed else []
        self.news: list[_New] = []
        self.olds: dict[str, _Old] = {}
        self.rows: list[dict[str, Any]] = []
        self.left_out: list[dict[str, Any]] = []
        self.paths: dict[str, str] = {}
        self.skipped = 0
        self._done: dict[str, list[str]] = {}
        self._consulted: set[str] = set()
        self._shown: list[str] = []
        self._reader: Reader | None = None

    def collect(self) -> list[dict[str, Any]]:
        """Looks at every turn that was not looked at before."""
        before = ""
        for number, turn in enumerate(self._turns):
            self._shown += turn.shown
            if self._is_new(turn):
                following = self._turns[number + 1] if number + 1 < len(self._turns) else None
                if self._uploads(turn, following):
                    self.skipped += 1
                    self.left_out.append({"text": "", "why": "the turn uploads a document into a knowledge base"})
                else:
                    self._turn(turn, before)
            else:
                self.skipped += 1
            before = turn.assistant
        return self.rows

    def remember_turns(self) -> None:
        """Notes that these turns were looked at."""
        for session, keys in self._done.items():
            until = self._workspace.clock() if session in self._consulted else None
            sessions.mark_done(self._workspace.layout.local, session, keys, answered_until=until)

    def _is_new(self, turn: Turn) -> bool:
        if not turn.session:
            return True
        key = sessions.key_of(turn.number, turn.user)
        known = sessions.done_turns(self._workspace.layout.local, turn.session)
        if key in known or key in self._done.get(turn.session, ()):
            return False
        self._done.setdefault(turn.session, []).append(key)
        return True

    def _uploads(self, turn: Turn, following: Turn | None) -> bool:
        if turn.uploads is not None or not turn.session:
            return bool(turn.uploads)
        self._consulted.add(turn.session)
        start = moments.seconds(turn.time)
        end = moments.seconds(following.time) if following else None
        return sessions.has_upload(self._workspace.layout.local, turn.session, start, end)

    def _turn(self, turn: Turn, before: str) -> None:
        today = moments.day(turn.time) or self._workspace.now.date()
        safe = turn._replace(user=mask(turn.user), assistant=mask(turn.assistant))
        found = extract(safe, today=today, before=mask(before))
        if self._propose is not None:
            found = _merged(found, [one for one in self._propose(safe, today) if supported(one.quote, safe)])
        found = self._by_rules(found, safe)
        reported = {secret.kind for secret in find_secrets(turn.user)}
        for one in found:
            why = self._refusal(one, safe)
            if why:
                self.left_out.append({"text": one.text, "why": why})
            else:
                self._place(one, turn)
        if reported and not any(_MASKED in row["text"] for row in self.left_out):
            self.left_out.append({"text": "", "why": f"a secret ({', '.join(sorted(reported))}) stood in the turn"})

    def _by_rules(self, found: list[Extracted], turn: Turn) -> list[Extracted]:
        """The owner's rules: what shall be remembered anyway, and what not."""
        if not self._rules:
            return found
        taken = {one.quote for one in found}
        more = [one for one in statements(turn) if one.quote not in taken]
        result: list[Extracted] = []
        for one, extracted in (*((one, True) for one in found), *((one, False) for one in more)):
            fact = self._known(one)
            ignore = first_match(self._rules, "ignore", fact)
            remember = first_match(self._rules, "remember", fact)
            if ignore:
                if extracted:
                    self.left_out.append({"text": one.text, "why": f"rule {ignore.name}"})
            elif remember:
                result.append(
                    one._replace(
                        kind=remember.kind or one.kind,
                        importance=one.importance if remember.importance is None else remember.importance,
                    )
                )
            elif extracted:
                result.append(one)
        return result

    def _known(self, one: Extracted) -> Known:
        return Known(
            text=one.quote if one.text in one.quote else one.text,
            kind=one.kind,
            project=self._project(one),
            agent=self._workspace.agent,
            source=_source(self._workspace),
            entities=one.entities,
            importance=one.importance,
            confidence=one.confidence,
        )

    def _refusal(self, one: Extracted, turn: Turn) -> str | None:
        """Why a fact may not be stored."""
        words = f"{one.text}\n{one.reason or ''}\n{' '.join(one.entities)}"
        if _MASKED in words or find_secrets(words):
            return "it holds a secret"
        if find_hidden(words):
            return "it holds hidden characters"
        return "it was recalled into this conversation" if self._is_echo(one, turn) else None

    def _is_echo(self, one: Extracted, turn: Turn) -> bool:
        """Whether a fact repeats what was recalled; a person may add to it, an assistant's sentence only echoes it."""
        key = _squeezed(one.text)
        by_user = _squeezed(one.quote) in _squeezed(turn.user)
        for line in self._shown:
            shown = _squeezed(line)
            if key in shown or (not by_user and len(shown) > _ECHO and shown in key):
                return True
            if relation(line, one.text).kind == "duplicate":
                return True
        return False

    def _project(self, one: Extracted) -> str:
        return EVERYWHERE if one.project_scope == EVERYWHERE_SCOPE else self._workspace.project

    def _place(self, one: Extracted, turn: Turn) -> None:
        """Lays a fact beside what is there and decides what becomes of both."""
        workspace = self._workspace
        header = new_header(
            fact_id=workspace.new_id(),
            kind=one.kind,
            now=moments.stamp(turn.time, self._now),
            project=self._project(one),
            agent=workspace.agent,
            source=f"{_source(workspace)} via {one.by}" if one.by else _source(workspace),
            extra={
                "importance": one.importance,
                "confidence": one.confidence,
                "entities": list(one.entities),
                "session": turn.session or None,
                "turn": turn.number if turn.session else None,
                "valid_from": one.valid_from,
                "valid_until": one.valid_until,
                "reason": one.reason,
            },
        )
        new = _New(header, one.text, turn)
        if self._meets_pending(new) or self._meets_old(new):
            return
        self.news.append(new)
        self.rows.append(_row(new.action, header["id"], header["kind"], new.text, "", new.replaces))

    def _meets_pending(self, new: _New) -> bool:
        """Whether this capture holds the fact already; an earlier one that it replaces is marked."""
        said = digest(new.text)
        for other in self.news:
            if other.header["status"] != "active" or not _same_place(other.header, new.header):
                continue
            kind = relation(digest(other.text), said).kind
            if kind == "duplicate":
                return True
            if _replaces(kind, new):
                other.header |= superseding(new.header["id"], self._now)
                _supersede(new, other.header["id"])
        return False

    def _meets_old(self, new: _New) -> bool:
        """Whether the store holds the fact already; what it replaces or contradicts is marked."""
        said = digest(new.text)
        for old in self._like(new.text):
            if old.fields.get("superseded_by") or old.changes.get("status") in ("superseded", "invalidated"):
                continue
            found = relation(digest(old.text), said)
            if found.kind == "duplicate":
                self._merge(old, new)
                return True
            if _replaces(found.kind, new):
                old.changes |= superseding(new.header["id"], self._now)
                _supersede(new, old.id)
            elif found.kind == "invalidate":
                why = f"corrected: {new.text[:200]}"
                old.changes |= {"status": "invalidated", "superseded_by": new.header["id"], "reason": why}
                _supersede(new, old.id)
            elif found.kind == "conflict" and old.id and len(new.header.get("conflicts_with", ())) < _CONFLICTS:
                old.changes |= {"status": "conflict", "conflicts_with": _with(old.fields, new.header["id"])}
                new.header |= {"status": "conflict", "conflicts_with": _with(new.header, old.id)}
                new.action = "in conflict"
        return False

    def _merge(self, old: _Old, new: _New) -> None:
        """Adds the new source to a fact that says the same; said again in one turn changes nothing."""
        action = "known"
        if not set(provenance(new.header)) <= set(provenance(old.fields)):
            old.changes |= merged_fields({**old.fields, **old.changes}, [new.header], self._now)
            action = "merged"
            if better_wording(old.text, new.text) == new.text != old.text:
                old.body = new.text
        path = f"{self._workspace.memory_store}/{old.path}"
        self.rows.append(_row(action, old.id, str(old.fields.get("kind") or "fact"), old.body or old.text, path, []))

    def _like(self, text: str) -> list[_Old]:
        """Facts of the same scope that share most with a text."""
        workspace = self._workspace
        store = workspace.memory_store
        agents = None if workspace.agent == ALL_AGENTS else {workspace.agent, ALL_AGENTS}
        scope = Scope(places={workspace.project, EVERYWHERE}, agents=agents, now=None, classes=("memory",))
        if self._reader is None:
            self._reader = workspace.reader(store)
        reader = self._reader
        found: list[_Old] = []
        for address in reader.candidates(query_terms(text)[:64], scope, LIKE).addresses:
            path = str(reader.stored(address)["path"]).removeprefix(f"{store}/")
            if path not in self.olds:
                old = _read_old(os.path.join(workspace.layout.store_root(store), path), path)
                if old is None:
                    continue
                self.olds[path] = old
            found.append(self.olds[path])
        return list({old.path: old for old in found}.values())


def _read_old(file: str, path: str) -> _Old | None:
    try:
        with open(file, "rb") as handle:
            data = handle.read()
        parsed = parse(decode(data))
    except (OSError, FrontmatterError):
        return None
    return _Old(path, etag(data), parsed.body.strip(), dict(parsed.fields))


def _replaces(kind: str, new: _New) -> bool:
    """Whether the relation lets the new fact take the old one's place; a correction settles a contradiction."""
    return kind == "supersede" or (kind == "conflict" and new.header["kind"] == "correction")


def _supersede(new: _New, old_id: str) -> None:
    if old_id:
        new.header["supersedes"] = [*new.header.get("supersedes", ()), old_id]
        new.replaces.append(old_id)
    new.action = "replaced"


def _with(fields: dict[str, Any], other: str) -> list[str]:
    known = fields.get("conflicts_with")
    return list(dict.fromkeys([*(known if isinstance(known, list) else []), other]))


def _same_place(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["project"] == other["project"] or EVERYWHERE in (one["project"], other["project"])


def _merged(found: list[Extracted], more: Iterable[Extracted]) -> list[Extracted]:
    """Facts of the rules and of a model; what both found counts once, in the rules' words."""
    keys = {_squeezed(one.quote) for one in found}
    fresh = [one for one in more if not any(_squeezed(one.quote) in key or key in _squeezed(one.quote) for key in keys)]
    return [*found, *(one._replace(project_scope=one.project_scope or PROJECT) for one in fresh)]


def _row(action: str, ident: str, kind: str, text: str, path: str, replaces: list[str]) -> dict[str, Any]:
    return {"action": action, "id": ident, "kind": kind, "text": text, "path": path, "replaces": replaces}


def _source(workspace: Workspace) -> str:
    return "cli" if workspace.agent == ALL_AGENTS else workspace.agent


def _squeezed(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
