"""What the tests need of the machine beyond Python: Chromium, a C compiler, fonts. Finds it; installs it where it may.

`python -m tests.machine` installs what is missing with root rights on Debian and Ubuntu; elsewhere it names the one
command and goes on: the tests that need it are then skipped loudly, or fail where CI is set.
"""

import os
import shutil
import subprocess
import sys

CHROMIUM_ARGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""For tests only: our own pages on loopback, and no traffic of the browser's own."""


def chromium() -> str | None:
    """Path of a Chromium-like browser; `DRAFTBOARD_TEST_CHROMIUM` names another one."""
    named = os.environ.get("DRAFTBOARD_TEST_CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    mac = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    return named or next(filter(None, map(shutil.which, names)), mac if os.path.exists(mac) else None)


def c_compiler() -> str | None:
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def has_cjk_font() -> bool:
    """Whether Chinese can be drawn in the tests' screenshots."""
    if shutil.which("fc-list") is None:
        return False
    return bool(subprocess.run(["fc-list", ":lang=zh", "family"], capture_output=True, text=True).stdout.strip())


def missing_packages() -> list[str]:
    """Debian's names of what is not here."""
    missing = []
    if chromium() is None:
        missing.append("chromium")
    if c_compiler() is None:
        missing += ["gcc", "libc6-dev"]
    if sys.platform == "linux" and not has_cjk_font():
        missing += ["fontconfig", "fonts-dejavu-core", "fonts-noto-cjk"]
    return missing


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def main() -> int:
    packages = missing_packages()
    if not packages:
        return 0
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(
            f"For all tests this machine lacks: {', '.join(packages)}. On Debian or Ubuntu: sudo {' '.join(command)}\n"
            "Tests that need them will be skipped.",
            file=sys.stderr,
        )
        return 1 if in_ci() else 0
    print(f"Installing for the tests: {', '.join(packages)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update", "-qq"], [*command, "-qq"]):
        code = subprocess.run(step, env=environment, stdout=subprocess.DEVNULL).returncode
        if code:
            print(f"`{' '.join(step)}` ended with {code}; tests that need it will be skipped.", file=sys.stderr)
            return code if in_ci() else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
