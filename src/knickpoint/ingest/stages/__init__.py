"""The three stages of :mod:`knickpoint.ingest.pipeline`: read a results file, resolve its runs, write them."""
