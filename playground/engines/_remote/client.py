"""HTTP to one server: what it is, a streamed answer, its counters. Knows no run and no event.

An address is called only where the operator allows it, a key is sent only to the address it was given for, redirects
are not followed, and what a server sends is bounded.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from playground.engines import EngineContext
from playground.engines._remote import failures
from playground.engines._remote.options import Kind, clean_url, is_link_local, is_loopback, origin
from playground.engines._remote.prometheus import Counters, counters
from playground.errors import PlaygroundError
from playground.sentence import Sentence

Messages = AsyncIterator[Mapping[str, Any]]

CONNECT_SECONDS = 10.0
ASK_SECONDS = 10.0
"""For the small questions beside a run."""

LONGEST_LINE = 1 << 22
LONGEST_BODY = 1 << 22

_OWNERS: dict[str, Kind] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt_llm": "tensorrt_llm",
    "llamacpp": "llama_server",
}
"""`owned_by` of a server's models."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server says of itself.

    Attributes:
        models: names it serves. version: "" where it does not say.
        speculates: whether it drafts at all; None where it does not say.
        full_drafts: whether every draft has the full length (SGLang's counters assume it); None where unknown.
        counts: whether it has server-wide speculative counters.
    """

    kind: Kind
    models: tuple[str, ...] = ()
    version: str = ""
    speculates: bool | None = None
    full_drafts: bool | None = None
    counts: bool = False


def check_allowed(url: str, context: EngineContext) -> None:
    """Raises PlaygroundError for an address that the operator's settings do not let us call."""
    if context.servers is None:
        if is_link_local(url):
            raise _not_allowed(url, Sentence("Such addresses are called only if DRAFTBOARD_REMOTE_SERVERS names them."))
        return
    if not any(origin(url) == origin(clean_url(listed)) for listed in context.servers):
        raise _not_allowed(
            url, Sentence("Whoever runs Draftboard can name it in DRAFTBOARD_REMOTE_SERVERS, a JSON list of addresses.")
        )


def _not_allowed(url: str, hint: str) -> PlaygroundError:
    return PlaygroundError(Sentence("The server {url} may not be called from here.", url=url), hint, code="not_allowed")


class Client:
    """One server. To be used on one event loop."""

    def __init__(self, url: str, context: EngineContext, patience: float) -> None:
        """Raises PlaygroundError for an address that may not be called."""
        check_allowed(url, context)
        self.url, self._patience = url, patience
        found = next((key for name, key in context.keys.items() if origin(clean_url(name)) == origin(url)), None)
        self._key = found.get_secret_value() if found else ""
        self._http = httpx.AsyncClient(
            headers={"User-Agent": "draftboard"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
            timeout=httpx.Timeout(patience, connect=min(CONNECT_SECONDS, patience)),
            trust_env=not is_loopback(url),  # a proxy is for other machines
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def info(self, kind: Kind | None) -> ServerInfo:
        """What this server is. `kind`: said by the user; None asks.

        Raises:
            PlaygroundError: it does not answer, wants a key, or has no such interface.
        """
        models = await self._get("/v1/models")
        listed = models.get("data")
        cards = [card for card in listed if isinstance(card, Mapping)] if isinstance(listed, list) else []
        names = tuple(str(card["id"]) for card in cards if isinstance(card.get("id"), str))
        owner = str(cards[0].get("owned_by", "")) if cards else ""
        found: Kind = kind or _OWNERS.get(owner, "other")
        match found:
            case "vllm":
                version = str((await self._try("/version")).get("version", ""))
                found_counters = await self.counters("")
                speculates = None if found_counters is None else found_counters.speculates
                return ServerInfo(found, names, version, speculates, counts=bool(speculates))
            case "sglang":
                about = await self._try("/server_info") or await self._try("/get_server_info")
                algorithm = about.get("speculative_algorithm")
                speculates = bool(algorithm) if "speculative_algorithm" in about else None
                full = None if speculates is None else str(algorithm).upper() != "NGRAM"
                return ServerInfo(found, names, str(about.get("version", "")), speculates, full)
            case "llama_server":
                props = await self._try("/props")
                slots = (await self._try("/slots")).get("items") or [props.get("default_generation_settings")]
                slot = slots[0] if isinstance(slots, list) and slots and isinstance(slots[0], Mapping) else {}
                speculates = slot.get("speculative") if isinstance(slot.get("speculative"), bool) else None
                return ServerInfo(found, names, str(props.get("build_info", "")), speculates)
            case _:
                return ServerInfo(found, names, str((await self._try("/version")).get("version", "")))

    async def counters(self, model: str) -> Counters | None:
        """vLLM's server-wide counters; None where they cannot be read. `model`: "" for all it serves."""
        try:
            async with self._http.stream("GET", f"{self.url}/metrics", timeout=ASK_SECONDS) as response:
                return counters(await _text(response), model) if response.status_code == 200 else None
        except httpx.HTTPError:
            return None

    @asynccontextmanager
    async def stream(
        self, path: str, body: Mapping[str, Any], model: str
    ) -> AsyncIterator[AsyncIterator[Mapping[str, Any]]]:
        """The messages of one streamed answer. Leaving early closes the connection, which ends it at the server.

        Raises:
            PlaygroundError: also from the messages, in the middle of them.
        """
        begun = False

        async def messages(response: httpx.Response) -> Messages:
            nonlocal begun
            async for message in _events(response, self.url):
                if error := message.get("error"):
                    raise failures.refused(self.url, _status(error), self._said(error), model=model)
                begun = True
                yield message

        try:
            async with self._http.stream("POST", f"{self.url}{path}", json=body) as response:
                if response.status_code != 200:
                    raise await self._refused(response, model)
                yield messages(response)
        except httpx.HTTPError as error:
            raise failures.broken(self.url, error, self._patience, begun=begun) from None

    async def _get(self, path: str) -> dict[str, Any]:
        seconds = min(ASK_SECONDS, self._patience)
        try:
            async with self._http.stream("GET", f"{self.url}{path}", timeout=seconds) as response:
                if response.status_code != 200:
                    raise await self._refused(response, "")
                return _object(await _text(response))
        except httpx.HTTPError as error:
            raise failures.broken(self.url, error, seconds, begun=False) from None

    async def _try(self, path: str) -> dict[str, Any]:
        """As `_get`; nothing where the server does not have it."""
        try:
            return await self._get(path)
        except PlaygroundError:
            return {}

    async def _refused(self, response: httpx.Response, model: str) -> PlaygroundError:
        text = await _text(response)
        words = self._said(_object(text) or text)
        retry = response.headers.get("retry-after", "")
        return failures.refused(self.url, response.status_code, words, retry_after=retry, model=model)

    def _said(self, body: object) -> str:
        words = failures.said(body)
        return words.replace(self._key, "(the key)") if self._key else words


async def _text(response: httpx.Response) -> str:
    """A body, or the beginning of one that is too long."""
    body = b""
    async for part in response.aiter_bytes():
        body += part
        if len(body) > LONGEST_BODY:
            break
    return body[:LONGEST_BODY].decode(errors="replace")


async def _events(response: httpx.Response, url: str) -> Messages:
    """Server-sent events whose data is a JSON object, to their end mark."""
    if "json" in response.headers.get("content-type", ""):
        found = _object(await _text(response))
        if "error" in found:
            yield found
        raise PlaygroundError(
            Sentence("The server {url} does not stream its answer.", url=url),
            Sentence("Use a server that does."),
            code="no_stream",
        )
    rest = b""
    async for part in response.aiter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise failures.cut(url)
        for line in lines:
            name, colon, value = line.strip().partition(b":")
            if not colon or name not in (b"data", b"error"):
                continue
            if value.strip() == b"[DONE]":
                return
            found = _object(value.decode(errors="replace"))
            if name == b"error" and "error" not in found:
                found = {"error": found}
            if found:
                yield found


def _status(error: object) -> int:
    """Of an error inside a stream; 500 where it says none."""
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _object(text: str) -> dict[str, Any]:
    """A JSON object; a list as its "items"; {} for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {"items": found} if isinstance(found, list) else {}
