"""What every test may count on, however the run was started."""

import signal
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.remote import Producer

    from tests.cli.shell import Shell
    from tests.workers import Files

# A shell starts its background jobs with ctrl-C ignored, and an ignored signal stays ignored in every child:
# a test that interrupts a command would wait for ever. A handler is reset to the default when a child starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A run that fails must fail again: generated cases are the same each time, wherever it is started.
# `pytest --hypothesis-profile default` draws others.
settings.register_profile("fixed", derandomize=True, database=None)
settings.load_profile("fixed")


_LIMIT = pytest.StashKey[object]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`--numprocesses auto`."""
    from tests.workers import how_many

    return how_many()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "Files | None":
    """`--dist loadfile`, told which files belong together."""
    from tests.workers import Files

    return Files(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: object) -> None:
    item.stash[_LIMIT] = settings


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """The limit of a test ends when it fails: what ends its servers and threads has one of its own."""
    if _LIMIT in item.stash:
        item.config.hook.pytest_timeout_set_timer(item=item, settings=item.stash[_LIMIT])
    yield


@pytest.fixture
def shell(tmp_path: Path) -> "Shell":
    """Types commands, which have a home of their own."""
    from tests.cli.shell import Shell

    return Shell(tmp_path / "home")
