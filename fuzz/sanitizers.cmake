# Flags for everything in a build of the fuzz targets. With clang the library reports what it covers
# to libFuzzer; any other compiler gets the same checks and our own driver.
set(fuzz_checks address,undefined)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(fuzz_instrument -fsanitize=fuzzer-no-link,${fuzz_checks},float-cast-overflow)
else()
  set(fuzz_instrument -fsanitize=${fuzz_checks},float-cast-overflow)
endif()
# Last in the line, so that they win over the build type's.
add_compile_options(-O1 -g1 -UNDEBUG -D_GLIBCXX_ASSERTIONS ${fuzz_instrument} -fno-sanitize-recover=all
                    -fno-omit-frame-pointer)
add_link_options(-fsanitize=${fuzz_checks})
