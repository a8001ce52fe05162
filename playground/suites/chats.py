"""Recorded chats: `messages` (OpenAI: role, content) or `conversations` (ShareGPT: from, value). The user's turns only.

The recorded answers are left out: a benchmark's conversations are answered by the model that is measured.
"""

from typing import Any

from playground.sentence import Sentence
from playground.suites import MAX_TURNS, Prompt, Row, kind_of, label_of, text_of

TITLE = "Chats (OpenAI messages, ShareGPT)"
PRIORITY = 40

_USERS = ("user", "human")


def matches(row: Row) -> bool:
    return "messages" in row or "conversations" in row


def read(row: Row, number: int) -> Prompt:
    key = "messages" if "messages" in row else "conversations"
    said = row[key]
    if not isinstance(said, list):
        raise ValueError(Sentence("{key}: must be a list, is {kind}", key=key, kind=kind_of(said)))
    turns = [_text(message, f"{key}[{i}]") for i, message in enumerate(said) if _is_user(message, f"{key}[{i}]")]
    if not turns:
        raise ValueError(Sentence("{key}: no message of a user in it", key=key))
    name = label_of(row, "id", "conversation_id", default=str(number))
    return Prompt(id=name, category=label_of(row, "category"), turns=tuple(turns[:MAX_TURNS]))


def _is_user(message: Any, where: str) -> bool:
    if not isinstance(message, dict):
        raise ValueError(Sentence("{where}: must be an object, is {kind}", where=where, kind=kind_of(message)))
    return message.get("role", message.get("from")) in _USERS


def _text(message: dict[str, Any], where: str) -> str:
    key = "content" if "content" in message else "value"
    return text_of({f"{where}.{key}": message.get(key)}, f"{where}.{key}")
