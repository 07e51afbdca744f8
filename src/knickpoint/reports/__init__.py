"""Present the verdict about a merge in the form that a pull request, a CI or a person reads.

``answer`` says in a few lines whether it may be merged. Each of the other modules writes a report in one form. All of
them turn a report of ``gate`` into text: they read no store and no file.
"""

from knickpoint.reports.html import html_page
from knickpoint.reports.markdown import markdown_comment
from knickpoint.reports.services import junit, sarif, workflow_commands

__all__ = ["html_page", "junit", "markdown_comment", "sarif", "workflow_commands"]
