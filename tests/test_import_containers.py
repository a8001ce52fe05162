"""Servers in compose files and in Kubernetes: what really starts one, whatever stands around and beside it."""

import pytest

from playground.errors import PlaygroundError
from playground.exchange import import_text

SERVER = "{name: b, image: vllm/vllm-openai, ARGS: [m/L, --seed, '3']}"
SHELL = "{image: vllm/vllm-openai, COMMAND: %s, ARGS: ['vllm serve m/L --seed 3']}"
STARTS = {
    "letters around c": SHELL % "[bash, -xec]",
    "letters behind c": SHELL % "[sh, -ce]",
    "an option with a value": SHELL % "[bash, -o, pipefail, -c]",
    "letters with a value": SHELL % "[bash, -euo, pipefail, -c]",
    "a long option": SHELL % "[bash, --login, -c]",
    "env": SHELL % "[/usr/bin/env, bash, -c]",
    "a client beside": "{image: x, ARGS: [sh, -c, 'until curl vllm:8000; do sleep 1; done; start']}, " + SERVER,
    "a benchmark beside": "{image: vllm/vllm-openai, ARGS: [vllm, bench, serve, --model, other/m]}, " + SERVER,
    "a script beside": "{image: x, ARGS: [python, bench.py, --backend, vllm, --model, other/m]}, " + SERVER,
    "another program in the image": "{image: vllm/vllm-openai, COMMAND: [python3, bench.py], ARGS: [x]}, " + SERVER,
    "the module": "{image: x, COMMAND: [python3, -u, -m, vllm.entrypoints.openai.api_server], "
    "ARGS: [--model, m/L, --seed, '3']}",
    "a file of its own": "{image: x, COMMAND: [bash, -c], "
    'ARGS: ["cat > /c.yml <<EOF\\nseed: 3\\nEOF\\nvllm serve m/L --config /c.yml"]}',
}


def pod(containers: str) -> str:
    text = containers.replace("COMMAND", "command").replace("ARGS", "args")
    return f"apiVersion: v1\nkind: Pod\nspec: {{containers: [{text}]}}\n"


def compose(services: str) -> str:
    text = services.replace("COMMAND", "entrypoint").replace("ARGS", "command")
    parts = text.replace("}, {", "}\n{").split("\n")
    return "services:\n" + "".join(f"  s{i}: {part}\n" for i, part in enumerate(parts))


@pytest.mark.parametrize("case", STARTS)
def test_only_what_starts_a_server_counts(case: str) -> None:
    for name, text in (("pod.yaml", pod(STARTS[case])), ("compose.yaml", compose(STARTS[case]))):
        config = import_text(name, text).preset.config
        assert (config.target, config.engine_options.get("seed")) == ("m/L", 3), name


@pytest.mark.parametrize(
    "containers",
    ["{image: vllm/vllm-openai, COMMAND: [vllm, bench, serve, --model, m/L]}", "{image: x, ARGS: [/run.sh]}"],
)
def test_what_starts_no_server_is_said(containers: str) -> None:
    for name, text in (("pod.yaml", pod(containers)), ("compose.yaml", compose(containers))):
        with pytest.raises(PlaygroundError, match="runs a server we know"):
            import_text(name, text)


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("vllm serve $$MODEL", "inner/x"),
        ("vllm serve $$MODEL --port $PORT", "inner/x"),
        ("vllm serve $MODEL", None),
        ("vllm serve ${MODEL}", None),
        ("vllm serve ${MODEL:?}", None),
        ("MODEL=a/b; vllm serve $MODEL", None),
        ("vllm serve a/$model", None),
        ("vllm serve ${MODEL:-a/b}", "a/b"),
    ],
)
def test_one_dollar_is_composes_and_two_are_the_containers(command: str, target: str | None) -> None:
    text = f"services:\n  s: {{command: [bash, -c, '{command}'], environment: {{MODEL: inner/x, PORT: 80}}}}\n"
    if target:
        assert import_text("compose.yaml", text).preset.config.target == target
        return
    with pytest.raises(PlaygroundError, match=r"holds the variable \$\{(MODEL|model)"):
        import_text("compose.yaml", text)


@pytest.mark.parametrize("text", ["{}---\n", "---\n# a comment\n---\n{}", "# x\n{}---\n---\n# c\n"])
def test_empty_documents_are_nothing(text: str) -> None:
    assert import_text("pod.yaml", text.format(pod(SERVER))).preset.config.target == "m/L"


def test_charts_with_commands_of_their_own() -> None:
    own = "{modelCommand: custom, command: [/bin/sh, -c], args: ['vllm serve m/L --seed 3']}"
    found = import_text("v.yaml", f"modelArtifacts: {{name: a/b}}\ndecode: {{containers: [{own}]}}\n").preset.config
    assert (found.target, found.engine_options) == ("m/L", {"seed": 3})
    kserve = "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nspec: {predictor: {model: {args: %s}}}\n"
    found = import_text("k.yaml", kserve % "[--model_id=m/L, --model_name, x, --seed, '3']").preset.config
    assert (found.target, found.engine_options) == ("m/L", {"seed": 3})


def test_the_environment_of_a_container_counts() -> None:
    for around in (compose, pod):
        text = around("{image: x, ARGS: [sglang, serve, m/L], ENV}").replace(
            "ENV", "environment: [SGLANG_SIMULATE_ACC_LEN=3], env: [{name: SGLANG_SIMULATE_ACC_LEN, value: '3'}]"
        )
        with pytest.raises(PlaygroundError, match="SGLANG_SIMULATE_ACC_LEN"):
            import_text("x.yaml", text)
