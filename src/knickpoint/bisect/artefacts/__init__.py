"""Artefacts: what a build makes, kept by commit; finished ones from elsewhere; nothing of them leaves the worktree."""

from knickpoint.bisect.artefacts.cache import ArtefactCache, fetch_prebuilt

__all__ = ["ArtefactCache", "fetch_prebuilt"]
