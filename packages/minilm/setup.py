"""Builds the C kernel when there is a compiler; the package works without it."""

from setuptools import Extension, setup

# Single flags, not -ffast-math: that one changes how the whole process treats tiny numbers.
FLAGS = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"]

setup(
    ext_modules=[
        Extension(
            "memorywire_minilm._kernel",
            ["src/memorywire_minilm/kernel.c"],
            extra_compile_args=FLAGS,
            optional=True,
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
