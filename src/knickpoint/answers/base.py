"""The base of all request and response bodies, and the body of an error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core.core_schema import (
    CoreSchema,
    no_info_before_validator_function,
    plain_serializer_function_ser_schema,
    str_schema,
)


def _finite_or_none(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


FiniteOrNull = Annotated[float | None, BeforeValidator(_finite_or_none)]
"""A number that is null in JSON, which has no infinity and no NaN, where it is not finite."""

TEXT_PATTERN: Final = r"^[^\u0000]*$"
"""Texts without the character NUL, which PostgreSQL cannot hold."""

Text = Annotated[str, Field(pattern=TEXT_PATTERN)]

Id = Annotated[int, Field(ge=0, le=2**53)]


@dataclass(frozen=True, slots=True)
class _Lettered:
    """How the id of one kind of object is written: a letter and a number; a request may leave the letter out."""

    letter: str

    def read(self, value: object) -> object:
        """Return the number of a written id; what is none is left to the check of the number."""
        return value.upper().removeprefix(self.letter) if isinstance(value, str) else value

    def write(self, value: int) -> str:
        return f"{self.letter}{value}"

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = no_info_before_validator_function(self.read, handler(source))
        schema["serialization"] = plain_serializer_function_ser_schema(self.write, return_schema=str_schema())
        return schema

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "type": "string",
            "pattern": f"^{self.letter}?[0-9]{{1,15}}$",
            "examples": [self.write(12)],
            "description": f"Id, as `{self.write(12)}`.",
        }


ChangeId = Annotated[Id, _Lettered("R")]
ChangePointId = Annotated[Id, _Lettered("P")]
BisectionId = Annotated[Id, _Lettered("B")]
AttemptsId = Annotated[Id, _Lettered("T")]
MissedId = Annotated[Id, _Lettered("M")]
QuarantineId = Annotated[Id, _Lettered("Q")]
ClusterId = Annotated[Id, _Lettered("C")]
DeliveryId = Annotated[Id, _Lettered("D")]


_MISSING: Final = object()


class Answer(BaseModel):
    """Base of all bodies. A request with an unknown field is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True)

    @classmethod
    def of(cls, *sources: object, **fields: object) -> Self:
        """Build an answer from the attributes of dataclasses that have the names of its fields.

        ``fields`` are what no source has, or has in another form. Of several sources with an attribute, the first
        counts. Dataclasses within dataclasses become answers within answers.

        Raises:
            pydantic.ValidationError: a field is missing, unknown, or of another type.
        """
        values = dict(fields)
        for name in cls.model_fields:
            if name in values:
                continue
            for source in sources:
                found = getattr(source, name, _MISSING)
                if found is not _MISSING:
                    values[name] = found
                    break
        return cls.model_validate(values)


class ErrorAnswer(Answer):
    """Every error of the API: what was wrong, where, and what to do."""

    error: str
    where: str = ""
    remedy: str = ""
    request: str = Field(
        default="", description="Id of the request, as in the header `X-Request-Id` and in the log of the server."
    )
