"""Try typed clients on real libraries: generate, then ask mypy and pyright.

The libraries go into ``build/trial-sdks``. Every marked line of ``uses.txt`` has to be
an error for both checkers, and no other line and no generated module may have one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "trial-sdks"
PYTHON = BUILD / "venv" / "bin" / "python"


def run(*command: str | Path, folder: Path, paths: str = "") -> str:
    """What a command prints; the trial ends where it fails to start."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    return done.stdout + done.stderr


def install() -> None:
    """Make the environment, once for each Python and list of requirements."""
    listed = (HERE / "requirements.txt").read_text(encoding="utf-8")
    wanted = f"# Python {sys.version.split()[0]}\n{listed}"
    stamp = BUILD / "venv" / "requirements.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    make = (sys.executable, "-m", "venv", "--clear", BUILD / "venv")
    subprocess.run(make, check=True)
    requirements = ("-r", HERE / "requirements.txt", "-e", ROOT)
    pip = (PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    subprocess.run([*pip, *requirements], check=True)
    stamp.write_text(wanted, encoding="utf-8")


def generate() -> str:
    """Generate the OpenAPI client, then the package of the policies."""
    shutil.rmtree(BUILD / "acme", ignore_errors=True)
    shutil.rmtree(BUILD / "stock_client", ignore_errors=True)
    client = PYTHON.parent / "openapi-python-client"
    spec = HERE / "stock.openapi.yaml"
    options = ("--meta", "none", "--output-path", BUILD / "stock_client")
    run(client, "generate", "--path", spec, *options, folder=BUILD)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    libraries = run(PYTHON, "-c", code, folder=BUILD).strip()
    paths = os.pathsep.join((str(BUILD), libraries))
    return run(sys.executable, "-m", "policyctl", "generate", folder=HERE, paths=paths)


def check(name: str, *command: str | Path) -> bool:
    """Print whether a checker finds exactly the marked lines."""
    text = (HERE / "uses.txt").read_text(encoding="utf-8")
    (BUILD / "uses.py").write_text(text, encoding="utf-8")
    marked = [n for n, line in enumerate(text.splitlines(), 1) if "# ERROR" in line]
    output = run(sys.executable, "-m", *command, folder=BUILD)
    errors = [
        line for line in output.splitlines() if "error:" in line or " - error" in line
    ]
    places = [line.split("uses.py:") for line in errors]
    found = sorted({int(p[1].split(":")[0]) for p in places if len(p) == 2})
    fine = found == marked and all(len(place) == 2 for place in places)
    print(
        f"{name}: {len(marked)} wrong calls, {len(found)} found, {'ok' if fine else 'FAILED'}"
    )
    if not fine:
        print("\n".join(errors))
    return fine


def main() -> int:
    """Run the trial; 0 where both checkers agree."""
    install()
    print(generate(), end="")
    config = '{"typeCheckingMode": "strict", "include": ["acme", "uses.py"]}'
    (BUILD / "pyrightconfig.json").write_text(config, encoding="utf-8")
    mypy = ("mypy", "--strict", "--config-file=", "--python-executable", PYTHON)
    fine = check("mypy", *mypy, "acme", "uses.py")
    fine = check("pyright", "pyright", "--pythonpath", PYTHON) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
