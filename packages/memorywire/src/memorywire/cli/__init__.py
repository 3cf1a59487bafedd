"""The command `memorywire`: modules by subject; each command builds a wire request and prints the answer."""

import gc
import os

_INTERRUPTED = 130


def main() -> None:
    """Run the command line of this process and exit with its code."""
    gc.disable()  # loading modules leaves little garbage
    try:
        from memorywire.cli.command import run

        run()
    except KeyboardInterrupt:  # while modules load, or while the process ends
        os.write(2, b"stopped; nothing more was done\n")
        os._exit(_INTERRUPTED)
