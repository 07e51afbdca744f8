"""Run benchmark tools of Rust."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from samples.tool import WORK, MissingToolError, keep, place, run

__all__ = ["criterion", "libtest"]

_DEBIAN_CRATES: Final = Path("/usr/share/cargo/registry")


def libtest() -> None:
    """Run Rust's built-in benchmarks."""
    where = place(
        "libtest",
        Cargo__toml="""
            [package]
            name = "codec"
            version = "0.1.0"
            edition = "2021"

            [lib]
            path = "lib.rs"
            """,
        lib__rs="""
            #![feature(test)]
            extern crate test;

            #[cfg(test)]
            mod tests {
                use test::Bencher;

                #[bench]
                fn sort_100(b: &mut Bencher) {
                    b.bytes = 800;
                    b.iter(|| { let mut v: Vec<u64> = (0..100).rev().collect(); v.sort(); v });
                }

                #[bench]
                fn sum(b: &mut Bencher) {
                    b.iter(|| (0..test::black_box(1000u64)).sum::<u64>());
                }

                #[bench]
                #[ignore]
                fn slow(b: &mut Bencher) { b.iter(|| 1); }

                #[test]
                fn holds() {}
            }
            """,
    )
    version = run("rustc", "--version", where=where).split()[1]
    settings = {"RUSTC_BOOTSTRAP": "1", "CARGO_TARGET_DIR": str(WORK / "cargo")}
    keep(f"libtest-{version}.txt", run("cargo", "bench", "--offline", where=where, settings=settings))


def criterion() -> None:
    """Run Criterion.rs: its text, its libtest-like text, and the files that it leaves behind."""
    if not any(_DEBIAN_CRATES.glob("criterion-0*")):
        raise MissingToolError("librust-criterion-dev is not installed")
    version = next(_DEBIAN_CRATES.glob("criterion-0*")).name.removeprefix("criterion-")
    where = place(
        "criterion",
        Cargo__toml=f"""
            [package]
            name = "codec"
            version = "0.1.0"
            edition = "2021"

            [lib]
            path = "lib.rs"
            bench = false

            [dev-dependencies]
            criterion = {{ version = "{version}", default-features = false }}

            [[bench]]
            name = "codec"
            path = "codec.rs"
            harness = false
            """,
        lib__rs="pub fn sum(n: u64) -> u64 { (0..n).map(|i| i ^ (i << 3)).fold(0, u64::wrapping_add) }\n",
        codec__rs="""
            use criterion::*;
            use std::time::Duration;

            fn bench(c: &mut Criterion) {
                c.bench_function("sum 1000", |b| b.iter(|| codec::sum(black_box(1000))));
                let mut group = c.benchmark_group("sums of many numbers that have a long name");
                for size in [10u64, 100] {
                    group.throughput(Throughput::Bytes(size * 8));
                    group.bench_with_input(BenchmarkId::new("xor", size), &size, |b, &n| b.iter(|| codec::sum(black_box(n))));
                }
                group.finish();
            }

            criterion_group! {
                name = benches;
                config = Criterion::default().sample_size(10).nresamples(1001)
                    .warm_up_time(Duration::from_millis(20)).measurement_time(Duration::from_millis(60));
                targets = bench
            }
            criterion_main!(benches);
            """,
    )
    (where / ".cargo").mkdir()
    (where / ".cargo" / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{_DEBIAN_CRATES}"\n'
    )
    settings = {"CARGO_TARGET_DIR": str(WORK / "criterion-target"), "CARGO_TERM_COLOR": "never"}
    shutil.rmtree(WORK / "criterion-target" / "criterion", ignore_errors=True)
    command = ("cargo", "bench", "--offline", "--quiet", "--bench", "codec", "--")
    keep(
        f"criterion-{version}-bencher.txt", run(*command, "--output-format", "bencher", where=where, settings=settings)
    )
    keep(f"criterion-{version}.txt", run(*command, "--color", "never", where=where, settings=settings))
    left = next((WORK / "criterion-target" / "criterion").rglob("new/estimates.json")).parent
    for file in ("estimates", "sample", "benchmark"):
        keep(f"criterion-{version}-{file}.json", (left / f"{file}.json").read_text())
    if (left / "raw.csv").exists():
        keep(f"criterion-{version}-raw.csv", (left / "raw.csv").read_text())
