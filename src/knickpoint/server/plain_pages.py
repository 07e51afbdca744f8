"""Write the pages of signing in and of signed links: plain HTML without script, whose every text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from fastapi.responses import HTMLResponse

STYLE_PATH: Final = "/sign-in.css"

STYLE: Final = """\
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body {
  margin: 0;
  padding: 12vh 16px 32px;
  background: light-dark(#f6f7f9, #101317);
  color: light-dark(#16191f, #e7eaef);
  font: 14px / 20px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere;
}
main {
  max-width: 440px;
  margin: 0 auto;
  padding: 24px;
  background: light-dark(#ffffff, #15181d);
  border: 1px solid light-dark(#d8dce3, #333a45);
  border-radius: 8px;
}
h1 { margin: 0 0 12px; font-size: 20px; line-height: 28px; font-weight: 600; }
p { margin: 0 0 12px; }
.instance { margin: 0 0 4px; color: light-dark(#656d7b, #8f98a7); font-size: 12px; }
.actions { display: flex; flex-direction: column; gap: 8px; margin-top: 20px; }
form { margin: 0; }
a.action, button {
  display: block;
  width: 100%;
  padding: 9px 16px;
  border: 1px solid light-dark(#d8dce3, #333a45);
  border-radius: 6px;
  background: light-dark(#ffffff, #1d2128);
  color: light-dark(#16191f, #e7eaef);
  font: inherit;
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}
a.action:hover, button:hover { background: light-dark(#f3f6fa, #1b1f26); }
a.action.first, button.first { border-color: transparent; background: light-dark(#1f5fbf, #7fb0ff); color: light-dark(#ffffff, #0c1726); }
:focus-visible { outline: 2px solid light-dark(#1f5fbf, #7fb0ff); outline-offset: 2px; }
"""


@dataclass(frozen=True, slots=True)
class Link:
    """A way on from a page."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class Button:
    """A button that sends a POST without a body to an address."""

    text: str
    address: str


@dataclass(frozen=True, slots=True)
class SignOutButton:
    """The button that signs out."""

    text: str = "Sign out"


def page(
    instance: str,
    title: str,
    lines: Sequence[str],
    actions: Sequence[Link | Button | SignOutButton] = (),
    *,
    status: int = 200,
) -> HTMLResponse:
    """Return a page of ``instance`` with a title, paragraphs and ways on; the first link stands out."""
    paragraphs = "".join(f"<p>{escape(line)}</p>\n" for line in lines if line)
    ways = "".join(_action(action, is_first=number == 0) for number, action in enumerate(actions))
    html = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)} · {escape(instance)}</title>\n<link rel="stylesheet" href="{STYLE_PATH}">\n'
        f'</head>\n<body>\n<main>\n<p class="instance">{escape(instance)}</p>\n<h1>{escape(title)}</h1>\n'
        f'{paragraphs}<div class="actions">{ways}</div>\n</main>\n</body>\n</html>\n'
    )
    return HTMLResponse(html, status, {"cache-control": "no-store"})


def _action(action: Link | Button | SignOutButton, *, is_first: bool) -> str:
    if isinstance(action, Button):
        form = f'<form method="post" action="{escape(action.address)}">'
        return f'{form}<button class="{"first" if is_first else ""}">{escape(action.text)}</button></form>'
    if isinstance(action, SignOutButton):
        return f'<form method="post" action="/sign-out"><button>{escape(action.text)}</button></form>'
    kind = "action first" if is_first else "action"
    return f'<a class="{kind}" href="{escape(action.address)}">{escape(action.text)}</a>'
