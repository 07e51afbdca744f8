"""The commands of setuptools that Knickpoint is built with."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from setuptools import Extension
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.errors import SetupError

from archives import build_time, write_reproducibly
from dashboard import DashboardError, build_dashboard

__all__ = ["BuildKernels", "BuildPackage", "BuildSource", "BuildWheel"]


_GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guide"


def _build_dashboard() -> None:
    try:
        build_dashboard()
    except DashboardError as error:
        raise SetupError(str(error)) from error


class BuildPackage(build_py):
    """Gather the package, with its dashboard and the guide; an editable install serves what `make setup` builds."""

    def run(self) -> None:
        """Build the dashboard where it is not there, then gather the files."""
        if not self.editable_mode:
            _build_dashboard()
        super().run()
        if not self.editable_mode:
            self._copy_guide()

    def _copy_guide(self) -> None:
        """Copy the guide into the package: agents search it, and an editable install reads it where it is."""
        for page in sorted(_GUIDE.rglob("*.md")):
            target = Path(self.build_lib, "knickpoint", "agents", "guide", page.relative_to(_GUIDE))
            target.parent.mkdir(parents=True, exist_ok=True)
            self.copy_file(str(page), str(target))


class BuildSource(sdist):
    """Make a source distribution that carries the dashboard, so that a wheel made from it needs no Node."""

    def run(self) -> None:
        """Build the dashboard where it is not there, then pack the sources."""
        _build_dashboard()
        super().run()
        for archive in self.archive_files or ():
            if archive.endswith(".tar.gz"):
                write_reproducibly(Path(archive), build_time())


class BuildKernels(build_ext):
    """Compile the kernels; what cannot be compiled leaves nothing of an earlier build behind."""

    def build_extension(self, ext: Extension) -> None:
        """Compile ``ext``."""
        try:
            super().build_extension(ext)
        except Exception:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)
            raise

    def copy_extensions_to_source(self) -> None:
        """Put the extensions of an editable install beside their sources, and remove those of an earlier build first."""
        sources = cast("build_py", self.get_finalized_command("build_py"))
        for ext in self.extensions:
            package = sources.get_package_dir(ext.name.rpartition(".")[0])
            Path(package, Path(self.get_ext_fullpath(ext.name)).name).unlink(missing_ok=True)
        super().copy_extensions_to_source()


class BuildWheel(bdist_wheel):
    """Make a wheel whose tag says whether it has kernels."""

    def run(self) -> None:
        """Build everything first: only then it is known whether a compiler was there."""
        kernels = self.reinitialize_command("build_ext")
        kernels.inplace = False
        self.run_command("build")
        if not all(Path(kernels.get_ext_fullpath(ext.name)).is_file() for ext in self.distribution.ext_modules or ()):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()
