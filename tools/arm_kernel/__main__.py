"""Checks the embedder's kernels for ARM on this machine, in QEMU: `python tools/arm_kernel [TEXTS]`.

The C kernel is compiled for ARM and for this processor, and both embed the same texts (2,000 prompts and
memories of `memorywire-evals`). Every kernel, on a processor that can just run it, must give the same bytes.
Then the instructions that each executes for 24 of the texts are counted beside those of AVX2; more than three
times as many fail. Debian's QEMU and compiler are installed where they are missing.
"""

import json
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from memorywire_minilm.layout import HIDDEN, TOKEN, layers_offset
from memorywire_minilm.model import DATA, load_tokenizer

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "packages" / "memorywire-minilm" / "kernel"
TEXTS = ROOT / "packages/memorywire-evals/src/memorywire_evals/assistant/data/tasks-train.jsonl"
FLAGS = ("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-pthread")

# A processor that has what each kernel needs, and not what the next one needs.
PROCESSORS = {1: "cortex-a72", 2: "neoverse-n1", 3: "max"}
AVX2 = 1
COUNTED, MOST = 24, 3.0


def main(count: int) -> int:
    compiler = _find("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross")
    emulator = _find("qemu-aarch64", "qemu-user")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        build = (*FLAGS, "-I", str(KERNEL), "-static", str(Path(__file__).with_name("encode.c")), "-lm", "-o")
        _run(compiler, *build, f"{here}/arm")
        _run("cc", *build, f"{here}/own")
        _run(
            "cc",
            "-O2",
            "-shared",
            "-fPIC",
            str(Path(__file__).with_name("count.c")),
            "-o",
            f"{here}/count.so",
        )
        rows = [load_tokenizer().encode(text) for text in _texts(count)]
        all_rows, few_rows = here / "rows", here / "few"
        _write(rows, all_rows)
        _write(rows[:COUNTED], few_rows)
        expected = _embed([f"{here}/own"], all_rows, 0, here / "own.out")[1]
        with ThreadPoolExecutor(2) as pool:
            runs = {
                level: pool.submit(
                    _embed, [emulator, "-cpu", cpu, f"{here}/arm"], all_rows, level, here / f"{level}.out"
                )
                for level, cpu in PROCESSORS.items()
            }
        beside = _count(["qemu-x86_64", "-cpu", "max"], here, "own", few_rows, AVX2)
        failed = False
        for level, run in runs.items():
            name, found = run.result()
            ratio = _count([emulator, "-cpu", "max"], here, "arm", few_rows, level) / beside
            least = min(_cosines(rows, expected, found))
            failed |= found != expected or ratio > MOST
            print(
                f"{name:13} on {PROCESSORS[level]:12} {len(rows)} texts: bytes "
                f"{'equal' if found == expected else 'DIFFER'}, least cosine {least:.6f}; "
                f"{ratio:.2f} times the instructions of AVX2"
            )
    return int(failed)


def _texts(count: int) -> list[str]:
    """Distinct texts of two words or more."""
    texts: dict[str, None] = {}
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        texts.update(dict.fromkeys(text for text in _strings(json.loads(line)) if " " in text))
    return list(texts)[:count]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(inner)


def _write(rows: list[list[int]], path: Path) -> None:
    ids, starts = array("i"), array("i", [0])
    for row in rows:
        ids.extend(row)
        starts.append(len(ids))
    path.write_bytes((array("i", [len(rows)]) + starts + ids).tobytes())


def _embed(command: list[str], rows: Path, level: int, output: Path) -> tuple[str, bytes]:
    """The name of the kernel, and what it made of the rows."""
    files = (DATA / "weights.bin", layers_offset(), DATA / "tokens.bin", rows, level, output)
    name = _run(*command, *map(str, files)).stdout.strip()
    return name, output.read_bytes()


def _count(emulator: list[str], here: Path, program: str, rows: Path, level: int) -> int:
    files = (DATA / "weights.bin", layers_offset(), DATA / "tokens.bin", rows, level, here / "counted.out")
    plugin = ("-plugin", f"{here}/count.so")
    done = _run(emulator[0], *emulator[1:], *plugin, f"{here}/{program}", *map(str, files))
    return int(done.stderr.split()[-1])


def _cosines(rows: list[list[int]], expected: bytes, found: bytes) -> Iterator[float]:
    """Of each text's two vectors; the vectors of two texts are followed by the tokens of both."""
    place = 0
    for first in range(0, len(rows), 2):
        pair = rows[first : first + 2]
        for _ in pair:
            one, other = (
                np.frombuffer(found_bytes, "<f4", HIDDEN, place).astype(np.float64)
                for found_bytes in (expected, found)
            )
            yield float(one @ other / np.sqrt((one @ one) * (other @ other)))
            place += 4 * HIDDEN
        place += TOKEN * sum(map(len, pair))


def _find(command: str, *packages: str) -> str:
    return _run(str(ROOT / "scripts" / "debian-command"), command, *packages).stdout.strip()


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000))
