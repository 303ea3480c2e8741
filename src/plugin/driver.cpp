// The virtual file driver: what libhdf5 loads where HDF5_DRIVER=sluice. Of HDF5 it calls the
// function that takes an error (hdf5_errors), those that write what it holds in memory
// (hdf5_caches), and those that tell what a program has set (access_list).
//
// Invariants: no exception leaves a callback; a failure is said in words, on stderr and on HDF5's
// error stack. There is no `lock` callback: with one HDF5 marks files of version 3 as open,
// and a crash would leave the mark. There is no handle: bytes behind the driver's back would be
// neither held nor committed.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "layout/hdf5/signature.hpp"
#include "model/raised.hpp"
#include "plugin/access_list.hpp"
#include "plugin/driver_storage.hpp"
#include "plugin/hdf5_abi.hpp"
#include "plugin/hdf5_caches.hpp"
#include "plugin/hdf5_errors.hpp"
#include "plugin/hdf5_library.hpp"
#include "plugin/open_files.hpp"
#include "plugin/refusals.hpp"
#include "plugin/run_report.hpp"
#include "sluice/error.hpp"
#include "storage/say.hpp"

namespace sluice::plugin {

namespace {

struct DriverFile {
  abi::File base;  // libhdf5's own part; must be first
  OpenFile* file;
  bool is_flushing;  ///< HDF5 writes its caches, by our request
  bool has_failed;   ///< a call of HDF5
};

/// Did HDF5 close a file of which a call had failed? It may keep the number of such a file, which
/// must not be looked up.
std::atomic<bool> may_keep_dead_files{false};

OpenFile& file_of(abi::File* file) { return *reinterpret_cast<DriverFile*>(file)->file; }
const OpenFile& file_of(const abi::File* file) {
  return *reinterpret_cast<const DriverFile*>(file)->file;
}

/// Says what failed, and tells HDF5.
void report(const void* caller, Failed call, Code code, const std::exception& e) noexcept {
  storage::say(e.what());
  push_error(caller, call, code, e.what());
}

/// Carries `action` out; a failure is said, and becomes that of the HDF5 of `caller`.
template <class Action>
abi::Status guarded(abi::File* file, const void* caller, Failed call, Action&& action) noexcept {
  try {
    action();
    return abi::ok;
  } catch (const Error& e) {
    report(caller, call, e.code(), e);
  } catch (const std::exception& e) {
    report(caller, call, Code::internal, e);
  }
  if (file != nullptr) {
    reinterpret_cast<DriverFile*>(file)->has_failed = true;
  }
  return abi::failed;
}

Opening opening_of(unsigned flags, const void* caller) {
  Opening opening;
  opening.library = library_at(caller);
  opening.writes = (flags & abi::access_read_write) != 0;
  opening.creates = (flags & abi::access_create) != 0;
  opening.truncates = (flags & abi::access_truncate) != 0;
  opening.exclusive = (flags & abi::access_exclusive) != 0;
  opening.swmr = (flags & (abi::access_swmr_write | abi::access_swmr_read)) != 0;
  return opening;
}

/// HDF5 tries to open what it is about to create, and programs try what may not be there.
bool is_usual(Code code) {
  return code == Code::not_found || code == Code::exists || code == Code::permission;
}

void say_refusal(const Opening& opening, const char* name, const Error& e) noexcept {
  if (is_usual(e.code())) {
    return;
  }
  // What the driver cannot do it refuses to a new file as well.
  if (e.code() != Code::unsupported && opening.writes && !opening.makes()) {
    say_unless_made(name, e.what());
  } else {
    storage::say(e.what());
  }
}

abi::File* open_file(const char* name, unsigned flags, abi::Id access_list, abi::Address) {
  const void* const caller = __builtin_return_address(0);
  auto* opened = static_cast<DriverFile*>(std::calloc(1, sizeof(DriverFile)));
  if (opened == nullptr) {
    return nullptr;
  }
  Opening opening = opening_of(flags, caller);
  try {
    settle_refusal(name, opening.makes());
    const AccessList asked = access_list_of(caller, access_list);
    opening.clears_marks = asked.clears_marks;
    const Settings settings = settings_of(name, asked.asks_locks);
    opened->file = OpenFile::open(driver_storage(), name, opening, settings).release();
    return &opened->base;
  } catch (const Error& e) {
    say_refusal(opening, name, e);
    push_error(caller, Failed::open, e.code(), e.what());
  } catch (const std::exception& e) {
    report(caller, Failed::open, Code::internal, e);
  }
  std::free(opened);
  return nullptr;
}

abi::Status close_file(abi::File* file) {
  auto* opened = reinterpret_cast<DriverFile*>(file);
  const abi::Status status =
      guarded(file, __builtin_return_address(0), Failed::close, [&] { opened->file->close(); });
  if (opened->has_failed) {
    may_keep_dead_files = true;
  }
  delete opened->file;
  std::free(opened);
  return status;
}

int compare(const abi::File* a, const abi::File* b) {
  const storage::FileIdentity left = file_of(a).identity();
  const storage::FileIdentity right = file_of(b).identity();
  return left < right ? -1 : left == right ? 0 : 1;
}

abi::Status query(const abi::File* file, unsigned long* flags) {
  if (flags != nullptr) {
    *flags = abi::aggregate_metadata | abi::accumulate_metadata | abi::data_sieve |
             abi::aggregate_small_data | abi::default_compatible;
    if (file != nullptr && !file_of(file).is_written()) {
      *flags |= abi::supports_swmr;  // as a reader
    }
  }
  return abi::ok;
}

abi::Address end_of_allocation(const abi::File* file, int) { return file_of(file).end(); }

abi::Status set_end_of_allocation(abi::File* file, int, abi::Address address) {
  return guarded(file, __builtin_return_address(0), Failed::write,
                 [&] { file_of(file).set_end(address); });
}

abi::Address end_of_file(const abi::File* file, int) {
  abi::Address size = abi::undefined_address;
  guarded(nullptr, __builtin_return_address(0), Failed::read, [&] { size = file_of(file).size(); });
  return size;
}

abi::Status read_bytes(abi::File* file, int, abi::Id, abi::Address address, std::size_t size,
                       void* into) {
  return guarded(file, __builtin_return_address(0), Failed::read, [&] {
    file_of(file).read(address, {static_cast<std::byte*>(into), size});
  });
}

/// A superblock lies at 0, or behind a user block of 512 bytes, or of 2, 4, 8, ... times as many.
bool may_have_superblock(abi::Address address) {
  constexpr abi::Address smallest_user_block = 512;
  return address == 0 || (address >= smallest_user_block && (address & (address - 1)) == 0);
}

/// Is it a superblock that says that the file is being written for SWMR? HDF5 asks no driver
/// whether that is possible where a program switches it on. (The type of metadata is not always
/// told, that of raw data is, which may be the bytes of another file.)
bool begins_swmr(int type, abi::Address address, const void* bytes, std::size_t size) {
  using layout::hdf5::signature;
  constexpr std::size_t flags_at = 11;
  constexpr unsigned char swmr = 0x04;
  const auto* front = static_cast<const unsigned char*>(bytes);
  return type != abi::raw_data && may_have_superblock(address) && size > flags_at &&
         std::memcmp(front, signature.data(), signature.size()) == 0 &&
         front[signature.size()] >= 3 && (front[flags_at] & swmr) != 0;
}

abi::Status write_bytes(abi::File* file, int type, abi::Id, abi::Address address, std::size_t size,
                        const void* from) {
  return guarded(file, __builtin_return_address(0), Failed::write, [&] {
    OpenFile& opened = file_of(file);
    if (begins_swmr(type, address, from, size)) {
      throw swmr_refused(opened.path());
    }
    opened.write(address, {static_cast<const std::byte*>(from), size});
  });
}

/// Makes HDF5 write what it holds of the file in memory.
bool has_flushed_caches(DriverFile& file, const void* caller) {
  const model::Raised flushing(file.is_flushing);
  return flush_caches(caller, file.base.number);
}

/// While HDF5 closes a file it flushes in the middle, before what it keeps of free space is right:
/// the commit is that of close_file().
abi::Status flush_file(abi::File* file, abi::Id, bool closing) {
  const void* const caller = __builtin_return_address(0);
  return guarded(file, caller, Failed::write, [&] {
    auto* const driver_file = reinterpret_cast<DriverFile*>(file);
    OpenFile& opened = file_of(file);
    if (closing || driver_file->is_flushing || !opened.is_written()) {
      return;
    }
    if (!may_keep_dead_files && !has_flushed_caches(*driver_file, caller)) {
      throw Error(Code::io, opened.path() +
                                ": HDF5 could not write all that it holds in memory of the file, "
                                "which stays at its last flush: flush again");
    }
    opened.commit();
  });
}

abi::Status truncate_file(abi::File* file, abi::Id, bool) {
  return guarded(file, __builtin_return_address(0), Failed::write, [&] { file_of(file).cut(); });
}

abi::Status remove_file(const char* name, abi::Id) {
  return guarded(nullptr, __builtin_return_address(0), Failed::write,
                 [&] { remove_with_journal(driver_storage(), name); });
}

abi::Class make_class() {
  constexpr int unregistered_value = 580;  // from 512 on HDF5 leaves to those who ask for none
  abi::Class driver{};
  driver.version = abi::class_version;
  driver.value = unregistered_value;
  driver.name = "sluice";
  driver.max_address = static_cast<abi::Address>(INT64_MAX);
  driver.close_degree = abi::close_weak;
  driver.open = open_file;
  driver.close = close_file;
  driver.compare = compare;
  driver.query = query;
  driver.end_of_allocation = end_of_allocation;
  driver.set_end_of_allocation = set_end_of_allocation;
  driver.end_of_file = end_of_file;
  driver.read = read_bytes;
  driver.write = write_bytes;
  driver.flush = flush_file;
  driver.truncate = truncate_file;
  driver.remove = remove_file;
  // H5FD_FLMAP_DICHOTOMY, as HDF5's own driver: raw data apart from metadata.
  constexpr int super = 1;
  constexpr int raw = 3;
  constexpr int map[abi::memory_types] = {super, super, super, raw, raw, super, super};
  std::memcpy(driver.free_list_map, map, sizeof map);
  return driver;
}

}  // namespace

}  // namespace sluice::plugin

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): HDF5 looks these names up
__attribute__((visibility("default"))) int H5PLget_plugin_type() {
  return sluice::plugin::abi::plugin_is_driver;
}

__attribute__((visibility("default"))) const void* H5PLget_plugin_info() {
  static const sluice::plugin::abi::Class driver = sluice::plugin::make_class();
  sluice::plugin::report_to_run(sluice::plugin::driver_storage());
  return &driver;
}
// NOLINTEND(readability-identifier-naming)
}
