"""A definition of a backend names where its key is kept; it never holds the key."""

from memorywire.model.definition import Definition
from memorywire.model.errors import SecretLeakage
from memorywire.model.urls import find_literal_secret
from memorywire.policy.redact import Redactor

_FIX = (
    "write {key} in its place, put the key into an environment variable and name the variable in key_env; "
    "then change the key, because it was sent in clear"
)


def refuse_secrets(definition: Definition, redactor: Redactor | None) -> None:
    """Raise SecretLeakage, which never repeats the value, when a definition holds a key in clear."""
    part = find_literal_secret(definition.url)
    if part is not None:
        raise SecretLeakage(f"{part} in the URL is written in clear", field="url", fix=_FIX)
    if redactor is None:
        return
    document = {**definition.document(), "url": definition.url.replace("{key}", "")}
    for name, value in document.items():
        _, findings = redactor.json(value, name)
        for finding in findings:
            raise SecretLeakage(f"{finding.place} holds a secret ({finding.kind})", field=name, fix=_FIX)
