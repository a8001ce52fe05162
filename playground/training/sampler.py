"""Many continuations at once from a loaded model, by transformers' own `generate`. Ids in, ids out."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from playground.engines._loading import Loaded


class Sampler:
    """Samples from the target's own law.

    Args:
        stopped: asked before every token; once true a batch ends early, and its answers are not to be used.
    """

    def __init__(self, target: Loaded, stopped: Callable[[], bool]) -> None:
        self._target = target
        self._stopped = stopped

    @torch.inference_mode()
    def __call__(
        self, prompts: Sequence[Sequence[int]], *, temperature: float, top_p: float, most: int, seed: int
    ) -> list[tuple[int, ...]]:
        """For each prompt up to `most` ids, ending with an end-of-sequence id where the model chose to end."""
        from transformers import GenerationConfig, StoppingCriteriaList

        module, eos = self._target.model.module, sorted(self._target.eos_ids)
        longest = max(map(len, prompts))
        ids = torch.full((len(prompts), longest), eos[0] if eos else 0, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):  # padded on the left, so that all go on at the same place
            ids[row, longest - len(prompt) :] = torch.tensor(list(prompt))
            mask[row, longest - len(prompt) :] = 1
        # Said in full: what is left unsaid the model's own generation config would fill in.
        settings: dict[str, Any] = {"do_sample": temperature > 0, "repetition_penalty": 1.0}
        if temperature > 0:
            settings |= {"temperature": temperature, "top_p": top_p, "top_k": 0}
        torch.manual_seed(seed)
        output = module.generate(
            input_ids=ids.to(module.device),
            attention_mask=mask.to(module.device),
            generation_config=GenerationConfig(
                max_new_tokens=most, eos_token_id=eos or None, pad_token_id=eos[0] if eos else 0, **settings
            ),
            stopping_criteria=StoppingCriteriaList([self._enough]),
        )
        return [self._ended(row) for row in output[:, longest:].tolist()]

    def _enough(self, ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        return torch.full((len(ids),), self._stopped(), dtype=torch.bool, device=ids.device)

    def _ended(self, ids: list[int]) -> tuple[int, ...]:
        end = next((i + 1 for i, token in enumerate(ids) if token in self._target.eos_ids), len(ids))
        return tuple(ids[:end])
