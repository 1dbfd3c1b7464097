"""The extension is compiled with the header of the installed package; nothing is linked."""

from setuptools import Extension, setup

import malleable

setup(
    ext_modules=[
        Extension("malleable_loop", ["malleable_loop.pyx"], include_dirs=[malleable.get_include()])
    ]
)
