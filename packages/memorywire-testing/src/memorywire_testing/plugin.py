"""A pytest plugin: to check your own store, write one test that takes `memorywire_check`.

    # conftest.py
    @pytest.fixture
    def memorywire_url() -> str:
        return "redis://localhost/3"

    # test_store.py
    def test_the_store_honours_the_contract(memorywire_check):
        memorywire_check()

The test runs once for every check. The options `--memorywire-url` and `--memorywire-exempt FILE` give the
URL and exemptions. Importing this module imports no store and no model.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("memorywire", "conformance of a memorywire store")
    group.addoption("--memorywire-url", metavar="URL", help="The store that is examined.")
    group.addoption("--memorywire-exempt", metavar="FILE", help="Checks the product cannot pass, as TOML.")


def pytest_configure(config: pytest.Config) -> None:
    """Fail once if the store cannot be opened, rather than once for each check."""
    url = config.getoption("--memorywire-url")
    if not isinstance(url, str):
        return
    from memorywire.model.errors import InvalidRequest
    from memorywire.stores.registry import check_scheme

    try:
        check_scheme(url)
    except InvalidRequest as problem:
        raise pytest.UsageError(f"--memorywire-url: {problem.detail}; {problem.fix}") from problem


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "memorywire_check" in metafunc.fixturenames:
        from memorywire_testing.checks import EVERY

        metafunc.parametrize("memorywire_check", EVERY, ids=lambda check: check.name, indirect=True)


@pytest.fixture
def memorywire_url(request: pytest.FixtureRequest) -> str:
    """The URL of the store; override it where it is known only at run time."""
    url = request.config.getoption("--memorywire-url")
    if not isinstance(url, str):
        raise pytest.UsageError("name the store: --memorywire-url URL, or a fixture memorywire_url")
    return url


@pytest.fixture
def memorywire_check(request: pytest.FixtureRequest, memorywire_url: str) -> Callable[[], None]:
    """Run one check; skip checks of features that the store lacks, and xfail those it is exempt from."""
    import asyncio

    from memorywire.stores.registry import open_store
    from memorywire_testing.report import Mark
    from memorywire_testing.run import examine, load_exemptions
    from memorywire_testing.samples import SPACE

    check: Any = request.param
    name = request.config.getoption("--memorywire-exempt")
    exempt = load_exemptions(memorywire_url.partition(":")[0], None if name is None else Path(str(name)))

    def run() -> None:
        report = asyncio.run(
            examine(lambda: open_store(memorywire_url, space=SPACE), (check,), exempt=exempt)
        )
        (result,) = report.results
        match result.mark:
            case Mark.SKIPPED:
                pytest.skip(result.detail or "")
            case Mark.EXEMPT:
                pytest.xfail(result.detail or "")
            case Mark.FAILED:
                pytest.fail(result.detail or "", pytrace=False)

    return run
