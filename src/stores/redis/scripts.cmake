# Joins the .lua files into one source file, again whenever one of them changes.
file(GLOB lua_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/scripts/*.lua)
foreach(file ${lua_files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} ${name}_lua)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/scripts.cpp.in ${CMAKE_BINARY_DIR}/generated/redis_scripts.cpp @ONLY)
target_sources(onceward_redis PRIVATE ${CMAKE_BINARY_DIR}/generated/redis_scripts.cpp)
