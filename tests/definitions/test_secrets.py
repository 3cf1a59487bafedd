"""A key typed into a URL is never kept in a definition and never printed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from memorywire.app import Backends
from memorywire.journal.definitions import hash_definition
from memorywire.model.definition import Edition, definition_of
from memorywire.model.errors import InvalidRequest, SecretLeakage
from memorywire.model.secrets import expand_variables, find_literal_secret, mask_url
from tests.definitions.test_definitions import _LOCAL, _play

KEY = "k3yT0ken" + "99Zq"

IN_CLEAR = {
    "option": f"https://far.example/v1?api_key={KEY}",
    "option, other case": f"https://far.example/v1?Api-Key={KEY}&tenant=a",
    "quoted option": f"https://far.example/v1?%61pi_key={KEY}",
    "token option": f"https://far.example?access_token={KEY}",
    "password option": f"postgresql://db.example/x?password={KEY}",
    "signature": f"https://far.example/blob?sig={KEY}",
    "fragment": f"https://far.example/#token={KEY}",
    "token as user": f"https://{KEY}@far.example",
    "password": f"postgresql://app:{KEY}@db.example/x",
    "password with a slash": f"postgresql://app:a/{KEY}@db.example/x",
    "password with an at sign": f"postgresql://app:a@{KEY}@db.example/x",
    "malformed": f"https://app:{KEY}@[far.example",
    "beside a placeholder": f"https://{{key}}:{KEY}@far.example",
}


@pytest.mark.parametrize("url", IN_CLEAR.values(), ids=IN_CLEAR)
def test_a_key_in_a_url_is_seen_and_masked(url: str):
    assert find_literal_secret(url)
    assert KEY not in mask_url(url)
    assert "far.example" in mask_url(url) or "db.example" in mask_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///./memory.db",
        "sqlite://",
        "memory://",
        "https://{key}@far.example",
        "https://far.example/v1?api_key={key}",
        "postgresql://app:${DB_PASSWORD}@db.example/x",
        "postgresql://app@db.example:5432/x?schema=a&sslkey=/etc/key.pem",
        "postgresql:///x?host=/var/run",
        "https://far.example:8377?tenant=acme",
        "https://far.example/@ana/notes",
        "sqlite:///srv/a@b/memory.db#work",
        "minilm?threads=2",
        "not a url",
    ],
)
def test_a_url_without_a_key_is_shown_as_it_is(url: str):
    assert find_literal_secret(url) is None
    assert mask_url(url) == url


@pytest.mark.parametrize("url", IN_CLEAR.values(), ids=IN_CLEAR)
def test_a_definition_with_a_key_in_clear_is_refused_and_nothing_is_kept(url: str):
    async def story(book: Backends) -> None:
        with pytest.raises(SecretLeakage) as caught:
            await book.create("t", {**_LOCAL, "url": url}, "me")
        problem = caught.value.problem()
        assert problem["field"] == "url"
        assert "key_env" in problem["fix"]
        assert KEY not in json.dumps(problem)
        assert await book.list("t") == []

    _play(story)


def test_the_other_fields_of_a_definition_pass_the_redactor():
    token = "ghp_" + "4f7Kq2Zx9" * 4

    async def story(book: Backends) -> None:
        with pytest.raises(SecretLeakage) as caught:
            await book.create("t", {**_LOCAL, "description": f"log in with {token}"}, "me")
        assert caught.value.field == "description"
        assert token not in str(caught.value.problem())
        first = await book.create("t", {**_LOCAL, "url": "sqlite:///tmp/y.db"}, "me")
        with pytest.raises(SecretLeakage):
            await book.fork("t", first.digest, {"url": f"https://{KEY}@far.example"}, "me")

    _play(story)


def test_a_definition_of_an_earlier_release_is_masked_when_it_is_shown():
    old = definition_of({**_LOCAL, "url": f"https://{KEY}@far.example?api_key={KEY}"})
    edition = Edition(
        definition=old, digest=hash_definition(old), tenant="t", number=1, made_at=0, made_by="me"
    )
    from memorywire.cli.backends import _document

    assert KEY not in json.dumps(_document(edition))
    assert old.url.count(KEY) == 2


def test_the_command_line_repeats_no_key_that_was_typed(tmp_path: Path):
    from click.testing import CliRunner

    from memorywire.cli.command import memorywire

    document: dict[str, Any] = {**_LOCAL, "url": f"https://far.example?api_key={KEY}"}
    answer = CliRunner().invoke(
        memorywire,
        ["backends", "create", "-", "--store", f"sqlite:///{tmp_path}/m.db"],
        input=json.dumps(document),
    )
    assert answer.exit_code != 0
    assert KEY not in answer.output
    assert "key_env" in answer.output
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_a_variable_in_a_url_is_read_from_the_environment():
    url = "postgresql://app:${DB_PASSWORD}@db.example/x"
    assert expand_variables(url, {"DB_PASSWORD": "a/b"}, field="store") == (
        "postgresql://app:a%2Fb@db.example/x"
    )
    with pytest.raises(InvalidRequest) as caught:
        expand_variables(url, {}, field="store")
    assert re.search("DB_PASSWORD", caught.value.detail)


def test_doctor_names_a_settings_file_that_holds_a_password(tmp_path: Path):
    from memorywire.app.settings import literal_secrets, load_settings

    config = tmp_path / "memorywire.toml"
    config.write_text(f'store = ["sqlite:///./x.db", "postgresql://app:{KEY}@db.example/x"]\n')
    assert literal_secrets(config) == ["stores"]
    settings = load_settings(env={"MEMORYWIRE_HOME": str(tmp_path), "MEMORYWIRE_EMBEDDER_KEY": KEY})
    assert KEY in settings.stores[1]
    assert KEY not in repr(settings)
    config.write_text('store = "postgresql://app:${DB_PASSWORD}@db.example/x"\n')
    assert literal_secrets(config) == []
    settings = load_settings(env={"MEMORYWIRE_HOME": str(tmp_path), "DB_PASSWORD": KEY})
    assert settings.stores == (f"postgresql://app:{KEY}@db.example/x",)
