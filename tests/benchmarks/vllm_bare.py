"""vLLM's own `LLM.generate` as a user would call it, in a process of its own: what the vLLM benchmark compares with.

Reads one JSON line of engine arguments, says "ready", then answers each line {"ids", "max_tokens", "k"} with
{"ids", "seconds"}. `k`: draft tokens per step where the trace's scheduler is loaded, null for the engine's own.
"""

import json
import os
import sys
import time
from typing import Any


def main() -> None:
    order = json.loads(sys.stdin.readline())
    os.environ.update(order["environment"])
    answers = os.dup(1)
    os.dup2(2, 1)  # vLLM writes its log to stdout
    from vllm import LLM

    model = LLM(**order["arguments"])
    with os.fdopen(answers, "w", buffering=1) as out:
        print("ready", file=out)
        for line in sys.stdin:
            print(json.dumps(generate(model, json.loads(line))), file=out)


def generate(model: Any, order: dict[str, Any]) -> dict[str, Any]:
    from vllm import SamplingParams

    from playground.engines._vllm.record import K_KEY

    sampling = SamplingParams(
        temperature=0.0,
        max_tokens=order["max_tokens"],
        ignore_eos=True,
        extra_args=None if order["k"] is None else {K_KEY: order["k"]},
    )
    start = time.perf_counter()
    (output,) = model.generate({"prompt_token_ids": order["ids"]}, sampling, use_tqdm=False)
    seconds = time.perf_counter() - start
    return {"ids": list(output.outputs[0].token_ids), "seconds": seconds}


if __name__ == "__main__":
    main()
