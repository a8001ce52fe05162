"""What the devices are doing: NVML readings of every visible GPU, or the machine's CPU and memory where there is none.

The only importer of pynvml. A reading a device does not give is None ("n/a"), never 0, and nothing here ever raises: a
run does not fail because its chart does. Knows events only; a device is named as NVML counts it ("cuda:2"), whatever
CUDA_VISIBLE_DEVICES makes of that number inside the engine.
"""

import os
import platform
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import psutil
import pynvml

from playground.events import Event, GpuSample, RunFinished, RunStarted, Step

PERIOD = 0.2  # seconds between readings
_HELD = 2_000  # readings kept for a consumer that does not come: minutes of loading, bounded
_NOT_AVAILABLE = 0xFFFFFFFF  # NVML's way to say so inside a successful answer


def with_gpu(events: Iterator[Event], device: str | None = None) -> Generator[Event, None, None]:
    """A run's events with `GpuSample`s between them; closing it stops the sampler and closes `events`.

    What is read while the engine loads comes, with a negative `at`, once the submission's time is known. There is a
    reading at either end of the run, so that the difference of the energy counter is the run's own.

    Args:
        device: where the engine works ("cuda:0", "cpu"), None where unknown. On "cpu" GPUs are left alone.
    """
    sampler = _Sampler(device)
    origin: float | None = None
    try:
        for event in events:
            now = time.monotonic()
            match event:
                case RunStarted():
                    origin = now
                    yield from sampler.take(origin)
                    yield event
                    sampler.read()
                    yield from sampler.take(origin)
                    continue
                case Step() if origin is not None:
                    origin = min(origin, now - event.at)
                case RunFinished():
                    sampler.read()
                    yield from sampler.take(now if origin is None else origin)
            if origin is not None:
                yield from sampler.take(origin)
            yield event
    finally:
        sampler.close()
        if isinstance(events, Generator):
            events.close()


def describe() -> list[dict[str, Any]]:
    """The hardware, for evidence: one dict a visible GPU ("device", "name", "memory_total", "driver"), then the CPU."""
    gpus, close = _open_gpus()
    try:
        driver = _given(pynvml.nvmlSystemGetDriverVersion) if gpus else None
        found = [
            {"device": gpu.device, "name": gpu.name, "memory_total": gpu.read(0.0).memory_total, "driver": driver}
            for gpu in gpus
        ]
    finally:
        close()
    machine = _Machine()
    cpu = {
        "device": "cpu",
        "name": machine.name,
        "memory_total": psutil.virtual_memory().total,
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "threads": psutil.cpu_count(),
    }
    return [*found, cpu]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """A GPU's memory in bytes, and the processes that compute on it: (id, bytes or None where NVML does not say)."""

    device: str
    name: str
    free: int
    total: int
    holders: tuple[tuple[int, int | None], ...]


def occupancy() -> list[Occupancy]:
    """Of every visible GPU whose memory NVML tells."""
    gpus, close = _open_gpus()
    try:
        return [found for gpu in gpus if (found := _occupancy(gpu)) is not None]
    finally:
        close()


def _occupancy(gpu: "_Gpu") -> Occupancy | None:
    memory = _given(pynvml.nvmlDeviceGetMemoryInfo, gpu.handle)
    if not memory or not memory.total:
        return None
    processes = _given(pynvml.nvmlDeviceGetComputeRunningProcesses, gpu.handle) or ()
    holders = tuple((int(process.pid), process.usedGpuMemory) for process in processes)
    return Occupancy(gpu.device, gpu.name, int(memory.total - memory.used), int(memory.total), holders)


class _Reader(Protocol):
    def read(self, at: float) -> GpuSample: ...


@dataclass(frozen=True, slots=True)
class _Gpu:
    """A GPU or MIG instance with its NVML handle."""

    device: str
    name: str
    handle: Any

    def read(self, at: float) -> GpuSample:
        handle = self.handle
        memory = _given(pynvml.nvmlDeviceGetMemoryInfo, handle)
        utilisation = _given(pynvml.nvmlDeviceGetUtilizationRates, handle)
        return GpuSample(
            at=at,
            device=self.device,
            name=self.name,
            utilisation=_known(utilisation and utilisation.gpu),
            memory_used=int(memory.used) if memory and memory.total else None,
            memory_total=int(memory.total) if memory and memory.total else None,
            power=_known(_given(pynvml.nvmlDeviceGetPowerUsage, handle), 1e-3),
            temperature=_known(_given(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU)),
            sm_clock=_whole(_given(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM)),
            memory_clock=_whole(_given(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_MEM)),
            energy=_known(_given(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle), 1e-3),
        )


class _Machine:
    """The machine's CPU utilisation and memory, under its processor's name. Read from one thread only."""

    def __init__(self) -> None:
        self.name = _processor()
        self._primed = False

    def read(self, at: float) -> GpuSample:
        # psutil measures since this thread's last call: the first answer would be a meaningless 0.
        utilisation = psutil.cpu_percent()
        memory = psutil.virtual_memory()
        sample = GpuSample(
            at=at,
            device="cpu",
            name=self.name,
            utilisation=utilisation if self._primed else None,
            memory_used=memory.total - memory.available,
            memory_total=memory.total,
        )
        self._primed = True
        return sample


class _Sampler:
    """A thread that reads all devices about 5 times a second, from creation to `close`.

    Only that thread talks to the driver: a driver that hangs must not hang the run.
    """

    def __init__(self, device: str | None) -> None:
        self._on_cpu = device == "cpu"
        self._has_gpus = False
        self._samples: deque[GpuSample] = deque(maxlen=_HELD)
        self._wake, self._done, self._closed = threading.Event(), threading.Event(), False
        self._thread = threading.Thread(target=self._work, name="device sampler", daemon=True)
        self._thread.start()

    def read(self) -> None:
        """One reading of the GPUs now, beside the regular ones."""
        if self._has_gpus:
            self._done.clear()
            self._wake.set()
            self._done.wait(PERIOD)

    def take(self, origin: float) -> Iterator[GpuSample]:
        """The readings since the last call, `at` counted from `origin` (monotonic seconds)."""
        while self._samples:
            sample = self._samples.popleft()
            yield replace(sample, at=sample.at - origin)

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._thread.join(1.0)

    def _work(self) -> None:
        gpus, close = _nothing() if self._on_cpu else _open_gpus()
        self._has_gpus = bool(gpus)
        readers: Sequence[_Reader] = gpus or [_Machine()]
        while not self._closed:
            self._samples.extend(reader.read(time.monotonic()) for reader in readers)
            self._done.set()
            self._wake.wait(PERIOD)
            self._wake.clear()
        close()


def _open_gpus() -> tuple[list[_Gpu], Callable[[], object]]:
    """The visible GPUs and what to call when done with them; none where there is no NVML."""
    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError, OSError):
        return _nothing()
    return _visible(os.environ.get("CUDA_VISIBLE_DEVICES")), lambda: _given(pynvml.nvmlShutdown)


def _nothing() -> tuple[list[_Gpu], Callable[[], object]]:
    return [], lambda: None


def _visible(chosen: str | None) -> list[_Gpu]:
    """The GPUs CUDA shows, by its own reading of CUDA_VISIBLE_DEVICES: it stops at the first entry it cannot use."""
    physical = _physical()
    if chosen is None:
        return [gpu for gpu in physical if gpu is not None]
    visible: dict[str, _Gpu] = {}
    for entry in (part.strip() for part in chosen.split(",")):
        if entry.isdecimal():
            if not _counted_as_nvml(physical):
                return [gpu for gpu in physical if gpu is not None]
            gpu = physical[int(entry)] if int(entry) < len(physical) else None
        else:
            gpu = _by_uuid(entry, physical)
        if gpu is None:
            break
        visible[gpu.device] = gpu
    return list(visible.values())


def _counted_as_nvml(physical: list[_Gpu | None]) -> bool:
    """Whether CUDA's numbers are NVML's, which go by PCI bus.

    CUDA puts the "fastest" first unless told otherwise, by a rule it does not publish: among unlike GPUs a number says
    nothing, and all are shown rather than perhaps the wrong one.
    """
    if os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID":
        return True
    return len({gpu.name for gpu in physical if gpu is not None}) <= 1


def _physical() -> list[_Gpu | None]:
    """By NVML index; None where this process may not look."""
    count = _given(pynvml.nvmlDeviceGetCount) or 0
    handles = [_given(pynvml.nvmlDeviceGetHandleByIndex, i) for i in range(count)]
    return [_gpu(f"cuda:{i}", handle) if handle is not None else None for i, handle in enumerate(handles)]


def _gpu(device: str, handle: Any) -> _Gpu:
    return _Gpu(device, _given(pynvml.nvmlDeviceGetName, handle) or "unknown GPU", handle)


def _by_uuid(entry: str, physical: list[_Gpu | None]) -> _Gpu | None:
    """A GPU by UUID or its unambiguous beginning (as CUDA allows), or a MIG instance by its whole UUID."""
    found = [
        gpu
        for whole in physical
        if whole is not None
        for gpu in [whole, *_mig_instances(whole)]
        if entry.startswith(("GPU-", "MIG-")) and (_given(pynvml.nvmlDeviceGetUUID, gpu.handle) or "").startswith(entry)
    ]
    return found[0] if len(found) == 1 else None


def _mig_instances(whole: _Gpu) -> Iterator[_Gpu]:
    for i in range(_given(pynvml.nvmlDeviceGetMaxMigDeviceCount, whole.handle) or 0):
        handle = _given(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, whole.handle, i)
        if handle is not None:
            yield _gpu(f"{whole.device}/mig{i}", handle)


def _given(ask: Callable[..., Any], *arguments: Any) -> Any:
    """NVML's answer, or None where it has none for this device, driver or user."""
    try:
        return ask(*arguments)
    except (pynvml.NVMLError, OSError, ValueError, AttributeError):
        return None


def _known(value: int | None, scale: float = 1.0) -> float | None:
    return None if value is None or value == _NOT_AVAILABLE else value * scale


def _whole(value: int | None) -> int | None:
    return None if value is None or value == _NOT_AVAILABLE else int(value)


def _processor() -> str:
    """The processor's name as people know it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "CPU"
