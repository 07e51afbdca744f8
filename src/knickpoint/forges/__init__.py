"""Post reports to the forge that hosts a project: one comment in each pull request, updated in place."""

from knickpoint.forges.comment import Comment, CommentThread, Posted, post_comment
from knickpoint.forges.github import GitHubThread, find_pull_request
from knickpoint.forges.gitlab import GitLabThread
from knickpoint.forges.job import ForgeJob, ForgeKind, read_job
from knickpoint.forges.patience import PatientRest
from knickpoint.forges.thread import open_thread

__all__ = [
    "Comment",
    "CommentThread",
    "ForgeJob",
    "ForgeKind",
    "GitHubThread",
    "GitLabThread",
    "PatientRest",
    "Posted",
    "find_pull_request",
    "open_thread",
    "post_comment",
    "read_job",
]
