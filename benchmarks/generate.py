"""Speed and memory of generate on many services, per file beside other generators.

python -m benchmarks.generate [SERVICES...]     (default: 1000 10000)

Everything runs in processes of its own, one after the other, on the same machine. The
floors are Python doing nothing, and Python writing the same bytes to as many files.
Other generators get documents of their own kind with about as much in each: a JSON
schema with five objects, an OpenAPI document with as many operations. Their figure is
the slope between few and many files, so what starting them takes is not in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks import policies
from benchmarks.lint import Timing, timed, tool

WRITE = """
import sys
from pathlib import Path
output = Path("raw_copy")
output.mkdir()
for path in sorted(Path("generated").iterdir()):
    (output / path.name).write_bytes(path.read_bytes())
"""
FEW, MANY = 4, 44
"""Documents that other generators see."""


def schema(number: int) -> dict[str, object]:
    """A JSON schema of five objects with ten properties each."""
    kinds = ("string", "number", "integer", "boolean")
    objects = {
        f"Operation{number}x{n}": {
            "type": "object",
            "description": f"operation {n} of service {number}, made up",
            "required": [f"field_{i}" for i in range(5)],
            "properties": {
                f"field_{i}": {"type": kinds[i % 4], "description": f"field {i}"}
                for i in range(10)
            },
        }
        for n in range(policies.OPERATIONS)
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Service{number}",
        "type": "object",
        "properties": {name: {"$ref": f"#/$defs/{name}"} for name in objects},
        "$defs": objects,
    }


def openapi(count: int) -> dict[str, object]:
    """An OpenAPI document with ``count`` groups of five operations and as many models."""
    models: dict[str, object] = {}
    paths: dict[str, object] = {}
    for number in range(count):
        defs = schema(number)["$defs"]
        assert isinstance(defs, dict)
        models |= defs
        for name in defs:
            answer = {
                "description": "done",
                "content": {
                    "application/json": {
                        "schema": {"$ref": f"#/components/schemas/{name}"}
                    }
                },
            }
            paths[f"/{name}"] = {
                "get": {
                    "operationId": f"get_{name}",
                    "tags": [f"service_{number}"],
                    "responses": {"200": answer},
                }
            }
    return {
        "openapi": "3.1.0",
        "info": {"title": "made up", "version": "1"},
        "paths": paths,
        "components": {"schemas": models},
    }


@dataclass(frozen=True)
class Output:
    """What a run has cost and made: CPU seconds, Python files, and lines in them."""

    seconds: float
    files: int
    lines: int

    @classmethod
    def of(cls, seconds: float, folder: Path) -> Self:
        """Count what there is below a folder."""
        texts = [path.read_bytes() for path in folder.rglob("*.py")]
        return cls(seconds, len(texts), sum(text.count(b"\n") for text in texts))

    def beyond(self, fewer: Self) -> Self:
        """What this run did more than another."""
        return type(self)(
            self.seconds - fewer.seconds,
            self.files - fewer.files,
            self.lines - fewer.lines,
        )

    def __str__(self) -> str:
        return (
            f"{self.seconds / self.files * 1e3:.1f} ms a file of "
            f"{self.lines / self.files:.0f} lines, "
            f"{self.seconds / self.lines * 1e6:.0f} ms for 1,000 lines"
        )


def model_generator(program: str, folder: Path, count: int) -> Output:
    """Seconds and files of datamodel-code-generator on a folder of schemas."""
    given, made = folder / f"schemas_{count}", folder / f"models_{count}"
    given.mkdir()
    for number in range(count):
        (given / f"service_{number}.json").write_text(json.dumps(schema(number)))
    options = ["--input-file-type", "jsonschema", "--disable-timestamp"]
    options += ["--output-model-type", "pydantic_v2.BaseModel"]
    command = [program, "--input", str(given), "--output", str(made), *options]
    return Output.of(timed(command, folder, 1).seconds, made)


def client_generator(program: str, folder: Path, count: int) -> Output:
    """Seconds and files of openapi-python-client on one document."""
    given, made = folder / f"openapi_{count}.json", folder / f"client_{count}"
    given.write_text(json.dumps(openapi(count)))
    command = [program, "generate", "--path", str(given), "--output-path", str(made)]
    return Output.of(timed(command, folder, 1).seconds, made)


OTHERS: dict[str, Callable[[str, Path, int], Output]] = {
    "datamodel-codegen": model_generator,
    "openapi-python-client": client_generator,
}


def others(folder: Path) -> dict[str, Output]:
    """What further files cost, of every generator that is installed."""
    found: dict[str, Output] = {}
    for name, measured in OTHERS.items():
        program = tool(name)
        if program is None:
            print(f"  no {name}: pip install -r benchmarks/requirements.txt")
            continue
        few, many = (measured(program, folder, count) for count in (FEW, MANY))
        found[name] = many.beyond(few)
    return found


def measure(count: int) -> None:
    """Time everything on ``count`` services and print the ratios."""
    with tempfile.TemporaryDirectory(prefix="policyctl-bench-") as name:
        folder = Path(name)
        policies.write(folder / "policies", count)
        ours = [sys.executable, "-m", "policyctl"]
        nothing = timed([sys.executable, "-c", "pass"], folder, 10)
        rounds = 3 if count <= 2000 else 1
        # Each beside the other, so that a slow phase of the machine hits both.
        pairs = [pair(ours, folder) for _ in range(rounds)]
        validate, cold = min(pairs, key=lambda both: both[0].seconds + both[1].seconds)
        floor = timed([sys.executable, "-c", WRITE], folder, 1)
        again = timed([*ours, "generate"], folder, rounds)
        (folder / "policies" / "service_1.yaml").write_text(
            policies.policy(1).replace("recovery_timeout: 31s", "recovery_timeout: 77s")
        )
        one = timed([*ours, "generate"], folder, 1)
        full = timed([*ours, "generate", "--check", "--no-cache"], folder, rounds)
        started = cold.seconds - nothing.seconds
        made = Output.of(started, folder / "generated")
        rows = [
            ("python -c pass", nothing, ""),
            ("raw write of the same bytes", floor, ""),
            ("validate, cold", validate, ""),
            ("generate, cold", cold, over(cold, validate, "cold validate")),
            ("generate, nothing changed", again, over(again, cold, "cold generate")),
            ("generate, one policy changed", one, over(one, cold, "cold generate")),
            ("generate --check, no cache", full, over(full, cold, "cold generate")),
        ]
        print(f"{count:,} services, {made.files:,} modules")
        for title, timing, ratio in rows:
            print(
                f"  {title:<30}{timing.seconds:>8.2f} s {timing.memory:>6.0f} MiB   {ratio}"
            )
        print(f"  {made}; reading, checking and linking policies included")
        if count <= 2000:
            for title, output in others(folder).items():
                print(f"  {title}: {output}")


def pair(ours: list[str], folder: Path) -> tuple[Timing, Timing]:
    """A cold validate and a cold generate."""
    validate = timed([*ours, "validate", "--no-cache"], folder, 1)
    subprocess.run(
        ["rm", "-rf", "generated", ".policyctl-cache"], cwd=folder, check=True
    )
    os.sync()
    return validate, timed([*ours, "generate"], folder, 1)


def over(timing: Timing, base: Timing, name: str) -> str:
    """A ratio in words."""
    return f"{timing.seconds / base.seconds:.2f} x {name}"


def main() -> None:
    """Measure each size."""
    for count in [int(text) for text in sys.argv[1:]] or [1000, 10_000]:
        measure(count)


if __name__ == "__main__":
    main()
