"""Builds the C kernel when there is a compiler; the package works without it."""

from setuptools import Extension, setup

# No fused multiply-add: numbers must round alike on every machine.
FLAGS = [
    "-O3",
    "-g0",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
    "-pthread",
]

setup(
    ext_modules=[
        Extension(
            "memorywire_minilm._kernel",
            ["kernel/kernel.c"],
            depends=[
                "kernel/attention.h",
                "kernel/helper.h",
                "kernel/lanes.h",
                "kernel/neon.h",
                "kernel/products.h",
                "kernel/wide_attention.h",
            ],
            extra_compile_args=FLAGS,
            extra_link_args=["-pthread"],
            optional=True,
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
