"""The settings of the commands as arguments of a `Memory`."""

import os
from typing import Any

from memorywire.app import load_settings


def configured(**given: Any) -> dict[str, Any]:
    """The arguments of a `Memory`, async or blocking: MEMORYWIRE_ variables over a file; what is given wins.

    `Memory(**configured(agent_id="assistant"))` opens the store that the commands open here, under the same
    policy. `Memory()` goes by its arguments alone.
    """
    return {**load_settings(env=os.environ).opening, **given}
