"""Settings files as people have them: connected, read by the host, disconnected, the same bytes again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrepo.hooks.jsontext import JsonFault, one_line, parse
from ctxrepo.hooks.settings_file import Entry, add_hooks, remove_hooks

OURS = "'/opt/c t x/bin/ctxrepo' hook claude-code user-prompt-submit --workspace '/data/团队'"
ENTRY = Entry("UserPromptSubmit", {"type": "command", "command": OURS, "timeout": 10})
STOP = Entry("Stop", {"type": "command", "command": OURS.replace("user-prompt-submit", "stop"), "timeout": 60})
OTHER = '{"hooks": [{"type": "command", "command": "say hello"}]}'


def is_ours(command: str) -> bool:
    return " hook claude-code " in command


HUGE = "{\n" + "".join(
    f'  "key {number}": {{"a": [1, 2.5e-3, null, true], "b": "\\u4e2d"}},\n' for number in range(3_000)
)

CASES = {
    "empty file": "",
    "one line break": "\n",
    "blanks": "  \r\n\t",
    "only a BOM": "\ufeff",
    "only a comment": "// nothing yet",
    "empty object": "{}",
    "empty object, line break": "{}\n",
    "empty object over two lines": "{\n}\n",
    "empty object with a blank": "{ }",
    "empty object with a comment": "{\n  // my settings\n}\n",
    "schema only": '{\n  "$schema": "https://json.schemastore.org/claude-code-settings.json"\n}\n',
    "two blanks": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(git:*)"]\n  }\n}\n',
    "four blanks, no final line break": '{\n    "model": "opus",\n    "env": {"A": "1"}\n}',
    "tabs": '{\n\t"model": "opus",\n\t"cleanupPeriodDays": 30\n}\n',
    "CRLF": '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    "CRLF and a comment": '{\r\n  "model": "opus" // mine\r\n}\r\n',
    "BOM": '\ufeff{\n  "model": "opus"\n}\n',
    "minified": '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    "minified, no hooks": '{"model":"opus","env":{}}\n',
    "one line with blanks": '{ "model": "opus" }\n',
    "several on a line": '{\n  "a": 1, "b": 2\n}\n',
    "brackets on own lines": '{\n  "a": 1\n  ,\n  "b": 2\n}\n\n\n',
    "trailing comma": '{\n  "model": "opus",\n}\n',
    "trailing comma, inline": '{"a": [1,],}',
    "trailing comma and comment": '{\n  "model": "opus", // why\n}\n',
    "comment behind the last member": '{\n  "model": "opus" // why, and "quotes" {\n}\n',
    "comment before the bracket": '{\n  "model": "opus"\n  // the end\n  /* really */\n}\n',
    "block comments": '{ /* a */ "model" /* b */ : /* c */ "opus" /* d */ }\n',
    "comment over lines": '{\n  "model": "opus" /* one\n  two */\n}\n',
    "line comment in an inline object": '{"model": "opus" // why\n}',
    "comments around": '// top\n{\n  "a": 1\n}\n// bottom',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty hooks over lines": '{\n  "hooks": {\n  },\n  "a": 1\n}\n',
    "empty hooks with a comment": '{\n  "hooks": { // none\n  }\n}\n',
    "empty event": '{\n  "hooks": {\n    "UserPromptSubmit": []\n  }\n}\n',
    "empty event with a line break": '{\n  "hooks": {\n    "UserPromptSubmit": [\n\n    ]\n  }\n}\n',
    "other event": f'{{\n  "hooks": {{\n    "Stop": [\n      {OTHER}\n    ]\n  }}\n}}\n',
    "others in the event": f'{{\n  "hooks": {{\n    "UserPromptSubmit": [\n      {OTHER},\n      {OTHER}\n    ]}}\n}}',
    "others in the event, inline": f'{{"hooks": {{"UserPromptSubmit": [{OTHER}]}}}}',
    "others in the event, trailing comma": f'{{"hooks": {{"UserPromptSubmit": [{OTHER},\n], }} }}',
    "the event twice": f'{{"hooks": {{"UserPromptSubmit": [{OTHER}], "UserPromptSubmit": [{OTHER}]}}}}',
    "hooks twice": f'{{"hooks": {{"UserPromptSubmit": [{OTHER}]}}, "hooks": {{}}}}',
    "escaped names": f'{{"ho\\u006fks": {{"User\\u0050romptSubmit": [{OTHER}]}}}}',
    "escaped texts": '{\n  "motto": "\\u4e2d\\u6587 \\ud83d\\ude00 \\"}{][ // no comment",\n  "x": "/* no */"\n}\n',
    "Chinese and emoji": '{\n  "称呼": "小梅 🍵",\n  "备注": "对辣菜过敏"\n}\n',
    "similar to ours": '{"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "ctxrepo status"}]}]}}',
    "odd values": '{"hooks": {"UserPromptSubmit": [null, "x", {}, {"hooks": 3}, {"hooks": [null, {"command": 1}]}]}}\n',
    "deep": '{\n  "a": ' + "[" * 3_000 + "]" * 3_000 + "\n}\n",
    "huge": HUGE + '  "last": 0\n}\n',
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("entries", [[ENTRY], [ENTRY, STOP]], ids=["one", "two"])
def test_disconnecting_gives_the_same_bytes(text: str, entries: list[Entry]) -> None:
    """Whatever a settings file looks like, connect then disconnect leaves it byte for byte."""
    connected = add_hooks(text, entries, is_ours)

    assert connected != text
    assert add_hooks(connected, entries, is_ours) == connected, "connecting twice changes nothing"
    assert remove_hooks(connected, is_ours) == text


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_everything_of_the_user_stays_where_it_is(text: str) -> None:
    """Connecting only inserts: what was there is found in the result in its order, and ours is parsed."""
    connected = add_hooks(text, [ENTRY], is_ours)

    rest = iter(connected)
    assert all(character in rest for character in text)
    root = parse(connected)
    assert root is not None
    groups = root.get("hooks").value.get("UserPromptSubmit").value.children
    command = groups[-1].value.get("hooks").value.children[0].value.get("command").value.string
    assert command == OURS


@pytest.mark.parametrize("text", [text for text in CASES.values() if "//" not in text and "/*" not in text])
def test_strict_json_stays_strict(text: str) -> None:
    """A file that the host's strict parser reads is read by it afterwards."""
    try:
        before = json.loads(text)
    except (ValueError, RecursionError):
        return
    after = json.loads(add_hooks(text, [ENTRY], is_ours))

    assert after["hooks"]["UserPromptSubmit"][-1] == {"hooks": [ENTRY.handler]}
    assert {**after, "hooks": None} == {**before, "hooks": None}


def test_a_missing_file_is_written_well_and_removed_again() -> None:
    """A file of our own looks as the host writes its settings, and nothing is left of it."""
    text = add_hooks(None, [ENTRY], is_ours)

    assert (
        text
        == json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [ENTRY.handler]}]}}, indent=2, ensure_ascii=False)
        + "\n"
    )
    assert remove_hooks(text, is_ours) is None
    assert remove_hooks(None, is_ours) is None


def test_the_style_of_the_file_is_kept() -> None:
    """Indentation, line breaks and the comment of the last line stay with what they belong to."""
    text = '{\r\n\t"model": "opus" // mine\r\n}\r\n'

    assert add_hooks(text, [Entry("Stop", {"command": OURS})], is_ours) == (
        '{\r\n\t"model": "opus", // mine\r\n'
        '\t"hooks": {\r\n\t\t"Stop": [\r\n\t\t\t{\r\n\t\t\t\t"hooks": [\r\n\t\t\t\t\t{\r\n'
        f'\t\t\t\t\t\t"command": "{OURS}"\r\n'
        "\t\t\t\t\t}\r\n\t\t\t\t]\r\n\t\t\t}\r\n\t\t]\r\n\t}\r\n}\r\n"
    )


def test_a_moved_installation_replaces_its_entry() -> None:
    """A new path of the command takes the old entry's place; there are never two."""
    moved = Entry(ENTRY.event, {**ENTRY.handler, "command": OURS.replace("/opt", "/srv")})
    text = CASES["others in the event"]

    result = add_hooks(add_hooks(text, [ENTRY], is_ours), [moved], is_ours)

    assert result.count(" hook claude-code ") == 1
    assert "/srv/c t x" in result
    assert remove_hooks(result, is_ours) == text


def test_what_the_user_added_in_between_stays() -> None:
    """Edits made between connect and disconnect survive, in our list, our group and our file."""
    text = add_hooks(None, [ENTRY], is_ours)
    assert text is not None
    rewritten = json.loads(text)
    rewritten["model"] = "opus"
    rewritten["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "bell"}]}]
    rewritten["hooks"]["UserPromptSubmit"][0]["hooks"].append({"type": "command", "command": "log"})
    rewritten["hooks"]["UserPromptSubmit"].insert(0, {"hooks": [{"type": "command", "command": "first"}]})

    left = json.loads(remove_hooks(json.dumps(rewritten, indent=2), is_ours) or "")

    assert left["model"] == "opus"
    assert left["hooks"]["Stop"] == rewritten["hooks"]["Stop"]
    commands = [handler["command"] for group in left["hooks"]["UserPromptSubmit"] for handler in group["hooks"]]
    assert commands == ["first", "log"]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_ours_is_cut_from_any_place(position: int) -> None:
    """First, middle or last, alone in its group or not, multi-line or inline: the rest stays valid and whole."""
    groups = [{"hooks": [{"command": "a"}]}, {"hooks": [{"command": "b"}]}]
    with_ours = [*groups[:position], {"hooks": [ENTRY.handler]}, *groups[position:]]

    for indent in (None, 2):
        left = remove_hooks(json.dumps({"hooks": {"UserPromptSubmit": with_ours}}, indent=indent), is_ours)
        assert left == json.dumps({"hooks": {"UserPromptSubmit": groups}}, indent=indent)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3),
        ('{\n  "a": [1, 2\n}', 3),
        ("{\n", 2),
        ('{"a": 1}}', 1),
        ('{"a": 1}\n{"b": 2}', 2),
        ("[]", 1),
        ('"text"', 1),
        ("{'a': 1}", 1),
        ("{a: 1}", 1),
        ('{"a": tru}', 1),
        ('{"a": 01}', 1),
        ('{"a": "un\nfinished"}', 1),
        ('\n{"a": "' + "long " * 20_000 + "\n", 2),
        ("\n/*" + "long " * 20_000 + "\n", 2),
        ('{"a": "\\x"}', 1),
        ('{"a": 1 /* open\n}', 1),
        ('{\n"a" 1}', 2),
        ("{,}", 1),
        ('{"a": 1,,}', 1),
        ('{"a":}', 1),
        ('{\n"hooks": []}', 2),
        ('{\n"hooks": null}', 2),
        ('{"hooks": {\n\n"UserPromptSubmit": {}}}', 3),
        ("model: opus\n", 1),
        ("<<<<<<< HEAD\n{}\n", 1),
        ("\x00\x00", 1),
    ],
    ids=lambda value: str(value)[:24].encode("unicode_escape").decode(),
)
def test_what_is_no_settings_file_is_refused_with_the_line(text: str, line: int) -> None:
    """A broken file, or one of another shape, is refused and the line is named."""
    with pytest.raises(JsonFault) as caught:
        add_hooks(text, [ENTRY], is_ours)

    assert caught.value.line == line
    assert caught.value.message


BLANKS = st.text(" \t\n", max_size=3)
COMMENTS = st.sampled_from(["", "", "", "/* c */", "// c\n"])
GAPS = st.builds(lambda a, b, c: a + b + c, BLANKS, COMMENTS, BLANKS)
SCALARS = st.sampled_from(["1", "null", '"x"', '"}] // no"', "true", "{}", "[]", '{"a":[1]}'])
GROUPS = st.sampled_from([OTHER, "{}", "null", '{\n"hooks": [\n]}'])


def _container(opening: str, closing: str, item: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def build(items: list[str], gaps: list[str], trailing: bool) -> str:
        body = ",".join(gaps[2 * n] + text + gaps[2 * n + 1] for n, text in enumerate(items))
        return opening + body + ("," if trailing and items else "") + gaps[-1] + closing

    return st.builds(build, st.lists(item, max_size=3), st.lists(GAPS, min_size=7, max_size=7), st.booleans())


def _member(name: str, value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda gap, text: f'"{name}"{gap}:{gap}{text}', GAPS, value)


EVENTS = _member("UserPromptSubmit", _container("[", "]", GROUPS)) | _member("Stop", _container("[", "]", GROUPS))
ROOTS = _container("{", "}", _member("model", SCALARS) | _member("hooks", _container("{", "}", EVENTS)))
FILES = st.builds(lambda before, root, after: before + root + after, GAPS, ROOTS, GAPS)


@given(text=FILES)
def test_no_layout_loses_a_byte(text: str) -> None:
    """For any mixture of blanks, comments, commas and empty containers the round trip is exact."""
    connected = add_hooks(text, [ENTRY, STOP], is_ours)

    assert add_hooks(connected, [ENTRY, STOP], is_ours) == connected
    assert remove_hooks(connected, is_ours) == text


def test_one_line_is_json() -> None:
    """The one-line form is what json reads back."""
    value = {"a": [1, {"b": "中"}], "c": {"d": None}}

    assert json.loads(one_line(value)) == value
