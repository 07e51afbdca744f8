"""The tree of exceptions.

::

    KnickpointError
    ├── InputError            the user's input cannot be used: a file, a value, an option
    │   ├── AddressError      the program must not contact an address that comes from outside
    │   ├── ParamsError       params or a trace key break the rules of keys
    │   ├── QueryError        a query or a formula cannot be read
    │   ├── FormatError       no format, or more than one, can read a results file
    │   ├── DefectError       Knickpoint itself failed on a file, which may be in order
    │   └── SeriesError       a detection method cannot judge the numbers
    ├── HistoryError          the commits: no repository, an unknown commit, two orders
    ├── StoreError            the store cannot be read or written
    │   ├── AbsentError       nothing has this id
    │   └── BusyError         another process holds the lock for longer than the wait
    ├── ConfigError           knickpoint.toml or the environment of an instance
    │   └── PluginError       an installed package that adds a method or a format is broken
    ├── AccessError           the caller may not do this
    │   ├── NotSignedInError  the caller is not known: no sign-in, no token, or one that is not valid
    │   └── ForbiddenError    the caller is known, and lacks the permission
    ├── ServiceError          a port, a server or a network peer fails
    ├── DeadlineError         the work for a request takes longer than it may
    └── AbandonedError        whoever asked for the work does not wait for the answer any more
"""

from __future__ import annotations


class KnickpointError(Exception):
    """An error with what was wrong, where it was, and what to do about it.

    ``where`` is a file, a line, a key or a commit. ``remedy`` is a sentence in the imperative. Both may be empty.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        """Render as ``where: message. remedy``."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text.rstrip('.')}. {self.remedy}" if self.remedy else text


class InputError(KnickpointError):
    """The user's input cannot be used."""


class AddressError(InputError):
    """The program must not contact an address that comes from outside."""


class ParamsError(InputError):
    """Params or a trace key break the rules of keys."""


class QueryError(InputError):
    """A query or a formula cannot be read."""


class FormatError(InputError):
    """No format, or more than one, can read a results file."""


class DefectError(InputError):
    """Knickpoint itself failed on a file, which may be in order."""


class SeriesError(InputError):
    """A detection method cannot judge the numbers."""


class HistoryError(KnickpointError):
    """The commits cannot be read or put into order."""


class StoreError(KnickpointError):
    """The store cannot be read or written."""


class AbsentError(StoreError):
    """Nothing has this id."""


class BusyError(StoreError):
    """Another process holds the lock for longer than the wait."""


class ConfigError(KnickpointError):
    """The configuration of an instance cannot be used."""


class PluginError(ConfigError):
    """An installed package that adds a part to Knickpoint is broken, or takes a name that is taken."""


class AccessError(KnickpointError):
    """The caller may not do this."""


class NotSignedInError(AccessError):
    """The caller is not known: there is no sign-in and no token, or one that is not valid."""


class ForbiddenError(AccessError):
    """The caller is known, and lacks the permission."""


class ServiceError(KnickpointError):
    """A port, a server or a network peer fails."""


class DeadlineError(KnickpointError):
    """The work for a request takes longer than it may."""


class AbandonedError(KnickpointError):
    """Whoever asked for the work does not wait for the answer any more."""
