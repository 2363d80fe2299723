"""What a language model adds to the rules, if the user has chosen one: facts of a turn, and a verdict on a pair.

The model proposes, the same gates as everywhere decide: a fact that no quotation from the turn supports is
dropped, the owner's rules, secrets and comparison follow as for the rules' own facts.  A true quotation can stand
beside an invented text, so most words of the text must stand in the turn as well; that also drops a translation.
What fails or answers in another shape changes nothing; the rules have already said what they can, and the failure is
reported once.  A model that cannot be reached is not asked again in that run, or a transcript of a hundred turns would
wait a hundred times.  It is never asked while a store is locked, and shown no secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from typing import Any

from ctxrepo.asset.kinds import FACT_KINDS
from ctxrepo.errors import UsageFault
from ctxrepo.llm.choice import chosen_model
from ctxrepo.llm.model import KEEP_LANGUAGE, Model, ModelFailed, data
from ctxrepo.llm.shape import Schema
from ctxrepo.memory.capture import Propose
from ctxrepo.memory.consolidation.planning import Judge
from ctxrepo.memory.extraction.extract import EVERYWHERE, PROJECT, Extracted
from ctxrepo.memory.extraction.transcript import Turn
from ctxrepo.text.analyzer import query_terms, tokens
from ctxrepo.text.secrets import mask
from ctxrepo.workspace.workspace import Workspace

MOST_FACTS = 8  # of one turn
GROUNDED = 0.6
"""Share of a fact's words that must stand in the turn; the rest turns "it" into a name."""

RELATIONS = ("duplicate", "supersede", "invalidate", "conflict", "distinct")

_FACTS = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": MOST_FACTS,
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": list(FACT_KINDS)},
                    "text": {"type": "string", "minLength": 2, "maxLength": 600},
                    "quote": {"type": "string", "minLength": 2, "maxLength": 600},
                    "entities": {"type": "array", "maxItems": 8, "items": {"type": "string", "maxLength": 80}},
                    "importance": {"type": "number", "minimum": 0, "maximum": 1},
                    "about_person": {"type": "boolean"},
                },
                "required": ["kind", "text", "quote", "entities", "importance", "about_person"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}
_EXTRACT = (
    "You decide what an assistant should remember of one turn of a conversation. Only two things count: a clear"
    " conclusion, decision, preference or standing instruction of the user, and a correction by the user. Questions,"
    " greetings, thanks, wishes for now, computations, pasted text and what only the assistant said are nothing; most"
    " turns hold nothing, then `facts` is empty. `text` is one self-contained sentence in the user's words, `quote` the"
    " exact words of the turn that say so, `about_person` whether it holds wherever the user works. " + KEEP_LANGUAGE
)
_GONE = ("unreachable", "denied", "late", "busy")  # faults of the model, not of the question
_RELATION = {
    "type": "object",
    "properties": {"relation": {"type": "string", "enum": [*RELATIONS, "unsure"]}},
    "required": ["relation"],
    "additionalProperties": False,
}
_COMPARE = (
    "You compare two notes about the same user, the first older. Answer `duplicate` when they say the same, `supersede`"
    " when the second says that what the first says has changed, `invalidate` when it says that the first was never"
    " true, `conflict` when they cannot both hold and neither says why, `distinct` when both can hold, else `unsure`."
)


def model_of(workspace: Workspace) -> Model | None:
    """The language model that the workspace's user has chosen, if any.

    Raises:
        UsageFault: half a choice.
    """
    return chosen_model(workspace.settings, os.environ)


def propose(model: Model, say: Callable[[str], None] = lambda _: None) -> Propose:
    """How `capture` asks a model for the facts of a turn; a failed answer is told to `say` and gives none."""
    asking = _Asking(model, say)

    def ask(turn: Turn, today: date) -> list[Extracted]:
        words = f"user: {turn.user}\n\nassistant: {turn.assistant}"
        told = f"Today is {today.isoformat()}.\n{data(words, 'the turn')}"
        answer = asking(told, _FACTS, _EXTRACT, "facts") or {"facts": ()}
        said = set(tokens(words))
        return [_extracted(row, words, model.name) for row in answer["facts"] if _is_grounded(row["text"], said)]

    return ask


def judge(model: Model, say: Callable[[str], None] = lambda _: None) -> Judge:
    """How consolidation asks a model about two facts that the rules leave open."""
    asking = _Asking(model, say)

    def ask(old: str, new: str) -> str | None:
        told = f"{data(mask(old), 'the first note')}\n\n{data(mask(new), 'the second note')}"
        answer = asking(told, _RELATION, _COMPARE, "relation") or {}
        return answer["relation"] if answer.get("relation") in RELATIONS else None

    return ask


class _Asking:
    """The questions of one run: a fault is said once, and a model that is out of reach is left alone."""

    def __init__(self, model: Model, say: Callable[[str], None]) -> None:
        self._model = model
        self._say = say
        self._said: set[str] = set()
        self._is_gone = False

    def __call__(self, question: str, schema: Schema, system: str, name: str) -> dict[str, Any] | None:
        if self._is_gone:
            return None
        try:
            answer: dict[str, Any] = self._model.ask_json(question, schema, system=system, name=name)
        except ModelFailed as fault:
            self._is_gone = fault.why in _GONE
            self._tell(fault.why, fault.message)
        except UsageFault as fault:
            self._tell("too-long", fault.message)
        else:
            return answer
        return None

    def _tell(self, why: str, sentence: str) -> None:
        if why not in self._said:
            self._said.add(why)
            self._say(sentence)


def _is_grounded(text: str, said: set[str]) -> bool:
    words = set(query_terms(text))
    return bool(words) and len(words & said) >= GROUNDED * len(words)


def _extracted(row: dict[str, Any], words: str, by: str) -> Extracted:
    return Extracted(
        kind=row["kind"],
        text=" ".join(row["text"].split()),
        entities=tuple(name for name in map(str.strip, row["entities"]) if name and "\n" not in name and name in words),
        relations=(),
        importance=row["importance"],
        confidence=0.6,
        project_scope=EVERYWHERE if row["about_person"] else PROJECT,
        valid_from=None,
        valid_until=None,
        reason=None,
        quote=row["quote"],
        by=by,
    )
