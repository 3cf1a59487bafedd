"""The Python SDK: public names, signatures, notebooks and tracebacks."""

import asyncio
import inspect
import subprocess
import sys
import traceback
from typing import get_type_hints

import pytest

import memorywire
from memorywire import InvalidRequest, Memory, MemorywireError, NotFound, render
from memorywire import sync as blocking
from memorywire.model import errors
from tests.engine.quick import Quick

SCRIPT = "<script>alert(1)</script>"


def test_every_public_name_can_be_imported_and_is_listed():
    for name in memorywire.__all__:
        assert getattr(memorywire, name) is not None
    assert dir(memorywire) == sorted(memorywire.__all__)


def test_every_error_is_public():
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    own = {name for name in classes if issubclass(getattr(errors, name), MemorywireError)}
    assert own <= set(memorywire.__all__)


def test_type_checkers_see_the_names_that_are_loaded_lazily():
    source = inspect.getsource(memorywire)
    block = source[source.index("if TYPE_CHECKING:") : source.index("__all__ = ")]
    assert [name for name in memorywire.__all__ if name != "__version__" and name not in block] == []


@pytest.mark.parametrize("client", [blocking.Memory, memorywire.BlockingClient])
def test_the_blocking_client_has_every_method_with_its_signature_and_docstring(client: type):
    original = Memory if client is blocking.Memory else memorywire.Client
    init, twin = inspect.signature(original.__init__), inspect.signature(client.__init__)
    assert str(init) == str(twin)
    for name, method in inspect.getmembers(Memory):
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        wrapped = getattr(client, name)
        assert list(inspect.signature(method).parameters) == list(inspect.signature(wrapped).parameters), name
        assert wrapped.__doc__, name
    assert get_type_hints(blocking.Memory.remember)["return"] is memorywire.Remembered


def test_the_content_of_a_text_is_a_string_and_an_object_stays_one():
    with blocking.Memory("sdk", "memory://", embedder=Quick()) as memory:
        memory.remember("Ana likes tea")
        memory.remember({"drink": "coffee"}, type="procedural")
        hits = {hit.text: hit.content for hit in memory.recall("drink tea coffee", min_relevance="off")}
    assert hits == {"Ana likes tea": "Ana likes tea", "drink coffee": {"drink": "coffee"}}


def test_notebooks_show_answers_as_tables_in_which_everything_is_escaped():
    with blocking.Memory("sdk", "memory://", embedder=Quick(), policy="open") as memory:
        receipt = memory.remember(f"Ana likes {SCRIPT}", id="<b>", source="user:<i>")
        found = memory.recall("what does Ana like?", min_relevance="off")
        page = memory.list()
    for value in (receipt, found, found.hits[0], page):
        html = value._repr_html_()
        assert html.startswith("<table>")
        assert "&lt;b&gt;" in html
        assert [tag for tag in ("<script", "<b>", "<i>") if tag in html] == []
    assert "alert(1)" in found._repr_html_()
    assert render(found.hits)


def _frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_the_traceback_of_a_refused_request_is_short():
    with blocking.Memory("sdk", "memory://", embedder=Quick()) as memory:
        with pytest.raises(InvalidRequest) as refused:
            memory.recall("")
        with pytest.raises(NotFound) as missing:
            memory.get("nothing")
    for error in (refused.value, missing.value):
        assert len(_frames(error)) <= 4, _frames(error)

    async def story() -> list[str]:
        async with Memory("sdk", "memory://", embedder=Quick()) as memory:
            try:
                await memory.recall("")
            except InvalidRequest as error:
                return _frames(error)
        return []

    assert asyncio.run(story()) == ["story", "recall", "_ask"]


def test_with_dev_mode_the_traceback_is_whole():
    code = (
        "import traceback\nfrom memorywire import InvalidRequest\nfrom memorywire.sync import Memory\n"
        "with Memory('sdk', 'memory://', embedder='none') as memory:\n"
        "    try:\n        memory.recall('')\n"
        "    except InvalidRequest as error:\n        print(len(traceback.extract_tb(error.__traceback__)))\n"
    )
    whole, short = (
        int(
            subprocess.run(
                [sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for flags in (["-X", "dev"], [])
    )
    assert whole > short + 2
