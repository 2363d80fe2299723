"""The fields of the tantivy index, and a `documents.Document` as tantivy takes it.

`body` and `head` hold tokens that `text.analyzer` made, separated by blanks, with frequencies and without
positions: nothing here asks for phrases, and positions would double the size. Everything that ranking looks at
for a hundred candidates is a column; everything that is only printed is one stored blob.
"""

from __future__ import annotations

import tantivy

from ctxrepo.index.documents import Document

_KEYS = ("file", "scope", "group", "turn")  # also looked up, not only read
_INTEGERS = ("group", "turn", "kind", "created", "valid_from", "valid_until", "length")
_FLOATS = ("importance", "confidence")


def schema() -> tantivy.Schema:
    """The schema of a new index."""
    builder = tantivy.SchemaBuilder()
    for name in ("body", "head"):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
    for name in dict.fromkeys((*_KEYS, *_INTEGERS)):
        builder.add_integer_field(name, indexed=name in _KEYS, fast=True)
    for name in _FLOATS:
        builder.add_float_field(name, fast=True)
    builder.add_bytes_field("stored", stored=True)
    return builder.build()


def tantivy_document(document: Document, file: int, scope: int) -> tantivy.Document:
    """`document` of the file with that key in the catalog, under that scope number."""
    made = tantivy.Document()
    made.add_text("body", document.body)
    if document.head:
        made.add_text("head", document.head)
    made.add_integer("file", file)
    made.add_integer("scope", scope)
    for name in _INTEGERS:
        value = getattr(document, name)
        if value is not None:
            made.add_integer(name, value)
    for name in _FLOATS:
        made.add_float(name, getattr(document, name))
    made.add_bytes("stored", document.stored)
    return made
