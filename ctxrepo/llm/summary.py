"""A summariser for the short-term window that asks a model; see `ctxrepo.window.Summarise`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxrepo.llm.model import KEEP_LANGUAGE, Model, data

_SYSTEM = (
    "You keep the running summary of a conversation for the assistant that continues it. Keep decisions with their"
    " reasons, wishes, corrections (the newest holds), open questions, names, numbers, paths and results. Leave out"
    " greetings and what was superseded. One point a line, each beginning with `- `. Invent nothing. " + KEEP_LANGUAGE
)


def summariser(model: Model, text_of: Callable[[Mapping[str, Any]], str]) -> Callable[..., str]:
    """Returns a function that folds messages into a summary.

    Args:
        model: who writes it.
        text_of: gives the text of a message, such as `ctxrepo.window.message_text`.
    """

    def summarise(summary: str, messages: Sequence[Mapping[str, Any]], limit: int) -> str:
        told = "\n\n".join(f"{message.get('role', '?')}: {text_of(message)}" for message in messages)
        parts = [data(summary, "the summary so far")] if summary else []
        parts.append(data(told, "the turns to fold in"))
        parts.append(f"Write the new summary in at most {limit} tokens.")
        return model.ask("\n\n".join(parts), system=_SYSTEM)

    return summarise
