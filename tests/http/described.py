"""Answers held against what the door says of itself."""

from typing import Any

import jsonschema_rs

from memorywire_server.http.openapi import openapi


def fits(name: str, document: Any) -> bool:
    """Whether the document is what the description calls by that name."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": openapi()["components"]}
    return bool(jsonschema_rs.Draft202012Validator(schema).is_valid(document))
