"""`/compare`, the page's one named endpoint for programs: a prompt in, the comparison's JSON out, in METRICS names.

From Python: `gradio_client.Client(url).predict("Hello", api_name="/compare")`. It waits its turn like any other run.
"""

from collections.abc import Callable
from typing import Any

from playground.errors import PlaygroundError
from playground.overrides import with_overrides
from playground.presets import DEFAULT, named_preset
from playground.results import Collector
from playground.ui.context import Context


def compare_endpoint(context: Context) -> Callable[..., dict[str, Any]]:
    def compare(prompt: str, preset: str = DEFAULT, overrides: dict[str, Any] | None = None) -> dict[str, Any]:
        """Runs a prompt without and with speculation.

        Args:
            prompt: what the target model reads.
            preset: name of the preset to start from.
            overrides: any setting by name: {"method": "ngram", "num_speculative_tokens": 4, "max_tokens": 64, ...}.

        Returns:
            The same JSON as `python -m playground compare --json`; {"error", "hint", "code"} where it could not run.
        """
        try:
            config = with_overrides(named_preset(preset, context.settings).config, overrides or {})
            job = context.runner.start_compare(config, prompt, source="api")
        except PlaygroundError as error:
            return dict(error.as_dict())
        collector = Collector(config, prompt, job.run_ids, job.comparison_id)
        for arm, event in job:
            collector.add(arm, event)
        return collector.comparison().as_dict()

    return compare
