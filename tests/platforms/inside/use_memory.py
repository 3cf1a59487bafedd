"""What a new user types, on the default memory: write, recall, take back, verify, back up, look after it."""

import json
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from memorywire.cli.command import memorywire


def type_in(*words: str, stdin: str = "") -> str:
    done = CliRunner().invoke(memorywire, words, input=stdin)
    if done.exit_code:
        raise SystemExit(f"{' '.join(words)}: {done.output} {done.exception!r}")
    return done.output


def answer(*words: str) -> Any:
    return json.loads(type_in(*words, "--json"))


backup, folder = sys.argv[1:]
first = answer("remember", "Ana prefers green tea")
answer("remember", "The deployment happens on Tuesdays")
answer("undo", str(first["change_id"]))
answer("remember", "Ana prefers black tea")
print(answer("recall", "What does Ana prefer to drink?")["results"][0]["content"])
print(answer("recall", "When is the deployment?")["results"][0]["content"])
print(answer("audit", "verify")["ok"])
answer("backup", backup)
log = Path(backup).with_name("log.jsonl")
log.write_bytes(
    json.dumps({"type": "user", "message": {"role": "user", "content": "Deploy"}}).encode() + b"\n"
)
event = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(log)}
type_in("hook", stdin=json.dumps(event))
type_in("hook", "--work")
answer("remember", "Notes lie in a folder", "--store", folder)
print(answer("recall", "Where do notes lie?", "--store", folder)["results"][0]["content"])
print([finding["what"] for finding in answer("doctor")["findings"]])
