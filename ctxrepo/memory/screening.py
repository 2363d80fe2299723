"""What must not become memory: secrets, characters that nobody sees, nothing at all, whole books.

Refused instead of stored and masked, because whoever is at the keyboard can still say it differently.  A secret is
named by its kind and never repeated, neither in the message nor in a log.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ctxrepo.asset.check import Problem
from ctxrepo.errors import Invalid, Refused
from ctxrepo.text.hidden import find_hidden, show_hidden
from ctxrepo.text.secrets import find_secrets

MOST_CHARACTERS = 100_000
"""Of one fact. Longer texts are documents; they belong in a knowledge base, where they are found by passage."""

_EXCERPT = 40


def refuse_words(text: str) -> None:
    """Refuses the words of a fact.

    Raises:
        Invalid: none, too many, or some that nobody sees. Refused: there is a secret among them.
    """
    if not text.strip():
        raise Invalid("A fact needs words.", hint='ctxrepo memory add "…"')
    if len(text) > MOST_CHARACTERS:
        raise Invalid(
            f"The text has {len(text):,} characters; a fact has at most {MOST_CHARACTERS:,}. Nothing was stored.",
            hint="keep it as a file under knowledge/, and remember where it is",
        )
    refuse_unseen("text", text)


def refuse_unseen(name: str, value: object) -> None:
    """Refuses secrets and hidden characters in the text, or the texts, of a field.

    Raises:
        Invalid: a hidden character, or bytes that are no UTF-8. Refused: a secret.
    """
    for text in _texts(value):
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise Invalid(f"The {name} is not UTF-8; nothing was stored.", hint="iconv -t UTF-8 FILE")
        secrets = sorted({secret.kind for secret in find_secrets(text)})
        if secrets:
            raise Refused(
                f"The {name} holds a secret ({', '.join(secrets)}); nothing was stored.",
                hint='say where it is kept instead: ctxrepo memory add "The key is in the team\'s vault, under …"',
            )
        hidden = find_hidden(text)
        if hidden:
            first = hidden[0]
            start = max(0, first.at - _EXCERPT // 2)
            raise Invalid(
                f"The {name} holds a hidden character, {first.name}; nothing was stored.",
                hint="write it again without what stands in ⟨⟩",
                details=[show_hidden(text[start : first.at + _EXCERPT // 2])],
            )


def refuse_unfit(problems: Iterable[Problem]) -> None:
    """Refuses fields that do not fit their table, in the words of the field and not of a file that does not exist.

    Raises:
        Invalid: with every error.
    """
    errors = [f"{problem.field or 'text'} {problem.message}" for problem in problems if problem.level == "error"]
    if errors:
        raise Invalid(
            f"{errors[0].rstrip('.')}; nothing was stored.", hint="ctxrepo memory add --help", details=errors[1:]
        )


def refuse_unseen_fields(fields: Mapping[str, object]) -> None:
    """Does `refuse_unseen` for every field. Raises as it does."""
    for name, value in fields.items():
        refuse_unseen(name, value)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list | tuple) else []
