"""Generates clients from /openapi.json of a real server, checks their types, and remembers and recalls.

`python tools/openapi_clients.py --markdown FILE` also writes what was found. It installs the generators for
TypeScript by their names into a folder that is removed afterwards.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAMS = ROOT / "tools" / "openapi_clients"
PACKAGES = ("openapi-typescript", "openapi-fetch", "@hey-api/openapi-ts", "typescript@5", "@types/node")
ANSWER = "Ana prefers green tea"

# The frame of a client is the same for every document, and passes its arguments on in a way mypy refuses.
MYPY = """
[mypy]
strict = true
[mypy-generated_client.client]
ignore_errors = true
"""


@dataclass(frozen=True)
class Result:
    """What one generator made: how many of the operations, and what the programs printed."""

    generator: str
    version: str
    operations: int
    checked_with: str
    printed: str


def run(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """The standard output of a command; ends this program, with what it wrote, if the command fails."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout + done.stderr


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server with the default settings."""
    env = {**os.environ, "MEMORYWIRE_HOME": str(folder), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "memorywire", "serve", "--port", "0", "--json", "--quiet"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait()


def operations(document: Mapping[str, Mapping[str, Mapping[str, Mapping[str, str]]]]) -> set[str]:
    return {
        operation["operationId"] for methods in document["paths"].values() for operation in methods.values()
    }


def require(generator: str, wanted: set[str], made: set[str]) -> int:
    missing = {spelled(name) for name in wanted} - {spelled(name) for name in made}
    if missing:
        sys.exit(f"{generator} did not generate: {', '.join(sorted(missing))}")
    return len(wanted)


def spelled(name: str) -> str:
    """A name without what generators change in it: case and underscores."""
    return name.replace("_", "").lower()


def python_client(document: Path, url: str, wanted: set[str], folder: Path) -> Result:
    scripts = Path(sys.executable).parent
    tool = scripts / "openapi-python-client"
    package = folder / "generated_client"
    path = {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    said = run(
        tool, "generate", "--path", document, "--output-path", package, "--meta", "none", cwd=folder, env=path
    )
    if "warning" in said.lower():
        sys.exit(said)
    made = {file.stem for file in package.glob("api/*/*.py")}
    count = require("openapi-python-client", wanted, made)
    program = folder / "use_python.py"
    program.write_text((PROGRAMS / "use_python.py").read_text(encoding="utf-8"), encoding="utf-8")
    settings = folder / "mypy.ini"
    settings.write_text(MYPY, encoding="utf-8")
    run(sys.executable, "-m", "mypy", "--config-file", settings, "generated_client", program, cwd=folder)
    printed = run(sys.executable, program, url, cwd=folder)
    return Result(
        "openapi-python-client",
        run(tool, "--version", cwd=folder).split()[-1],
        count,
        "mypy --strict",
        printed,
    )


def install(folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    run("npm", "install", "--no-audit", "--no-fund", *PACKAGES, cwd=folder)


def version(package: str, folder: Path) -> str:
    read = json.loads((folder / "node_modules" / package / "package.json").read_text(encoding="utf-8"))
    return str(read["version"])


def configure(program: str, folder: Path) -> None:
    """Write the settings of the compiler; a generator reads them, too."""
    options = {
        "strict": True,
        "target": "es2022",
        "module": "nodenext",
        "moduleResolution": "nodenext",
        "skipLibCheck": True,
        "types": ["node"],
        "outDir": "built",
        "rootDir": ".",
    }
    settings = {"compilerOptions": options, "files": [program]}
    (folder / "tsconfig.json").write_text(json.dumps(settings), encoding="utf-8")


def typescript(program: str, url: str, folder: Path) -> str:
    """What the program prints, once its types were checked."""
    (folder / program).write_text((PROGRAMS / program).read_text(encoding="utf-8"), encoding="utf-8")
    run("npx", "tsc", "--project", ".", cwd=folder)
    return run("node", Path("built") / program.replace(".ts", ".js"), url, cwd=folder)


def openapi_typescript(document: Path, url: str, wanted: set[str], folder: Path) -> Result:
    configure("use_paths.ts", folder)
    run("npx", "openapi-typescript", document, "--output", "paths.ts", cwd=folder)
    text = (folder / "paths.ts").read_text(encoding="utf-8")
    made = set(re.findall(r"^    (\w+): \{$", text.partition("export interface operations")[2], re.MULTILINE))
    count = require("openapi-typescript", wanted, made)
    printed = typescript("use_paths.ts", url, folder)
    return Result("openapi-typescript", version("openapi-typescript", folder), count, "tsc --strict", printed)


def hey_api(document: Path, url: str, wanted: set[str], folder: Path) -> Result:
    configure("use_hey.ts", folder)
    run(
        "npx",
        "openapi-ts",
        "--input",
        document,
        "--output",
        "hey",
        "--client",
        "@hey-api/client-fetch",
        cwd=folder,
    )
    text = (folder / "hey" / "sdk.gen.ts").read_text(encoding="utf-8")
    count = require(
        "@hey-api/openapi-ts", wanted, set(re.findall(r"^export const (\w+) =", text, re.MULTILINE))
    )
    printed = typescript("use_hey.ts", url, folder)
    return Result(
        "@hey-api/openapi-ts", version("@hey-api/openapi-ts", folder), count, "tsc --strict", printed
    )


def report(results: list[Result], total: int) -> str:
    lines = [
        "# Clients that are generated from /openapi.json",
        "",
        "`make openapi-clients` starts a server with default settings and generates a client with each of",
        "these. It checks the types of the client and of a small program that uses it, and runs the program,",
        "which remembers a sentence and recalls it. Two exceptions: `client.py` of",
        "openapi-python-client, the same for every document, is not type-checked; openapi-typescript needs",
        "TypeScript 5.",
        "",
        f"| generator | version | operations of {total} | types checked with | recalled |",
        "|---|---|---|---|---|",
    ]
    for one in results:
        recalled = "yes" if ANSWER in one.printed else "no"
        lines.append(
            f"| {one.generator} | {one.version} | {one.operations} | {one.checked_with} | {recalled} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path, help="write the results to this file")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memorywire-clients-") as name:
        folder = Path(name)
        with served(folder / "home") as url:
            body = urllib.request.urlopen(f"{url}/openapi.json").read()
            document = folder / "openapi.json"
            document.write_bytes(body)
            wanted = operations(json.loads(body))
            install(folder)
            results = [
                generate(document, url, wanted, folder)
                for generate in (python_client, openapi_typescript, hey_api)
            ]
    for one in results:
        if ANSWER not in one.printed:
            sys.exit(f"{one.generator} recalled nothing: {one.printed}")
    text = report(results, len(wanted))
    print(text)
    if asked.markdown is not None:
        asked.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
