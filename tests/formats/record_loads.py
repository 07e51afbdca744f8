"""Run load generators and perf for about a second each, and write what they print into ``golden/``."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.formats.recorder import free_port, run, started, version, write

_POSTGRES: Final = Path("/usr/lib/postgresql/15/bin")
_UNPRIVILEGED: Final = ("runuser", "-u", "postgres", "--")
"""PostgreSQL does not run as root."""


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


_LOCUST: Final = """\
from locust import HttpUser, constant, task


class User(HttpUser):
    wait_time = constant(0.01)

    @task
    def items(self):
        self.client.get("/", name="list items")

    @task
    def missing(self):
        self.client.get("/nothing", name="/bad")
"""


def record_locust() -> None:
    """Record the statistics that Locust prints as JSON; it comes from PyPI."""
    found = version("locust", "--version", pattern=r"locust (\d[\d.]*)")
    with web_server() as address, tempfile.TemporaryDirectory() as directory:
        Path(directory, "locustfile.py").write_text(_LOCUST)
        options = ("--headless", "-u", "2", "-r", "2", "-t", "2s", "--host", address, "--json")
        write(f"locust-{found}.json", run("locust", *options, directory=Path(directory), fails=True))
