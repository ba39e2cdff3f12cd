# The headers of the standard library and of GoogleTest are most of what a small file costs to compile, so they are
# compiled once per kind of file: the modules' and their tests'. Files still include what they use.
set(standard_headers <algorithm> <array> <atomic> <chrono> <coroutine> <cstring> <expected> <functional> <map> <memory>
  <mutex> <optional> <span> <string> <string_view> <unordered_map> <variant> <vector>)

function(onceward_precompiled NAME)
  file(WRITE ${CMAKE_BINARY_DIR}/${NAME}.cpp "")
  add_library(${NAME} OBJECT ${CMAKE_BINARY_DIR}/${NAME}.cpp)
  target_precompile_headers(${NAME} PRIVATE ${ARGN})
endfunction()

onceward_precompiled(onceward_module_headers ${standard_headers})
target_link_libraries(onceward_module_headers PRIVATE Threads::Threads)
onceward_precompiled(onceward_test_headers ${standard_headers} <gmock/gmock.h> <gtest/gtest.h>)
target_link_libraries(onceward_test_headers PRIVATE GTest::gmock GTest::gtest)
target_compile_options(onceward_test_headers PRIVATE -fPIE -O0)

# With ONCEWARD_LTO, HOT modules carry their code twice: compiled, for test programs and for the library that is
# installed, which any linker must be able to read, and as bitcode for the programs that are optimised as a whole.
if(ONCEWARD_LTO)
  set(lto_options -flto=thin -ffat-lto-objects)
endif()
# Shared libraries are called without a detour, whose lines would be fetched as well.
set(hot_options ${lto_options} -fno-plt)
function(onceward_optimise_whole TARGET)
  if(ONCEWARD_LTO)
    target_link_options(${TARGET} PRIVATE ${lto_options} -Wl,--thinlto-cache-dir=${CMAKE_BINARY_DIR}/lto-cache)
    # What the profile says is hardly run (errors, mostly) goes elsewhere: a request's code and the kernel's take
    # turns in a cache that is too small for both.
    target_link_options(${TARGET} PRIVATE -Wl,-mllvm,-enable-split-machine-functions)
  endif()
endfunction()

# HOT modules are laid out for the way that requests really take (scripts/record-profile). A function that has
# changed since it was recorded, or did not run then, is compiled as if there were no profile.
set(request_path_profile ${CMAKE_SOURCE_DIR}/cmake/request_path.profdata)
if(ONCEWARD_PROFILE)
  # Functions of one file are told apart by the file's name, without the folder that the project happens to be in.
  list(APPEND hot_options "SHELL:-mllvm -static-func-full-module-prefix=false")
endif()
if(ONCEWARD_PROFILE STREQUAL use)
  list(APPEND hot_options -fprofile-use=${request_path_profile} -Wno-profile-instr-out-of-date
    -Wno-profile-instr-unprofiled -Wno-backend-plugin)
elseif(ONCEWARD_PROFILE STREQUAL record)
  list(APPEND hot_options -fprofile-generate)
  add_link_options(-fprofile-generate)
elseif(ONCEWARD_PROFILE)
  message(FATAL_ERROR "ONCEWARD_PROFILE is use, record or empty, not '${ONCEWARD_PROFILE}'")
endif()

# onceward_module(NAME [HOT] DIR folder DEPS targets... [EXCEPT folder])
# A static library of the folder's .cpp files (onceward_NAME) and, of the *_test.cpp files beside
# them, one test program (NAME_tests). A folder without sources becomes an interface target. EXCEPT leaves a folder
# inside it to another module. HOT: a request passes through it.
function(onceward_module NAME)
  cmake_parse_arguments(ARG "HOT" "DIR;EXCEPT" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ARG_DIR}/*.cpp)
  if(ARG_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "/${ARG_EXCEPT}/")
  endif()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(onceward_${NAME} STATIC ${sources})
    target_precompile_headers(onceward_${NAME} REUSE_FROM onceward_module_headers)
    if(ARG_HOT)
      target_compile_options(onceward_${NAME} PRIVATE ${hot_options})
      if(ONCEWARD_PROFILE STREQUAL use)
        set_source_files_properties(${sources} PROPERTIES OBJECT_DEPENDS ${request_path_profile})
      endif()
    endif()
    set(scope PUBLIC)
  else()
    add_library(onceward_${NAME} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(onceward_${NAME} ${scope} ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(onceward_${NAME} ${scope} ${ARG_DEPS} Threads::Threads)
  if(tests)
    onceward_test(${NAME}_tests SOURCES ${tests} DEPS onceward_${NAME} LABELS module)
    if(NOT ONCEWARD_MODULE_TESTS)
      set_target_properties(${NAME}_tests PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endif()
endfunction()

# onceward_test(NAME SOURCES files... DEPS targets... [ARGS arguments...] [LABELS labels...] [SERVERS names...])
# With SERVERS it runs beside those of tests/servers.
function(onceward_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;ARGS;LABELS;SERVERS" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE ONCEWARD_VECTORS="${CMAKE_SOURCE_DIR}/tests/vectors")
  target_include_directories(${NAME} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  # Cases need no optimiser, and theirs is most of the time it would spend.
  target_compile_options(${NAME} PRIVATE -O0)
  target_precompile_headers(${NAME} REUSE_FROM onceward_test_headers)
  set(beside)
  if(ARG_SERVERS)
    set(beside ${CMAKE_SOURCE_DIR}/tests/servers/with ${ARG_SERVERS} --)
  endif()
  add_test(NAME ${NAME} COMMAND ${beside} $<TARGET_FILE:${NAME}> ${ARG_ARGS})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 1200 LABELS "${ARG_LABELS}")
endfunction()
