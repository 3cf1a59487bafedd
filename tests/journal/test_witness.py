"""Every checkpoint goes to the witnesses; one that was away gets what it missed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from memorywire.journal.signed_notes import parse_checkpoints
from memorywire.journal.signer import Signer
from memorywire.model.errors import InvalidRequest
from tests.cli.shell import Inside
from tests.journal.books import a_ledger, seal, write_entries


class _Received(BaseHTTPRequestHandler):
    requests: list[tuple[str, str, str]]
    status = 200

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.requests.append((self.command, self.path, body))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def a_receiver() -> Iterator[tuple[str, type[_Received]]]:
    taken = {"do_POST": _Received._take, "do_PUT": _Received._take}  # the names that the library calls
    handler = type("Handler", (_Received,), {"requests": [], **taken})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_each_checkpoint_reaches_a_file_an_address_and_an_object_store(tmp_path: Path):
    kept = tmp_path / "elsewhere"
    with a_receiver() as (host, received):
        urls = [f"file://{kept}", f"http://{host}/hook?k=1", f"put+http://{host}/bucket/"]
        db, signer = a_ledger(), Signer.beside(tmp_path / "m.db", urls)
        notes = []
        for first in (1, 11):
            write_entries(db, 10, first)
            notes.append(seal(db, signer))
    origin = notes[0].splitlines()[0].replace("/", "%2F")
    assert [(verb, path) for verb, path, _ in received.requests] == [
        ("POST", "/hook?k=1"),
        ("PUT", f"/bucket/{origin}/10.checkpoint"),
        ("POST", "/hook?k=1"),
        ("PUT", f"/bucket/{origin}/20.checkpoint"),
    ]
    assert [parse_checkpoints(body)[0][0].size for _, _, body in received.requests] == [10, 10, 20, 20]
    assert [one.size for one in parse_checkpoints(kept.read_text())[0]] == [10, 20]


def test_a_witness_that_was_away_gets_what_it_missed_and_holds_nobody_up(tmp_path: Path):
    with a_receiver() as (host, received):
        db, signer = a_ledger(), Signer.beside(tmp_path / "m.db", [f"http://{host}/"])
        received.status = 503
        write_entries(db, 10)
        seal(db, signer)
        received.status = 200
        received.requests.clear()
        write_entries(db, 10, 11)
        seal(db, signer)
    assert [parse_checkpoints(body)[0][0].size for _, _, body in received.requests] == [10, 20]


def test_a_rollback_of_everything_beside_the_database_contradicts_the_file_elsewhere(tmp_path: Path):
    typed, kept = Inside(tmp_path / "home"), tmp_path / "elsewhere"
    typed("remember", "one", MEMORYWIRE_WITNESS=f"file://{kept}")
    before = {path: path.read_bytes() for path in typed.home.iterdir() if path.is_file()}
    typed("remember", "two", MEMORYWIRE_WITNESS=f"file://{kept}")
    for path in typed.home.iterdir():
        if path.is_file():
            path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    assert typed("audit", "verify").code == 0
    done = typed("audit", "verify", "--json", MEMORYWIRE_WITNESS=f"file://{kept}")
    assert (done.code, done.json["fault"]["entry"]) == (1, 2)


def test_a_witness_that_is_no_place_is_refused(tmp_path: Path):
    with pytest.raises(InvalidRequest, match="a witness is a file, http or object store URL"):
        Signer.beside(tmp_path / "m.db", ["ftp://example.com/x"])
