"""The site of the documentation carries a published dashboard of real histories."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_TOP = Path(__file__).parent.parent.parent


@pytest.mark.long
def test_the_first_page_of_the_site_leads_to_a_dashboard_of_our_own_history(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "docs/demonstration.py"], cwd=_TOP, check=True)
    build = ["mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", *build], cwd=_TOP, check=True)
    assert 'href="demonstration/"' in (tmp_path / "index.html").read_text()
    published = json.loads((tmp_path / "demonstration" / "knickpoint-site.json").read_text())
    assert published["repositories"] == ["knickpoint", "textmill"]
