"""A real HTTP server on the loopback device that plays a language model: well, slow, malformed, hostile, huge."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


class Server(ThreadingHTTPServer):
    """Answers the n-th request with the n-th reply, the last one for ever; keeps what it was asked."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, replies: tuple[Reply, ...]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = replies
        self.seen: list[dict[str, Any]] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: Any) -> None:
        """A client that has gone is part of these tests."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append({"path": self.path, "headers": dict(self.headers), "body": body})
        number = min(len(self.server.seen), len(self.server.replies)) - 1
        self.close_connection = True
        self.server.replies[number](self, body)

    def do_GET(self) -> None:
        self.server.seen.append({"path": self.path, "headers": dict(self.headers), "body": None})
        self.send_error(404)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(*replies: Reply) -> Iterator[Server]:
    server = Server(replies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def raw(status: int, body: bytes, **headers: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def says(content: Any, **choice: Any) -> Reply:
    message = {"role": "assistant", "content": content}
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"} | choice]}
    return raw(200, json.dumps(answer).encode(), Content_Type="application/json")


def fails(status: int, told: str = "", **headers: str) -> Reply:
    return raw(status, json.dumps({"error": {"message": told}}).encode(), **headers)


def drips(where: str, pause: float = 0.1) -> Reply:
    """Sends a byte now and then: in the `head` or the `body`, so that no single read ever times out."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        if where == "body":
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        for _ in range(600):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(pause)

    return reply


def endless(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(10_000):
        handler.wfile.write(b" " * 65536)


def hangs_up(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    handler.connection.close()
