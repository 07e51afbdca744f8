"""How git reaches other machines: which protocols, and where passwords are and are not."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.repositories import GitRepository

from knickpoint.history import Git
from knickpoint.history.git_process import GitRemote
from knickpoint.model.errors import HistoryError

NewRepository = Callable[[str], GitRepository]


@contextmanager
def serving(directory: Path, authorization: str) -> Iterator[int]:
    """Serve the files of a repository to those who send this header, as git's plain protocol wants them."""

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Authorization") != authorization:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.send_header("Content-Length", "0")
                self.end_headers()
            else:
                super().do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(directory))) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def published(made: GitRepository, place: Path) -> Path:
    """Copy a repository to where a web server serves it."""
    made.git("clone", "--quiet", "--bare", str(made.directory), str(place / "r.git"))
    made.git("-C", str(place / "r.git"), "update-server-info")
    return place / "r.git"


BASIC = "Basic " + base64.b64encode(b"ci:pl/an t@xt").decode()
USER = "ci:pl%2Fan%20t%40xt"


def test_a_password_in_the_address_opens_the_repository(
    new_repository: NewRepository, tmp_path: Path, git_commands: Path
) -> None:
    made = new_repository("made")
    hashes = made.commits(2)
    published(made, tmp_path / "web")
    with serving(tmp_path / "web", BASIC) as port:
        git = Git.clone(f"http://{USER}@127.0.0.1:{port}/r.git", tmp_path / "clone.git")
        git.fetch()
    assert [commit.hash for commit in git.first_parents("main")] == hashes
    written = "".join(path.read_text(errors="replace") for path in git.directory.rglob("*") if path.is_file())
    for secret in ("pl%2Fan", "pl/an", "t@xt"):
        assert secret not in written
        assert secret not in git_commands.read_text()
        assert secret not in repr(git)


def test_the_clone_of_an_earlier_version_loses_its_password(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commit()
    made.git("clone", "--quiet", "--bare", str(made.directory), str(tmp_path / "clone.git"))
    made.git("-C", str(tmp_path / "clone.git"), "config", "remote.origin.url", "https://u:planted@host.example/r.git")
    Git.clone("https://u:planted@host.example/r.git", tmp_path / "clone.git")
    assert "planted" not in (tmp_path / "clone.git" / "config").read_text()


def test_a_failure_shows_no_password(tmp_path: Path) -> None:
    with serving(tmp_path, "Basic other") as port, pytest.raises(HistoryError) as failed:
        Git.clone(f"http://u:planted@127.0.0.1:{port}/r.git?key=planted", tmp_path / "clone.git")
    assert "planted" not in str(failed.value)
    assert "127.0.0.1" in str(failed.value)


def test_a_password_goes_to_its_host_only(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commit()
    published(made, tmp_path / "web")
    seen: list[str | None] = []

    class Redirecting(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{other}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Asking(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as first,
        ThreadingHTTPServer(("127.0.0.1", 0), Asking) as second,
    ):
        other = second.server_address[1]
        for server in (first, second):
            Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            with pytest.raises(HistoryError):
                Git.clone(f"http://u:planted@127.0.0.1:{first.server_address[1]}/r.git", tmp_path / "clone.git")
        finally:
            first.shutdown()
            second.shutdown()
    assert seen
    assert set(seen) == {None}


@pytest.mark.parametrize(
    "location",
    [
        "ext::sh -c 'touch pwned'",
        "fd::17",
        "-oProxyCommand=touch pwned:x",
        "--upload-pack=touch pwned",
        "ssh://-oProxyCommand=touch/x",
        "https://host.example/\nurl",
        "https://u:p%0Ahost=evil@host.example/r",
        "https://host.example/\x1b[31m",
    ],
)
def test_what_git_takes_for_an_option_or_a_program_is_no_address(location: str) -> None:
    with pytest.raises(HistoryError, match="is not an address of a git repository") as refused:
        GitRemote.of(location)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("location", "allowed"),
    [
        ("https://host.example/r", {"git", "https", "ssh"}),
        ("http://host.example/r", {"git", "http", "https", "ssh"}),
        ("git@host.example:r", {"git", "https", "ssh"}),
        ("file:///r", {"file"}),
    ],
)
def test_git_may_not_change_to_files_or_back_to_http(location: str, allowed: set[str]) -> None:
    assert set(GitRemote.of(location).environment["GIT_ALLOW_PROTOCOL"].split(":")) == allowed


@pytest.mark.parametrize("name", ["a\u2028b", "a\u0085b", "a\u00a0b", "<b>", "$(touch)", "\u202e" + "x"])
def test_a_branch_may_have_any_name_that_git_allows(new_repository: NewRepository, name: str) -> None:
    made = new_repository("made")
    tip = made.commit()
    made.git("branch", name)
    assert Git.at(made.directory).branches()[name] == tip
