"""One recall: a question, a scope and a clock in; ranked hits with their factors out.

The scope (places, agents, validity) is an argument that cannot be left out, and the reader that is
passed in belongs to one user's store, so nothing of anybody else is ever opened.  What happens:

1. the question's terms find candidates by BM25 inside the scope, one search;
2. `ranking` lifts them by what stands beside them, and reads the text of the best few;
3. relevance is compared with the threshold; only then time, importance and confidence order the rest.

A prompt may be a pasted log: of a long text its two ends are read and its rarest terms searched.
Several passages of one file answer once, with the best of them.

On the recall hook's path, so imports are light.
"""

from __future__ import annotations

import os
from stat import S_ISREG
from zlib import crc32

from ctxrepo.index.place import index_dir
from ctxrepo.index.reader import BODY, PREFERENCE, Reader, Scope, scope_name
from ctxrepo.recall import ranking
from ctxrepo.text.analyzer import query_terms
from ctxrepo.workspace.layout import TEAM, Layout, memory_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

END_CHARACTERS = 4000
"""Of a longer question the first and the last so many characters are read."""

MOST_TERMS = 64
"""Terms that are searched for; of more, the rarest."""

LARGEST = 8 * 1024 * 1024
"""Bytes of a file that is quoted, the limit of `asset.frontmatter`."""

READ_AT_LEAST, READ_AT_MOST = 6, 200
_NUMBERS = ("kind", "created", "importance", "confidence")


class Asked:
    """A question as it is searched."""

    __slots__ = ("question", "searched", "terms", "text")

    def __init__(self, reader: Reader, text: str) -> None:
        if len(text) > 2 * END_CHARACTERS:
            text = f"{text[:END_CHARACTERS]}\n{text[-END_CHARACTERS:]}"
        self.text = text
        self.terms = query_terms(text)
        frequencies = reader.doc_freqs(self.terms)
        self.question = ranking.Question(text, self.terms, frequencies, reader.num_docs)
        known = [(count, term) for count, term in zip(frequencies, self.terms, strict=True) if count]
        self.searched = [term for _, term in (sorted(known)[:MOST_TERMS] if len(known) > MOST_TERMS else known)]


def recall(
    reader: Reader,
    text: str,
    scope: Scope,
    *,
    settings: Mapping[str, Any],
    now: float,
    limit: int,
    threshold: float,
    thorough: bool = False,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The hits for a question, best first, and the read candidates that fell below the threshold.

    Args:
        reader: the index of one store.
        text: the question or prompt as written.
        scope: what may be seen at all.
        settings: the `recall.` settings, by dotted name.
        now: Unix seconds; age is measured from it.
        limit: hits at most, one for each file.
        threshold: least relevance, 0 to 1, before time and importance.
        thorough: read on when the answer is certain already, to say what fell below the threshold.

    Returns:
        Each hit is the stored record (`index.documents`) with `relevance`, `score` and `factors`.
    """
    asked = Asked(reader, text)
    found = reader.candidates(asked.searched, scope, ranking.CANDIDATES, BODY)
    if not found.addresses:
        return [], []
    reading = _Reading(reader, asked.question, found.addresses)
    own = ranking.own_scores(found.scores, reading.lengths)
    beside = reader.beside(ranking.wanted_neighbours(own, reading.groups, reading.turns), scope)
    reading.extend(beside)
    match = ranking.match(own + [0.0] * len(beside), reading.groups, reading.turns)
    order = sorted(range(len(match.total)), key=match.total.__getitem__, reverse=True)
    best = order[: max(READ_AT_LEAST, min(READ_AT_MOST, 2 * limit))]
    known = reading.words(best[:READ_AT_LEAST]) if asked.question.names else frozenset()
    kinds, dates, importance, confidence = reading.columns(best)
    kept: dict[str, dict[str, Any]] = {}
    below: list[dict[str, Any]] = []
    for place, i in enumerate(best):
        if not thorough and len(kept) >= limit and ranking.most(match.total[i]) < _least(kept, limit):
            break
        near = reading.words([i, *reading.neighbours(i, best)])
        relevance, why = ranking.relevance(asked.question, reading.words([i]), near, known, reading.lengths[i])
        preference = kinds[place] == PREFERENCE
        time = ranking.time_weight(dates[place], now, preference=preference, settings=settings)
        score, factors = ranking.weight(relevance, match.total[i], time, importance[place], confidence[place])
        record = reading.record(i)
        factors = {**why, **match.factors(i), **factors}
        hit = record | {
            "relevance": round(relevance, 3),
            "score": score,
            "factors": {name: round(value, 3) for name, value in factors.items()},
        }
        if relevance < threshold:
            below.append(hit)
        elif score > kept.get(str(record["path"]), hit | {"score": -1.0})["score"]:
            kept[str(record["path"])] = hit
    return sorted(kept.values(), key=lambda hit: -hit["score"])[:limit], below


class _Reading:
    """Candidates of one question: their numbers, and their texts as far as somebody asked for them."""

    __slots__ = ("_addresses", "_question", "_reader", "_records", "_words", "groups", "lengths", "turns")

    def __init__(self, reader: Reader, question: ranking.Question, addresses: list[Any]) -> None:
        self._reader = reader
        self._question = question
        self._addresses: list[Any] = []
        self._records: dict[int, dict[str, Any]] = {}
        self._words: dict[int, frozenset[str]] = {}
        self.groups: list[int] = []
        self.turns: list[int] = []
        self.lengths: list[int] = []
        self.extend(addresses)

    def extend(self, addresses: list[Any]) -> None:
        """Adds candidates, with their numbers."""
        if addresses:
            self._addresses += addresses
            self.groups += self._reader.integers("group", addresses)
            self.turns += self._reader.integers("turn", addresses)
            self.lengths += self._reader.integers("length", addresses)

    def columns(self, chosen: list[int]) -> list[list[Any]]:
        """kind, created, importance and confidence of the chosen candidates."""
        addresses = [self._addresses[i] for i in chosen]
        return [self._reader.column(name, addresses) for name in _NUMBERS]

    def record(self, i: int) -> dict[str, Any]:
        """The stored record of a candidate."""
        if i not in self._records:
            self._records[i] = self._reader.stored(self._addresses[i])
        return self._records[i]

    def words(self, chosen: list[int]) -> frozenset[str]:
        """The question's terms that occur in any of these candidates."""
        for i in chosen:
            if i not in self._words:
                self._words[i] = self._question.found(_indexed_text(self.record(i)))
        return self._words[chosen[0]].union(*(self._words[i] for i in chosen[1:]))

    def neighbours(self, i: int, among: list[int]) -> list[int]:
        """Those of `among` that stand at most two turns from `i` in the same session or document."""
        group, turn = self.groups[i], self.turns[i]
        return [j for j in among if j != i and group and self.groups[j] == group and abs(self.turns[j] - turn) <= 2]


def _least(kept: Mapping[str, dict[str, Any]], limit: int) -> float:
    """The score of the last hit that would be shown."""
    return float(sorted((hit["score"] for hit in kept.values()), reverse=True)[limit - 1])


def prompt_recall(
    layout: Layout, config: Mapping[str, Any], prompt: str, *, agent: str, project: str, now: float
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """What the recall hook injects: memories, and the knowledge bases when they can help.

    The bases are named when something was recalled, or when one of their reviewed documents answers the prompt;
    a greeting gets neither.

    Args:
        config: the compiled configuration of the workspace (`workspace.compiled`).
        agent: the agent that asks; it sees its own entries and everybody's.
        project: identity of the project it works in.
    """
    settings = config["settings"]
    threshold = settings["recall.threshold"]
    store = memory_of(config["user"])
    scope = Scope(places={project, "*"}, agents={agent, "*"}, now=now)
    hits, _ = recall(
        Reader(index_dir(layout.state_dir(store))),
        prompt,
        scope,
        settings=settings,
        now=now,
        limit=settings["recall.limit"],
        threshold=threshold,
    )
    root = os.path.realpath(layout.base(store))
    hits = [fresh for hit in hits if (fresh := confirmed(hit, root, scope)) is not None]
    bases = [(name, purpose) for name, purpose in config["bases"]]
    if bases and not hits:
        shared = Scope(places=None, agents=None, now=now, classes=("knowledge",))
        team = Reader(index_dir(layout.state_dir(TEAM)))
        answers, _ = recall(team, prompt, shared, settings=settings, now=now, limit=1, threshold=threshold)
        bases = bases if answers else []
    return hits, bases


def confirmed(hit: dict[str, Any], root: str, scope: Scope) -> dict[str, Any] | None:
    """The hit if its file still says so, its new words if they were edited since, None if it is gone or out of scope.

    The index may be a few seconds behind a person's editor; what is quoted to an agent must not be. What is found at
    the path may by now be a link that leads elsewhere, a pipe or a huge file: that is not read.
    """
    path = str(hit["path"])
    full = os.path.join(root, path)
    if os.path.realpath(full) != full:
        return None
    try:
        handle = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            seen = os.fstat(handle)
            data = os.read(handle, seen.st_size) if S_ISREG(seen.st_mode) and seen.st_size <= LARGEST else b""
        finally:
            os.close(handle)
    except OSError:
        return None
    return hit if crc32(data) == hit.get("crc32") else _reread(hit, path, data, scope)


def _reread(hit: dict[str, Any], path: str, data: bytes, scope: Scope) -> dict[str, Any] | None:
    """An edited file as a hit; the YAML reader is loaded only for this rare case."""
    import json

    from ctxrepo.index.documents import describe

    try:
        now = describe(path, data, 0.0)
    except Exception:  # a file over which our own code stumbles takes no other memory along
        return None
    if now is None or not now.documents:
        return None
    row, first = now.row, now.documents[0]
    if not scope.admits(scope_name(row.cls, row.status, True, now.place, now.agent)):
        return None
    at = scope.now or 0.0
    if (first.valid_from or at) > at or (first.valid_until is not None and first.valid_until <= at):
        return None
    record: dict[str, Any] = json.loads(first.stored)
    return hit | record


def _indexed_text(record: Mapping[str, Any]) -> str:
    """The text that was searched: the body of a fact; title and description before the first passage of a document."""
    if record.get("part", 0) == 0:
        return "\n".join(str(record[name]) for name in ("title", "description", "text") if record.get(name))
    return str(record["text"])
