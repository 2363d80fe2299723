"""Where the words of a fact may stand, and what is left of a file or a message without them.  Pure.

A fact's words travel: into the commit that added it (its first sixty characters), into the name of its file, onto
the pages of what it is about (shortened to a line), into a fact that quotes it.  Every version of the fact is
looked for, by its id and by every path at which it ever lay.

How far to go depends on how telling the words are.  Files of the fact, entity pages and messages are always cleaned.
Another fact's own words are touched only by words long enough to be no coincidence (ten characters, a Chinese one
counts as two): purging "likes tea" must not blacken "my sister likes tea and biscuits".  Such facts are named
instead (`Sieve.kept`), for their owner to decide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse
from ctxrepo.text.names import slug

GONE = "⟨purged⟩"
TELLING = 10
_SUBJECT = 60
_PAGE_LINE = 299
_ID_LINE = re.compile(rb"^id:[ \t]*[\"']?([0-7][0-9A-HJKMNP-TV-Z]{25})[\"']?[ \t\r]*$", re.IGNORECASE | re.MULTILINE)
_HEADER = re.compile(rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n.*?^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_PAGES = "entities/"
_TAIL = re.compile(r"-[0-9a-z]{6}\.md\Z")


class FactSieve:
    """Holds back some facts of one store; see `ctxrepo.store.rewriting.Sieve`.

    Args:
        ids: of the facts.
        words: further texts that must be gone, whatever file they stand in.

    Attributes:
        kept: paths of other facts that hold the words, which are too short to be taken out of them.
    """

    def __init__(self, ids: Iterable[str], words: Iterable[str] = ()) -> None:
        self.ids = frozenset(ident.upper() for ident in ids)
        self.kept: set[str] = set()
        self._paths: set[str] = set()
        self._texts: dict[str, None] = dict.fromkeys(word.strip() for word in words if word.strip())
        self._found = 0
        self._patterns: tuple[re.Pattern[str], ...] | None = None
        self._raw: tuple[bytes, ...] = ()

    @property
    def found(self) -> int:
        """How many versions of the facts were seen."""
        return self._found

    def suspects(self, data: bytes) -> bool:
        return not self.ids.isdisjoint(_ids(data))

    def learn(self, path: str, data: bytes) -> None:
        if not self._is_version(path, data):
            return
        self._found += 1
        self._paths.add(path)
        self._patterns = None
        try:
            parsed = parse(decode(data))
        except FrontmatterError:
            return
        told = (parsed.body, parsed.fields.get("reason"))
        self._texts |= dict.fromkeys(text.strip() for text in told if isinstance(text, str) and text.strip())

    def places(self) -> frozenset[str]:
        return frozenset(self._paths)

    def drops(self, path: str, data: bytes) -> bool:
        return path in self._paths and self._is_version(path, data)

    def cleaned(self, path: str, data: bytes) -> bytes:
        _, telling, anywhere = self._ready()
        page = path.startswith(_PAGES)
        if not any(raw in data for raw in self._raw):
            return data
        text = data.decode("utf-8", "surrogateescape")
        if page:
            lines = text.splitlines(keepends=True)
            text = "".join(line for line in lines if not anywhere.search(line))
        else:
            text, count = telling.subn(GONE, text)
            if not count and anywhere.search(text):
                self.kept.add(path)
        return text.encode("utf-8", "surrogateescape")

    def placed(self, path: str) -> str:
        """The path without the words, which the name of a file that quotes them begins with or ends in."""
        if path in self._paths:
            return path
        folder, slash, name = path.rpartition("/")
        for text in self.telling_texts():
            words = slug(text)
            at = name.find(words if _units(words) < 2 * TELLING else _beginning(words))
            if at >= 0 and _units(words) >= TELLING:
                return f"{folder}{slash}{name[:at]}purged-{name[-9:] if _TAIL.search(name) else 'file.md'}"
        return path

    def message(self, text: str, touched: bool) -> str:
        _, _, anywhere = self._ready()
        if touched:
            text = _without_words(text)
        return anywhere.sub(GONE, text)

    def leaks(self, data: bytes) -> bool:
        """Whether it is a version of the facts, or holds words that are telling."""
        whole, _, _ = self._ready()
        if data[:3] == b"---" and not self.ids.isdisjoint(_ids(data)):
            return True
        if not any(raw in data for raw in self._raw):
            return False
        return whole.search(data.decode("utf-8", "replace")) is not None

    def masked(self, text: str) -> str:
        """Any other text, such as a log or a waiting turn, without the words, in plain or as JSON writes them."""
        self._ready()
        variants = [form for each in self._texts if _units(each) >= TELLING for form in _forms(each)]
        if not any(form in text for form in variants):
            return text
        for form in sorted(variants, key=len, reverse=True):
            text = text.replace(form, GONE)
        return text

    def telling_texts(self) -> list[str]:
        """The words that are looked for everywhere."""
        return [text for text in self._texts if _units(text) >= TELLING]

    def _is_version(self, path: str, data: bytes) -> bool:
        found = _ids(data)
        return not self.ids.isdisjoint(found) or (path in self._paths and not found)

    def _ready(self) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
        """Patterns of the telling words whole, of what to replace elsewhere, and of whatever hints at the facts."""
        if self._patterns is None:
            telling = self.telling_texts()
            hints = [*self._texts, *map(_collapsed, self._texts), *self._paths, *map(_stem, self._paths)]
            for text in self._texts:
                hints += [line for line in map(str.strip, text.splitlines()) if _units(line) >= 2 * TELLING]
                hints += [cut for size in (_SUBJECT, _PAGE_LINE) if (cut := _collapsed(text)[:size].rstrip())]
            self._patterns = (
                _pattern(telling),
                _pattern([*telling, *map(_collapsed, telling), *map(_stem, self._paths)]),
                _pattern(hints),
            )
            self._raw = tuple(hint.encode("utf-8", "surrogateescape") for hint in dict.fromkeys(hints))
        whole, replaced, anywhere = self._patterns
        return whole, replaced, anywhere


def _ids(data: bytes) -> set[str]:
    """Ids that a file's header claims; a broken header is searched as well, a body is not."""
    header = _HEADER.match(data)
    found = _ID_LINE.findall(header[0] if header else data[:4000] if data[:3] == b"---" else b"")
    return {ident.decode("ascii").upper() for ident in found}


def _pattern(texts: Iterable[str]) -> re.Pattern[str]:
    """Matches any of the texts, as whole words where they begin or end with a Latin letter or digit."""
    parts = sorted(dict.fromkeys(text for text in texts if text), key=len, reverse=True)
    return re.compile("|".join(map(_bounded, parts)) if parts else r"(?!)")


def _bounded(text: str) -> str:
    before = r"(?<![A-Za-z0-9])" if text[0].isascii() and text[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if text[-1].isascii() and text[-1].isalnum() else ""
    return before + re.escape(text) + after


def _without_words(message: str) -> str:
    """A commit message reduced to its operation and those trailers that hold no prose."""
    lines = message.rstrip("\n").split("\n")
    trailers = [line for line in lines[1:] if re.match(r"Ctx-(?!Reason:)[A-Za-z-]+: ", line)]
    op = next((line.removeprefix("Ctx-Op: ") for line in trailers if line.startswith("Ctx-Op: ")), "")
    subject = f"{op.replace('.', ': ', 1)} {GONE}" if op else GONE
    return "\n".join([subject, *(["", *trailers] if trailers else []), ""])


def _forms(text: str) -> Iterator[str]:
    for form in dict.fromkeys((text, _collapsed(text))):
        yield form
        yield json.dumps(form)[1:-1]
        yield json.dumps(form, ensure_ascii=False)[1:-1]


def _beginning(words: str) -> str:
    """The first twenty letters of a slug: names are cut, so more of it need not be there."""
    size = 0
    for at, char in enumerate(words):
        size += _units(char)
        if size >= 2 * TELLING:
            return words[: at + 1]
    return words


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _units(text: str) -> int:
    """Length of a text in Latin letters; a Chinese character says as much as two."""
    return sum(2 if char >= "\u2e80" else 1 for char in text)
