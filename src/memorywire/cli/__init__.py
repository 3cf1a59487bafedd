"""The command `memorywire`: one file per verb, each a thin door to the same wire as every other one."""

import gc


def main() -> None:
    """Run the command line of this process and exit with its code."""
    gc.disable()  # what loading leaves behind is not worth looking for
    from memorywire.cli.command import run

    run()
