"""Write the C between Python and the kernels from their ``exports.h``: one function of Python for each function of C.

The headers keep to a small part of C, which is read here: functions of numbers and pointers, enums without expressions,
and ``static const double``. Whatever else stands there stops the build, so that no declaration is overlooked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["binding"]

_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT: Final = re.compile(r"typedef struct \{.*?\} (\w+);", re.DOTALL)
_ENUM: Final = re.compile(r"enum \{(.*?)\};", re.DOTALL)
_CONSTANT: Final = re.compile(r"static const double (\w+) = [^;]+;")
_FUNCTION: Final = re.compile(r"((?:const )?\w+ ?\**) ?(kp_\w+)\(([^()]*)\);", re.DOTALL)
_ITEM: Final = re.compile(r"^(const )?(\w+)\b ?(.*?)(\w+)$", re.DOTALL)
_NUMBERS: Final = {"int": "int", "int64_t": "int64_t", "uint64_t": "uint64_t", "double": "double"}
_RESULTS: Final = {
    "void": "Py_RETURN_NONE;",
    "int": "return PyLong_FromLong(result);",
    "int64_t": "return PyLong_FromLongLong(result);",
    "double": "return PyFloat_FromDouble(result);",
    "const char *": "return PyUnicode_FromString(result);",
}
_SIZED: Final = frozenset({"double", "float", "int64_t", "int32_t", "uint8_t"})
"""Items of arrays whose size is checked; what lies behind other pointers is for the caller to know."""

_HEAD: Final = """\
/* Made by building/bindings.py from the exports.h of the kernels. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

{includes}

/* Get where the items of an array begin: NULL for None. Without item the size of the items is not checked. */
static int take_array(PyObject *object, const char *function, int place, int writable, Py_ssize_t item, Py_buffer *view,
                      void **start)
{{
    if (object == Py_None) {{
        *start = NULL;
        return 0;
    }}
    if (PyObject_GetBuffer(object, view, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) < 0)
        return -1;
    *start = view->buf;
    if (item && view->itemsize != item) {{
        PyErr_Format(PyExc_TypeError, "argument %d of %s has items of %zd bytes, not %zd", place, function,
                     view->itemsize, item);
        PyBuffer_Release(view);
        view->obj = NULL;
        return -1;
    }}
    return 0;
}}

static int take_double(PyObject *object, double *number)
{{
    *number = PyFloat_AsDouble(object);
    return *number == -1.0 && PyErr_Occurred() ? -1 : 0;
}}

static int take_int64_t(PyObject *object, int64_t *number)
{{
    *number = PyLong_AsLongLong(object);
    return *number == -1 && PyErr_Occurred() ? -1 : 0;
}}

static int take_int(PyObject *object, int *number)
{{
    long wide = PyLong_AsLong(object);
    *number = (int)wide;
    if (wide == -1 && PyErr_Occurred())
        return -1;
    if (wide != *number) {{
        PyErr_SetString(PyExc_OverflowError, "the number does not fit into an int of C");
        return -1;
    }}
    return 0;
}}

static int take_uint64_t(PyObject *object, uint64_t *number)
{{
    PyObject *index = PyNumber_Index(object);
    if (!index)
        return -1;
    *number = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    return *number == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}}
"""

_FUNCTION_BODY: Final = """
static PyObject *call_{name}(PyObject *module, PyObject *const *given, Py_ssize_t count)
{{
    (void)module;
    (void)given;
    PyObject *answer = NULL;
{declarations}
    if (count != {count}) {{
        PyErr_Format(PyExc_TypeError, "{name} takes {count} arguments, not %zd", count);
        return NULL;
    }}
{conversions}
    {{
{result}
        PyThreadState *others = PyEval_SaveThread();
        {call};
        PyEval_RestoreThread(others);
        answer = {answer};
    }}
{releases}
    return answer;
}}
"""

_TAIL: Final = """
static PyMethodDef METHODS[] = {{
{methods}
    {{NULL, NULL, 0, NULL}},
}};

static struct PyModuleDef MODULE = {{PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, METHODS, NULL, NULL, NULL, NULL}};

static int add_double(PyObject *module, const char *name, double value)
{{
    PyObject *number = PyFloat_FromDouble(value);
    int failed = number ? PyModule_AddObjectRef(module, name, number) : -1;
    Py_XDECREF(number);
    return failed;
}}

PyMODINIT_FUNC PyInit__kernels(void)
{{
    PyObject *module = PyModule_Create(&MODULE);
    if (!module)
        return NULL;
{constants}
    return module;
}}
"""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One parameter of a function: its type without stars, whether it is a pointer, and whether C only reads behind it.

    ``name`` is that in the header after ``in_``, so that it meets no other name of the function.
    """

    kind: str
    pointer: bool
    constant: bool
    name: str


@dataclass(frozen=True, slots=True)
class _Exports:
    """What the headers declare."""

    functions: tuple[tuple[str, str, tuple[_Parameter, ...]], ...]
    integers: tuple[str, ...]
    doubles: tuple[str, ...]


def binding(headers: Sequence[Path], root: Path) -> str:
    """Return the C source of the extension module for ``headers``, which lie below ``root``.

    Raises:
        ValueError: a header has something that is not understood.
    """
    exports = [_read(header) for header in headers]
    includes = "\n".join(f'#include "{header.relative_to(root).as_posix()}"' for header in headers)
    functions = [function for each in exports for function in each.functions]
    methods = [
        f'    {{"{name}", (PyCFunction)(void (*)(void))call_{name}, METH_FASTCALL, NULL}},' for _, name, _ in functions
    ]
    constants = [
        *(f'PyModule_AddIntConstant(module, "{name}", {name})' for each in exports for name in each.integers),
        *(f'add_double(module, "{name}", {name})' for each in exports for name in each.doubles),
    ]
    checks = "\n".join(f"    if ({add} < 0)\n        goto failed;" for add in constants)
    tail = _TAIL.format(methods="\n".join(methods), constants=checks)
    tail = tail.replace(
        "    return module;\n}", "    return module;\nfailed:\n    Py_DECREF(module);\n    return NULL;\n}"
    )
    return _HEAD.format(includes=includes) + "".join(_function(*function) for function in functions) + tail


def _read(header: Path) -> _Exports:
    """Read the declarations of one header."""
    lines = header.read_text(encoding="utf-8").splitlines(keepends=True)
    rest = _COMMENT.sub("", "".join(line for line in lines if not line.startswith("#")))
    integers = [name for body in _ENUM.findall(rest) for name in _enumerators(body)]
    doubles = _CONSTANT.findall(rest)
    functions = [
        (" ".join(result.replace("*", " *").split()), name, tuple(_parameters(parameters)))
        for result, name, parameters in _FUNCTION.findall(rest)
    ]
    for pattern in (_STRUCT, _ENUM, _CONSTANT, _FUNCTION):
        rest = pattern.sub("", rest)
    if rest.strip():
        raise ValueError(f"{header}: {rest.strip().splitlines()[0]!r} is not understood")
    if unknown := next((result for result, _, _ in functions if result not in _RESULTS), None):
        raise ValueError(f"{header}: a function returns {unknown!r}")
    return _Exports(tuple(functions), tuple(integers), tuple(doubles))


def _enumerators(body: str) -> Iterable[str]:
    return (part.partition("=")[0].strip() for part in body.split(",") if part.strip())


def _parameters(text: str) -> Iterable[_Parameter]:
    if text.strip() in {"", "void"}:
        return
    for part in text.split(","):
        found = _ITEM.match(" ".join(part.split()))
        if found is None or ("*" not in found[3] and found[2] not in _NUMBERS):
            raise ValueError(f"the parameter {part.strip()!r} is not understood")
        yield _Parameter(found[2], "*" in found[3], bool(found[1]), f"in_{found[4]}")


def _function(result: str, name: str, parameters: Sequence[_Parameter]) -> str:
    """Return the function of Python that calls the function ``name`` of C."""
    arrays = [parameter for parameter in parameters if parameter.pointer]
    declarations = [
        *(f"    Py_buffer view_{each.name} = {{0}};\n    void *{each.name} = NULL;" for each in arrays),
        *(f"    {each.kind} {each.name};" for each in parameters if not each.pointer),
    ]
    conversions = [
        f"    if ({_conversion(each, name, place)} < 0)\n        goto end;" for place, each in enumerate(parameters)
    ]
    call = f"{name}({', '.join(each.name for each in parameters)})"
    returns = _RESULTS[result].removeprefix("return ").removesuffix(";")
    return _FUNCTION_BODY.format(
        name=name,
        count=len(parameters),
        declarations="\n".join(declarations),
        conversions="\n".join(conversions),
        result="" if result == "void" else f"        {result}{'' if result.endswith('*') else ' '}result;",
        call=call if result == "void" else f"result = {call}",
        answer="Py_NewRef(Py_None)" if result == "void" else returns,
        releases=("end:\n" if parameters else "")
        + "\n".join(f"    if (view_{each.name}.obj)\n        PyBuffer_Release(&view_{each.name});" for each in arrays),
    )


def _conversion(parameter: _Parameter, function: str, place: int) -> str:
    if not parameter.pointer:
        return f"take_{parameter.kind}(given[{place}], &{parameter.name})"
    item = f"sizeof({parameter.kind})" if parameter.kind in _SIZED else "0"
    return (
        f'take_array(given[{place}], "{function}", {place + 1}, {int(not parameter.constant)}, {item}, '
        f"&view_{parameter.name}, &{parameter.name})"
    )
