"""An OpenAI-compatible endpoint: one POST to `<base>/chat/completions`, with the standard library alone.

Bounds that hold against a server that means ill or is ill: one deadline for the whole call (a timer shuts the
connection, so neither dripping headers nor a dripping body outlast it), a largest answer, no redirect (it would carry
the prompt, and with some libraries the key, to whoever it names), no key over plain HTTP to another machine.

The user's `OPENAI_API_KEY` goes to OpenAI and nowhere else unless the settings name it (see `choice`).  Servers that do
not know `response_format` are asked again without it; the answer is checked either way.

Rejected: the `openai` package (14 wheels, over a second to import) and litellm (80 MB).
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ctxrepo.errors import UsageFault
from ctxrepo.llm.model import Limits, ModelFailed, Question
from ctxrepo.text.hidden import show_hidden
from ctxrepo.text.secrets import mask

DEFAULT_BASE = "https://api.openai.com/v1"
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_BUSY = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_CHUNK = 65536
_EXCERPT = 300


@dataclass(slots=True)
class Endpoint:
    """A way to a model behind HTTP.

    Args:
        base: address up to and with `/v1`.
        model: the model's name there.
        key: sent as a bearer token; "" sends none.
    """

    base: str
    model: str
    key: str = field(default="", repr=False)
    _shaped: bool = True  # whether the server understands response_format

    def __post_init__(self) -> None:
        parts = urlsplit(self.base)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise UsageFault(
                f"{show_hidden(mask(self.base))!r} is not the address of a model.",
                hint="llm.base_url: https://api.openai.com/v1",
            )
        if self.key and parts.scheme == "http" and parts.hostname not in _LOCAL:
            raise UsageFault(
                f"The key would go to {parts.hostname} unencrypted.",
                hint=f"llm.base_url: https://{parts.netloc}{parts.path}",
            )

    def __call__(self, question: Question, limits: Limits) -> str:
        deadline = time.monotonic() + limits.seconds
        shaped = question.schema is not None and self._shaped
        try:
            answer = self._post(question, shaped, limits, deadline)
        except _NotUnderstood:
            if not shaped:
                raise
            self._shaped = False
            answer = self._post(question, False, limits, deadline)
        return _content(answer, self.host)

    @property
    def host(self) -> str:
        """The machine that is asked, for messages."""
        return urlsplit(self.base).netloc

    def _post(self, question: Question, shaped: bool, limits: Limits, deadline: float) -> Any:
        messages = [{"role": role, "content": text} for role, text in question.messages]
        if question.system:
            messages.insert(0, {"role": "system", "content": question.system})
        body: dict[str, Any] = {"model": self.model, "messages": messages, "stream": False}
        if shaped:
            form = {"name": question.name, "schema": question.schema, "strict": False}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "ctxrepo"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(  # noqa: S310 (the scheme was checked)
            f"{self.base.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers, method="POST"
        )
        raw = self._exchange(request, limits, deadline)
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise ModelFailed(f"{self.host} answered with something that is no JSON.", why="malformed") from None

    def _exchange(self, request: urllib.request.Request, limits: Limits, deadline: float) -> bytes:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._late(limits)
        with _deadline(left) as (sockets, expired):
            try:
                with _opener(sockets, self.base).open(request, timeout=left) as response:
                    raw = self._read(response, limits)
                if not expired.is_set():
                    return raw
                raise self._late(limits)
            except urllib.error.HTTPError as fault:
                with fault:
                    raise self._status(fault) from None
            except (OSError, http.client.HTTPException, ValueError) as fault:
                if expired.is_set() or isinstance(fault, TimeoutError) or isinstance(_cause(fault), TimeoutError):
                    raise self._late(limits) from None
                said = show_hidden(mask(str(_cause(fault))))[:_EXCERPT]
                raise ModelFailed(
                    f"{self.host} could not be asked: {said}.", why="unreachable", again=True, hint="check llm.base_url"
                ) from None

    def _read(self, response: http.client.HTTPResponse, limits: Limits) -> bytes:
        most = limits.characters_out * 8 + _CHUNK
        chunks: list[bytes] = []
        size = 0
        while chunk := response.read1(_CHUNK):
            size += len(chunk)
            if size > most:
                raise ModelFailed(f"{self.host} sent more than {most:,} bytes.", why="too-long")
            chunks.append(chunk)
        return b"".join(chunks)

    def _status(self, fault: urllib.error.HTTPError) -> ModelFailed:
        told = _told(fault)
        said = f"{self.host} answered {fault.code}{f': {told}' if told else ''}"
        if 300 <= fault.code < 400:
            return ModelFailed(
                f"{self.host} redirects to another address, which is not followed.",
                why="refused",
                hint="check llm.base_url",
            )
        if fault.code in (401, 403):
            return ModelFailed(f"{said}.", why="denied", hint="export CTXREPO_LLM_API_KEY=…")
        if fault.code in _BUSY:
            return ModelFailed(f"{said}.", why="busy", again=True, after=_seconds(fault.headers.get("Retry-After")))
        if fault.code in (400, 422):
            return _NotUnderstood(f"{said}.", why="refused")
        return ModelFailed(f"{said}.", why="refused", hint="check llm.base_url and llm.model")

    def _late(self, limits: Limits) -> ModelFailed:
        return ModelFailed(f"{self.host} did not answer within {limits.seconds:g} seconds.", why="late", again=True)


class _NotUnderstood(ModelFailed):
    """The server calls the request itself wrong."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves every redirect an error."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class _Plain(http.client.HTTPConnection):
    """A connection that shows its socket to the timer."""

    def __init__(self, *args: Any, sockets: list[socket.socket], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._sockets = sockets

    def connect(self) -> None:
        super().connect()
        self._sockets.append(self.sock)


class _Secure(http.client.HTTPSConnection):
    """The same, encrypted."""

    def __init__(self, *args: Any, sockets: list[socket.socket], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._sockets = sockets

    def connect(self) -> None:
        super().connect()
        self._sockets.append(self.sock)


class _Http(urllib.request.HTTPHandler):
    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__()
        self._sockets = sockets

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Plain, sockets=self._sockets), request)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, sockets: list[socket.socket]) -> None:
        super().__init__()
        self._sockets = sockets

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Secure, sockets=self._sockets), request)


def _opener(sockets: list[socket.socket], base: str) -> urllib.request.OpenerDirector:
    """Follows no redirect, and asks no proxy for what runs on this machine."""
    handlers: list[urllib.request.BaseHandler] = [_Http(sockets), _Https(sockets), _NoRedirect()]
    if urlsplit(base).hostname in _LOCAL:
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


@contextmanager
def _deadline(seconds: float) -> Iterator[tuple[list[socket.socket], threading.Event]]:
    """Shuts every socket in the list when the time is over; the event tells that it did."""
    sockets: list[socket.socket] = []
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    try:
        yield sockets, expired
    finally:
        timer.cancel()


def _content(answer: Any, host: str) -> str:
    """The text of a chat completion.

    Raises:
        ModelFailed: it is none, it was cut off, or the model refused.
    """
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ModelFailed(f"{host} answered with something that is no chat completion.", why="malformed") from None
    if choice.get("finish_reason") == "length":
        raise ModelFailed(f"The model at {host} was cut off at its own limit.", why="too-long")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not content and message.get("refusal"):
        raise ModelFailed(f"The model at {host} refused to answer.", why="refused")
    if not isinstance(content, str):
        raise ModelFailed(f"{host} answered without a text.", why="malformed")
    return content


def _told(fault: urllib.error.HTTPError) -> str:
    """What a server says about its error, short, on one line, without secrets."""
    with suppress(OSError, http.client.HTTPException, ValueError, AttributeError, RecursionError):
        raw = fault.read(20_000)
        try:
            told = json.loads(raw)["error"]
            text = told["message"] if isinstance(told, dict) else told
        except (ValueError, KeyError, TypeError):
            text = "" if raw.lstrip()[:1] == b"<" else raw.decode("utf-8", "replace")
        return show_hidden(mask(" ".join(str(text).split())))[:_EXCERPT].rstrip(".")
    return ""


def _seconds(header: str | None) -> float:
    with suppress(ValueError):
        return max(0.0, min(float(header or 0), 3600.0))
    return 0.0


def _cause(fault: BaseException) -> object:
    return fault.reason if isinstance(fault, urllib.error.URLError) else fault
