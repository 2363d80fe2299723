"""Traditional Chinese as Simplified, character by character, so that one set of patterns reads both.

The length stays the same: a place in the one text is the same place in the other.
"""

from __future__ import annotations

import re

from ctxrepo.text.analyzer import tokens

_RUN = re.compile(r"[\u4e00-\u9fff]+")


def simplified(text: str) -> str:
    """The text with every Traditional character in its Simplified form."""
    return _RUN.sub(lambda run: "".join(map(_simple, run.group())), text)


_known: dict[str, str] = {}


def _simple(char: str) -> str:
    """The token that the analyzer makes of the character, which is its simplified form."""
    found = _known.get(char)
    if found is None:
        found = _known[char] = (tokens(char) or [char])[0]
    return found
