"""Runs a hook of the plugin for an agent, and records the call.

    python -m memorywire_evals.agents.record_hook

The record is a line in the file that MEMORYWIRE_EVAL_HOOKS names: event, session, number of context
characters in the answer, exit status and seconds.
"""

import json
import os
import sys
import time
from pathlib import Path

from memorywire_evals.agents.programs import Ended, run_program

NOTES = "MEMORYWIRE_EVAL_HOOKS"


def main() -> int:
    asked = sys.stdin.buffer.read()
    began = time.monotonic()
    ended = run_program((sys.executable, "-m", "memorywire", "hook"), told=asked)
    sys.stdout.buffer.write(ended.output)
    sys.stderr.buffer.write(ended.complaint)
    _note(asked, ended, time.monotonic() - began)
    return ended.code or 0


def _note(asked: bytes, ended: Ended, seconds: float) -> None:
    try:
        call = json.loads(asked)
        answer = json.loads(ended.output) if ended.output.strip() else {}
    except ValueError:
        call, answer = {}, {}
    context = answer.get("hookSpecificOutput", {}).get("additionalContext") or answer.get(
        "additional_context"
    )
    line = {
        "event": call.get("hook_event_name"),
        "session": call.get("session_id") or call.get("conversation_id"),
        "context_characters": len(context or ""),
        "exit": ended.code,
        "seconds": round(seconds, 3),
    }
    with Path(os.environ[NOTES]).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    sys.exit(main())
