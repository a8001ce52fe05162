"""What goes wrong between us and a server, as a sentence and its fix. A key never stands in one."""

import re

import httpx

from playground.errors import PlaygroundError
from playground.sentence import Sentence

_SHOWN = 300

KEY_HINT = Sentence(
    'Set the server\'s key and start again: DRAFTBOARD_REMOTE_KEYS=\'{"ADDRESS": "KEY"}\', with the address as it '
    "stands in the settings."
)


def said(body: object) -> str:
    """A server's own words in an error's body, made fit to be shown; "" where it has none."""
    for _ in range(4):
        if isinstance(body, dict):
            body = next((body[name] for name in ("error", "message", "detail", "msg") if body.get(name)), "")
        elif isinstance(body, list):
            body = body[0] if body else ""
    text = body if isinstance(body, str) else ""
    text = re.sub(r"\s+", " ", "".join(c if c.isprintable() or c.isspace() else " " for c in text)).strip()
    return text[:_SHOWN].rstrip(". ")


def refused(url: str, status: int, words: str, *, retry_after: str = "", model: str = "") -> PlaygroundError:
    """An HTTP status other than 200."""
    detail = Sentence(": {words}", words=words) if words else ""
    match status:
        case 401 | 403:
            return PlaygroundError(
                Sentence(
                    "The server {url} wants a valid key ({status}){detail}.", url=url, status=status, detail=detail
                ),
                KEY_HINT,
                code="unauthorized",
            )
        case 404 if model and "model" in words.lower():
            return PlaygroundError(
                Sentence(
                    "The server {url} does not serve the model “{model}”{detail}.", url=url, model=model, detail=detail
                ),
                Sentence("Type the model's name as the server has it."),
                code="no_such_model",
            )
        case 404 | 405:
            return PlaygroundError(
                Sentence("There is no OpenAI-compatible interface at {url} ({status}).", url=url, status=status),
                Sentence("Give the address before “/v1”, such as http://127.0.0.1:8000."),
                code="not_found",
            )
        case 429:
            later = Sentence("Try again later.")
            if retry_after:
                later = Sentence("Try again later. It asks to wait {seconds} s.", seconds=retry_after[:20])
            return PlaygroundError(
                Sentence("The server {url} has too many requests (429){detail}.", url=url, detail=detail),
                later,
                code="too_many",
            )
        case _ if 300 <= status < 400:
            return PlaygroundError(
                Sentence(
                    "The server {url} points to another address ({status}), which is not followed.",
                    url=url,
                    status=status,
                ),
                Sentence("Give the address it points to, if it is the right one."),
                code="redirected",
            )
        case _ if status >= 500:
            return PlaygroundError(
                Sentence("The server {url} failed ({status}){detail}.", url=url, status=status, detail=detail),
                Sentence("Its log says why; try again."),
                code="server_error",
            )
        case _:
            return PlaygroundError(
                Sentence(
                    "The server {url} refuses this run ({status}){detail}.", url=url, status=status, detail=detail
                ),
                Sentence("Change the setting it names and run again."),
                code="refused",
            )


def broken(url: str, error: httpx.HTTPError, patience: float, *, begun: bool) -> PlaygroundError:
    """No answer, or one that broke off. `begun`: part of the answer has come."""
    match error:
        case httpx.ConnectTimeout() | httpx.ConnectError() | httpx.UnsupportedProtocol():
            why = (
                Sentence("its certificate is not valid")
                if "CERTIFICATE" in str(error).upper()
                else Sentence("it does not answer")
            )
            return PlaygroundError(
                Sentence("The server {url} cannot be reached: {why}.", url=url, why=why),
                Sentence("Start it, or correct its address."),
                code="unreachable",
            )
        case httpx.TimeoutException():
            return PlaygroundError(
                Sentence("The server {url} has been silent for {patience:g} s.", url=url, patience=patience),
                Sentence("It may be overloaded; try again, or raise the option timeout."),
                code="timeout",
            )
        case _:
            return (
                cut(url)
                if begun
                else PlaygroundError(
                    Sentence("The server {url} broke off the connection.", url=url),
                    Sentence("Its log says why; try again."),
                    code="broken_off",
                )
            )


def cut(url: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("The server {url} broke off in the middle of the answer: what stands here is a part of it.", url=url),
        Sentence("Its log says why; try again."),
        code="stream_cut",
    )
