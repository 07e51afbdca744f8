"""Several samples of a commit: how much noise lies within runs, between runs and between commits, and one value for each commit.

``sample_sets`` checks what a caller gives, ``noise_components`` estimates the noise of each level, and ``commit_values`` turns
samples into one value a commit. ``summaries`` makes another one of them, such as their 99th percentile. See
``docs/decisions/new-values-and-samples.md``.
"""

from knickpoint.detect.samples.commit_values import (
    CommitValues,
    combine_runs,
    combine_samples,
    sample_evidence,
    with_sample_evidence,
    with_sample_facts,
)
from knickpoint.detect.samples.sample_sets import RunTable, Samples
from knickpoint.detect.samples.summaries import needs_text, short_text, summarise, summarise_runs, summary_of

__all__ = [
    "CommitValues",
    "RunTable",
    "Samples",
    "combine_runs",
    "combine_samples",
    "needs_text",
    "sample_evidence",
    "short_text",
    "summarise",
    "summarise_runs",
    "summary_of",
    "with_sample_evidence",
    "with_sample_facts",
]
