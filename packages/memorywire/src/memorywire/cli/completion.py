"""`memorywire completion`: the shell script that completes verbs and options."""

import click

_RC = {
    "bash": 'eval "$(memorywire completion bash)"  # in ~/.bashrc',
    "zsh": 'eval "$(memorywire completion zsh)"  # in ~/.zshrc',
    "fish": "memorywire completion fish > ~/.config/fish/completions/memorywire.fish",
}


@click.command("completion", epilog="For example: " + _RC["bash"])
@click.argument("shell", type=click.Choice(list(_RC)))
def command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    from memorywire.cli.command import memorywire

    speaks = get_completion_class(shell)
    if speaks is None:
        raise click.UsageError(f"this release of click cannot complete for {shell}")
    click.echo(speaks(memorywire, {}, "memorywire", "_MEMORYWIRE_COMPLETE").source())
