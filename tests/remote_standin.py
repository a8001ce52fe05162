"""A server on loopback that answers what it was told to: recorded bodies, errors, silence, streams cut in the middle.

Knows HTTP and nothing of the product. `remote_bodies/` holds the bodies: vLLM's as they came from the real program,
SGLang's, TensorRT-LLM's and llama-server's written after their own sources.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BODIES = Path(__file__).with_name("remote_bodies")
CHAT = "/v1/chat/completions"
RAW = "/v1/completions"


def body(name: str) -> str:
    return (BODIES / name).read_text(encoding="utf-8")


@dataclass
class Answer:
    """One response. A stream's pieces are sent one by one; `cut` ends the connection after so many of them.

    Attributes:
        pause: seconds before each piece. silence: seconds of nothing after the last piece, the connection open.
    """

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    pause: float = 0.0
    silence: float = 0.0
    stream: bool = False


def sse(*messages: Mapping[str, Any], done: bool = True, **more: Any) -> Answer:
    """A stream of these messages."""
    lines = [f"data: {json.dumps(message)}\n\n" for message in messages] + (["data: [DONE]\n\n"] if done else [])
    return Answer("".join(lines), stream=True, **more)


def recorded(name: str, **more: Any) -> Answer:
    """A stream as it was recorded."""
    return Answer(body(name), stream=True, **more)


def plain(value: Any, status: int = 200, **headers: str) -> Answer:
    """A JSON body."""
    return Answer(json.dumps(value), status, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class StandIn:
    """What it answers, by path; a list is used up one by one, its last stays. `asked` is what came in."""

    url: str
    answers: dict[str, Answer | list[Answer]]
    asked: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    closed_early: threading.Event = field(default_factory=threading.Event)

    def bodies(self, path: str = CHAT) -> list[dict[str, Any]]:
        return [data for asked, data, _ in self.asked if asked == path]

    def next(self, path: str) -> Answer:
        found = self.answers.get(path, Answer("{}", 404))
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found


@contextmanager
def standin(answers: Mapping[str, Answer | list[Answer]]) -> Iterator[StandIn]:
    """A server with these answers on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            here.asked.append((self.path, {}, dict(self.headers)))
            self._answer(here.next(self.path))

        def do_POST(self) -> None:
            data = json.loads(self.rfile.read(int(self.headers["content-length"])))
            here.asked.append((self.path, data, dict(self.headers)))
            self._answer(here.next(self.path))

        def _answer(self, answer: Answer) -> None:
            try:
                self._stream(answer) if answer.stream else self._whole(answer)
            except (BrokenPipeError, ConnectionResetError):
                here.closed_early.set()
                self.close_connection = True

        def _whole(self, answer: Answer) -> None:
            time.sleep(answer.silence)
            data = answer.text.encode()
            self.send_response(answer.status)
            for name, value in ({"content-type": "application/json"} | answer.headers).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("content-type", "text/event-stream; charset=utf-8")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            pieces = [f"{piece}\n\n".encode() for piece in answer.text.split("\n\n") if piece.strip()]
            for piece in pieces[: answer.cut]:
                time.sleep(answer.pause)
                self._chunk(piece)
            if answer.silence:
                self._wait(answer.silence)
            if answer.cut is None:
                self._chunk(b"")
            else:
                self.close_connection = True

        def _wait(self, seconds: float) -> None:
            """Silent, but noticing that the other side has gone."""
            until = time.monotonic() + seconds
            self.connection.settimeout(0.05)
            while time.monotonic() < until:
                try:
                    if not self.connection.recv(1):
                        raise BrokenPipeError
                except TimeoutError:
                    continue
            self.connection.settimeout(None)

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    here = StandIn(f"http://127.0.0.1:{server.server_address[1]}", dict(answers))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
