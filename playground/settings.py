"""WHERE I run: folders, host, port, auth, device. `DRAFTBOARD_*` variables or a `.env` file; read once, at start.

Knows nothing of what runs (config.py).
"""

import os
import socket
from collections.abc import Collection
from ipaddress import ip_address
from pathlib import Path

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from playground.engines import EngineContext
from playground.errors import PlaygroundError
from playground.faults import MOST, words

ROOT = Path(__file__).resolve().parent.parent
"""The checkout: shipped presets and suites are read from here, never written."""


_PREFIX = "DRAFTBOARD_"


class Settings(BaseSettings):
    """The operator's choices. Every field is an environment variable `DRAFTBOARD_<NAME>` and a line of `.env`."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    host: str = Field("127.0.0.1", description="Address to listen on; any but loopback needs auth.")
    port: int = Field(7860, ge=1, le=65535, description="Port of the page.")
    data: Path = Field(ROOT / "storage", description="Folder of everything written: database, models, own presets.")
    database: Path | None = Field(None, description="The SQLite file; default: runs.db in the data folder.")
    model_folders: tuple[Path, ...] = Field((), description="More folders to look for models in (JSON list).")
    device: str = Field("auto", description="auto, cpu, cuda, cuda:N or mps.")
    threads: int = Field(0, ge=0, description="CPU threads for torch; 0 leaves it to torch.")
    auth_user: str = Field("", description="User name asked for at the page.")
    auth_password: SecretStr = Field(SecretStr(""), description="Password asked for at the page.")
    insecure_no_auth: bool = Field(False, description="Allow a non-loopback host without auth. You were warned.")
    trust_remote_code: bool = Field(False, description="Let model folders run their own Python. Off for a reason.")
    remote_servers: tuple[str, ...] = Field(
        (),
        description="Servers the engine remote may call (JSON list of addresses); "
        "empty: any, or none where other machines can reach the page.",
    )
    remote_keys: dict[str, SecretStr] = Field(
        {}, description="Keys of such servers (JSON: address to key); never stored, shown or logged."
    )
    offline: bool = Field(True, description="Never ask a hub for anything; switch off to load models by hub id.")

    @model_validator(mode="after")
    def _open_only_with_auth(self) -> "Settings":
        if (self.auth_user == "") != (self.auth_password.get_secret_value() == ""):
            raise ValueError("auth_user and auth_password must be set together")
        if not self.is_loopback and not self.auth_user and not self.insecure_no_auth:
            raise ValueError(
                f"host {self.host} can be reached from other machines and no auth is set; set DRAFTBOARD_AUTH_USER and "
                "DRAFTBOARD_AUTH_PASSWORD, or DRAFTBOARD_INSECURE_NO_AUTH=true if something else guards it"
            )
        return self

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def database_path(self) -> Path:
        return self.database or self.data / "runs.db"

    @property
    def models_folder(self) -> Path:
        """Where prepared models live."""
        return self.data / "models"

    @property
    def presets_folder(self) -> Path:
        """Where a user's own presets are written; the shipped ones stay read-only in the checkout."""
        return ROOT / "presets" / "local" if self.data == ROOT / "storage" else self.data / "presets"

    @property
    def shipped_presets(self) -> Path:
        return ROOT / "presets"

    @property
    def shipped_heads(self) -> Path:
        """Draft heads that travel with the checkout's presets, by the names that presets use."""
        return ROOT / "presets" / "heads"

    def engine_context(self, model_paths: dict[str, str]) -> EngineContext:
        return EngineContext(
            device=self.device,
            model_paths=model_paths,
            trust_remote_code=self.trust_remote_code,
            offline=self.offline,
            threads=self.threads,
            servers=self.remote_servers or (None if self.is_loopback else ()),
            keys=self.remote_keys,
        )

    def check_writable(self) -> None:
        """Make the folders we write to.

        Raises:
            PlaygroundError: one cannot be written, named with the variable that moves it.
        """
        for folder in (self.data, self.database_path.parent, self.models_folder, self.presets_folder):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise _unwritable(folder, error.strerror or str(error)) from None
            if not os.access(folder, os.W_OK):
                why = "it lies on a disk that is read-only" if _read_only(folder) else "permission denied"
                raise _unwritable(folder, why)

    def check_port(self) -> None:
        """Raises PlaygroundError when the port is taken."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                raise PlaygroundError(
                    f"Port {self.port} on {self.host} cannot be used: {error.strerror}.",
                    "Stop what uses it, or choose another with DRAFTBOARD_PORT=7861.",
                    code="port_in_use",
                ) from None


def load_settings(**overrides: object) -> Settings:
    """The settings, or one sentence naming the wrong variable."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except SettingsError as error:
        raise _no_json(str(error)) from None
    except ValidationError as error:
        found = "; ".join(_fault(item, overrides) for item in error.errors()[:MOST])
        raise PlaygroundError(
            f"{found}.", "Correct it where it is set, in the environment or in .env.", code="bad_config"
        ) from None


def _fault(item: ErrorDetails, overrides: Collection[str]) -> str:
    """What is wrong with a setting, under the name that it was given by."""
    if not item["loc"]:
        return words(item)
    name = str(item["loc"][0])
    return f"{name if name in overrides else _PREFIX + name.upper()}: {words(item)}"


def _no_json(error: str) -> PlaygroundError:
    """Of a setting whose text must be JSON. The text itself stays out: it may hold a key."""
    name = next(name for name in (*Settings.model_fields, "") if f'"{name}"' in error or not name)
    mapping = name == "remote_keys"
    example = '{"http://host:8000": "its key"}' if mapping else '["/first", "/second"]'
    return PlaygroundError(
        f"{_PREFIX}{name.upper() or '*'} is no JSON {'mapping' if mapping else 'list'}.",
        f"Write it like '{example}', or leave it out.",
        code="bad_config",
    )


def _read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY) if hasattr(os, "statvfs") else False


def _unwritable(folder: Path, why: str) -> PlaygroundError:
    return PlaygroundError(
        f"The folder {folder} cannot be written: {why}.",
        "Let this user write to it, or choose another with DRAFTBOARD_DATA=/some/folder.",
        code="unwritable",
    )
