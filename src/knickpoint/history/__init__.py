"""Read commits from git, and order commits: by first parent, and never by date where git has their parents."""

from knickpoint.history.file_branch import FileBranch
from knickpoint.history.git import Git, NumberPattern
from knickpoint.history.git_process import is_url, run_git, web_address
from knickpoint.history.lines import (
    Authorship,
    OrderKey,
    changed_order,
    extend_line,
    fork_of,
    match_rewritten,
    merge_orders,
    order_key,
)
from knickpoint.history.lookups import (
    Checkout,
    CommittedFile,
    SourceFiles,
    SourcePages,
    find_commit,
    find_committed_file,
    find_work_tree,
    is_head,
    newest_contained,
    read_checkout,
    read_touched_files,
    remote_address,
)

__all__ = [
    "Authorship",
    "Checkout",
    "CommittedFile",
    "FileBranch",
    "Git",
    "NumberPattern",
    "OrderKey",
    "SourceFiles",
    "SourcePages",
    "changed_order",
    "extend_line",
    "find_commit",
    "find_committed_file",
    "find_work_tree",
    "fork_of",
    "is_head",
    "is_url",
    "match_rewritten",
    "merge_orders",
    "newest_contained",
    "order_key",
    "read_checkout",
    "read_touched_files",
    "remote_address",
    "run_git",
    "web_address",
]
