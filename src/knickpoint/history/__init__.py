"""Read commits from git, and order commits: by first parent, and never by date where git has their parents."""

from knickpoint.history.ancestry import find_commit, newest_contained
from knickpoint.history.checkout import Checkout, find_work_tree, is_head, read_checkout, remote_address
from knickpoint.history.commit_numbers import NumberPattern
from knickpoint.history.committed_file import CommittedFile, find_committed_file
from knickpoint.history.file_branch import FileBranch
from knickpoint.history.git import Git
from knickpoint.history.git_addresses import is_url, web_address
from knickpoint.history.git_process import run_git
from knickpoint.history.lines import extend_line, fork_of
from knickpoint.history.merged_order import OrderKey, merge_orders, order_key
from knickpoint.history.rewritten_commits import Authorship, changed_order, match_rewritten
from knickpoint.history.touched_files import read_touched_files

__all__ = [
    "Authorship",
    "Checkout",
    "CommittedFile",
    "FileBranch",
    "Git",
    "NumberPattern",
    "OrderKey",
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
