# libsluice_hdf5_driver.so: what a program's own HDF5 (1.14 and later) loads where
# HDF5_DRIVER=sluice. It needs neither HDF5 nor MPI, so it is compiled from the few
# files that it uses.
set(SLUICE_DRIVER_SOURCES
  src/codec/checksum.cpp src/commit/publish/atomic_file.cpp src/commit/publish/in_place.cpp
  src/commit/publish/journal.cpp src/commit/publish/journal_format.cpp
  src/commit/publish/journal_runs.cpp src/commit/publish/journal_tail.cpp
  src/commit/publish/range_checksum.cpp src/commit/publish/superblock.cpp
  src/model/error.cpp src/model/name.cpp src/model/overlay.cpp src/model/size_text.cpp
  src/model/toml_entries.cpp
  src/plugin/access_list.cpp src/plugin/block_checksums.cpp src/plugin/block_table.cpp
  src/plugin/claim.cpp src/plugin/committed_file.cpp src/plugin/driver.cpp
  src/plugin/fresh_ranges.cpp src/plugin/guarded_file.cpp
  src/plugin/hdf5_caches.cpp src/plugin/hdf5_errors.cpp
  src/plugin/held_runs.cpp src/plugin/held_signature.cpp src/plugin/held_writes.cpp
  src/plugin/new_name.cpp
  src/plugin/open_files.cpp src/plugin/opening.cpp src/plugin/record_log.cpp
  src/plugin/refusals.cpp src/plugin/refused_flushes.cpp
  src/plugin/run_report.cpp src/plugin/settings.cpp
  src/storage/background_thread.cpp src/storage/calls.cpp
  src/storage/file_lock.cpp src/storage/file_system.cpp
  src/storage/lease.cpp src/storage/lease_record.cpp
  src/storage/named_file.cpp
  src/storage/own_process.cpp src/storage/permissions.cpp src/storage/place.cpp
  src/storage/posix.cpp src/storage/posix_folders.cpp
  src/storage/say.cpp src/storage/size_limit.cpp src/storage/small_file.cpp
  src/storage/storage.cpp src/storage/sync_beside.cpp src/storage/writeback.cpp)
list(TRANSFORM SLUICE_DRIVER_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)

function(sluice_compile_for_hdf5_driver target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE PkgConfig::XXHASH Threads::Threads sluice_flags
    ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden)
endfunction()

add_library(sluice_hdf5_driver_objects OBJECT ${SLUICE_DRIVER_SOURCES})
sluice_unity(sluice_hdf5_driver_objects)
sluice_compile_for_hdf5_driver(sluice_hdf5_driver_objects)
set_target_properties(sluice_hdf5_driver_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

# sluice_hdf5_driver(target source...): with these sources for the storage, others in tests.
function(sluice_hdf5_driver target)
  add_library(${target} MODULE ${ARGN} $<TARGET_OBJECTS:sluice_hdf5_driver_objects>)
  sluice_compile_for_hdf5_driver(${target})
  set_target_properties(${target} PROPERTIES
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/plugin/driver.map)
  # HDF5 closes its files when the process ends, after a module could have been unloaded.
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic -Wl,--as-needed -Wl,-z,nodelete)
  if(NOT SLUICE_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

# A folder of its own: HDF5 tries every library of HDF5_PLUGIN_PATH.
sluice_hdf5_driver(sluice_hdf5_driver ${CMAKE_SOURCE_DIR}/src/plugin/driver_storage.cpp)
set_target_properties(sluice_hdf5_driver PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/hdf5_driver)
target_link_options(sluice_hdf5_driver PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/plugin/driver.map)
