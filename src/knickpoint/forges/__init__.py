"""Post reports to the forge that hosts a project: one comment in each pull request, updated in place."""

from knickpoint.forges.comment import Comment, CommentThread, PatientRest, Posted, When, post_comment
from knickpoint.forges.github import GitHubThread, find_pull_request
from knickpoint.forges.gitlab import GitLabThread
from knickpoint.forges.thread import ForgeJob, ForgeKind, open_thread, read_job

__all__ = [
    "Comment",
    "CommentThread",
    "ForgeJob",
    "ForgeKind",
    "GitHubThread",
    "GitLabThread",
    "PatientRest",
    "Posted",
    "When",
    "find_pull_request",
    "open_thread",
    "post_comment",
    "read_job",
]
