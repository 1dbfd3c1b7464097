# Installs into a folder of its own, then builds and runs the programs beside this file outside of the
# source tree, with find_package and with pkg-config.
if(UNIX)
  execute_process(COMMAND mktemp -d OUTPUT_VARIABLE place OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
else()
  set(place ${BUILD}/installed)
  file(REMOVE_RECURSE ${place})
endif()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    file(REMOVE_RECURSE ${place})
    message(FATAL_ERROR "${ARGN}: ${status}\n${said}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${place}/first --component library)
file(RENAME ${place}/first ${place}/prefix)  # what is installed may be moved
file(COPY ${CMAKE_CURRENT_LIST_DIR}/ DESTINATION ${place}/source)
run(${CMAKE_COMMAND} -S ${place}/source -B ${place}/build -G ${GENERATOR} -DCMAKE_MAKE_PROGRAM=${MAKE}
    -DCMAKE_PREFIX_PATH=${place}/prefix -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${place}/build --config Release)
foreach(program shared_c static_c table_cpp)
  find_program(${program} ${program} PATHS ${place}/build ${place}/build/Release NO_DEFAULT_PATH REQUIRED)
  run(${${program}})
endforeach()

find_program(PKG_CONFIG pkg-config)
find_program(CC NAMES cc gcc clang)
if(PKG_CONFIG AND CC AND UNIX)
  file(GLOB_RECURSE found ${place}/prefix/malleable.pc)
  cmake_path(GET found PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  cmake_path(GET folder PARENT_PATH libraries)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs malleable OUTPUT_VARIABLE flags
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags)
  run(${CC} -std=c99 -Wall -Werror ${place}/source/loop.c -o ${place}/by_pkg_config ${flags}
      -Wl,-rpath,${libraries})
  run(${place}/by_pkg_config)

  # The programs of examples/embed, by the commands at their heads.
  cmake_path(SET examples NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../../examples/embed)
  file(READ ${examples}/expected.txt expected)
  foreach(command "${CC} loop.c" "${COMPILER} -std=c++20 loop.cpp")
    execute_process(
      COMMAND sh -c "${command} $(pkg-config --cflags --libs malleable) \
-Wl,-rpath,$(pkg-config --variable=libdir malleable) -o ${place}/example && ${place}/example"
      WORKING_DIRECTORY ${examples} OUTPUT_VARIABLE said ERROR_VARIABLE failed)
    if(NOT said STREQUAL expected)
      file(REMOVE_RECURSE ${place})
      message(FATAL_ERROR "${command}: ${said}\n${failed}")
    endif()
  endforeach()
endif()
file(REMOVE_RECURSE ${place})
