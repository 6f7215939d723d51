"""The examples in the docstrings of the analysis say what they say."""

import doctest
import importlib
import pkgutil

import pytest

import orbitrelay

MODULES = [
    name for _, name, _ in pkgutil.walk_packages(orbitrelay.__path__, "orbitrelay.") if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["orbitrelay", *MODULES])
def test_docstring_examples_give_the_output_they_show(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
