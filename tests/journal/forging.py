"""What somebody could do with SQL to a database whose ledger they leave alone, and whether it is noticed."""

import json
from collections.abc import Mapping
from pathlib import Path

import apsw

from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.state import StateReport, compare
from tests.cli.shell import Inside

_RULES = '[[rule]]\nname = "hold-mail"\nverdict = "hold"\nsource = ["mail:*"]\n'
_DEFINITION = {
    "name": "files",
    "url": "sqlite:///tmp/elsewhere.db",
    "tenancy": {"kind": "shared_key_with_prefix", "pattern": "t-{tenant_id}-"},
}


def a_state(folder: Path) -> bytes:
    """The image of a file with something of everything that the ledger speaks of."""
    fill(folder)
    db = apsw.Connection(str(next(iter((folder / "home").glob("*.db")))))
    db.execute("PRAGMA journal_mode = DELETE")  # an image in memory has no log
    return db.serialize("main")


_WHY = ("--reasoning", "somebody said so")


def fill(folder: Path, **variables: str) -> None:
    """Write something of everything that the ledger speaks of; memories are named by what became of them."""
    typed = Inside(folder / "home")

    def do(*words: str, stdin: bytes = b"") -> str:
        done = typed(*words, stdin=stdin, **variables)
        assert done.code == 0, (words, done)
        return done.out

    for id in ("live", "old", "merged", "kept", "erased", "twin", "gone"):
        do(
            "remember",
            f"{id} says one thing",
            "--id",
            id,
            "--user",
            "ana",
            "--idempotency-key",
            f"key-{id}",
            *_WHY,
        )
    do("remember", "live says another thing", "--id", "live", "--user", "ana", "--if-version", "1")
    do("remember", "theirs", "--id", "theirs", "--tenant", "acme")
    do("forget", "old", "--user", "ana", "--reason", "outdated")
    do("merge", "kept", "merged", "--user", "ana", *_WHY)
    do("merge", "kept", "gone", "--user", "ana", *_WHY)
    do("forget", "erased", "gone", "--hard", "--yes", "--user", "ana", *_WHY)
    do("kv", "set", "colour", "green")
    do("recall", "what says one thing?", "--user", "ana")
    for content in ("waits", "is rejected", "is approved"):
        do("remember", f"a page {content}", "--source", "web:forum")
    pending = json.loads(do("review", "list", "--json"))["items"]
    do("review", "reject", pending[1]["id"])
    do("review", "approve", pending[2]["id"])
    rules = folder / "rules.toml"
    rules.write_text(_RULES)
    do("policy", "set", str(rules))
    for name, role in (("olga", "admin"), ("rita", "reader")):
        do("operator", "add", name, "--role", role)
    do("operator", "revoke", "rita")
    do("webhook", "add", "https://example.com/told")
    do("backends", "create", "-", stdin=json.dumps(_DEFINITION).encode())
    do("backends", "bind", "files", "--agent", "far")


def _set(table: str, where: str, **columns: str) -> dict[str, str]:
    """An edit of each column by itself."""
    return {
        f"{table}: change {name} ({where})": f"UPDATE {table} SET {name} = {value} WHERE {where}"
        for name, value in columns.items()
    }


_LIVE, _OLD = "id = 'live' AND ended IS NULL", "id = 'old'"
_TWIN = "seq = (SELECT began FROM version WHERE id = 'twin')"
_SAID = {
    "agent": "'eve'",
    "user": "'eve'",
    "type": "'episodic'",
    "standing": "'archived'",
    "confidence": "0.01",
    "created_at": "created_at - 1",
    "updated_at": "updated_at + 1",
    "occurred_at": "77",
    "expires_at": "5",
    "trust": "'trusted'",
    "source": "'eve'",
    "session": "'eve'",
    "tags": "'[\"eve\"]'",
    "metadata": "'{\"eve\":1}'",
    "supersedes": "'[\"twin\"]'",
    "merged_from": "'[\"twin\"]'",
    "derived_from": "'[\"twin\"]'",
    "content": "'eve was here'",
}
_PENDING, _REJECTED = "state = 'pending'", "state = 'rejected'"
_PROPOSAL = {
    "agent": "'eve'",
    "tenant": "'acme'",
    "user": "'eve'",
    "revision": "revision + 1",
    "batch": "'eve'",
    "key": "'eve'",
    "digest": "'eve'",
    "risk": "risk + 1",
    "expires_at": "1",
    "body": "json_set(body, '$.caller', 'person:eve')",
    "plan": "replace(plan, 'page', 'eve')",
}

EDITS: Mapping[str, str] = {
    **_set("version", _LIVE, **_SAID),
    **_set("version", _OLD, **_SAID),
    **_set(
        "version",
        _LIVE,
        id="'other'",
        tenant="'acme'",
        number="9",
        began="1",
        digest="x'00'",
        length="length + 1",
        terms="x'0000000000000000ffff'",
        structured="1",
        position="99999",
    ),
    **_set("version", _OLD, reason="'expired'", into_id="'twin'", ended="1", began="1", number="3"),
    "version: delete a live one": f"DELETE FROM version WHERE {_LIVE}",
    "version: delete the past of one": "DELETE FROM version WHERE id = 'live' AND ended IS NOT NULL",
    "version: delete all of a memory": "DELETE FROM version WHERE id = 'live'",
    "version: delete an ended one": f"DELETE FROM version WHERE {_OLD}",
    "version: delete an erased one": "DELETE FROM version WHERE id = 'erased'",
    "version: delete a memory and its change": (
        "DELETE FROM change WHERE seq = (SELECT began FROM version WHERE id = 'twin');"
        " DELETE FROM version WHERE id = 'twin'"
    ),
    "change: remove a reason of what was not erased": f"UPDATE change SET reason = NULL WHERE {_TWIN}",
    "version: revive a forgotten one": f"UPDATE version SET ended = NULL, reason = NULL WHERE {_OLD}",
    "version: revive a merged one": (
        "UPDATE version SET ended = NULL, reason = NULL, into_id = NULL WHERE id = 'merged'"
    ),
    "version: revive a replaced one": (
        "UPDATE version SET ended = 1, reason = 'forgotten' WHERE id = 'live' AND ended IS NULL;"
        " UPDATE version SET ended = NULL, reason = NULL WHERE id = 'live' AND number = 1"
    ),
    "version: fill an erased one": (
        "UPDATE version SET content = 'eve', terms = x'', length = 0, type = 'semantic' WHERE id = 'erased'"
    ),
    "version: revive an erased one": (
        "UPDATE version SET content = 'eve', terms = x'', length = 0, type = 'semantic', standing = 'active',"
        " confidence = 1, created_at = 1, updated_at = 1, trust = 'standard', structured = 0, tags = '[]',"
        " metadata = '{}', supersedes = '[]', merged_from = '[]', derived_from = '[]', ended = NULL,"
        " reason = NULL WHERE id = 'erased'"
    ),
    "version: end a live one": f"UPDATE version SET ended = 1, reason = 'forgotten' WHERE {_LIVE}",
    "version: hide a live one": "UPDATE version SET ended = 99999 WHERE id = 'twin'",
    "version: empty a live one": (
        "UPDATE version SET ended = 1, reason = 'erased', content = NULL, terms = NULL WHERE id = 'twin'"
    ),
    "version: erased one to another agent": "UPDATE version SET agent = 'eve' WHERE id = 'erased'",
    "version: erased one to another user": "UPDATE version SET user = 'eve' WHERE id = 'erased'",
    "version: plant a copy": (
        "CREATE TEMP TABLE copied AS SELECT * FROM version WHERE id = 'twin';"
        " UPDATE copied SET id = 'planted', position = (SELECT max(position) + 1 FROM version),"
        " content = 'eve planted this'; INSERT INTO version SELECT * FROM copied"
    ),
    "version: plant a copy for another tenant": (
        "CREATE TEMP TABLE copied AS SELECT * FROM version WHERE id = 'twin';"
        " UPDATE copied SET tenant = 'acme', position = (SELECT max(position) + 1 FROM version);"
        " INSERT INTO version SELECT * FROM copied"
    ),
    "version: plant a next version": (
        "CREATE TEMP TABLE copied AS SELECT * FROM version WHERE id = 'twin';"
        " UPDATE version SET ended = 1, reason = 'replaced' WHERE id = 'twin';"
        " UPDATE copied SET number = 2, position = (SELECT max(position) + 1 FROM version), content = 'eve';"
        " INSERT INTO version SELECT * FROM copied"
    ),
    "version: swap two contents": (
        "UPDATE version SET content = (SELECT content FROM version WHERE id = 'kept' AND ended IS NULL)"
        " WHERE id = 'twin'"
    ),
    "version: move all of a tenant to another": "UPDATE version SET tenant = 'default' WHERE tenant = 'acme'",
    "version: move all of a user to another": "UPDATE version SET user = 'ben' WHERE user = 'ana'",
    "salt: remove and forge the content": (
        "DELETE FROM ledger_salt WHERE memory = 'twin'; UPDATE version SET content = 'eve' WHERE id = 'twin'"
    ),
    "salt: empty and forge the content": (
        "UPDATE ledger_salt SET salt = NULL WHERE memory = 'twin';"
        " UPDATE version SET content = 'eve' WHERE id = 'twin'"
    ),
    "salt: empty": "UPDATE ledger_salt SET salt = NULL WHERE memory = 'twin'",
    "salt: remove": "DELETE FROM ledger_salt WHERE memory = 'twin'",
    "salt: change": "UPDATE ledger_salt SET salt = zeroblob(16) WHERE memory = 'twin'",
    "salt: give one to an erased memory": (
        "UPDATE ledger_salt SET salt = zeroblob(16) WHERE memory = 'erased'"
    ),
    "user: give a mark to another": "UPDATE ledger_person SET user = 'eve' WHERE user = 'ana'",
    "user: give a mark to another tenant": "UPDATE ledger_person SET tenant = 'acme' WHERE user = 'ana'",
    **_set(
        "change",
        _TWIN,
        id="'eve'",
        tenant="'acme'",
        agent="'eve'",
        user="'eve'",
        operation="'forget'",
        at="at + 1",
        key="'other'",
        fingerprint="'eve'",
        reason="'eve'",
        undoes="'eve'",
        about="'live'",
        first="first + 1",
        puts="puts + 1",
    ),
    "change: remove a key": f"UPDATE change SET key = NULL WHERE {_TWIN}",
    "change: remove a fingerprint": f"UPDATE change SET fingerprint = NULL WHERE {_TWIN}",
    "change: remove a reason": "UPDATE change SET reason = NULL WHERE reason = 'outdated'",
    "change: delete": f"DELETE FROM change WHERE {_TWIN}",
    "change: plant": (
        "INSERT INTO change (id, tenant, agent, operation, at, first, puts)"
        " VALUES ('eve', 'default', 'default', 'remember', 1, 1, 0)"
    ),
    **_set("proposal", _PENDING, state="'approved'", id="'eve'", **_PROPOSAL),
    **_set("proposal", _REJECTED, state="'pending'", **{n: v for n, v in _PROPOSAL.items() if n != "plan"}),
    "proposal: delete one that waits": f"DELETE FROM proposal WHERE {_PENDING}",
    "proposal: delete one that was rejected": f"DELETE FROM proposal WHERE {_REJECTED}",
    "proposal: plant": (
        "CREATE TEMP TABLE copied AS SELECT * FROM proposal WHERE state = 'pending';"
        " UPDATE copied SET id = 'eve', position = 999; INSERT INTO proposal SELECT * FROM copied"
    ),
    "proposal: unlink from its memory": "DELETE FROM proposal_memory",
    "proposal: link to another memory": "UPDATE proposal_memory SET memory = 'twin'",
    "proposal: link to another tenant": "UPDATE proposal_memory SET tenant = 'acme'",
    **_set("edition", "number = 1", number="7", at="at + 1", by="'person:eve'", rules="'[]'"),
    "edition: delete": "DELETE FROM edition",
    "edition: plant": "INSERT INTO edition SELECT tenant, number + 1, at, by, '[]' FROM edition",
    "ruled: plant": "INSERT INTO ruled VALUES ('default', 'eve', 'eve', 'default', NULL)",
    "rejected: plant": "INSERT INTO rejected_words (tenant, digest, proposal) VALUES ('acme', x'00', 'eve')",
    "rejected: delete": "DELETE FROM rejected_words",
    "rejected: move to another tenant": "UPDATE rejected_words SET tenant = 'acme'",
    "register: plant": "INSERT INTO register VALUES ('default', 'eve', 'default', NULL, 1, 'x', 1)",
    **_set(
        "operator", "name = 'olga'", name="'eve'", body="replace(body, 'admin', 'reader')", revoked_at="5"
    ),
    "operator: make a reader an admin": "UPDATE operator SET body = replace(body, 'reader', 'admin')",
    "operator: revive": "UPDATE operator SET revoked_at = NULL WHERE name = 'rita'",
    "operator: delete": "DELETE FROM operator WHERE name = 'rita'",
    "operator: plant": (
        "INSERT INTO operator SELECT 'eve', replace(body, 'olga', 'eve'), NULL FROM operator LIMIT 1"
    ),
    **_set(
        "token",
        "operator = 'olga'",
        id="'eve'",
        operator="'rita'",
        hash="zeroblob(32)",
        made_at="1",
        expires_at="5",
        revoked_at="5",
    ),
    "token: revive": "UPDATE token SET revoked_at = NULL WHERE operator = 'rita'",
    "token: delete": "DELETE FROM token WHERE operator = 'olga'",
    "token: plant": ("INSERT INTO token (id, operator, hash, made_at) SELECT 'eve', 'olga', zeroblob(32), 1"),
    "token: change the key": "UPDATE token_key SET key = zeroblob(32)",
    "token: delete the key": "DELETE FROM token_key",
    **_set(
        "webhook",
        "1",
        id="'eve'",
        url="'https://eve.example'",
        secret="'eve'",
        tenant="'acme'",
        agents="'[\"eve\"]'",
        made_at="1",
    ),
    "webhook: delete": "DELETE FROM webhook",
    "webhook: plant": (
        "INSERT INTO webhook (id, url, secret, tenant, agents, made_at, position)"
        " VALUES ('eve', 'https://eve.example', 'x', 'default', '[\"*\"]', 1, 0)"
    ),
    **_set(
        "definition",
        "1",
        tenant="'acme'",
        name="'eve'",
        edition="2",
        digest="'eve'",
        parent="'eve'",
        body="replace(body, 'elsewhere', 'eve')",
        made_at="1",
        made_by="'person:eve'",
        retired_at="1",
    ),
    "definition: delete": "DELETE FROM definition",
    **_set("binding", "1", tenant="'acme'", agent="'eve'", digest="'eve'", made_at="1", made_by="'eve'"),
    "binding: delete": "DELETE FROM binding",
    "binding: plant": "INSERT INTO binding SELECT tenant, 'default', digest, made_at, made_by FROM binding",
    **_set(
        "recalled",
        "1",
        id="'eve'",
        tenant="'acme'",
        agent="'eve'",
        user="'eve'",
        at="1",
        caller="'eve'",
        verdict="'eve'",
        count="count + 1",
        hits="'[]'",
    ),
    "recalled: delete": "DELETE FROM recalled",
    "recalled: plant": (
        "INSERT INTO recalled SELECT 'eve', tenant, agent, user, at, caller, verdict, count, query, hits,"
        " details FROM recalled LIMIT 1"
    ),
    "kv: change a value": (
        "UPDATE version SET content = replace(content, 'green', 'black') WHERE content LIKE '%green%'"
    ),
    "kv: change the key's metadata": "UPDATE version SET metadata = '{}' WHERE content LIKE '%green%'",
    "kv: delete": "DELETE FROM version WHERE content LIKE '%green%'",
}
"""What is done, by name. Each leaves the ledger as it is."""

UNSEEN: Mapping[str, str] = {
    "a vector": "UPDATE version SET vector = zeroblob(length(vector)) WHERE id = 'live'",
    "when a memory was last recalled": "UPDATE recall SET at = 1, count = 99",
    "what a recall asked": "UPDATE recalled SET query = 'eve'",
    "how far a webhook was told": "UPDATE webhook SET position = 0",
    "when a token was used": "UPDATE token SET used_at = 1",
    "the embedding space": "UPDATE meta SET value = 'eve' WHERE key = 'revision'",
}
"""What the ledger does not speak of, so that no comparison with it can notice."""

# Whoever can write the file is bound by no trigger, no check and no reference to another row.
_DISARM = """
PRAGMA foreign_keys = OFF;
PRAGMA ignore_check_constraints = ON;
DROP TRIGGER IF EXISTS ledger_salt_stays;
"""


def forged(image: bytes, sql: str) -> StateReport:
    """What a comparison finds after an edit; an edit that changes no row is a mistake of the campaign."""
    db = apsw.Connection(":memory:")
    db.deserialize("main", image)
    db.execute(_DISARM)
    before = db.total_changes()
    db.execute(sql)
    assert db.total_changes() > before, f"{sql} changed nothing"
    return compare(SqliteSession(db))
