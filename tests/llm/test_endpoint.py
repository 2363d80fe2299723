"""A model behind HTTP, against a real server that answers well, slowly, malformed, hostile, huge, or elsewhere."""

from __future__ import annotations

import json
import time

import pytest

from ctxrepo.errors import UsageFault
from ctxrepo.llm.endpoint import Endpoint
from ctxrepo.llm.model import Limits, Model, ModelFailed

from .server import drips, endless, fails, hangs_up, raw, says, serving

SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 5}},
    "required": ["facts"],
    "additionalProperties": False,
}
GOOD = json.dumps({"facts": ["likes tea", "对花生过敏"]}, ensure_ascii=False)


def model(base: str, *, key: str = "", **limits: float) -> Model:
    bounds = Limits(**{"seconds": 5.0, "retries": 2, **limits})  # type: ignore[arg-type]
    return Model("test-model", Endpoint(base, "test-model", key), bounds, sleep=lambda _: None)


def why(base: str, **limits: float) -> ModelFailed:
    with pytest.raises(ModelFailed) as caught:
        model(base, **limits).ask_json("?", SCHEMA)
    return caught.value


def test_request_and_answer() -> None:
    """The prompt, the model, the schema and the key go out as such hosts expect them; the value comes back."""
    with serving(says(GOOD)) as server:
        found = model(server.base, key="sk-test-123").ask_json("你好", SCHEMA, system="Be terse.", name="facts")
    assert found == {"facts": ["likes tea", "对花生过敏"]}
    sent = server.seen[0]
    assert sent["path"] == "/v1/chat/completions"
    assert sent["headers"]["Authorization"] == "Bearer sk-test-123"
    assert sent["body"]["model"] == "test-model"
    assert sent["body"]["messages"][0]["role"] == "system"
    assert sent["body"]["messages"][0]["content"].startswith("Be terse.")
    assert '"maxItems": 5' in sent["body"]["messages"][0]["content"]
    assert sent["body"]["messages"][1] == {"role": "user", "content": "你好"}
    assert sent["body"]["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(
    "said",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"<think>The user {{wants}} facts.</think>\n{GOOD}",
        f"Here is the value:\n\n{GOOD}\n\nAnything else?",
        [{"type": "text", "text": GOOD}],
    ],
)
def test_wrappings(said: object) -> None:
    """A code fence, thinking aloud, words around it, and content in parts do not hide a good answer."""
    with serving(says(said)) as server:
        assert model(server.base).ask_json("?", SCHEMA) == json.loads(GOOD)


def test_wrong_shape_is_sent_back_once() -> None:
    """An answer of the wrong shape is returned with what is wrong; a second wrong one ends it."""
    with serving(says('{"facts": "tea"}'), says(GOOD)) as server:
        assert model(server.base).ask_json("?", SCHEMA) == json.loads(GOOD)
        complaint = server.seen[1]["body"]["messages"][-1]["content"]
        assert "the answer.facts must be array." in complaint
    with serving(says('{"facts": [1]}')) as server:
        assert why(server.base).why == "malformed"
        assert len(server.seen) == 2


@pytest.mark.parametrize(
    "said",
    [
        "I would rather talk about something else.",
        '{"facts": ["a"], "run": "rm -rf /"}',
        '{"facts": ["a"], "facts": ["b"]}',
        '{"facts": [NaN]}',
        json.dumps({"facts": ["x"] * 6}),
        json.dumps({"facts": ["x" * 201]}),
        "[" * 100_000,
        '{"facts": ' + "[" * 60 + "]" * 60 + "}",
        "",
        None,
    ],
)
def test_hostile_answers(said: object) -> None:
    """Prose, extra keys, doubled keys, NaN, too many, too long, bottomless nesting: none is taken for an answer."""
    with serving(says(said)) as server:
        assert why(server.base).why == "malformed"


@pytest.mark.parametrize(
    "body", [b"<html>It works!</html>", b"", b"[]", b'{"choices": []}', b'{"choices": [{"message": 7}]}', b"\xff\xfe{"]
)
def test_no_completion_at_all(body: bytes) -> None:
    """Whatever else a server sends with a 200 is malformed."""
    with serving(raw(200, body)) as server:
        assert why(server.base).why == "malformed"


def test_cut_off_and_refused() -> None:
    """An answer that ended at the model's own limit, or a refusal, is not half believed."""
    with serving(says(GOOD, finish_reason="length")) as server:
        assert why(server.base).why == "too-long"
    answer = {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]}
    with serving(raw(200, json.dumps(answer).encode())) as server:
        assert why(server.base).why == "refused"


@pytest.mark.parametrize("where", ["head", "body"])
def test_dripping_server_is_late(where: str) -> None:
    """A byte at a time does not outlast the deadline, wherever it drips."""
    with serving(drips(where)) as server:
        start = time.monotonic()
        fault = why(server.base, seconds=0.6, retries=0)
        assert time.monotonic() - start < 2
    assert fault.why == "late"
    assert "0.6 seconds" in fault.message


def test_endless_answer() -> None:
    """Reading stops at the limit, however much is still to come."""
    with serving(endless) as server:
        start = time.monotonic()
        assert why(server.base, characters_out=1000, retries=0).why == "too-long"
        assert time.monotonic() - start < 3
    with serving(says("x" * 5000)) as server, pytest.raises(ModelFailed) as caught:
        model(server.base, characters_out=1000).ask("?")
    assert caught.value.why == "too-long"


def test_redirects_are_not_followed() -> None:
    """A redirect takes neither prompt nor key to another address."""
    with serving(says(GOOD)) as other:
        for status in (301, 302, 303, 307, 308):
            with serving(raw(status, b"", Location=f"{other.base}/chat/completions")) as server:
                fault = why(server.base)
            assert fault.why == "refused"
            assert "redirects" in fault.message
            assert len(server.seen) == 1
    assert other.seen == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_is_tried_again_a_bounded_number_of_times(status: int) -> None:
    """A busy host is asked again; after the last try its own words are told."""
    with serving(fails(status), fails(status), says(GOOD)) as server:
        assert model(server.base).ask_json("?", SCHEMA) == json.loads(GOOD)
    with serving(fails(status, "overloaded, sk-live-4242424242abcd")) as server:
        fault = why(server.base)
        assert len(server.seen) == 3
    assert fault.why == "busy"
    assert "overloaded" in fault.message
    assert "4242424242" not in fault.message


def test_retry_after_is_kept_within_reason() -> None:
    """A wish to wait is honoured up to the limit; beyond it there is no second try."""
    naps: list[float] = []
    with serving(fails(429, "slow down", Retry_After="3"), says("fine")) as server:
        asked = Model("m", Endpoint(server.base, "m"), Limits(), sleep=naps.append)
        assert asked.ask("?") == "fine"
    assert naps == [3.0]
    with serving(fails(429, "tomorrow", Retry_After="86400")) as server, pytest.raises(ModelFailed):
        Model("m", Endpoint(server.base, "m"), Limits(), sleep=naps.append).ask("?")
    assert len(server.seen) == 1


def test_what_is_not_tried_again() -> None:
    """A wrong key or a wrong address stays wrong."""
    for status, reason in ((401, "denied"), (403, "denied"), (404, "refused")):
        with serving(fails(status, "no")) as server:
            assert why(server.base).why == reason
            assert len(server.seen) == 1


def test_server_without_response_format() -> None:
    """A host that calls `response_format` wrong is asked without it, then and ever after."""
    with serving(fails(400, "unknown field response_format"), says(GOOD)) as server:
        asked = model(server.base)
        assert asked.ask_json("?", SCHEMA) == json.loads(GOOD)
        asked.ask_json("?", SCHEMA)
    assert ["response_format" in each["body"] for each in server.seen] == [True, False, False]
    with serving(fails(400, "no such model")) as server:
        assert "no such model" in why(server.base).message


def test_nobody_there() -> None:
    """A closed port and a connection that is hung up are unreachable, after the tries allowed."""
    with serving(says(GOOD)) as server:
        base = server.base
    assert why(base).why == "unreachable"
    with serving(hangs_up) as server:
        assert why(server.base).why == "unreachable"
        assert len(server.seen) == 3


def test_too_large_a_question_is_not_sent() -> None:
    """The limit holds before anything leaves the machine."""
    with serving(says(GOOD)) as server:
        with pytest.raises(UsageFault, match="2,000 are allowed"):
            model(server.base, characters_in=2000).ask("x" * 3000)
        assert server.seen == []


def test_proxy_is_not_asked_about_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model on this machine is reached directly, whatever proxy the environment names."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving(says("fine")) as server:
        assert model(server.base).ask("?") == "fine"


@pytest.mark.parametrize(
    "base", ["", "ftp://x/v1", "file:///etc/passwd", "http://", "https://u:p@host/v1", "https://h/v1?x=1"]
)
def test_no_address(base: str) -> None:
    """Anything but an http address without credentials is refused when it is set up."""
    with pytest.raises(UsageFault):
        Endpoint(base, "m")


def test_key_needs_encryption() -> None:
    """A key never goes to another machine over plain HTTP, and never shows in a representation."""
    with pytest.raises(UsageFault, match="unencrypted"):
        Endpoint("http://models.example.org/v1", "m", "sk-test-123")
    assert "sk-test-123" not in repr(Endpoint("https://models.example.org/v1", "m", "sk-test-123"))
