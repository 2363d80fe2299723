"""Ask an index: the best documents for some terms inside a scope that cannot be left out.

**Exact and fast at once.** tantivy finds the top of a plain OR of terms by skipping blocks (WAND); a filter
inside the query switches that off and scores every match. So a scope that covers a good part of the index is
searched without a filter, asking for as many more hits as the scope is smaller than the index, and what lies
outside is dropped by its `scope` number. If fewer than `k` survive, or the scope is small to begin with, the
filter goes into the query. Either way the answer is the `k` best of the scope, as a full scan would give.

A scope is one number per document: class, status, reviewed, place (project of a memory or task, base of a
knowledge document) and agent together, numbered in `scopes.json`. One column replaces five, and "this project
or everywhere" becomes a set of numbers. Validity is checked on the hits, because it changes with the clock.

Rejected: five filter clauses (2.4 × the time), fetching stored documents to filter (a decompression each), and
tantivy's query parser for user text (it makes a phrase of a Chinese word, which finds nothing).

This module is loaded by the recall hook at every prompt: it imports os, json and tantivy, nothing slower.
"""

from __future__ import annotations

import json
import os

import tantivy

from ctxrepo.index import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import TypeVar

    T = TypeVar("T")

SERVED = ("active", "conflict", "draft", "verified", "open")
"""Statuses that may be shown unasked. Superseded, invalidated, forgotten, withdrawn and candidate never are;
demoted, done and archived are for those who ask for them. What keeps an unreviewed draft out is `reviewed`."""

KINDS = ("", "preference", "rule", "decision", "correction", "fact", "experience", "task-state")
"""Kinds of a fact by the number in the column `kind`; everything else has 0."""

PREFERENCE = 1

COLUMNS = frozenset(
    "file scope group turn kind created valid_from valid_until importance confidence length".split()  # noqa: SIM905
)

BODY = (("body", 1.0),)
HEAD_AND_BODY = (("head", 2.0), ("body", 1.0))

_WIDE = 0.2  # share of the index from which on an unfiltered search with more hits is the faster way (measured)
_NOT_DAMAGE = ("Too many open files", "Cannot allocate memory", "Permission denied")
_Query = tantivy.Query
_SHOULD = tantivy.Occur.Should
_MUST = tantivy.Occur.Must


class Scope:
    """What may be seen. Every argument has to be given or has the strictest default.

    Args:
        places: projects whose entries may be seen, `"*"` among them if global ones may; None = all of them.
        agents: the same for agents.
        now: Unix seconds at which an entry must be valid; None = valid or not.
        classes: memory, entity, knowledge, base, skill, task.
        statuses: which statuses count; None = every one.
        reviewed: True keeps what the default branch does not hold out of the answer.
    """

    __slots__ = ("agents", "classes", "now", "places", "reviewed", "statuses")

    def __init__(
        self,
        *,
        places: Collection[str] | None,
        agents: Collection[str] | None,
        now: float | None,
        classes: Collection[str] = ("memory",),
        statuses: Collection[str] | None = SERVED,
        reviewed: bool = True,
    ) -> None:
        self.places = places
        self.agents = agents
        self.now = now
        self.classes = classes
        self.statuses = statuses
        self.reviewed = reviewed

    def admits(self, name: str) -> bool:
        """Whether documents under this scope name (see `scope_name`) may be seen."""
        cls, status, reviewed, where, agent = name.split("\x1f")
        return (
            cls in self.classes
            and (self.statuses is None or status in self.statuses)
            and (reviewed == "1" or not self.reviewed)
            and (self.places is None or where in self.places)
            and (self.agents is None or agent in self.agents)
        )


def scope_name(cls: str, status: str, reviewed: bool, where: str, agent: str) -> str:
    """The name under which `scopes.json` numbers what these five have in common."""
    parts = (cls, status, "1" if reviewed else "0", where, agent)
    return "\x1f".join(part.replace("\x1f", " ") for part in parts)


class Candidates:
    """The best documents of a scope, best first: `scores[i]` is the BM25 score of `addresses[i]`."""

    __slots__ = ("addresses", "scores")

    def __init__(self, scores: list[float], addresses: list[tantivy.DocAddress]) -> None:
        self.scores = scores
        self.addresses = addresses

    def __len__(self) -> int:
        return len(self.scores)


class Reader:
    """One index as it was when opened; writers never disturb it, `refresh` looks for news.

    Args:
        folder: the index folder of a store (`place.index_dir`).

    Raises:
        IndexUnavailable: there is no index of this version, or it cannot be read.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._open()

    def _open(self) -> None:
        for _ in range(3):
            generation = place.current(self._folder)
            if generation is None:
                raise place.IndexUnavailable("The store has no search index yet.")
            try:
                self._load(generation)
            except BaseException as err:
                if not _is_fault(err):
                    raise
                if place.current(self._folder) != generation:
                    continue  # replaced and removed while we opened it
                raise self._damaged(err) from err
            return
        raise place.IndexUnavailable("The search index is being replaced again and again.")

    def _load(self, generation: str) -> None:
        self._index = tantivy.Index.open(os.path.join(generation, place.TANTIVY))
        self._schema = self._index.schema
        self._generation = generation
        self._look()

    def _look(self) -> None:
        """Take the latest commit. Scope numbers are written before the documents that carry them, so read after."""
        self._searcher = self._index.searcher()
        with open(os.path.join(self._generation, place.SCOPES), encoding="utf-8") as handle:
            self._scopes: dict[str, int] = json.load(handle)

    def refresh(self) -> None:
        """See what was written since; the answers given so far stay as they were."""
        if place.current(self._folder) == self._generation:
            try:
                self._index.reload()
                self._look()
            except BaseException as err:
                if not _is_fault(err):
                    raise
                if place.current(self._folder) == self._generation:
                    raise self._damaged(err) from err
            else:
                return
        self._open()

    @property
    def num_docs(self) -> int:
        """Documents (facts and passages) in the index, whatever their scope."""
        return self._searcher.num_docs

    @property
    def num_segments(self) -> int:
        """Parts that a search has to visit; writers keep their number small."""
        return self._searcher.num_segments

    def candidates(
        self, terms: Sequence[str], scope: Scope, k: int, fields: Sequence[tuple[str, float]] = BODY
    ) -> Candidates:
        """The `k` best documents of `scope` that hold at least one of `terms`.

        Args:
            terms: as `text.analyzer.query_terms` gives them.
            k: how many at most.
            fields: fields to search, each with the factor of its score.

        Raises:
            IndexUnavailable: the index turned out to be damaged; it is marked for a rebuild.
        """
        wanted = [number for name, number in self._scopes.items() if scope.admits(name)]
        if not terms or not wanted or k < 1:
            return Candidates([], [])
        return self._guard(lambda: self._search(terms, wanted, scope.now, k, fields))

    def beside(self, places: Sequence[tuple[int, int]], scope: Scope) -> list[tantivy.DocAddress]:
        """The documents of `scope` at these (group, turn) places; some dozen at most, ranking asks for neighbours."""
        wanted = {number for name, number in self._scopes.items() if scope.admits(name)}
        if not places or not wanted:
            return []
        clauses = [
            (
                _SHOULD,
                _Query.boolean_query([(_MUST, self._equals("group", group)), (_MUST, self._equals("turn", turn))]),
            )
            for group, turn in places
        ]

        def look() -> list[tantivy.DocAddress]:
            hits = self._searcher.search(_Query.boolean_query(clauses), 4 * len(places), count=False).hits
            return self._kept(hits, wanted, scope.now, len(hits)).addresses

        return self._guard(look)

    def _equals(self, field: str, value: int) -> tantivy.Query:
        return _Query.term_query(self._schema, field, value)

    def _search(
        self,
        terms: Sequence[str],
        wanted: list[int],
        now: float | None,
        k: int,
        fields: Sequence[tuple[str, float]],
    ) -> Candidates:
        searcher = self._searcher
        inside = sum(searcher.doc_freq("scope", number) for number in wanted)
        if not inside:
            return Candidates([], [])
        query = self._any_of(terms, fields)
        admitted = set(wanted)
        share = min(1.0, inside / max(1, searcher.num_docs))
        if share >= _WIDE:
            spread = 2.3 * (k * (1.0 - share)) ** 0.5  # chance leaves too few about once in a hundred times
            limit = k if share == 1.0 else int((k + spread) / share * 1.03) + 8
            hits = searcher.search(query, limit, count=False).hits
            found = self._kept(hits, admitted, now, k)
            if len(found) >= k or len(hits) < limit:
                return found
        only = _Query.const_score_query(_Query.term_set_query(self._schema, "scope", wanted), 0.0)
        query = _Query.boolean_query([(_MUST, query), (_MUST, only)])
        limit = k + k // 8 + 8
        while True:
            hits = searcher.search(query, limit, count=False).hits
            found = self._kept(hits, admitted, now, k)
            if len(found) >= k or len(hits) < limit:
                return found
            limit *= 4

    def _any_of(self, terms: Sequence[str], fields: Sequence[tuple[str, float]]) -> tantivy.Query:
        schema = self._schema
        clauses = []
        for field, boost in fields:
            for term in terms:
                query = _Query.term_query(schema, field, term, index_option="freq")
                clauses.append((_SHOULD, query if boost == 1.0 else _Query.boost_query(query, boost)))
        return _Query.boolean_query(clauses)

    def _kept(
        self, hits: list[tuple[float, tantivy.DocAddress]], admitted: set[int], now: float | None, k: int
    ) -> Candidates:
        addresses = [address for _, address in hits]
        values = self._searcher.fast_field_values
        keep = [i for i, scope in enumerate(values("scope", addresses)) if scope in admitted]
        if now is not None:
            since = values("valid_from", [addresses[i] for i in keep])
            if since.count(None) != len(since):
                keep = [i for i, start in zip(keep, since, strict=True) if start is None or start <= now]
            until = values("valid_until", [addresses[i] for i in keep])
            if until.count(None) != len(until):
                keep = [i for i, end in zip(keep, until, strict=True) if end is None or now < end]
        del keep[k:]
        return Candidates([hits[i][0] for i in keep], [addresses[i] for i in keep])

    def column(self, name: str, addresses: list[tantivy.DocAddress]) -> list[int | float | None]:
        """One number per document, None where it has none.

        Args:
            name: one of `COLUMNS`; times are Unix seconds, `length` is in tokens of the body.
            addresses: of this reader.

        Raises:
            ValueError: there is no such column.
        """
        if name not in COLUMNS:
            raise ValueError(f"The index has no column {name!r}.")
        return self._guard(lambda: self._searcher.fast_field_values(name, addresses))

    def integers(self, name: str, addresses: list[tantivy.DocAddress]) -> list[int]:
        """A `column` of whole numbers that every document has (group, turn, length …); 0 for a missing one."""
        return [int(value or 0) for value in self.column(name, addresses)]

    def stored(self, address: tantivy.DocAddress) -> dict[str, object]:
        """What is needed to print a hit; the keys are those of `documents.Document.stored`."""
        found: dict[str, object] = self._guard(lambda: json.loads(self._searcher.doc(address)["stored"][0]))
        return found

    def doc_freqs(self, terms: Sequence[str], field: str = "body") -> list[int]:
        """In how many documents of the index each term occurs."""
        return self._guard(lambda: [self._searcher.doc_freq(field, term) for term in terms])

    def _guard(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except BaseException as err:
            if _is_fault(err):
                raise self._damaged(err) from err
            raise

    def _damaged(self, err: BaseException) -> place.IndexUnavailable:
        if any(reason in str(err) for reason in _NOT_DAMAGE):
            return place.IndexUnavailable(f"The search index cannot be opened now: {err}.")
        place.mark(self._folder, place.DAMAGED, f"reader: {err}")
        return place.IndexUnavailable("The search index is damaged.")


def _is_fault(err: BaseException) -> bool:
    """Whether this is the index's doing. A panic inside tantivy arrives outside `Exception`."""
    if isinstance(err, place.IndexUnavailable):
        return False
    return isinstance(err, Exception) or type(err).__name__ == "PanicException"
