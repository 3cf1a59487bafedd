"""Remembers and recalls with the client that openapi-python-client generated."""

import sys

from generated_client import Client
from generated_client.api.read import recall
from generated_client.api.write import remember
from generated_client.models import RecallRequest, RecallResponse, RememberRequest, RememberResponse
from generated_client.models.type_ import Type

client = Client(base_url=sys.argv[1])
receipt = remember.sync(
    client=client,
    body=RememberRequest(agent_id="python", type_=Type.SEMANTIC, content="Ana prefers green tea"),
)
assert isinstance(receipt, RememberResponse), receipt
answer = recall.sync(
    client=client, body=RecallRequest(agent_id="python", query="What does Ana like to drink?")
)
assert isinstance(answer, RecallResponse), answer
print(answer.results[0].content)
