"""Runs the protocol's own conformance suite against our server; see docs/how-to/mcp.md for what it needs.

python -m tests.mcp.conformance FOLDER [--bare]     FOLDER holds node_modules with node and the suite
"""

import subprocess
import sys
from pathlib import Path

from memorywire_server.mcp.mount import mcp_mount
from tests.http.server import serving
from tests.mcp.fixtures import with_fixtures

REVISIONS = ("2025-11-25", "2026-07-28")


def main(folder: Path, *, bare: bool) -> int:
    node = folder / "node_modules/.bin/node"
    suite = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    failed = 0
    extend = {} if bare else {"extend": with_fixtures}
    with serving(mounts=lambda container: [mcp_mount(container, **extend)]) as server:
        for revision in REVISIONS:
            told = subprocess.run(
                [node, suite, "server", "--url", f"{server.client.url}/mcp", "--requirements", revision],
                cwd=folder,
                capture_output=True,
                text=True,
            )
            print(f"## {revision}\n{told.stdout.partition('=== SUMMARY ===')[2]}", flush=True)
            failed += told.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), bare="--bare" in sys.argv))
