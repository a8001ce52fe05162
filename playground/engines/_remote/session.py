"""A remote engine's servers and the runs on them, on one event loop: prompts in, events out."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from playground.config import RunConfig, SamplingParams, checked
from playground.detokenise import Vocabulary
from playground.engines import EngineContext
from playground.engines._remote import failures
from playground.engines._remote.client import Client, ServerInfo
from playground.engines._remote.dialects import dialect, request
from playground.engines._remote.options import RemoteOptions
from playground.engines._remote.pieces import piece
from playground.engines._remote.prometheus import Counters
from playground.engines._remote.reported import Reported
from playground.engines._remote.run import Run, Told
from playground.errors import PlaygroundError
from playground.events import Event, Loading, Reason, RunFinished
from playground.sentence import Sentence

WARM_UP_TOKENS = 8
_WARM_UP = "Count: one two three one two three one two"

Send = Callable[[Event], None]


@dataclass(slots=True)
class _Server:
    client: Client
    info: ServerInfo
    told: Told


class Session:
    """The server that speculates and, where there is one, the one that does not."""

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        """Raises PlaygroundError for options or addresses that are refused."""
        self._options = checked(RemoteOptions, config.engine_options, where=Sentence("the remote engine's options"))
        self._config, self._context = config, context
        self._clients = {url: Client(url, context, self._options.timeout) for url in self._urls()}
        self._servers: dict[str, _Server] = {}
        self._vocabulary: Vocabulary | None = None
        self._served = 0

    def _urls(self) -> Iterator[str]:
        yield self._options.url
        if self._options.baseline_url not in ("", self._options.url):
            yield self._options.baseline_url

    async def load(self) -> AsyncIterator[Event]:
        """Asks every server what it is and lets it answer once, which opens the connection and shows what it tells.

        Raises:
            PlaygroundError: one does not answer, or not as it should.
        """
        self._vocabulary = await asyncio.to_thread(
            _vocabulary, self._options.tokenizer or self._config.target, self._context
        )
        for url, client in self._clients.items():
            yield Loading("connect", Sentence("Asking {url} what it serves.", url=url))
            info = await client.info(None if self._options.server == "auto" else self._options.server)
            self._check_model(url, info, self._config)
            yield Loading("warm-up", Sentence("A first short answer from {server}.", server=dialect(info.kind).title))
            self._servers[url] = await self._warm_up(client, info)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    async def follow(self, config: RunConfig, prompt: str, send: Send) -> None:
        """One run, to its RunFinished; cancelling this task ends it as cancelled."""
        run: Run | None = None
        try:
            checked(RemoteOptions, config.engine_options, where=Sentence("the remote engine's options"))
            server = self._server_for(config)
            self._check_model(server.client.url, server.info, config)
            seed = config.sampling.seed if config.sampling.seed is not None else secrets.randbits(31)
            path, body = request(
                server.info.kind, config.target, config, prompt, seed=seed, candidates=self._options.candidates
            )
            before = await server.client.counters(config.target) if server.info.counts else None
            environment = self._environment(server, config, seed)
            run = Run(config, server.told, environment, time.monotonic(), self._vocabulary, self._options.candidates)
            if not server.told.names_tokens:
                _send_all(run.started(), send)  # the prompt's tokens would come with the first message
            await self._stream(server.client, path, body, config.target, run, send)
            wide, notes = await self._server_wide(server, config, before, run)
            _send_all(run.finished(wide, notes), send)
        except asyncio.CancelledError:
            _send_all(run.cancelled() if run else _nothing("cancelled"), send)
            raise
        except PlaygroundError as error:
            _send_all(run.failed(error) if run else _nothing("error", error), send)
        self._served += 1

    async def _stream(self, client: Client, path: str, body: dict[str, Any], model: str, run: Run, send: Send) -> None:
        async with client.stream(path, body, model) as messages:
            async for message in messages:
                _send_all(run.take(piece(message), time.monotonic()), send)
                if run.runaway:
                    return
        if not run.complete:
            raise failures.cut(client.url)

    def _server_for(self, config: RunConfig) -> _Server:
        """Where a run goes. Raises PlaygroundError for a baseline with nowhere to run."""
        if config.speculation is not None or not self._options.baseline_url:
            server = self._servers[self._options.url]
            if config.speculation is None and server.info.speculates:
                raise PlaygroundError(
                    Sentence("The server {url} speculates: it cannot run the baseline.", url=self._options.url),
                    Sentence("Give baseline_url, the address of the same model served without speculation."),
                    code="no_baseline",
                )
            return server
        return self._servers[self._options.baseline_url]

    @staticmethod
    def _check_model(url: str, info: ServerInfo, config: RunConfig) -> None:
        if info.models and config.target not in info.models:
            names = ", ".join(info.models[:8])
            raise PlaygroundError(
                Sentence("The server {url} does not serve the model “{target}”.", url=url, target=config.target),
                Sentence("It serves: {names}. Type one of these as the target model.", names=names),
                code="no_such_model",
            )

    async def _warm_up(self, client: Client, info: ServerInfo) -> _Server:
        """One short greedy answer of the kind that is to come; what its messages hold, this server tells."""
        sampling = SamplingParams(max_tokens=WARM_UP_TOKENS)
        config = self._config.model_copy(update={"sampling": sampling, "history": (), "system_prompt": ""})
        path, body = request(info.kind, config.target, config, _WARM_UP, seed=0)
        named: list[bool] = []
        counted: list[bool] = []
        reported: Reported | None = None
        async with client.stream(path, body, config.target) as messages:
            async for message in messages:
                found = piece(message)
                reported = found.reported or reported
                if found.text or found.ids:
                    named.append(bool(found.ids))
                    counted.append(bool(found.ids) or found.total is not None)
        names, counts = bool(named) and all(named), bool(counted) and all(counted)
        told = Told(info.kind, names, counts, info.full_drafts, reported.k if reported else None)
        return _Server(client, info, told)

    async def _server_wide(
        self, server: _Server, config: RunConfig, before: Counters | None, run: Run
    ) -> tuple[Reported | None, tuple[str, ...]]:
        """The server's counters over this run, if it was alone there."""
        if before is None or run.has_figures or config.speculation is None:
            return None, ()
        after = await server.client.counters(config.target)
        if after is None:
            return None, ()
        passed = after.since(before)
        if passed.generated != run.usage:
            return None, (
                Sentence(
                    "Others used the server during this run ({all} tokens by its counters, {ours} of them ours): its "
                    "server-wide speculative counters are left out.",
                    all=passed.generated,
                    ours=str(run.usage),
                ),
            )
        return passed.reported(), (
            Sentence(
                "Drafted and accepted tokens are differences of the server's own counters before and after this run."
            ),
        )

    def _environment(self, server: _Server, config: RunConfig, seed: int) -> dict[str, Any]:
        info, title = server.info, dialect(server.info.kind).title
        untold = server.told.untold(speculative=config.speculation is not None)
        warnings = list(untold.values())
        if self._options.candidates and not config.sampling.greedy:
            warnings.append(Sentence("The server's probabilities may be those before temperature and filters."))
        if config.speculation is not None and info.speculates is False:
            warnings.append(Sentence("The server {url} does not speculate.", url=server.client.url))
        return {
            "engine": "remote",
            "engine_path": f"{title} {info.version}".strip() + f" at {server.client.url}",
            "server": server.client.url,
            "hardware": server.client.url,
            "seed": seed,
            "greedy": config.sampling.greedy,
            "target_path": config.target,
            "server_num_speculative_tokens": server.told.k,
            "runs_since_load": self._served,
            "untold": untold,
            "versions": {title: info.version} if info.version else {},
            "warnings": warnings,
        }


def _send_all(events: Iterator[Event], send: Send) -> None:
    for event in events:
        send(event)


def _nothing(reason: Reason, error: PlaygroundError | None = None) -> Iterator[Event]:
    """The end of a run that never began."""
    yield RunFinished(
        reason,
        0.0,
        error=error.message if error else "",
        hint=error.hint if error else "",
        code=error.code if error else "",
    )


def _vocabulary(name: str, context: EngineContext) -> Vocabulary | None:
    """Of a model on this machine; None where there is none, or it cannot be read."""
    path = (context.model_paths or {}).get(name)
    if path is None:
        return None
    from transformers import AutoTokenizer

    try:
        return Vocabulary(AutoTokenizer.from_pretrained(path, local_files_only=True))
    except (OSError, ValueError):
        return None
