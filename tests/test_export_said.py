"""What an export says of itself: losses that are ones, values that are the preset's own, and what its numbers mean."""

from typing import Any

import pytest

from playground.config import Preset, RunConfig, Speculation
from playground.engines._vllm.schema import methods
from playground.exchange import export_preset
from playground.exporters import Loss
from tests._presets import DRAFT_MODEL
from tests.test_export_vllm import losses, of, with_

UNSURE = with_(DRAFT_MODEL, engine="embedded", options={"draft_p_min": 0.6}, temperature=0.0)
P_MIN = "speculation.options.draft_p_min"


def reason(found: tuple[Loss, ...], field: str) -> str:
    return next(str(loss.reason) for loss in found if loss.field == field)


@pytest.mark.parametrize("method", ["draft_model", "eagle3"])
def test_llama_server_stops_where_the_draft_is_unsure(method: str) -> None:
    """The option is llama.cpp's own p_min: carried over, and no loss."""
    export = export_preset(with_(UNSURE, method=method), "llama_cpp")
    assert "spec-draft-p-min = 0.6\n" in of(export, ".ini")
    assert "--spec-draft-p-min 0.6" in of(export, ".sh")
    assert P_MIN not in losses(export)


def test_an_assistant_stops_where_it_is_unsure() -> None:
    """By its own threshold, which is applied a token later: that is said."""
    export = export_preset(UNSURE, "transformers")
    assert "assistant_confidence_threshold = 0.6\n" in of(export, ".py")
    assert losses(export)[P_MIN] == "approximated"


@pytest.mark.parametrize("target", ["vllm", "sglang", "tensorrt_llm", "llama_cpp", "transformers"])
def test_a_threshold_of_zero_is_no_threshold(target: str) -> None:
    assert P_MIN not in losses(export_preset(with_(UNSURE, options={"draft_p_min": 0.0}), target))


@pytest.mark.parametrize(
    ("target", "option", "value", "nearest"),
    [
        ("llama_cpp", "kv_cache_dtype", "fp8", "cache-type-k"),
        ("sglang", "max_num_batched_tokens", 4096, "chunked-prefill-size"),
        ("tensorrt_llm", "enforce_eager", True, "cuda_graph_config"),
        ("ollama", "max_num_seqs", 4, "OLLAMA_NUM_PARALLEL"),
        ("transformers", "quantization", "fp8", "quantization_config"),
    ],
)
def test_a_setting_that_is_only_called_otherwise_is_named(target: str, option: str, value: Any, nearest: str) -> None:
    """ "No such setting" would be false of them."""
    spec = None if target == "ollama" else Speculation(method="draft_model", model="org/draft")
    config = RunConfig(engine="vllm", engine_options={option: value}, target="org/model", speculation=spec)
    export = export_preset(Preset(name="x", config=config), target)
    assert nearest in reason(export.losses, f"engine_options.{option}")


@pytest.mark.parametrize("method", sorted(methods()))
def test_defaults_that_nobody_set_are_no_losses_in_vllm(method: str) -> None:
    """The installed vLLM's options of each method as it has them by default, as the page and a stored run write them
    all: the ones this export does not know are off."""
    options = methods()[method]().model_dump(mode="json")
    export = export_preset(with_(DRAFT_MODEL, method=method, options=options), "vllm")
    assert not {name: why for name, why in losses(export).items() if name.startswith("speculation.options.")}


def test_adaptive_verification_where_vllm_has_it() -> None:
    adaptive = with_(DRAFT_MODEL, options={"enable_adaptive_verification": True})
    field = "speculation.options.enable_adaptive_verification"
    assert field not in losses(export := export_preset(with_(adaptive, method="dspark"), "vllm"))
    assert "enable_adaptive_verification: true" in of(export, ".yaml")
    assert losses(export := export_preset(with_(adaptive, method="dflash"), "vllm"))[field] == "dropped"
    assert "enable_adaptive_verification: true" not in of(export, ".yaml")


@pytest.mark.parametrize("target", ["sglang", "tensorrt_llm", "llama_cpp"])
def test_what_a_server_does_by_itself_is_no_loss(target: str) -> None:
    """Greedy drafts; and at temperature 0 there is one way to judge a draft."""
    options = {"draft_sample_method": "greedy", "rejection_sample_method": "block"}
    export = export_preset(with_(DRAFT_MODEL, method="dflash", options=options, temperature=0.0), target)
    assert not {name for name in losses(export) if name.startswith("speculation.options.")}


@pytest.mark.parametrize(
    ("name", "gguf"),
    [("org/model-GGUF", True), ("org/Model-7B-Q8_0-GGUF", True), ("org/model:Q4_K_M", True), ("org/model_gguf", True),
     ("/srv/m.gguf", True), ("m.gguf", True), ("/srv/gguf/model", False), ("org/model", False), ("served", False),
     ("org/ggufless", False)],
)  # fmt: skip
@pytest.mark.parametrize("given", ["in the preset", "for the server"])
def test_a_gguf_is_known_by_its_name_whoever_gave_it(name: str, gguf: bool, given: str) -> None:
    """llama-server asks for one where it is none; the others ask where it is one."""
    preset = with_(UNSURE, target=name, model="org/draft-GGUF") if given == "in the preset" else UNSURE
    names = {} if given == "in the preset" else {"model_as": name, "draft_as": "org/draft-GGUF"}
    found = export_preset(preset, "llama_cpp", **names).losses
    assert ("reads GGUF only" in " ".join(loss.reason for loss in found if loss.field == "target")) is not gguf
    assert "speculation.model" not in {loss.field for loss in found}
    for target in ("vllm", "sglang", "tensorrt_llm", "transformers"):
        found = export_preset(preset, target, **names).losses
        assert ("gguf" in " ".join(loss.reason for loss in found if loss.field == "target").lower()) is gguf, target
