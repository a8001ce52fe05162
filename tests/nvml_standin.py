"""Compiles nvml_standin.c as the library pynvml loads; pass the folder as LD_LIBRARY_PATH to a new process."""

import subprocess
from pathlib import Path

import pytest

from tests import machine

SOURCE = Path(__file__).with_suffix(".c")
LIBRARY = "libnvidia-ml.so.1"


def build(folder: Path, *defines: str) -> Path:
    """`folder` with the stand-in in it."""
    compiler = machine.c_compiler()
    if compiler is None:
        pytest.skip("needs a C compiler: apt-get install gcc libc6-dev")
    flags = [f"-D{define}" for define in defines]
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", *flags, "-o", folder / LIBRARY, SOURCE], check=True)
    return folder
