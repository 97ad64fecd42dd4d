# Compiler settings shared by every target.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

set(CTRLPLANE_SANITIZE "" CACHE STRING "comma separated sanitizers, e.g. address,undefined")

add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Wconversion -Wno-sign-conversion
                    -Werror -fno-omit-frame-pointer)
# g++ 12's optimiser sees overruns inside its own std::string that are not there.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  add_compile_options(-Wno-array-bounds -Wno-restrict -Wno-stringop-overread -Wno-stringop-overflow
                      -Wno-maybe-uninitialized)
endif()
if(CTRLPLANE_SANITIZE)
  add_compile_options(-fsanitize=${CTRLPLANE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CTRLPLANE_SANITIZE})
endif()

find_program(CTRLPLANE_CCACHE ccache)
if(CTRLPLANE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CTRLPLANE_CCACHE})
endif()
find_program(CTRLPLANE_MOLD mold)
if(CTRLPLANE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
