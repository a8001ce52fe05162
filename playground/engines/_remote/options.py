"""What can be chosen for a remote server, and what an address may look like. Knows no network."""

import ipaddress
import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from playground.sentence import Sentence

Kind = Literal["vllm", "sglang", "tensorrt_llm", "llama_server", "other"]

LONGEST_ADDRESS = 2000
_ENDPOINTS = ("/chat/completions", "/completions", "/v1")


def clean_url(text: str) -> str:
    """An address as it is called, shown and stored: without the API's own path and without a last slash.

    Raises:
        ValueError: no http(s) address, or one that carries a secret.
    """
    text = text.strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(Sentence("is no address; write it like http://127.0.0.1:8000")) from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(Sentence("must be an http or https address, like http://127.0.0.1:8000"))
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(Sentence("must hold no user, password or parameters: a key goes into DRAFTBOARD_REMOTE_KEYS"))
    if len(text) > LONGEST_ADDRESS or re.search(r"[\s\\\x00-\x20\x7f]", text) or ".." in parts.path:
        raise ValueError(Sentence("is no address; write it like http://127.0.0.1:8000"))
    path = parts.path.rstrip("/")
    for endpoint in _ENDPOINTS:
        path = path.removesuffix(endpoint)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path}"


def _clean_or_empty(text: str) -> str:
    return clean_url(text) if text.strip() else ""


def origin(url: str) -> tuple[str, str, int]:
    """(scheme, host, port) of an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"https": 443}.get(parts.scheme, 80)


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_link_local(url: str) -> bool:
    """Addresses such as 169.254.169.254, where clouds keep what only the machine itself may read."""
    address = _address(urlsplit(url).hostname or "")
    return address is not None and (address.is_link_local or address.is_unspecified or address.is_multicast)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


class RemoteOptions(BaseModel):
    """Options of the remote engine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[str, AfterValidator(clean_url)] = Field(
        "http://127.0.0.1:8000", title="Server", description="Address of the server that speculates."
    )
    baseline_url: Annotated[str, AfterValidator(_clean_or_empty)] = Field(
        "",
        title="Server without speculation",
        description="The same model served without it; empty: the newest stored run without, of the same prompt.",
    )
    server: Literal["auto", "vllm", "sglang", "tensorrt_llm", "llama_server", "other"] = Field(
        "auto", title="Kind", description="What it is; auto asks it. other: plain OpenAI interface."
    )
    timeout: float = Field(
        60.0, ge=1.0, le=3600.0, title="Patience", description="Seconds of silence after which a run is given up."
    )
    candidates: int = Field(
        0, ge=0, le=20, title="Candidates", description="The target's best tokens per position; 0 asks for none."
    )
    tokenizer: str | None = Field(
        None,
        min_length=1,
        title="Tokenizer",
        description="A model of this machine with the server's tokenizer, to colour token by token; empty: the target.",
    )


class ServerOptions(BaseModel):
    """Nothing can be chosen: a server drafts as it was started."""

    model_config = ConfigDict(extra="forbid", frozen=True)
