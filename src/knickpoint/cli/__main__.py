"""Run ``python -m knickpoint.cli`` as ``knick``."""

from knickpoint.cli.program import main

main()
