#include "layout/hdf5/driver.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <sys/mman.h>

#include "model/bytes.hpp"

namespace sluice::layout::hdf5 {

Placeholder::~Placeholder() {
  if (data_ != nullptr) {
    munmap(data_, bytes_);
  }
}

void* Placeholder::reserve(std::uint64_t bytes) {
  constexpr std::uint64_t least_bytes = 1 << 20;  // mapped once by most files
  if (bytes > bytes_) {
    bytes = std::max(bytes, least_bytes);
    // Untouched anonymous memory reads as zeros and costs no memory, should libhdf5 read it.
    void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
      throw Error(Code::over_budget,
                  "no address space for a placeholder of " + std::to_string(bytes) + " bytes");
    }
    if (data_ != nullptr) {
      munmap(data_, bytes_);
    }
    data_ = static_cast<std::byte*>(made);
    bytes_ = bytes;
  }
  return data_;
}

bool Placeholder::holds(const void* at) const noexcept {
  const auto* byte = static_cast<const std::byte*>(at);
  return data_ != nullptr && byte >= data_ && byte < data_ + bytes_;
}

Extent DriverState::take_noted(std::uint64_t bytes, const std::string& what) {
  if (!failure.empty()) {
    throw Error(Code::internal, what + ": " + std::exchange(failure, {}));
  }
  if (!noted || noted->length != bytes) {
    throw Error(Code::internal, what + ": libhdf5 did not allocate space for its bytes");
  }
  const Extent extent = *noted;
  noted.reset();
  return extent;
}

namespace {

struct DriverFile {
  H5FD_t base;  // libhdf5's own part; must be first
  DriverState* state;
  DriverState* owned;  // of a file that another one refers to; null otherwise
};

DriverState& state_of(H5FD_t* file) { return *reinterpret_cast<DriverFile*>(file)->state; }
const DriverState& state_of(const H5FD_t* file) {
  return *reinterpret_cast<const DriverFile*>(file)->state;
}

void note_failure(DriverState& state, const std::exception& met) {
  state.failure = met.what();
  if (const auto* error = dynamic_cast<const Error*>(&met)) {
    note_storage_failure(*error);
  }
}

void* copy_info(const void* info) {
  auto* copy = static_cast<DriverState**>(std::malloc(sizeof(DriverState*)));
  if (copy != nullptr) {
    *copy = *static_cast<DriverState* const*>(info);
  }
  return copy;
}

herr_t free_info(void* info) {
  std::free(info);
  return 0;
}

/// Another file, the source of a virtual dataset; null if it must not or cannot be opened. libhdf5
/// then reads the fill value: a failure other than that it is not there is noted for the caller.
std::unique_ptr<DriverState> open_other(const DriverState& state, const char* name) {
  if (state.others == nullptr) {
    return nullptr;
  }
  try {
    auto other = std::make_unique<DriverState>();
    other->own = state.others->open(name, storage::Access::read);
    other->file = other->own.get();
    other->others = state.others;
    return other;
  } catch (const Error& e) {
    if (e.code() != Code::not_found) {
      note_storage_failure(e);
    }
  } catch (const std::exception& e) {
    note_storage_failure(Error(Code::over_budget, std::string(name) + ": " + e.what()));
  }
  return nullptr;
}

/// The access property list with which libhdf5 opens the sources of a virtual dataset.
void* get_info(H5FD_t* file) {
  const DriverState* state = &state_of(file);
  return copy_info(&state);
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t fapl, haddr_t) {
  const auto* info = static_cast<DriverState* const*>(H5Pget_driver_info(fapl));
  if (info == nullptr || *info == nullptr) {
    return nullptr;
  }
  std::unique_ptr<DriverState> other;
  if ((*info)->file->path() != name) {
    other = open_other(**info, name);
    if (other == nullptr) {
      return nullptr;  // libhdf5 tries another place
    }
  }
  DriverState& state = other ? *other : **info;
  if ((flags & H5F_ACC_RDWR) != 0 && !state.writable) {
    return nullptr;
  }
  auto* file = static_cast<DriverFile*>(std::calloc(1, sizeof(DriverFile)));
  if (file == nullptr) {
    return nullptr;
  }
  file->state = &state;
  try {
    state.end_of_file = (flags & H5F_ACC_TRUNC) != 0 ? 0 : state.file->size();
    if (!state.under_way.empty()) {
      state.end_of_file = std::max(state.end_of_file, state.frontier);
    }
  } catch (const std::exception& e) {
    note_failure(state, e);
    std::free(file);
    return nullptr;
  }
  // Before it creates a file libhdf5 tries to open one; the failure of that attempt is expected.
  state.failure.clear();
  take_storage_failure();
  state.end_of_allocation = 0;
  file->owned = other.release();
  return &file->base;
}

herr_t close_file(H5FD_t* file) {
  delete reinterpret_cast<DriverFile*>(file)->owned;
  std::free(file);
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  const auto* left = &state_of(a);
  const auto* right = &state_of(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  }
  return 0;
}

haddr_t get_end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
  return state_of(file).end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  DriverState& state = state_of(file);
  // libhdf5 returns space that was freed at the end, but the committed state before the current
  // commit still uses it.
  state.end_of_allocation = std::max<haddr_t>(address, state.frontier);
  return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) {
  const DriverState& state = state_of(file);
  // Planned bytes count as present: the commit layer extends the file to that length.
  return state.writable ? std::max<haddr_t>(state.end_of_file, state.end_of_allocation)
                        : state.end_of_file;
}

/// A global heap has no checksum, and libhdf5 walks one with wrong sizes endlessly, or beyond its
/// end. `bytes`: from its beginning; what follows them is unknown.
bool is_sound_heap(std::span<const std::byte> bytes) {
  constexpr std::size_t header_bytes = 16;  // of the heap, and of each object
  const auto total = model::load<std::uint64_t>(&bytes[8]);
  std::uint64_t at = header_bytes;
  while (at + header_bytes <= std::min<std::uint64_t>(total, bytes.size())) {
    const auto index = model::load<std::uint16_t>(&bytes[at]);
    const auto size = model::load<std::uint64_t>(&bytes[at + 8]);
    const std::uint64_t left = total - at;
    if (size > left) {
      return false;
    }
    const std::uint64_t need = index == 0 ? size : header_bytes + (size + 7) / 8 * 8;
    if (need == 0 || need > left) {
      return false;
    }
    at += need;
  }
  return true;
}

/// The bytes in the state after the current commit.
void read_planned(DriverState& state, haddr_t address, std::span<std::byte> bytes) {
  const std::size_t got = state.file->read(address, bytes);
  std::memset(bytes.data() + got, 0, bytes.size() - got);
  for (const model::Overlay& earlier : state.under_way) {
    earlier.read_over(address, bytes);
  }
  state.overlay.read_over(address, bytes);
}

/// If the bytes read are the beginning of a global heap, checks all of the heap. libhdf5 reads
/// heaps as raw data, so they are recognised only by the size of the first read and the heap's own
/// signature.
void check_heap(DriverState& state, haddr_t address, std::span<const std::byte> bytes) {
  constexpr std::size_t least_bytes = 4096;
  constexpr std::uint64_t most_heap_bytes = 64 << 20;
  if (bytes.size() != least_bytes || std::memcmp(bytes.data(), "GCOL\1\0\0", 8) != 0) {
    return;
  }
  const auto total = model::load<std::uint64_t>(&bytes[8]);
  const bool is_inside = total >= least_bytes && address + total >= address &&
                         address + total <= std::max(state.end_of_file, state.end_of_allocation);
  std::vector<std::byte> whole;
  if (is_inside && total > bytes.size() && total <= most_heap_bytes) {
    whole.resize(total);
    read_planned(state, address, whole);
    bytes = whole;
  }
  if (!is_inside || !is_sound_heap(bytes.first(std::min<std::uint64_t>(bytes.size(), total)))) {
    throw Error(Code::damaged, "the global heap at " + std::to_string(address) + " is damaged");
  }
}

herr_t read_bytes(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, size_t size,
                  void* buffer) {
  DriverState& state = state_of(file);
  const std::span<std::byte> bytes(static_cast<std::byte*>(buffer), size);
  try {
    note_file(state.file->path());
    if (state.placeholder.holds(buffer)) {
      state.noted = Extent{address, size};
      return 0;
    }
    read_planned(state, address, bytes);
    if (kind == H5FD_MEM_DRAW || kind == H5FD_MEM_GHEAP) {
      check_heap(state, address, bytes);
    }
    return 0;
  } catch (const std::exception& e) {
    note_failure(state, e);
    return -1;
  }
}

herr_t write_bytes(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                   const void* buffer) {
  DriverState& state = state_of(file);
  if (state.is_direct || !state.placeholder.holds(buffer)) {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(buffer), size);
    try {
      if (state.is_direct) {
        state.file->write(address, bytes);
        state.end_of_file = std::max<std::uint64_t>(state.end_of_file, address + size);
      } else {
        state.overlay.write(address, bytes);
      }
      return 0;
    } catch (const std::exception& e) {
      note_failure(state, e);
      return -1;
    }
  }
  if (address < state.frontier) {
    state.failure = "raw data planned at " + std::to_string(address) +
                    ", below the committed end of the file at " + std::to_string(state.frontier);
    return -1;
  }
  if (state.overlay.touches(address, size)) {
    state.failure = "raw data planned at " + std::to_string(address) + " over metadata";
    return -1;
  }
  state.noted = Extent{address, size};
  return 0;
}

/// The end of a planned file is set by the commit layer.
herr_t truncate_file(H5FD_t* file, hid_t, hbool_t) {
  DriverState& state = state_of(file);
  if (!state.is_direct) {
    return 0;
  }
  try {
    state.file->resize(state.end_of_allocation);
    state.end_of_file = state.end_of_allocation;
    return 0;
  } catch (const std::exception& e) {
    note_failure(state, e);
    return -1;
  }
}

H5FD_class_t make_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);
#endif
  driver.name = "sluice-planner";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(DriverState*);
  driver.fapl_get = get_info;
  driver.fapl_copy = copy_info;
  driver.fapl_free = free_info;
  driver.open = open_file;
  driver.close = close_file;
  driver.cmp = compare;
  driver.query = query;
  driver.get_eoa = get_end_of_allocation;
  driver.set_eoa = set_end_of_allocation;
  driver.get_eof = get_end_of_file;
  driver.read = read_bytes;
  driver.write = write_bytes;
  driver.truncate = truncate_file;
  const H5FD_mem_t free_lists[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(free_lists), std::end(free_lists), std::begin(driver.fl_map));
  return driver;
}

hid_t driver_id() {
  static const H5FD_class_t driver = make_class();
  // Registered again if the application closed the HDF5 library in between.
  static hid_t id = -1;
  if (id < 0 || !is_yes(H5Iis_valid(id), "the planner driver")) {
    id = H5FDregister(&driver);
  }
  return checked(id, "registering the planner driver");
}

}  // namespace

Handle access_list(DriverState& state) {
  Handle list = own(H5Pcreate(H5P_FILE_ACCESS), "file access list");
  DriverState* info = &state;
  check(H5Pset_driver(list.get(), driver_id(), &info), "setting the planner driver");
  check(H5Pset_fclose_degree(list.get(), H5F_CLOSE_STRONG), "close degree");
  check(H5Pset_sieve_buf_size(list.get(), 0), "sieve buffer");
  check(H5Pset_libver_bounds(list.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "library bounds");
  return list;
}

}  // namespace sluice::layout::hdf5
