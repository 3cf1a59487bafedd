"""The names of `memorywire.api` of 0.5.0."""

from memorywire.compat_0_5 import earlier_name


def __getattr__(name: str) -> object:
    return earlier_name(name)
