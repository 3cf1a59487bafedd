"""One client for every model: the extractor, dreams and evaluations ask through it."""

import asyncio
import json
from typing import Any

import pytest

from memorywire.pipeline.extract import open_chat
from memorywire.pipeline.extract.chat import Answer, ModelBusy
from tests.http.elsewhere import Exchange, answering

COMPLAINTS = {
    "max_tokens": b"Use 'max_completion_tokens' instead.",
    "temperature": b"'temperature' is not supported with this model.",
}


def test_a_model_with_words_of_its_own_for_limits_is_asked_for_facts_in_those():
    asked: list[dict[str, Any]] = []

    def answer(request: Exchange, body: bytes) -> None:
        asked.append(json.loads(body))
        refused = next((words for name, words in COMPLAINTS.items() if name in asked[-1]), None)
        said = {"choices": [{"message": {"content": '{"facts": []}'}}], "model": "small-2"}
        request.reply(400 if refused else 200, refused or json.dumps(said).encode())

    with answering(answer) as host:
        chat = open_chat(f"openai+http://{host}/v1?model=small", api_key=None, field="extractor")
        found = [asyncio.run(chat.ask("find facts", "I like tea", most_tokens=9)) for _ in range(2)]
    assert [said.object for said in found] == [{"facts": []}] * 2
    assert len(asked) == 4  # both complaints once
    assert asked[-1]["max_completion_tokens"] == 9
    assert [message["role"] for message in asked[-1]["messages"]] == ["system", "user"]


def test_a_busy_model_says_how_long_it_wants_to_be_left_alone():
    with answering(lambda request, _: request.reply(429, b"", {"Retry-After": "7"})) as host:
        chat = open_chat(f"anthropic+http://{host}/v1?model=small", api_key=None, field="extractor")
        with pytest.raises(ModelBusy, match="busy: HTTP 429") as busy:
            asyncio.run(chat.answer("", "x", most_tokens=9))
    assert busy.value.seconds == 7


@pytest.mark.parametrize(("model", "served"), [("small-2", "small-2"), (7, None), ("", None)])
def test_an_answer_names_the_model_that_was_served(model, served):
    said = json.dumps({"content": [{"type": "text", "text": "tea"}], "model": model}).encode()
    with answering(lambda request, _: request.reply(200, said)) as host:
        chat = open_chat(f"anthropic+http://{host}/v1?model=small", api_key=None, field="extractor")
        assert asyncio.run(chat.answer("", "x", most_tokens=9)) == Answer(words="tea", model=served)
