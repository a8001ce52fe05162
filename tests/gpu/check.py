"""What only a GPU can prove, one verdict a line. See check.sh; each check loads at most three engines.

A check that cannot begin before the time is up says SKIP: the order is the order of importance.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playground import models
from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.engines._vllm import schema
from playground.errors import PlaygroundError
from playground.events import Event, GpuSample, RunFinished, RunStarted, Step
from playground.gpu import occupancy, with_gpu
from playground.metrics import RunResult
from playground.process import EngineProcess
from playground.settings import Settings
from tests import tiny

SECONDS = 560
PROMPT = "Write this list again, exactly: red apple, green pear, red apple, yellow banana, green pear, red apple."
MIB = 1 << 20
SLACK_MIB = 300  # what a driver may keep for a while


class Failed(AssertionError):
    """A check's own words."""


@dataclass
class Bench:
    """What the checks share."""

    context: EngineContext
    target: str
    head: str
    cpu: bool
    kept: dict[str, Any] = field(default_factory=dict)

    def config(
        self, speculation: Speculation | None, *, engine: dict[str, Any] | None = None, **more: Any
    ) -> RunConfig:
        sampling = SamplingParams(**({"max_tokens": 64, "ignore_eos": True} | more.pop("sampling", {})))
        options = {"max_model_len": 512, "enforce_eager": True, "gpu_memory_utilization": 0.3} | (engine or {})
        return RunConfig(
            engine=more.get("name", "vllm"),
            target=self.target,
            dtype=more.get("dtype", "float32"),
            speculation=speculation,
            sampling=sampling,
            engine_options=options if more.get("name", "vllm") == "vllm" else {},
        )

    @contextmanager
    def loaded(self, config: RunConfig) -> Iterator[EngineProcess]:
        engine = EngineProcess(f"playground.engines.{config.engine}", config, self.context)
        try:
            for _ in engine.load():
                pass
            yield engine
        finally:
            engine.close()

    def run(self, config: RunConfig, engine: EngineProcess | None = None) -> tuple[list[int], RunResult]:
        if engine is None:
            with self.loaded(config) as loaded:
                return self.run(config, loaded)
        events: list[Event] = list(with_gpu(engine.generate(str(time.monotonic_ns()), config, PROMPT)))
        result = RunResult.of(events)
        if not isinstance(events[-1], RunFinished) or events[-1].reason not in ("stop", "length"):
            raise Failed(f"the run ended with {events[-1]}")
        if result.reconciled is not True:
            raise Failed("; ".join(result.problems) or "nothing was reconciled")
        self.kept["events"] = events
        return [token.id for e in events if isinstance(e, Step) for token in e.tokens], result

    def plain(self) -> list[int]:
        if "plain" not in self.kept:
            self.kept["plain"], self.kept["plain_result"] = self.run(self.config(None))
        found: list[int] = self.kept["plain"]
        return found

    def environment(self) -> dict[str, Any]:
        return next(e.environment for e in self.kept["events"] if isinstance(e, RunStarted))


def ngram(k: int = 4) -> Speculation:
    return Speculation(method="ngram", num_speculative_tokens=k)


def draft(bench: Bench, k: int = 3) -> Speculation:
    return Speculation(method="draft_model", model=bench.target, num_speculative_tokens=k)


def named(bench: Bench) -> None:
    """Every draft token of the last run has an id."""
    tokens = [t for e in bench.kept["events"] if isinstance(e, Step) for t in (*e.tokens, *e.rejected)]
    if unknown := sum(token.id < 0 for token in tokens):
        raise Failed(f"{unknown} draft tokens have no id")


def same(bench: Bench, ids: list[int]) -> None:
    if ids != bench.plain():
        position = next(i for i, (a, b) in enumerate(zip(ids, bench.plain(), strict=False)) if a != b)
        raise Failed(f"differs from the run without speculation at token {position}")


def check_vllm_ngram(bench: Bench) -> str:
    bench.plain()
    ids, result = bench.run(bench.config(ngram()))
    same(bench, ids)
    named(bench)
    return f"traced, lossless, counters equal: {result.num_draft_tokens} drafted, {result.num_accepted_tokens} accepted"


def check_vllm_draft_model(bench: Bench) -> str:
    ids, result = bench.run(bench.config(draft(bench)))
    named(bench)
    same(bench, ids)
    if result.draft_acceptance_rate is None or result.draft_acceptance_rate < 0.98:
        raise Failed(f"draft = target accepts {result.draft_acceptance_rate}")
    path = bench.environment()["engine_path"]
    return f"every draft token by name, acceptance {result.draft_acceptance_rate:.0%}; {path}"


def check_vllm_headline(bench: Bench) -> str:
    _, result = bench.run(bench.config(draft(bench), engine={"mode": "headline"}, dtype="bfloat16"))
    path = bench.environment()["engine_path"]
    if not bench.cpu and "asynchronous" not in path:
        raise Failed(f"headline mode is not asynchronous: {path}")
    return f"counts equal vLLM's own, {result.num_draft_tokens} drafted; {path}"


def check_vllm_eagle3(bench: Bench) -> str:
    if not bench.head:
        raise SkipCheck("DRAFTBOARD_TEST_EAGLE3 names no head")
    ids, result = bench.run(bench.config(Speculation(method="eagle3", model=bench.head, num_speculative_tokens=3)))
    named(bench)
    same(bench, ids)
    return f"traced, lossless, acceptance {result.draft_acceptance_rate or 0:.0%}"


def check_memory_comes_back(bench: Bench) -> str:
    before = [gpu.free for gpu in occupancy()]
    with bench.loaded(bench.config(None)):
        during = [gpu.free for gpu in occupancy()]
    time.sleep(1)
    after = [gpu.free for gpu in occupancy()]
    if not before:
        raise SkipCheck("NVML shows no device")
    lost = max(b - a for b, a in zip(before, after, strict=True)) / MIB
    if lost > SLACK_MIB:
        raise Failed(f"{lost:.0f} MiB are missing after the engine was closed")
    taken = max(b - d for b, d in zip(before, during, strict=True)) / MIB
    return f"{taken:,.0f} MiB taken, {max(lost, 0):.0f} MiB missing after"


HOLD = (
    "import torch, sys; x = torch.empty(int(sys.argv[1]), dtype=torch.uint8, device='cuda'); "
    "print(1, flush=True); input()"
)


def check_no_room(bench: Bench) -> str:
    gpus = occupancy()
    if not gpus or bench.cpu:
        raise SkipCheck("no GPU memory to take")
    command = [sys.executable, "-c", HOLD, str(gpus[0].total // 2)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            holder.stdout.readline()
            with bench.loaded(bench.config(None, engine={"gpu_memory_utilization": 0.9})):
                raise Failed("it loaded into memory that was not free")
        except PlaygroundError as error:
            if error.code != "out_of_memory" or "GiB are free" not in error.message:
                raise Failed(f"another error: {error}") from error
            return error.message
        finally:
            holder.kill()


def check_cancelled_load(bench: Bench) -> str:
    import psutil

    before = {p.pid for p in psutil.Process().children(recursive=True)}
    loading = EngineProcess(
        "playground.engines.vllm", bench.config(None, engine={"enforce_eager": False}), bench.context
    ).load()
    for event in loading:
        if getattr(event, "stage", "") in ("weights", "kv-cache", "compile", "graphs"):
            stage = event.stage  # type: ignore[union-attr]
            break
    loading.close()
    left = {p.pid for p in psutil.Process().children(recursive=True)} - before
    if left:
        raise Failed(f"processes {left} are left")
    return f"ended while at “{stage}”, nothing left"


def check_embedded(bench: Bench) -> str:
    plain, _ = bench.run(bench.config(None, name="embedded"))
    ids, result = bench.run(bench.config(ngram(), name="embedded"))
    if ids != plain:
        raise Failed("n-gram differs from the run without speculation in float32")
    samples = [e for e in bench.kept["events"] if isinstance(e, GpuSample)]
    if not bench.cpu and not any(sample.energy is not None for sample in samples):
        raise Failed("no energy readings")
    device = bench.environment()["device"]
    return f"lossless on {device}, {result.num_draft_tokens} drafted, {len(samples)} device readings"


def check_speed(bench: Bench) -> str:
    """Graphs on, bfloat16: what a person would see, traced and as vLLM's own defaults."""
    speeds = {}
    for mode in ("trace", "headline"):
        for name, speculation in (("none", None), ("n-gram", ngram())):
            config = bench.config(
                speculation,
                engine={"mode": mode, "enforce_eager": bench.cpu},
                dtype="bfloat16",
                sampling={"max_tokens": 256},
            )
            with bench.loaded(config) as engine:
                found = [bench.run(config, engine)[1].tokens_per_second or 0.0 for _ in range(3)]
            speeds[f"{mode}, {name}"] = max(found)
    return "; ".join(f"{name}: {speed:.0f} tok/s" for name, speed in speeds.items())


class SkipCheck(Exception):
    """It cannot be done here."""


CHECKS: tuple[Callable[[Bench], str], ...] = (
    check_vllm_ngram,
    check_vllm_draft_model,
    check_vllm_headline,
    check_embedded,
    check_memory_comes_back,
    check_vllm_eagle3,
    check_no_room,
    check_cancelled_load,
    check_speed,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", action="store_true", help="on the CPU build: proves the script only")
    parser.add_argument("names", nargs="*", help="only these checks, without check_")
    args = parser.parse_args()
    start, failures = time.monotonic(), 0
    print(f"vLLM {schema.distribution()}, {', '.join(gpu.name for gpu in occupancy()) or 'no GPU'}", flush=True)
    with tempfile.TemporaryDirectory(prefix="draftboard-check-") as scratch:
        bench = prepare(Path(scratch), cpu=args.cpu)
        for check in CHECKS:
            name = check.__name__.removeprefix("check_")
            if not args.names or name in args.names:
                verdict, words = judge(check, bench, start)
                failures += verdict == "FAIL"
                print(f"{verdict} {name} ({time.monotonic() - start:.0f} s): {words}", flush=True)
    return int(failures > 0)


def judge(check: Callable[[Bench], str], bench: Bench, start: float) -> tuple[str, str]:
    if time.monotonic() - start > SECONDS - 60:
        return "SKIP", "out of time"
    try:
        return "PASS", check(bench)
    except SkipCheck as skip:
        return "SKIP", str(skip)
    except Failed as failed:
        return "FAIL", str(failed)
    except Exception as error:  # noqa: BLE001 - a check that breaks has not proved anything
        return "FAIL", f"{type(error).__name__}: {error}"


def prepare(scratch: Path, *, cpu: bool) -> Bench:
    """The default model where it is prepared, else a small random one."""
    settings = Settings()
    paths = models.model_paths(settings)
    target = models.DEFAULT if models.DEFAULT in paths else "tiny"
    if target == "tiny":
        paths["tiny"] = str(tiny.make_model(scratch / "tiny", hidden_size=256, intermediate_size=256))
    head = os.environ.get("DRAFTBOARD_TEST_EAGLE3", "") if target == models.DEFAULT else ""
    return Bench(EngineContext(device="cpu" if cpu else "cuda", model_paths=paths), target, head, cpu)


if __name__ == "__main__":
    sys.exit(main())
