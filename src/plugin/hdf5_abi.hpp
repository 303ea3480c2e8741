// What HDF5 1.14 and later ask of a virtual file driver that they load: the structures of
// H5FDdevelop.h and H5PLextern.h, declared here so that the driver needs no header and no library
// of HDF5 (a program brings its own, and Debian's are older).
//
// Invariants: the layout is that of class version 1 on a 64-bit system, the same in HDF5 1.14 and
// 2.x; the offsets are asserted, and tests/plugin checks them against the HDF5 of h5py's wheel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::plugin::abi {

using Address = std::uint64_t;  // haddr_t
using Id = std::int64_t;        // hid_t
using Status = int;             // herr_t: negative is a failure
constexpr Status ok = 0;
constexpr Status failed = -1;
constexpr Address undefined_address = ~Address{0};

// H5F_ACC_*
constexpr unsigned access_read_write = 0x0001;
constexpr unsigned access_truncate = 0x0002;
constexpr unsigned access_exclusive = 0x0004;
constexpr unsigned access_create = 0x0010;
constexpr unsigned access_swmr_write = 0x0020;
constexpr unsigned access_swmr_read = 0x0040;

// H5FD_FEAT_*
constexpr unsigned long aggregate_metadata = 0x0001;
constexpr unsigned long accumulate_metadata = 0x0006;
constexpr unsigned long data_sieve = 0x0008;
constexpr unsigned long aggregate_small_data = 0x0010;
constexpr unsigned long supports_swmr = 0x1000;
constexpr unsigned long default_compatible = 0x8000;

constexpr unsigned class_version = 1;  // H5FD_CLASS_VERSION
constexpr int close_weak = 1;          // H5F_CLOSE_WEAK
constexpr int memory_types = 7;        // H5FD_MEM_NTYPES
constexpr int raw_data = 3;            // H5FD_MEM_DRAW
constexpr int plugin_is_driver = 2;    // H5PL_TYPE_VFD

struct Class;

/// H5FD_t: the library's part of an open file.
struct File {
  Id driver_id;
  const Class* driver;
  unsigned long number;
  unsigned access_flags;
  unsigned long feature_flags;
  Address max_address;
  Address base_address;
  std::uint64_t threshold;
  std::uint64_t alignment;
  bool is_paged;
};

/// H5FD_class_t.
/// Size: The layout is HDF5's.
struct Class {
  unsigned version;
  int value;
  const char* name;
  Address max_address;
  int close_degree;
  Status (*terminate)();
  std::uint64_t (*superblock_size)(File*);
  Status (*superblock_encode)(File*, char*, unsigned char*);
  Status (*superblock_decode)(File*, const char*, const unsigned char*);
  std::size_t access_list_size;
  void* (*access_list_get)(File*);
  void* (*access_list_copy)(const void*);
  Status (*access_list_free)(void*);
  std::size_t transfer_list_size;
  void* (*transfer_list_copy)(const void*);
  Status (*transfer_list_free)(void*);
  File* (*open)(const char* name, unsigned flags, Id access_list, Address max_address);
  Status (*close)(File*);
  int (*compare)(const File*, const File*);
  Status (*query)(const File*, unsigned long* flags);
  Status (*type_map)(const File*, int* map);
  Address (*allocate)(File*, int type, Id, std::uint64_t bytes);
  Status (*free)(File*, int type, Id, Address, std::uint64_t bytes);
  Address (*end_of_allocation)(const File*, int type);
  Status (*set_end_of_allocation)(File*, int type, Address);
  Address (*end_of_file)(const File*, int type);
  Status (*handle)(File*, Id, void** handle);
  Status (*read)(File*, int type, Id, Address, std::size_t bytes, void* into);
  Status (*write)(File*, int type, Id, Address, std::size_t bytes, const void* from);
  // The library makes single calls of these where they are null.
  Status (*read_vector)(File*, Id, std::uint32_t, int*, Address*, std::size_t*, void**);
  Status (*write_vector)(File*, Id, std::uint32_t, int*, Address*, std::size_t*, const void**);
  Status (*read_selection)(File*, int, Id, std::uint32_t, Id*, Id*, Address*, std::size_t*, void**);
  Status (*write_selection)(File*, int, Id, std::uint32_t, Id*, Id*, Address*, std::size_t*,
                            const void**);
  Status (*flush)(File*, Id, bool closing);
  Status (*truncate)(File*, Id, bool closing);
  Status (*lock)(File*, bool for_writing);
  Status (*unlock)(File*);
  Status (*remove)(const char* name, Id access_list);
  Status (*control)(File*, std::uint64_t, std::uint64_t, const void*, void**);
  int free_list_map[memory_types];
};

static_assert(sizeof(void*) == 8 && sizeof(unsigned long) == 8, "a 64-bit system");
static_assert(offsetof(File, driver) == 8 && offsetof(File, access_flags) == 24 &&
              offsetof(File, max_address) == 40 && offsetof(File, is_paged) == 72 &&
              sizeof(File) == 80);
static_assert(offsetof(Class, name) == 8 && offsetof(Class, close_degree) == 24 &&
              offsetof(Class, access_list_size) == 64 && offsetof(Class, open) == 120 &&
              offsetof(Class, end_of_allocation) == 176 && offsetof(Class, read) == 208 &&
              offsetof(Class, flush) == 256 && offsetof(Class, remove) == 288 &&
              offsetof(Class, free_list_map) == 304 && sizeof(Class) == 336);

}  // namespace sluice::plugin::abi
