"""The extension is compiled with the header of the installed package; nothing is linked."""

import site
import sysconfig

from Cython.Build import cythonize
from setuptools import Extension, setup

# pip builds apart from what is installed; the package is there.
site.addsitedir(sysconfig.get_path("platlib"))
import malleable

include = malleable.get_include()
setup(
    ext_modules=cythonize(
        [Extension("malleable_loop", ["malleable_loop.pyx"], include_dirs=[include])],
        include_path=[f"{part}/.." for part in malleable.__path__],
    )
)
