"""Validators for the schemas of the wire format, straight from the files."""

from functools import cache
from typing import Any

import jsonschema_rs

from memorywire.wire import spec


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """The compiled schema called `name`, such as "remember.request"."""
    documents = [(document["$id"], document) for document in spec.schemas().values()]
    return jsonschema_rs.Draft202012Validator(
        spec.schema(name), registry=jsonschema_rs.Registry(documents), validate_formats=True
    )


def faults(name: str, document: Any) -> list[str]:
    """What is wrong with a document, as sentences."""
    return [f"{error.instance_path}: {error.message}" for error in validator(name).iter_errors(document)]
