"""A coding agent as small as can be, with the hooks and the log of Claude Code, and no model.

    python small_agent.py < PROMPT

It takes the port that the prompt or what it is shown names, and writes it into port.txt. What it is shown is
what the hooks of `.claude/settings.json` answer; if it may remember by itself, also its own notes.
"""

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

PORT = re.compile(r"port (?:is )?(\d+)")


def main() -> None:
    prompt = sys.stdin.read()
    session = uuid.uuid4().hex
    log = Path(os.environ["HOME"]) / f"{session}.jsonl"
    notes = Path(os.environ["MEMORYWIRE_AGENT_FOLDER"]) / "notes.txt"
    remembers = os.environ["MEMORYWIRE_AGENT_MEMORY"] == "on"

    shown = [
        fire("SessionStart", session, log, source="startup"),
        fire("UserPromptSubmit", session, log, prompt=prompt),
    ]
    if remembers and notes.exists():
        shown.append(notes.read_text(encoding="utf-8"))
    ports = PORT.findall("\n".join([*shown, prompt]))
    if ports:
        Path("port.txt").write_text(ports[-1], encoding="utf-8")
    if remembers:
        with notes.open("a", encoding="utf-8") as file:
            file.write(prompt + "\n")
    say(log, "user", prompt)
    say(log, "assistant", f"I wrote port {ports[-1]}." if ports else "I do not know the port.")
    fire("Stop", session, log)


def fire(event: str, session: str, log: Path, **told: str) -> str:
    """What the hooks of the project answer for the model."""
    settings = Path(".claude/settings.json")
    if not settings.exists():
        return ""
    call = {"hook_event_name": event, "session_id": session, "transcript_path": str(log), **told}
    answers = []
    for entry in json.loads(settings.read_text(encoding="utf-8"))["hooks"].get(event, ()):
        for hook in entry["hooks"]:
            done = subprocess.run(
                ["sh", "-c", hook["command"]], input=json.dumps(call).encode(), capture_output=True
            )
            answer = json.loads(done.stdout) if done.stdout.strip() else {}
            answers.append(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
    return "\n".join(answers)


def say(log: Path, role: str, words: str) -> None:
    line = {"type": role, "message": {"role": role, "content": [{"type": "text", "text": words}]}}
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


main()
