"""Read commits from git, and put commits into lines: by first parent, never by date where a graph is known."""

from knickpoint.history.git import Git, is_url, run_git, web_address
from knickpoint.history.lines import OrderKey, extend_line, fork_of, merge_orders, order_key
from knickpoint.history.numbers import NumberPattern

__all__ = [
    "Git",
    "NumberPattern",
    "OrderKey",
    "extend_line",
    "fork_of",
    "is_url",
    "merge_orders",
    "order_key",
    "run_git",
    "web_address",
]
