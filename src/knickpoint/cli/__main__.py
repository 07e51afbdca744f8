"""Run ``python -m knickpoint.cli`` as ``knick``."""

from knickpoint.cli import main

main()
