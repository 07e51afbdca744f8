"""Run the tools that Debian, npm or the system has, and write what they print into ``golden/``.

    python tests/formats/record.py [TOOL]…      all that are installed, or those that are named

Each run takes about a second and stays on the loopback interface. The names of the files say the versions. Debian:
``apache2-utils fio hey iperf3 linux-perf postgresql redis-server sysbench wrk``.
"""

from __future__ import annotations

import http.server
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

GOLDEN: Final = Path(__file__).resolve().parent / "golden"
_POSTGRES: Final = Path("/usr/lib/postgresql/15/bin")
_UNPRIVILEGED: Final = ("runuser", "-u", "postgres", "--")
"""PostgreSQL does not run as root."""


def run(*command: str | Path, directory: Path | None = None, fails: bool = False) -> str:
    """Return what a command prints, without what it says on its standard error; it may exit otherwise than 0 if it ``fails``."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=not fails)
    return done.stdout


def version(*command: str, pattern: str) -> str:
    """Return the version that a command prints on either output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(pattern, done.stdout + done.stderr)
    if found is None:
        raise SystemExit(f"{command[0]} does not name its version")
    return found[1]


def write(name: str, text: str) -> None:
    """Write one golden file."""
    (GOLDEN / name).write_text(text, encoding="utf-8")
    print(f"golden/{name}: {len(text):,} bytes")  # noqa: T201


def free_port() -> int:
    """Return a port of the loopback interface that is free."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class _Quiet(http.server.BaseHTTPRequestHandler):
    """Answer ``/`` with a few bytes, every other request with an error."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def do_GET(self) -> None:
        """Answer one request."""
        body = b"ten bytes\n"
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


class _Server(http.server.ThreadingHTTPServer):
    """A web server whose clients may hang up without a word."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


@contextmanager
def web_server() -> Iterator[str]:
    """Serve HTTP, and yield the address."""
    with _Server(("127.0.0.1", 0), _Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def started(*command: str, port: int) -> Iterator[None]:
    """Run a server until the end of the block, which begins when its ``port`` answers."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=10).close()
                    break
                except ConnectionRefusedError:
                    if server.poll() is not None:
                        raise SystemExit(f"{command[0]} ended at once") from None
            yield
        finally:
            server.terminate()


def record_wrk() -> None:
    """Record wrk with and without percentiles, and with requests that all fail."""
    found = version("wrk", "-v", pattern=r"wrk (?:debian/)?(\d[\d.]*)")
    with web_server() as address:
        write(f"wrk-{found}.txt", run("wrk", "-t2", "-c4", "-d1s", "--latency", f"{address}/"))
        write(f"wrk-{found}-failing.txt", run("wrk", "-t1", "-c2", "-d1s", f"{address}/nothing"))


def record_hey() -> None:
    """Record hey with requests that succeed, and with requests that are refused."""
    found = version("dpkg-query", "-W", "hey", pattern=r"\t(\d[\d.]*)")
    with web_server() as address:
        write(f"hey-{found}.txt", run("hey", "-n", "400", "-c", "2", f"{address}/"))
    write(f"hey-{found}-failing.txt", run("hey", "-n", "4", "-c", "2", f"http://127.0.0.1:{free_port()}/"))


def record_apache_bench() -> None:
    """Record ab with requests that succeed, and with requests that all fail."""
    found = version("ab", "-V", pattern=r"Version (\d[\d.]*)")
    with web_server() as address:
        write(f"apache-bench-{found}.txt", run("ab", "-q", "-n", "400", "-c", "2", f"{address}/"))
        write(f"apache-bench-{found}-failing.txt", run("ab", "-q", "-n", "20", "-c", "2", f"{address}/nothing"))


def record_fio() -> None:
    """Record fio with two jobs over small files."""
    found = version("fio", "--version", pattern=r"fio-(\d[\d.]*)")
    with tempfile.TemporaryDirectory() as directory:
        common = ("--ioengine=sync", "--size=2M", "--output-format=json", "--bs=4k")
        jobs = ("--name=mixed", "--rw=randrw", "--name=sequential", "--rw=read", "--bs=64k")
        write(f"fio-{found}.json", run("fio", *common, *jobs, directory=Path(directory)))


def record_iperf3() -> None:
    """Record iperf3 over TCP and UDP, and where no server answers."""
    found = version("iperf3", "--version", pattern=r"iperf (\d[\d.]*)")
    port = free_port()
    client = ("iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", "1", "-J")
    with started("iperf3", "-s", "-B", "127.0.0.1", "-p", str(port), port=port):
        write(f"iperf3-{found}.json", run(*client, "-P", "2"))
        write(f"iperf3-{found}-udp.json", run(*client, "-u", "-b", "10M"))
    write(f"iperf3-{found}-failing.json", run(*client, fails=True))


def record_perf_stat() -> None:
    """Record the counters of a short command, those without hardware, as JSON and as a table."""
    found = version("perf", "--version", pattern=r"perf version (\d+\.\d+)")
    events = ("-e", "task-clock,page-faults,context-switches,instructions")
    for options, ending in ((("-j", "-r", "3"), ".json"), (("-x,", "-r", "3"), ".csv"), (("-x;",), "-one.txt")):
        with tempfile.NamedTemporaryFile() as written:
            run("perf", "stat", *options, *events, "-o", written.name, "true")
            write(f"perf-stat-{found}{ending}", Path(written.name).read_text(encoding="utf-8"))


@contextmanager
def postgres() -> Iterator[tuple[str, ...]]:
    """Run a PostgreSQL of its own, and yield the options that lead to it."""
    directory = Path(tempfile.mkdtemp())
    shutil.chown(directory, "postgres")
    port = free_port()
    control = (*_UNPRIVILEGED, str(_POSTGRES / "pg_ctl"), "-D", str(directory / "data"))
    try:
        run(*_UNPRIVILEGED, _POSTGRES / "initdb", "-D", directory / "data", "-A", "trust")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {directory}"
        subprocess.run(
            [*control, "-o", options, "-l", str(directory / "log"), "-w", "start"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        try:
            yield ("-h", "127.0.0.1", "-p", str(port), "-U", "postgres")
        finally:
            run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(directory)


def record_pgbench() -> None:
    """Record pgbench with one script, with several, and with one that aborts."""
    found = version("pgbench", "--version", pattern=r"(\d+\.\d+)")
    with postgres() as options, tempfile.TemporaryDirectory() as directory:
        run("pgbench", *options, "-i", "-s", "1", "postgres")
        write(f"pgbench-{found}.txt", run("pgbench", *options, "-c", "2", "-T", "1", "-S", "-r", "postgres"))
        several = ("-c", "2", "-j", "2", "-t", "50", "-C", "-M", "prepared", "-b", "simple-update@2", "-b", "select@8")
        write(f"pgbench-{found}-scripts.txt", run("pgbench", *options, *several, "postgres"))
        script = Path(directory, "divide.sql")
        script.write_text("select 1/0;\n", encoding="utf-8")
        failing = ("-n", "-t", "10", "-f", script.name)
        done = subprocess.run(
            ["pgbench", *options, *failing, "postgres"], capture_output=True, text=True, cwd=directory, check=False
        )
        write(f"pgbench-{found}-failing.txt", done.stdout + done.stderr)


def record_sysbench() -> None:
    """Record four of sysbench's tests, and one that cannot begin."""
    found = version("sysbench", "--version", pattern=r"sysbench (\d[\d.]*)")
    write(f"sysbench-{found}-cpu.txt", run("sysbench", "cpu", "--threads=2", "--time=1", "--cpu-max-prime=2000", "run"))
    write(f"sysbench-{found}-memory.txt", run("sysbench", "memory", "--time=1", "--memory-total-size=1G", "run"))
    files = ("sysbench", "fileio", "--file-total-size=4M", "--file-num=4", "--time=1")
    with tempfile.TemporaryDirectory() as directory:
        run(*files, "prepare", directory=Path(directory))
        write(f"sysbench-{found}-fileio.txt", run(*files, "--file-test-mode=rndrw", "run", directory=Path(directory)))
        write(f"sysbench-{found}-failing.txt", run(*files, "--file-num=9", "--file-test-mode=rndrd", "run", fails=True))
    with postgres() as options:
        server = ("--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={options[3]}", "--pgsql-user=postgres")
        sql = ("sysbench", *server, "--pgsql-db=postgres", "--table-size=100", "--time=1", "oltp_read_write")
        run(*sql, "prepare")
        write(f"sysbench-{found}-sql.txt", run(*sql, "run"))


def record_redis_benchmark() -> None:
    """Record redis-benchmark as reports, as lines, and as CSV."""
    found = version("redis-benchmark", "--version", pattern=r"redis-benchmark (\d[\d.]*)")
    port = free_port()
    client = ("redis-benchmark", "-p", str(port), "-n", "2000", "-c", "2", "-t", "set,lrange_100")
    with started("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", port=port):
        write(f"redis-benchmark-{found}.txt", run(*client))
        write(f"redis-benchmark-{found}-quiet.txt", run(*client, "-q"))
        write(f"redis-benchmark-{found}.csv", run(*client, "--csv"))


_ASV_CONFIGURATION: Final = """\
{
    // asv takes comments
    "version": 1,
    "project": "sorts",
    "repo": ".",
    "branches": ["main"],
    "environment_type": "virtualenv",
    "pythons": ["%s"],
    "build_command": [],
    "install_command": [],
    "uninstall_command": [],
    "results_dir": ".asv/results",
    "html_dir": ".asv/html",
    "regressions_thresholds": {"^time": 0.1},
}
"""
_ASV_BENCHMARKS: Final = """\
class Sorts:
    params = [[10, 100], ["up", "down"]]
    param_names = ["size", "order"]

    def setup(self, size, order):
        if size == 10 and order == "down":
            raise NotImplementedError
        self.values = list(range(size))[:: 1 if order == "up" else -1]

    def time_sort(self, size, order):
        sorted(self.values)


def track_length():
    return SIZE


track_length.unit = "items"


def peakmem_list():
    return [0] * 1000
"""


def record_asv() -> None:
    """Record the results of four commits, and the site that asv publishes of them; asv and virtualenv come from PyPI."""
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory)
        (project / "asv.conf.json").write_text(
            _ASV_CONFIGURATION % f"{sys.version_info.major}.{sys.version_info.minor}"
        )
        (project / "benchmarks").mkdir()
        (project / "benchmarks" / "__init__.py").touch()
        git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-C", project)
        run("git", "init", "-q", "-b", "main", project)
        run("asv", "machine", "--yes", "--machine", "box", directory=project)
        for month in range(1, 5):
            benchmarks = _ASV_BENCHMARKS.replace("SIZE", str(month)) + "\n" * month
            (project / "benchmarks" / "sorts.py").write_text(benchmarks)
            run(*git, "add", "benchmarks")
            date = f"2026-0{month}-01T10:00:00Z"
            run("env", f"GIT_COMMITTER_DATE={date}", *git, "commit", "-q", "-m", f"Change {month}", "--date", date)
        run("asv", "run", "--quick", "--machine", "box", "ALL", directory=project, fails=True)
        run("asv", "publish", directory=project)
        kept = GOLDEN.parent.parent / "instance" / "asv_project"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(project / ".asv" / "results", kept / "results")
        shutil.copytree(
            project / ".asv" / "html" / "graphs", kept / "html" / "graphs", ignore=shutil.ignore_patterns("summary*")
        )
        shutil.copy(project / ".asv" / "html" / "index.json", kept / "html")
        shutil.copy(project / "asv.conf.json", kept)


RECORDERS: Final[dict[str, Callable[[], None]]] = {
    "ab": record_apache_bench,
    "asv": record_asv,
    "fio": record_fio,
    "hey": record_hey,
    "iperf3": record_iperf3,
    "perf": record_perf_stat,
    "pgbench": record_pgbench,
    "redis-benchmark": record_redis_benchmark,
    "sysbench": record_sysbench,
    "wrk": record_wrk,
}
"""The command that has to be installed, and what records it."""


def main(names: list[str]) -> None:
    """Record the named tools, or all."""
    for name in names or RECORDERS:
        if shutil.which(name) is None:
            print(f"{name} is not installed")  # noqa: T201
        else:
            RECORDERS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
