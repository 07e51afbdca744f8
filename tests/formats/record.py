"""Run the tools that Debian, npm or the system has, and write what they print into ``golden/``.

    python -m tests.formats.record [TOOL]…      all that are installed, or those that are named

Each run takes about a second and stays on the loopback interface. The names of the files say the versions. Debian:
``apache2-utils catch2 fio hey iperf3 libgtest-dev linux-perf postgresql redis-server ruby-benchmark-ips sysbench wrk``;
tinybench, benchmark.js and Deno come from npm, asv, virtualenv and locust from PyPI.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Final

from tests.formats.record_libraries import record_asv, record_benchmark_ips, record_javascript, record_native
from tests.formats.record_loads import (
    record_apache_bench,
    record_fio,
    record_hey,
    record_iperf3,
    record_locust,
    record_perf_stat,
    record_pgbench,
    record_redis_benchmark,
    record_sysbench,
    record_wrk,
)

RECORDERS: Final[dict[str, Callable[[], None]]] = {
    "ab": record_apache_bench,
    "asv": record_asv,
    "fio": record_fio,
    "g++": record_native,
    "hey": record_hey,
    "iperf3": record_iperf3,
    "locust": record_locust,
    "npm": record_javascript,
    "perf": record_perf_stat,
    "pgbench": record_pgbench,
    "redis-benchmark": record_redis_benchmark,
    "ruby": record_benchmark_ips,
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
