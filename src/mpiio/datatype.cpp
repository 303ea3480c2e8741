#include "mpiio/datatype.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "mpiio/errors.hpp"
#include "mpiio/type_contents.hpp"

namespace sluice::mpiio {

namespace {

/// Do bounds that were set prevail over those of a structure's other parts, as MPI defines? MPICH 4
/// encloses all parts.
#ifdef OPEN_MPI
constexpr bool marks_prevail = true;
/// MPI_Pack_external_size says 8 of MPI_LONG, of which MPI_Pack_external makes 4.
constexpr bool packs_to_less = true;
#else
constexpr bool marks_prevail = false;
constexpr bool packs_to_less = false;
#endif

/// Decodes for memory and "native", or for "external32", where structures have no padding.
class Decoder {
 public:
  explicit Decoder(bool is_external) : is_external_(is_external) {}

  Flat decode(MPI_Datatype type) const {
    const Contents contents = contents_of(type);
    if (is_named(contents.combiner)) {
      return named(type);
    }
    Flat flat;
    try {
      flat = derived(contents);
    } catch (...) {
      release(contents);
      throw;
    }
    release(contents);
    if (!is_external_ || flat.runs.empty()) {
      // MPI's own values: they include the padding of structures and the effect of old markers,
      // and each MPI has bounds of its own for what has no bytes.
      MPI_Count lower = 0;
      MPI_Count extent = 0;
      check(mpi.Type_get_extent_x(type, &lower, &extent), "the extent of a datatype");
      flat.lower = lower;
      flat.extent = extent;
    }
    flat.index();
    return flat;
  }

 private:
  static void release(const Contents& contents) {
    for (MPI_Datatype type : contents.types) {
      if (!is_predefined(type)) {
        mpi.Type_free(&type);
      }
    }
  }

  static std::int64_t packed_bytes(MPI_Datatype type, MPI_Aint room) {
    MPI_Count lower = 0;
    MPI_Count extent = 0;
    check(mpi.Type_get_extent_x(type, &lower, &extent), "the extent of a datatype");
    const std::vector<std::byte> value(static_cast<std::size_t>(extent));
    std::vector<std::byte> packed(static_cast<std::size_t>(room));
    MPI_Aint bytes = 0;
    check(mpi.Pack_external("external32", value.data(), 1, type, packed.data(), room, &bytes),
          "the size of a datatype");
    return bytes;
  }

  Flat named(MPI_Datatype type) const {
    if (is_external_) {
      MPI_Aint bytes = 0;
      check(mpi.Pack_external_size("external32", 1, type, &bytes), "the size of a datatype");
      return Flat::bytes(packs_to_less && bytes > 0 ? packed_bytes(type, bytes) : bytes);
    }
    MPI_Count size = 0;
    MPI_Count lower = 0;
    MPI_Count extent = 0;
    check(mpi.Type_size_x(type, &size), "the size of a datatype");
    check(mpi.Type_get_extent_x(type, &lower, &extent), "the extent of a datatype");
    Flat flat = Flat::bytes(size);
    if (size < extent && size > static_cast<MPI_Count>(sizeof(int))) {
      // A value and an int (MPI_DOUBLE_INT and so on), as a structure of C.
      MPI_Count true_lower = 0;
      MPI_Count true_extent = 0;
      check(mpi.Type_get_true_extent_x(type, &true_lower, &true_extent), "a datatype's extent");
      constexpr std::int64_t index_bytes = sizeof(int);
      flat = {};
      flat.append(Flat::bytes(size - index_bytes), 0);
      flat.append(Flat::bytes(index_bytes), true_extent - index_bytes);
    }
    flat.lower = lower;
    flat.extent = extent;
    flat.index();
    return flat;
  }

  Flat derived(const Contents& contents) const {
    const auto& n = contents.numbers;
    const auto& at = contents.displacements;
    if (contents.combiner == MPI_COMBINER_STRUCT || contents.combiner == combiner_struct_integer) {
      return structure(contents);
    }
    Flat child = decode(contents.types.at(0));
    Flat flat;
    switch (contents.combiner) {
      case MPI_COMBINER_DUP:
        return child;
      case MPI_COMBINER_CONTIGUOUS:
        flat.append_block(child, n.at(0), 0);
        return flat;
      case MPI_COMBINER_VECTOR:
        return vector(child, n.at(0), n.at(1), n.at(2) * child.extent);
      case MPI_COMBINER_INDEXED:
        for (std::int64_t i = 0; i < n.at(0); ++i) {
          flat.append_block(child, n.at(1 + i), n.at(1 + n[0] + i) * child.extent);
        }
        return flat;
      case MPI_COMBINER_INDEXED_BLOCK:
        for (std::int64_t i = 0; i < n.at(0); ++i) {
          flat.append_block(child, n.at(1), n.at(2 + i) * child.extent);
        }
        return flat;
      case MPI_COMBINER_HINDEXED_BLOCK:
        for (std::int64_t i = 0; i < n.at(0); ++i) {
          flat.append_block(child, n.at(1), at.at(i));
        }
        return flat;
      case MPI_COMBINER_RESIZED:
        flat = child;
        flat.mark(at.at(0), at.at(1));
        return flat;
      case MPI_COMBINER_SUBARRAY:
        return subarray(child, n);
      case MPI_COMBINER_DARRAY:
        return dealt_array(child, n);
      default:
        return strided_by_bytes(contents, child);
    }
  }

  /// Those that Fortran's old bindings made have names of their own.
  static Flat strided_by_bytes(const Contents& contents, const Flat& child) {
    const auto& n = contents.numbers;
    const auto& at = contents.displacements;
    if (contents.combiner == MPI_COMBINER_HVECTOR ||
        contents.combiner == combiner_hvector_integer) {
      return vector(child, n.at(0), n.at(1), at.empty() ? n.at(2) : at[0]);
    }
    if (contents.combiner == MPI_COMBINER_HINDEXED ||
        contents.combiner == combiner_hindexed_integer) {
      Flat flat;
      for (std::int64_t i = 0; i < n.at(0); ++i) {
        flat.append_block(child, n.at(1 + i), at.empty() ? n.at(1 + n[0] + i) : at.at(i));
      }
      return flat;
    }
    throw Fault(MPI_ERR_TYPE, "a datatype of an unknown kind");
  }

  static Flat vector(const Flat& child, std::int64_t count, std::int64_t block,
                     std::int64_t stride_bytes) {
    Flat flat;
    for (std::int64_t i = 0; i < count; ++i) {
      flat.append_block(child, block, i * stride_bytes);
    }
    return flat;
  }

  Flat structure(const Contents& contents) const {
    const auto& n = contents.numbers;
    const auto& at = contents.displacements;
    Flat flat;
    for (std::int64_t i = 0; i < n.at(0); ++i) {
      Flat child = decode(contents.types.at(static_cast<std::size_t>(i)));
      child.is_marked = child.is_marked && marks_prevail;
      flat.append_block(child, n.at(1 + i), at.empty() ? n.at(1 + n[0] + i) : at.at(i));
    }
    return flat;
  }

  static Flat subarray(const Flat& child, const std::vector<std::int64_t>& n) {
    const auto dims = static_cast<std::size_t>(n.at(0));
    Cut cut;
    cut.is_fortran = n.at(1 + 3 * dims) == MPI_ORDER_FORTRAN;
    for (std::size_t d = 0; d < dims; ++d) {
      cut.sizes.push_back(n[1 + d]);
      cut.pieces.push_back({{n[1 + 2 * dims + d], n[1 + dims + d]}});
    }
    return flat_of_cut(child, cut);
  }

  /// size, rank, ndims, sizes, distributions, arguments, processes, order.
  static Flat dealt_array(const Flat& child, const std::vector<std::int64_t>& n) {
    const auto dims = static_cast<std::size_t>(n.at(2));
    std::int64_t rank = n.at(1);
    Cut cut;
    cut.is_fortran = n.at(3 + 4 * dims) == MPI_ORDER_FORTRAN;
    std::vector<Dealing> dealings(dims);
    for (std::size_t i = 0; i < dims; ++i) {
      const std::size_t d = dims - 1 - i;  // processes are in row-major order in either case
      Dealing& dealing = dealings[d];
      dealing.size = n[3 + d];
      const std::int64_t kind = n[3 + dims + d];
      dealing.kind = kind == MPI_DISTRIBUTE_BLOCK    ? Dealing::Kind::block
                     : kind == MPI_DISTRIBUTE_CYCLIC ? Dealing::Kind::cyclic
                                                     : Dealing::Kind::none;
      const std::int64_t argument = n[3 + 2 * dims + d];
      dealing.argument = argument == MPI_DISTRIBUTE_DFLT_DARG ? -1 : argument;
      dealing.processes = n[3 + 3 * dims + d];
      dealing.process = rank % dealing.processes;
      rank /= dealing.processes;
    }
    for (const Dealing& dealing : dealings) {
      cut.sizes.push_back(dealing.size);
      cut.pieces.push_back(pieces_of(dealing));
    }
    return flat_of_cut(child, cut);
  }

  bool is_external_;
};

using Shared = std::shared_ptr<const Flat>;

int delete_flat(MPI_Datatype, int, void* value, void*) {
  delete static_cast<Shared*>(value);
  return MPI_SUCCESS;
}

int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int make_keyval() {
  int keyval = 0;
  check(mpi.Type_create_keyval(copy_nothing, delete_flat, &keyval, nullptr), "an attribute");
  return keyval;
}

/// What is kept on the datatype, or null.
Shared find_kept(MPI_Datatype type, int keyval) {
  void* value = nullptr;
  int is_there = 0;
  check(mpi.Type_get_attr(type, keyval, &value, &is_there), "an attribute of a datatype");
  return is_there != 0 ? *static_cast<Shared*>(value) : nullptr;
}

Shared decoded(MPI_Datatype type, int keyval, bool is_external) {
  // One thread sets the attribute: MPI deletes what was set before, which others may be copying.
  static std::mutex mutex;
  {
    const std::lock_guard lock(mutex);
    if (Shared kept = find_kept(type, keyval)) {
      return kept;
    }
  }
  auto flat = std::make_shared<const Flat>(Decoder(is_external).decode(type));
  auto kept = std::make_unique<Shared>(flat);
  const std::lock_guard lock(mutex);
  if (Shared other = find_kept(type, keyval)) {
    return other;
  }
  check(mpi.Type_set_attr(type, keyval, kept.get()), "an attribute of a datatype");
  static_cast<void>(kept.release());
  return flat;
}

void need_type(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) {
    throw Fault(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  }
}

/// The sizes of predefined types that have no holes: their handles are never freed, so that one may
/// be looked up by its value. Any thread; an entry does not change once it is there.
class PlainTypes {
 public:
  /// 0: not known.
  std::int64_t find(MPI_Datatype type) const {
    const std::uint64_t word = word_of(type);
    const Entry& entry = entries_[place_of(word)];
    return entry.word.load() == word ? entry.bytes : 0;
  }
  void add(MPI_Datatype type, std::int64_t bytes) {
    const std::uint64_t word = word_of(type);
    Entry& entry = entries_[place_of(word)];
    std::uint64_t nothing = 0;
    if (entry.word.compare_exchange_strong(nothing, claimed)) {
      entry.bytes = bytes;
      entry.word.store(word);
    }
  }

 private:
  static constexpr std::uint64_t claimed = 1;  // no handle
  static constexpr int entries_log2 = 6;
  struct Entry {
    std::atomic<std::uint64_t> word{0};
    std::int64_t bytes = 0;
  };

  static std::uint64_t word_of(MPI_Datatype type) {
    std::uint64_t word = 0;
    std::memcpy(&word, &type, sizeof type);
    return word;
  }
  static std::size_t place_of(std::uint64_t word) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // spreads words over the high bits
    return static_cast<std::size_t>(word * odd >> (64 - entries_log2));
  }

  std::array<Entry, std::size_t{1} << entries_log2> entries_;
};
PlainTypes& plain_types() {
  static auto* const all = new PlainTypes;  // used until the process ends
  return *all;
}

}  // namespace

std::shared_ptr<const Flat> flat_of(MPI_Datatype type) {
  static const int keyval = make_keyval();
  need_type(type);
  return decoded(type, keyval, false);
}

std::shared_ptr<const Flat> external_flat_of(MPI_Datatype type) {
  static const int keyval = make_keyval();
  need_type(type);
  return decoded(type, keyval, true);
}

std::int64_t plain_bytes(MPI_Datatype type) {
  if (type == MPI_BYTE) {
    return 1;
  }
  if (const std::int64_t bytes = plain_types().find(type); bytes > 0) {
    return bytes;
  }
  need_type(type);
  const int combiner = combiner_of(type);
  if (!is_named(combiner)) {
    return 0;
  }
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  check(mpi.Type_size_x(type, &size), "the size of a datatype");
  check(mpi.Type_get_extent_x(type, &lower, &extent), "the extent of a datatype");
  if (size != extent) {
    return 0;
  }
  if (combiner == MPI_COMBINER_NAMED) {
    plain_types().add(type, size);
  }
  return size;
}

bool is_predefined(MPI_Datatype type) { return is_named(combiner_of(type)); }

KeptType::KeptType(MPI_Datatype type) : type_(type), is_derived_(!is_predefined(type)) {
  if (is_derived_) {
    check(mpi.Type_dup(type, &type_), "duplicating a datatype");
  }
}

KeptType::KeptType(KeptType&& other) noexcept
    : type_(other.type_), is_derived_(std::exchange(other.is_derived_, false)) {}

KeptType& KeptType::operator=(KeptType&& other) noexcept {
  std::swap(type_, other.type_);
  std::swap(is_derived_, other.is_derived_);
  return *this;
}

KeptType::~KeptType() {
  if (is_derived_) {
    mpi.Type_free(&type_);
  }
}

MPI_Datatype KeptType::duplicate() const {
  MPI_Datatype copy = type_;
  if (is_derived_) {
    check(mpi.Type_dup(type_, &copy), "duplicating a datatype");
  }
  return copy;
}

}  // namespace sluice::mpiio
