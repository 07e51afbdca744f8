"""Read commits from git, and put commits into lines: by first parent, never by date where a graph is known."""

from knickpoint.history.ancestry import find_commit, newest_contained
from knickpoint.history.git import Git, is_url, run_git, web_address
from knickpoint.history.lines import OrderKey, extend_line, fork_of, merge_orders, order_key
from knickpoint.history.numbers import NumberPattern
from knickpoint.history.successors import Authorship, changed_order, match_rewritten

__all__ = [
    "Authorship",
    "Git",
    "NumberPattern",
    "OrderKey",
    "changed_order",
    "extend_line",
    "find_commit",
    "fork_of",
    "is_url",
    "match_rewritten",
    "merge_orders",
    "newest_contained",
    "order_key",
    "run_git",
    "web_address",
]
