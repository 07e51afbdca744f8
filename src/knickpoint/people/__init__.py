"""The directory of people: which author of commits, person who signs in, owner and recipient are the same."""

from knickpoint.people.directory import Directory, Person
from knickpoint.people.settings import PersonSettings

__all__ = ["Directory", "Person", "PersonSettings"]
