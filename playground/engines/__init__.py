"""Engines: what turns (config, prompt) into events. One file = one engine; this file is only their protocol.

An engine lives in a child process (process.py), alone with its device, and works for several runs at once. An engine
file must be light to import: the page reads `Engine.Options` and `Engine.methods()` in a process without a device.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, SecretStr

from playground.config import RunConfig
from playground.events import Event

PACKAGE = __name__


@dataclass(frozen=True, slots=True)
class EngineContext:
    """WHERE an engine works: what the operator's settings allow. Pickled to the child.

    Attributes:
        device: "auto", "cpu", "cuda", "cuda:1", "mps".
        model_paths: name -> folder of the models this machine knows by name.
        trust_remote_code: only ever True by the operator's own setting.
        offline: no hub look-ups.
        threads: CPU threads for torch, 0 = its own choice.
        servers: addresses of the servers that may be called; None for any.
        keys: address of a server -> the key it wants.
    """

    device: str = "auto"
    model_paths: Mapping[str, str] | None = None
    trust_remote_code: bool = False
    offline: bool = False
    threads: int = 0
    servers: tuple[str, ...] | None = None
    keys: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)


class Engine(Protocol):
    """What every file of this package defines under the name `Engine`.

    Two static methods may be left out: `unavailable() -> PlaygroundError | None`, why this engine cannot run here at
    all and what brings it; `stored_baseline(config) -> bool`, whether the baseline of a comparison with this config
    must be a run recorded before, there being nothing to run it on.

    Class attributes and static methods are read in the parent; instances are made in the child only.
    """

    Options: type[BaseModel]
    """Checks `RunConfig.engine_options`."""

    CONCURRENT: ClassVar[bool]
    """Whether runs submitted together also run together; may be left out, and is then False: one after the other."""

    @staticmethod
    def methods() -> dict[str, type[BaseModel]]:
        """Drafting method -> its Options (checks `Speculation.options`)."""

    @staticmethod
    def load_key(config: RunConfig, context: EngineContext) -> Any:
        """Equal keys = one loaded engine can serve both; a change means a new child."""

    @staticmethod
    def device(config: RunConfig, context: EngineContext) -> str | None:
        """Name of the device lock this engine needs ("cpu", "cuda:0"); None for engines that own no device."""

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        """Cheap; loading happens in `load`."""

    def load(self) -> Iterator[Event]:
        """Loads and warms up, yielding `Loading` events. Raises PlaygroundError when it cannot."""

    def submit(self, run_id: str, config: RunConfig, prompt: str) -> None:
        """Accept a run; thread-safe; returns at once. What is wrong with it comes as its `RunFinished`."""

    def abort(self, run_id: str) -> None:
        """Ask a run to end with reason "cancelled"; thread-safe; unknown ids are ignored."""

    def events(self) -> Iterator[tuple[str, Event]]:
        """(run_id, event) for all submitted runs until `close`; blocks while idle. Each run's last is RunFinished."""

    def close(self) -> None:
        """Make `events` end; thread-safe."""
