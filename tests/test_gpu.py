"""Device readings through the real pynvml against a stand-in NVML, and without any. CASES 28 unless said otherwise."""

import json
import os
import subprocess
import sys
import time

import pytest

from playground import gpu
from playground.events import GpuSample, Heartbeat, Loading, RunFinished, RunStarted, Step, Token
from playground.gpu import describe, with_gpu
from playground.metrics import RunResult
from tests import nvml_standin

# A run of three tokens as this process would see it; prints what with_gpu and describe make of the devices.
RUN = """
import json, time
from dataclasses import asdict
from playground.events import *
from playground.gpu import describe, with_gpu
from playground.metrics import RunResult

def events():
    yield Loading("weights")
    time.sleep(0.1)
    start = time.monotonic()
    yield RunStarted((1,))
    for i in range(3):
        time.sleep(0.07)
        yield Step(i, time.monotonic() - start, (Token(i, "x", "target"),))
    yield RunFinished("length", time.monotonic() - start)

out = list(with_gpu(events()))
print(json.dumps({
    "samples": [asdict(e) for e in out if isinstance(e, GpuSample)],
    "kinds": [type(e).__name__ for e in out],
    "joules": RunResult.of(out).joules,
    "describe": describe(),
}))
"""
READINGS = ("utilisation", "memory_used", "memory_total", "power", "temperature", "sm_clock", "memory_clock", "energy")
PCI = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.fixture(scope="module")
def standin(tmp_path_factory):
    return nvml_standin.build(tmp_path_factory.mktemp("nvml"))


def observe(folder, gpus="", **environment):
    """What a process sees whose NVML is the one in `folder`."""
    cuda = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
    clean = {name: value for name, value in os.environ.items() if name not in cuda}
    env = clean | {"LD_LIBRARY_PATH": str(folder), "STANDIN_GPUS": gpus} | environment
    done = subprocess.run([sys.executable, "-c", RUN], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def devices(seen):
    return list(dict.fromkeys(sample["device"] for sample in seen["samples"]))


def last(seen, device):
    return [sample for sample in seen["samples"] if sample["device"] == device][-1]


def test_every_reading_of_every_gpu(standin):
    seen = observe(standin, "A100,A100")
    assert devices(seen) == ["cuda:0", "cuda:1"]
    sample = last(seen, "cuda:1")
    assert {name: sample[name] for name in ("name", *READINGS[:-1])} == {
        "name": "A100",
        "utilisation": 11,
        "memory_used": 2 << 30,
        "memory_total": 80 << 30,
        "power": 101.0,
        "temperature": 41,
        "sm_clock": 1001,
        "memory_clock": 2001,
    }
    assert sample["energy"] >= 5000
    assert seen["describe"][1] == {
        "device": "cuda:1",
        "name": "A100",
        "memory_total": 80 << 30,
        "driver": "999.1",
    }
    assert seen["describe"][2]["device"] == "cpu"


def test_readings_frame_the_run(standin):
    """Those of the loading are negative, one is at either end, and the energy is the run's."""
    seen = observe(standin, "A100")
    times = [sample["at"] for sample in seen["samples"]]
    assert times == sorted(times)
    assert times[0] < 0 <= times[-1]
    kinds = seen["kinds"]
    assert kinds[-2:] == ["GpuSample", "RunFinished"]
    assert kinds[kinds.index("RunStarted") + 1] == "GpuSample"
    assert seen["joules"] == sum(at >= 0 for at in times) - 1  # the stand-in burns 1 J a reading


@pytest.mark.parametrize(
    ("reading", "fields"),
    [
        ("utilisation", ["utilisation"]),
        ("memory", ["memory_used", "memory_total"]),
        ("power", ["power"]),
        ("temperature", ["temperature"]),
        ("clocks", ["sm_clock", "memory_clock"]),
        ("energy", ["energy"]),
    ],
)
def test_not_supported_is_none_and_the_others_stay(standin, reading, fields):
    sample = last(observe(standin, "A100", STANDIN_UNSUPPORTED=reading), "cuda:0")
    assert {name for name in READINGS if sample[name] is None} == set(fields)


def test_an_old_driver_without_the_functions(tmp_path):
    seen = observe(nvml_standin.build(tmp_path, "OLD_DRIVER"), "K80")
    assert last(seen, "cuda:0")["energy"] is None
    assert last(seen, "cuda:0")["power"] == 100.0
    assert seen["joules"] is None


def test_a_lost_gpu_gives_nothing(standin):
    sample = last(observe(standin, "A100", STANDIN_LOST="1"), "cuda:0")
    assert [sample[name] for name in READINGS] == [None] * len(READINGS)


def test_not_available_inside_a_successful_answer(standin):
    sample = last(observe(standin, "A100", STANDIN_NOT_AVAILABLE="1"), "cuda:0")
    known = {name for name in READINGS if sample[name] is not None}
    assert known == {"memory_used", "memory_total", "energy"}


def test_a_hanging_driver_hangs_no_run(standin):
    """Judged by the process's own limit of a minute."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("describe()", "[]")],
        env=os.environ | {"LD_LIBRARY_PATH": str(standin), "STANDIN_GPUS": "A100", "STANDIN_HANG": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["kinds"][-1] == "RunFinished"


@pytest.mark.parametrize("trouble", ["missing", "9", "999"])
def test_without_nvml_the_machine_is_shown(standin, tmp_path, trouble):
    """No library, a driver not loaded, an unknown error: CPU and memory, labelled as such."""
    if trouble == "missing":
        (tmp_path / nvml_standin.LIBRARY).write_text("not a library")
        seen = observe(tmp_path)
    else:
        seen = observe(standin, "A100", STANDIN_INIT=trouble)
    assert devices(seen) == ["cpu"]
    first, end = seen["samples"][0], seen["samples"][-1]
    assert first["utilisation"] is None  # nothing to compare with yet: unknown, not 0
    assert 0 <= end["utilisation"] <= 100
    assert 0 < end["memory_used"] < end["memory_total"]
    assert end["name"] not in ("", "cpu")
    assert [end[name] for name in READINGS[3:]] == [None] * 5
    assert [d["device"] for d in seen["describe"]] == ["cpu"]


@pytest.mark.parametrize(
    ("visible", "shown"),
    [
        ("1", ["cuda:1"]),
        ("2,0", ["cuda:2", "cuda:0"]),
        (" 2 , 0 ", ["cuda:2", "cuda:0"]),
        ("1,1", ["cuda:1"]),
        ("1,7,0", ["cuda:1"]),  # CUDA stops at the first it cannot use
        ("0,-1,1", ["cuda:0"]),
        ("GPU-2000-bbbb", ["cuda:2"]),
        ("GPU-1,GPU-0", ["cuda:1", "cuda:0"]),
        ("GPU-", ["cpu"]),  # ambiguous
        ("GPU-9", ["cpu"]),
        ("", ["cpu"]),
        ("-1", ["cpu"]),
        ("NoDevFiles", ["cpu"]),
        ("MIG-1200-aaaa", ["cuda:1/mig2"]),
        ("MIG-1000-aaaa,MIG-1200-aaaa", ["cuda:1/mig0", "cuda:1/mig2"]),
        ("MIG-GPU-1000-bbbb/1/0", ["cpu"]),  # the spelling of drivers before 470
    ],
)
def test_visible_devices_are_the_right_physical_ones(standin, visible, shown):
    seen = observe(standin, "A100,A100,A100", CUDA_VISIBLE_DEVICES=visible, STANDIN_MIG="1")
    assert devices(seen) == shown
    for device in shown:
        if device in ("cuda:0", "cuda:2"):
            assert last(seen, device)["power"] == 100.0 + int(device[-1])


def test_mig_instance_shows_what_is_its_own(standin):
    sample = last(observe(standin, "H100", STANDIN_MIG="0", CUDA_VISIBLE_DEVICES="MIG-0200-aaaa"), "cuda:0/mig2")
    assert sample["name"] == "H100 MIG 1g.10gb"
    assert sample["memory_total"] == 10 << 30
    assert {name for name in READINGS if sample[name] is not None} == {"memory_used", "memory_total"}


def test_a_whole_gpu_in_mig_mode_has_no_utilisation(standin):
    sample = last(observe(standin, "H100", STANDIN_MIG="0"), "cuda:0")
    assert sample["utilisation"] is None
    assert sample["power"] == 100.0


def test_numbers_among_unlike_gpus_mean_something_only_in_pci_order(standin):
    """CUDA's default order puts its "fastest" first: rather all than the wrong one."""
    gpus = "T400,H100,T400"
    assert devices(observe(standin, gpus, CUDA_VISIBLE_DEVICES="0")) == ["cuda:0", "cuda:1", "cuda:2"]
    assert devices(observe(standin, gpus, CUDA_VISIBLE_DEVICES="1", **PCI)) == ["cuda:1"]
    assert devices(observe(standin, gpus, CUDA_VISIBLE_DEVICES="GPU-1")) == ["cuda:1"]


def test_a_gpu_one_may_not_open_is_left_out(standin):
    assert devices(observe(standin, "A100,A100", STANDIN_FORBIDDEN="0")) == ["cuda:1"]
    assert devices(observe(standin, "A100,A100", STANDIN_FORBIDDEN="0", CUDA_VISIBLE_DEVICES="1")) == ["cuda:1"]


def test_closing_closes_the_run_and_ends_the_sampler():
    closed = []

    def events():
        try:
            while True:
                yield Heartbeat()
                time.sleep(0.01)
        finally:
            closed.append(True)

    stream = with_gpu(events(), "cpu")
    next(stream)
    stream.close()
    assert closed == [True]
    assert not any(thread.name == "device sampler" for thread in gpu.threading.enumerate())


def test_the_runs_events_pass_unchanged():
    run = [Loading("weights"), RunStarted((1,)), Step(0, 0.0, (Token(1, "a", "target"),)), RunFinished("stop", 0.0)]
    assert [event for event in with_gpu(iter(run), "cpu") if not isinstance(event, GpuSample)] == run


def test_a_failed_load_keeps_its_readings():
    events = iter([Loading("weights"), RunFinished("error", 0.0, error="no")])

    def slowly():
        for event in events:
            yield event
            time.sleep(0.3)

    out = list(with_gpu(slowly(), "cpu"))
    assert isinstance(out[-1], RunFinished)
    assert all(sample.at <= 0 for sample in out if isinstance(sample, GpuSample))
    assert any(isinstance(sample, GpuSample) for sample in out)
    assert RunResult.of(out).status == "error"


def test_describe_names_the_processor():
    cpu = describe()[-1]
    assert cpu["device"] == "cpu"
    assert cpu["name"]
    assert cpu["threads"] >= 1
