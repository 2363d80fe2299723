"""Reading files as people really have them."""

from __future__ import annotations

import json
from pathlib import Path

import frontmatter
import pytest
import yaml

from ctxrepo.asset.frontmatter import MAX_BYTES, FrontmatterError, HeaderHandler, check_size, decode, parse, parse_plain
from ctxrepo.asset.header import same, text_of

CASES = sorted((Path(__file__).parents[1] / "cases" / "frontmatter").glob("*.txt"))


def expectation(case: Path) -> tuple[str, dict[str, str]]:
    """Splits a case into the input and the lines of what is expected."""
    text, _, expected = case.read_bytes().decode().partition("=== expected\n")
    return text, dict(line.split(": ", 1) for line in expected.splitlines())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path) -> None:
    """Each odd input is read as its case file says, or refused with that line and message."""
    text, expected = expectation(case)

    if "error" in expected:
        with pytest.raises(FrontmatterError) as caught:
            parse(text)
        assert f"{caught.value.line}: {caught.value.message}" == expected["error"]
    else:
        parsed = parse(text)
        assert same(parsed.fields, json.loads(expected["fields"])), parsed.fields
        assert parsed.body == json.loads(expected["body"])
        assert parsed.body_line == int(expected["line"])
        assert parsed.text == text


def test_crlf_and_bom_are_read_and_kept_in_the_text() -> None:
    """A file from Windows says the same as one from here, and its text is what stands on disk."""
    parsed = parse(decode("\ufeff---\r\nid: x\r\ntags:\r\n  - a\r\n---\r\nHello\r\nworld\r\n".encode()))

    assert parsed.fields == {"id": "x", "tags": ["a"]}
    assert parsed.lines == {"id": 2, "tags": 3, "tags[0]": 4}
    assert parsed.body == "Hello\r\nworld\r\n"
    assert parsed.body_line == 6
    assert parsed.text.startswith("\ufeff---\r\n")


def test_a_bom_without_header_is_no_part_of_the_body() -> None:
    """The first word of a plain file does not begin with an invisible character."""
    assert parse("\ufeffHello").body == "Hello"


@pytest.mark.parametrize(
    ("data", "line", "part"),
    [
        ("---\nid: 辣\n---\n".encode("utf-16"), 1, "is UTF-16, not UTF-8"),
        ("id: x".encode("utf-32"), 1, "is UTF-32, not UTF-8"),
        ("---\nid: memory\n".encode("utf-16-le"), 1, "seems to be UTF-16LE without"),
        ("---\nid: memory\n".encode("utf-16-be"), 1, "seems to be UTF-16BE without"),
        (b"---\nid: a\x00b\n---\n", 2, "holds a NUL byte (offset 9)"),
        ("---\ntitle: x\n---\n对辣菜过敏".encode("gb18030"), 4, "It could be GB18030"),
        (b"line\nline\n\xff\xfe\xfa", 3, "is not UTF-8: byte 0xFF at offset 10"),
    ],
)
def test_foreign_encodings_are_named_with_their_line(data: bytes, line: int, part: str) -> None:
    """What cannot be decoded is refused with the line, the encoding it seems to be, and a way to convert it."""
    with pytest.raises(FrontmatterError) as caught:
        decode(data)

    assert caught.value.line == line
    assert part in caught.value.message
    assert "NUL" in caught.value.message or "iconv" in (caught.value.hint or "iconv")


def test_a_file_of_50_mb_is_refused_before_it_is_decoded() -> None:
    """The size is judged from `stat`, with what to do instead."""
    with pytest.raises(FrontmatterError) as caught:
        check_size(50_000_000)

    assert "50,000,000 bytes" in caught.value.message
    assert "originals/" in (caught.value.hint or "")
    with pytest.raises(FrontmatterError):
        decode(b"x" * (MAX_BYTES + 1))


def test_a_header_of_a_megabyte_is_refused() -> None:
    """A header is small; one that is not is no header."""
    with pytest.raises(FrontmatterError, match="more than 262,144 are not read"):
        parse("---\nx: " + "a" * 1_000_000 + "\n---\n")


@pytest.mark.parametrize(
    "header",
    [
        "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)),
        "a: " + "[" * 100_000 + "]" * 100_000,
        "a: " + "- " * 60_000 + "x",
        "a:\n  " + "- " * 60_000 + "x",
        "a: " + "{a: " * 50 + "x" + "}" * 50,
    ],
    ids=["alias bomb", "flow depth", "inline dashes", "block depth", "nested maps"],
)
def test_bombs_are_refused(header: str) -> None:
    """Nesting and aliases end in a message, not in a crash, a hang or gigabytes."""
    with pytest.raises(FrontmatterError):
        parse(f"---\n{header}\n---\n")


def test_lines_are_those_of_the_file() -> None:
    """Every key, item and inner key is found in the line in which it stands."""
    parsed = parse("---\n# comment\nid: x\n\ntags:\n  - a\n  - b\nm:\n  k: v\n---\n")

    assert parsed.lines == {"id": 3, "tags": 5, "tags[0]": 6, "tags[1]": 7, "m": 8, "m.k": 9}


def test_a_plain_yaml_file_is_read_by_the_same_rules() -> None:
    """ctxrepo.yaml has no rules around it; lines count from 1."""
    parsed = parse_plain("recall:\n  threshold: 0.4\n  since: 2025-10-24\n")

    assert parsed.fields == {"recall": {"threshold": 0.4, "since": "2025-10-24"}}
    assert parsed.lines["recall.threshold"] == 2


def test_scalars_come_back_as_they_were_written() -> None:
    """Whatever type a scalar got, its text is the author's, null aside."""
    written = [
        "0.5",
        "1.0",
        "1.10",
        "012",
        "12:30",
        "-7",
        "true",
        "True",
        "no",
        "1e5",
        "0x1F",
        "007",
        "1_000",
        "+1",
        "-0",
    ]

    for text in written:
        assert text_of(parse(f"---\nv: {text}\n---\n").fields["v"]) == text


def test_python_frontmatter_reads_the_same_with_our_handler() -> None:
    """Tools built on python-frontmatter understand the files once they are given the handler."""
    text = "---\ntitle: no\ncreated: 2025-10-24\ndescription: a --- b\n---\nBody\n"

    post = frontmatter.loads(text, handler=HeaderHandler())

    assert post.metadata == parse(text).fields
    assert post.content == "Body"
    assert (
        frontmatter.loads(frontmatter.dumps(post, handler=HeaderHandler()), handler=HeaderHandler()).metadata
        == post.metadata
    )


def test_yaml_1_1_would_have_changed_the_values() -> None:
    """The case for own scalar rules: PyYAML's loader does not keep what was written."""
    header = "a: no\nb: 12:30\nc: 2025-10-24\nd: 012\n"

    assert yaml.safe_load(header) != parse(f"---\n{header}---\n").fields
