"""Python snippets read back: values by name, and what is no plain value never makes another configuration."""

import time

import pytest

from playground.errors import PlaygroundError
from playground.exchange import import_text
from tests.test_import_vllm import said, spec_of

VLLM = "import os\nfrom vllm import LLM, SamplingParams\n"
HF = (
    "from transformers import AutoModelForCausalLM, GenerationConfig\n"
    "model = AutoModelForCausalLM.from_pretrained('a/b').to('cuda').eval()\n"
    "inputs = tok('x', return_tensors='pt').to('cuda')\n"
)
SMALL = "small = AutoModelForCausalLM.from_pretrained('c/d').to('cuda')\n"


@pytest.mark.parametrize(
    "text",
    [
        "K = 4\nspec = {'model': 'c/d', 'num_speculative_tokens': K, 'method': 'eagle3'}\n"
        "LLM(model='a/b', speculative_config=spec, **{'seed': 3})",
        "def main():\n    spec: dict = dict(model='c/d', num_speculative_tokens=4, method='eagle3')\n"
        "    LLM('a/b', seed=3, speculative_config=spec)",
        "more = dict(method='eagle3')\nspec = {**more, 'model': 'c/d', 'num_speculative_tokens': 4}\n"
        "args = {'model': 'a/b', 'speculative_config': spec, 'seed': 3}\nllm = LLM(**args)",
        "LLM('a/b', speculative_config=None)\n"
        "LLM('a/b', speculative_config=dict(model='c/d', num_speculative_tokens=4, method='eagle3'), seed=3)",
        "args = AsyncEngineArgs(model='a/b', seed=3,\n"
        "    speculative_config={'model': 'c/d', 'num_speculative_tokens': 4, 'method': 'eagle3'})\n"
        "LLM(**asdict(args))",
    ],
)
def test_values_by_name_are_the_values(text: str) -> None:
    imported = import_text("x.py", VLLM + text)
    assert spec_of(imported) == {"method": "eagle3", "k": 4, "model": "c/d"}
    assert imported.preset.config.engine_options == {"seed": 3}
    assert not said(imported, "**")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("LLM('a/b', speculative_config=make())", 3, "speculative_config=make()"),
        ("LLM('a/b', speculative_config=spec if fast else None)", 3, "speculative_config=spec if fast"),
        ("LLM('a/b', speculative_config={'method': 'ngram', 'num_speculative_tokens': k})", 3, "speculative_config="),
        ("spec = {'method': 'ngram'}\nspec['num_speculative_tokens'] = 3\nLLM('a/b', speculative_config=spec)", 5, "="),
        (
            "spec = {'method': 'ngram'}\nspec.update(k)\nLLM('a/b', speculative_config=spec)",
            5,
            "speculative_config=spec",
        ),
        ("k = 3\nk += 1\nLLM('a/b', speculative_model='c/d', num_speculative_tokens=k)", 5, "num_speculative_tokens=k"),
        ("def f(spec):\n    LLM('a/b', speculative_config=spec)\nspec = {'method': 'ngram'}", 4, "config=spec"),
        ("LLM('a/b', **options)", 3, "**options"),
        ("LLM('a/b')\nLLM('a/b', **options)", 4, "**options"),
        ("a = b\nb = a\nLLM('a/b', speculative_config=a)", 5, "speculative_config=a"),
        ("LLM(model=os.environ['MODEL'])", 3, "model=os.environ['MODEL']"),
        ("LLM(os.environ['MODEL'])", 3, "model=os.environ['MODEL']"),
    ],
)
def test_what_may_speculate_never_comes_in_as_what_does_not(text: str, line: int, what: str) -> None:
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.py", VLLM + text)
    assert caught.value.message.startswith(f"x.py, line {line}: ")
    assert what in caught.value.message
    assert "plain value" in caught.value.message
    assert "Write its value" in caught.value.hint


def test_other_values_that_are_not_plain_are_left_out_by_name() -> None:
    imported = import_text("x.py", VLLM + "LLM('a/b', seed=f())\nSamplingParams(temperature=t, max_tokens=5, **more)")
    for key in ("seed", "temperature", "**more"):
        assert said(imported, f"{key} is left out: it is no plain value in the snippet.")


def test_of_several_calls_the_one_that_speculates_is_read_and_said() -> None:
    imported = import_text("x.py", VLLM + "LLM('a/b')\nLLM('a/b', speculative_model='c/d', num_speculative_tokens=3)")
    assert spec_of(imported)["model"] == "c/d"
    assert said(imported, "Of 2 calls the one in line 4 is read.")
    both = import_text("x.py", HF + SMALL + "model.generate(**inputs)\nmodel.generate(**inputs, assistant_model=small)")
    assert spec_of(both)["model"] == "c/d"
    assert said(both, "Of 2 calls the one in line 6 is read.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SMALL + "n = 5\nsmall.generation_config.num_assistant_tokens = n\n"
         "model.generate(**inputs, assistant_model=small)", ("draft_model", 5)),
        (SMALL + "config = GenerationConfig(num_assistant_tokens=6)\n"
         "model.generate(**inputs, assistant_model=small, generation_config=config)", ("draft_model", 6)),
        ("how = {'prompt_lookup_num_tokens': 7}\nmodel.generate(**inputs, **how)", ("ngram", 7)),
        ("model.generation_config.prompt_lookup_num_tokens = 8\nmodel.generate(**inputs)", ("ngram", 8)),
        (SMALL + "model.generate(**inputs, assistant_model=None)", None),
        ("model.generate(**inputs)", None),
        ("model.generate(**tok('x'), max_new_tokens=9)", None),
    ],
)  # fmt: skip
def test_what_generate_drafts_with_is_found(text: str, expected: tuple[str, int] | None) -> None:
    spec = import_text("x.py", HF + text).preset.config.speculation
    assert (spec and (spec.method, spec.num_speculative_tokens)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "model.generate(**inputs, assistant_model=make())",
        "model.generate(**inputs, assistant_model=self.small)",
        "model.generate(**inputs, prompt_lookup_num_tokens=args.n)",
        "model.generate(**inputs, generation_config=config)",
        "model.generate(**inputs, **options)",
        SMALL
        + "small.generation_config.num_assistant_tokens = args.n\nmodel.generate(**inputs, assistant_model=small)",
    ],
)
def test_a_generate_that_may_draft_is_refused(text: str) -> None:
    with pytest.raises(PlaygroundError, match=r"x\.py, line \d+: .* is no plain value in the snippet"):
        import_text("x.py", HF + text)


def test_a_draft_is_never_taken_for_the_target() -> None:
    text = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(args.model)\n"
    with pytest.raises(PlaygroundError, match="line 4 calls generate"):
        import_text("x.py", text + SMALL + "model.generate(**tok('x'), assistant_model=small)")


def test_names_of_names_end() -> None:
    """A "billion laughs" by assignments, asked for by many calls."""
    laughs = "a0 = ['x'] * 1\na0_ = ['x', 'x']\n" + "".join(
        f"a{i} = [{', '.join([f'a{i - 1}' if i > 1 else 'a0_'] * 9)}]\n" for i in range(1, 12)
    )
    start = time.monotonic()
    with pytest.raises(PlaygroundError, match="plain value"):
        import_text("x.py", VLLM + laughs + "LLM('a/b', speculative_config=a11)\n" * 1_000)
    assert time.monotonic() - start < 30
