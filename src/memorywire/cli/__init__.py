"""The command `memorywire`: one file per verb, each a thin door to the same wire as every other one."""


def main() -> None:
    """Run the command line of this process and exit with its code."""
    from memorywire.cli.command import run

    run()
