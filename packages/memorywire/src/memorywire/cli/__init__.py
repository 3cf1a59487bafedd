"""The command `memorywire`: one file per verb, each a thin door to the same wire as every other one."""

import gc
import os

_INTERRUPTED = 130


def main() -> None:
    """Run the command line of this process and exit with its code."""
    gc.disable()  # what loading leaves behind is not worth looking for
    try:
        from memorywire.cli.command import run

        run()
    except KeyboardInterrupt:  # while modules are loaded, or while the process ends
        os.write(2, b"stopped; nothing more was done\n")
        os._exit(_INTERRUPTED)
