"""Who reads conversations is settled by the environment or a file."""

from pathlib import Path

import pytest

from memorywire.app import load_settings
from memorywire.model.errors import InvalidRequest
from memorywire.pipeline.extract import open_extractor
from memorywire.pipeline.extract.chat import EndpointExtractor
from memorywire.pipeline.extract.registry import BuiltIn
from memorywire.stores.memory import MemoryStore
from tests.engine.quick import Quick

_STORE = MemoryStore(Quick.space)


def test_the_environment_names_the_extractor_its_key_and_its_budget(tmp_path: Path) -> None:
    env = {
        "MEMORYWIRE_HOME": str(tmp_path),
        "MEMORYWIRE_EXTRACTOR": "openai+https://host/v1?model=m",
        "MEMORYWIRE_EXTRACTOR_KEY": "k",
        "MEMORYWIRE_EXTRACTOR_CALLS": "7",
    }
    reading = load_settings(env=env).reading
    assert (reading.extractor, reading.key, reading.calls_a_day) == (env["MEMORYWIRE_EXTRACTOR"], "k", 7)


def test_a_file_may_name_it_too_and_a_number_must_be_one(tmp_path: Path) -> None:
    file = tmp_path / "memorywire.toml"
    file.write_text('extractor = "off"\nextractor_calls = 3\n', encoding="utf-8")
    settings = load_settings(env={"MEMORYWIRE_HOME": str(tmp_path)})
    assert (settings.extractor, settings.extractor_calls) == ("off", 3)
    file.write_text('extractor_calls = "many"\n', encoding="utf-8")
    with pytest.raises(InvalidRequest) as caught:
        load_settings(env={"MEMORYWIRE_HOME": str(tmp_path)})
    assert caught.value.field == "extractor_calls"


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        ("auto", BuiltIn),
        ("builtin", BuiltIn),
        ("off", type(None)),
        ("openai+https://host/v1?model=m", EndpointExtractor),
        ("anthropic+http://host:1/v1?model=m", EndpointExtractor),
    ],
)
def test_an_extractor_is_chosen_by_its_name(named: str, kind: type) -> None:
    assert isinstance(open_extractor(named, _STORE, Quick()), kind)


@pytest.mark.parametrize(
    "named",
    [
        "magic",
        "openai+https://host/v1",
        "openai+https:///v1?model=m",
        "openai+https://u@host/v1?model=m",
        "http://[",
        "openai+https://host:99999/v1?model=m",
        "openai+https://host/v1/\u00e9?model=m",
        "openai+https://host/v 1?model=m",
    ],
)
def test_what_names_no_extractor_is_refused(named: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        open_extractor(named, _STORE, Quick())
    assert caught.value.field == "extractor"


def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidRequest) as caught:
        open_extractor("openai+https://host/v1?model=m", _STORE, Quick(), api_key="bad\nkey")
    assert "bad" not in caught.value.detail
