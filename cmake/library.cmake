# What `cmake --install` gives: headers, the C interface as a shared library, the whole core as a static
# one, and what find_package and pkg-config ask for.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The shared library is made of the static one's objects and shows the C interface alone.
add_library(malleable_shared SHARED cmake/empty.cpp)
target_link_libraries(malleable_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,malleable_core>)
target_include_directories(malleable_shared INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(malleable_shared PROPERTIES
  OUTPUT_NAME malleable EXPORT_NAME malleable
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(malleable_core PROPERTIES EXPORT_NAME static)
if(WIN32)
  target_compile_definitions(malleable_core PRIVATE MALLEABLE_EXPORT=__declspec\(dllexport\))
  set_target_properties(malleable_core PROPERTIES OUTPUT_NAME malleable_static)
else()
  set_target_properties(malleable_core PROPERTIES OUTPUT_NAME malleable)
  if(APPLE)
    target_link_options(malleable_shared PRIVATE "LINKER:-exported_symbol,_malleable_*")
  else()
    target_link_options(malleable_shared PRIVATE
      "LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map")
    set_target_properties(malleable_shared PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
  endif()
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/malleable)
install(TARGETS malleable_core malleable_shared EXPORT malleable COMPONENT library)
install(DIRECTORY cpp/include/malleable DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT malleable NAMESPACE malleable:: FILE malleable-config.cmake DESTINATION ${package}
        COMPONENT library)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/malleable-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/malleable-config-version.cmake DESTINATION ${package}
        COMPONENT library)
configure_file(cmake/malleable.pc.in ${CMAKE_BINARY_DIR}/malleable.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/malleable.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT library)
