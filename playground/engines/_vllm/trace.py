"""Everything that touches vLLM's private scheduler interface: what was drafted in each step, and a k per request.

No public channel of vLLM names rejected draft tokens. A scheduler sees them, and what it hangs on an output's
`kv_transfer_params` reaches the front end unchanged, also from vLLM's own processes. vLLM warns that this interface may
change with any release: `arguments.TRACED` says which were tried with this file. Imported in vLLM's processes only.
"""

import time
from typing import Any

from vllm.outputs import RequestOutput
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler

from playground.engines._vllm.options import FIXED_K
from playground.engines._vllm.record import K_KEY, RECORDS_KEY, StepRecord


class _Traced(Scheduler):
    """Adds a record of every step to every request's outputs."""

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> Any:
        """Reads drafted and sampled ids before vLLM trims them, and its counters after it has counted."""
        now = time.monotonic()
        sampled = model_runner_output.sampled_token_ids or ()
        drafted = scheduler_output.scheduled_spec_decode_tokens
        seen: dict[str, tuple[Any, list[int], int]] = {}
        for request_id in scheduler_output.num_scheduled_tokens:
            request = self.requests.get(request_id)
            ids = sampled[model_runner_output.req_id_to_index[request_id]] if sampled else ()
            if request is not None and len(ids):  # a piece of a long prompt samples nothing
                seen[request_id] = (request, list(drafted.get(request_id, ())), len(ids) - 1)
        outputs = super().update_from_output(scheduler_output, model_runner_output)
        for batch in outputs.values():
            for output in batch.outputs:
                found = seen.get(output.request_id)
                if found is not None:
                    request, ids, accepted = found
                    record = StepRecord(now, ids, accepted, len(output.new_token_ids), *_counted(request))
                    output.kv_transfer_params = {**(output.kv_transfer_params or {}), RECORDS_KEY: [record.packed()]}
        return outputs


def _counted(request: Any) -> tuple[int, tuple[int, int, int] | None]:
    """(tokens delivered so far, (steps with drafts, draft tokens, accepted ones) so far), by vLLM's own counting."""
    counters = request.spec_decode_metrics
    if counters is None:
        return request.num_output_tokens, None
    accepted = sum(a * n for a, n in enumerate(counters.histogram))
    return request.num_output_tokens, (sum(counters.histogram), counters.num_draft_tokens, accepted)


class TraceScheduler(_Traced):
    """Synchronous: every draft token by name, and a k per request (`extra_args`), down to 0."""

    def update_draft_token_ids(self, draft_token_ids: Any) -> None:
        """Drops what a request does not want of the ids just drafted."""
        for request_id, ids in zip(draft_token_ids.req_ids, draft_token_ids.draft_token_ids, strict=True):
            k = self._wanted(request_id)
            if k is not None:
                del ids[k:]
        super().update_draft_token_ids(draft_token_ids)

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        """Lets the drafter draft no more than the most that a request of this batch wants."""
        output = super().schedule(*args, **kwargs)
        speculation = self.vllm_config.speculative_config
        most = output.num_spec_tokens_to_schedule
        if speculation is not None and speculation.method not in FIXED_K and most and output.num_scheduled_tokens:
            wanted = [self._wanted(request_id) for request_id in output.num_scheduled_tokens]
            output.num_spec_tokens_to_schedule = max(most if k is None else min(k, most) for k in wanted)
        return output

    def _wanted(self, request_id: str) -> int | None:
        request = self.requests.get(request_id)
        arguments = request.sampling_params.extra_args if request is not None and request.sampling_params else None
        k = (arguments or {}).get(K_KEY)
        return None if k is None else int(k)


class HeadlineScheduler(_Traced, AsyncScheduler):
    """vLLM's asynchronous scheduler, which knows how many tokens were drafted but perhaps not which."""


def keep_all_records() -> None:
    """Lets the front end's merging of outputs (`AsyncLLM`, when its reader lags) join the records too."""
    merge = RequestOutput.add

    def add(self: RequestOutput, next_output: RequestOutput, aggregate: bool) -> None:
        before = records_of(self)
        merge(self, next_output, aggregate)
        if before:
            self.kv_transfer_params = {**(self.kv_transfer_params or {}), RECORDS_KEY: before + records_of(self)}

    RequestOutput.add = add


def records_of(output: Any) -> list[Any]:
    """The packed records on an output, oldest first."""
    return list((output.kv_transfer_params or {}).get(RECORDS_KEY, ()))
