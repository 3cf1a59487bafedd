"""Finds the function that carries out a request."""

from collections.abc import Awaitable

from memorywire.model.answers import Answer
from memorywire.model.requests import (
    Changes,
    Expire,
    Forget,
    Get,
    History,
    List,
    Merge,
    Recall,
    Remember,
    Request,
    Undo,
)
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import expire, forget
from memorywire.pipeline.merge import merge
from memorywire.pipeline.reads import changes, get, history, list_
from memorywire.pipeline.remember import remember
from memorywire.pipeline.undo import undo


def perform(request: Request, context: Context) -> Awaitable[Answer]:
    """Begin any request, in the store of the context; await the result."""
    match request:
        case Remember():
            return remember(request, context)
        case Recall():
            from memorywire.pipeline.recall import recall  # a process that only writes needs no ranker

            return recall(request, context)
        case Forget():
            return forget(request, context)
        case Merge():
            return merge(request, context)
        case Expire():
            return expire(request, context)
        case Get():
            return get(request, context)
        case List():
            return list_(request, context)
        case History():
            return history(request, context)
        case Undo():
            return undo(request, context)
        case Changes():
            return changes(request, context)
