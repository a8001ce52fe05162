"""From a prompt as typed to what the target reads: rendered once, with the target's own template, and one BOS."""

from typing import Any

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.sentence import Sentence


def render(config: RunConfig, prompt: str, tokenizer: Any) -> tuple[list[int], str, list[str]]:
    """(token ids, rendered text, warnings).

    A chat template brings its own BOS, so the tokenizer must not add a second one; a raw prompt gets the tokenizer's.

    Raises:
        PlaygroundError: the template refuses the messages.
    """
    warnings: list[str] = []
    if config.chat and not tokenizer.chat_template:
        warnings.append(Sentence("The target has no chat template; the prompt is sent raw."))
    if not config.chat or not tokenizer.chat_template:
        prompt = "\n\n".join([*(message.content for message in config.history), prompt])
        if config.system_prompt:
            warnings.append(Sentence("The system prompt is left out: there is no chat template to put it in."))
        ids = list(tokenizer(prompt, add_special_tokens=True)["input_ids"])
        # Some tokenizers end what they encode with EOS, which would end the text before it began.
        if len(ids) > 1 and ids[-1] == tokenizer.eos_token_id and not prompt.endswith(str(tokenizer.eos_token)):
            ids.pop()
        return _one_bos(ids, tokenizer), prompt, warnings
    messages = [message.model_dump() for message in config.history] + [{"role": "user", "content": prompt}]
    if config.system_prompt:
        messages.insert(0, {"role": "system", "content": config.system_prompt})
    text = _templated(messages, tokenizer)
    ids = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    return _one_bos(ids, tokenizer), text, warnings


def _templated(messages: list[dict[str, str]], tokenizer: Any) -> str:
    from jinja2 import TemplateError

    try:
        text: str = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    except TemplateError as error:
        raise PlaygroundError(
            Sentence("The target's chat template refuses this prompt: {why}.", why=error),
            Sentence("Leave the system prompt empty, or switch the chat template off."),
            code="bad_prompt",
        ) from None
    return text


def _one_bos(ids: list[int], tokenizer: Any) -> list[int]:
    """Without a doubled BOS, and never empty: a model must read something to continue."""
    bos = tokenizer.bos_token_id
    while len(ids) > 1 and bos is not None and ids[0] == ids[1] == bos and bos != tokenizer.eos_token_id:
        ids = ids[1:]
    if not ids:
        start = bos if bos is not None else tokenizer.eos_token_id
        if start is None:
            raise PlaygroundError(
                Sentence("The prompt is empty."),
                Sentence("Write something for the model to continue."),
                code="bad_prompt",
            )
        ids = [start]
    return ids
