// Random datatypes of MPI, each with the list of its bytes, which is computed here from the
// definition of MPI's constructors alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mpi.h>
#include <random>
#include <vector>

namespace random_types {

using Bytes = std::vector<std::int64_t>;

/// A datatype, and where its bytes lie, in the order of the type map. Freed with the object.
struct Type {
  MPI_Datatype handle = MPI_BYTE;
  Bytes bytes{0};
  std::int64_t extent = 1;
  bool is_made = false;

  Type() = default;
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  Type(Type&& other) noexcept { *this = std::move(other); }
  Type& operator=(Type&& other) noexcept {
    std::swap(handle, other.handle);
    std::swap(bytes, other.bytes);
    std::swap(extent, other.extent);
    std::swap(is_made, other.is_made);
    return *this;
  }
  ~Type() {
    if (is_made) {
      MPI_Type_free(&handle);
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes.size()); }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int limit) {
    return static_cast<int>(engine_() % static_cast<std::uint64_t>(std::max(limit, 1)));
  }
  int between(int first, int last) { return first + below(last - first + 1); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

inline Type named(MPI_Datatype handle, std::int64_t bytes) {
  Type type;
  type.handle = handle;
  type.bytes.clear();
  for (std::int64_t i = 0; i < bytes; ++i) {
    type.bytes.push_back(i);
  }
  type.extent = bytes;
  return type;
}

inline Type random_named(Random& random) {
  switch (random.below(6)) {
    case 0:
      return named(MPI_INT, 4);
    case 1:
      return named(MPI_DOUBLE, 8);
    case 2:
      return named(MPI_SHORT, 2);
    case 3:
      return named(MPI_CHAR, 1);
    case 4: {  // has a hole of 2 bytes
      Type type = named(MPI_SHORT_INT, 0);
      type.bytes = {0, 1, 4, 5, 6, 7};
      type.extent = 8;
      return type;
    }
    default:
      return named(MPI_BYTE, 1);
  }
}

inline void append(Bytes& out, const Type& child, std::int64_t count, std::int64_t at) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (const std::int64_t byte : child.bytes) {
      out.push_back(at + i * child.extent + byte);
    }
  }
}

/// Commits, and queries MPI for the extent if it is unknown: padding is up to MPI.
inline void finish(Type& type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type.handle, &lower, &extent);
  type.extent = extent;
  type.is_made = true;
  MPI_Type_commit(&type.handle);
}

inline Type contiguous(const Type& child, int count) {
  Type type;
  type.bytes.clear();
  append(type.bytes, child, count, 0);
  MPI_Type_contiguous(count, child.handle, &type.handle);
  finish(type);
  return type;
}

/// Negative strides and overlaps are for memory only.
inline Type vector(const Type& child, int count, int block, int stride, bool in_bytes) {
  Type type;
  type.bytes.clear();
  const std::int64_t stride_bytes = in_bytes ? stride : stride * child.extent;
  for (int i = 0; i < count; ++i) {
    append(type.bytes, child, block, i * stride_bytes);
  }
  if (in_bytes) {
    MPI_Type_create_hvector(count, block, stride, child.handle, &type.handle);
  } else {
    MPI_Type_vector(count, block, stride, child.handle, &type.handle);
  }
  finish(type);
  return type;
}

/// By one of the constructors that take lists. `at` counts extents of the child.
inline Type listed(Random& random, const Type& child, const std::vector<int>& blocks,
                   const std::vector<int>& at) {
  Type type;
  type.bytes.clear();
  const int count = static_cast<int>(blocks.size());
  std::vector<MPI_Aint> at_bytes;
  for (int i = 0; i < count; ++i) {
    append(type.bytes, child, blocks[i], at[i] * child.extent);
    at_bytes.push_back(at[i] * child.extent);
  }
  const bool is_even =
      std::all_of(blocks.begin(), blocks.end(), [&](int block) { return block == blocks[0]; });
  switch (random.below(is_even && count > 0 ? 5 : 3)) {
    case 0:
      MPI_Type_indexed(count, blocks.data(), at.data(), child.handle, &type.handle);
      break;
    case 1:
      MPI_Type_create_hindexed(count, blocks.data(), at_bytes.data(), child.handle, &type.handle);
      break;
    case 2: {
      const std::vector<MPI_Datatype> children(blocks.size(), child.handle);
      MPI_Type_create_struct(count, blocks.data(), at_bytes.data(), children.data(), &type.handle);
      break;
    }
    case 3:
      MPI_Type_create_indexed_block(count, blocks[0], at.data(), child.handle, &type.handle);
      break;
    default:
      MPI_Type_create_hindexed_block(count, blocks[0], at_bytes.data(), child.handle, &type.handle);
  }
  finish(type);
  return type;
}

inline Type resized(const Type& child, std::int64_t lower, std::int64_t extent) {
  Type type;
  type.bytes = child.bytes;
  MPI_Type_create_resized(child.handle, lower, extent, &type.handle);
  finish(type);
  return type;
}

inline Type duplicate(const Type& child) {
  Type type;
  type.bytes = child.bytes;
  MPI_Type_dup(child.handle, &type.handle);
  finish(type);
  return type;
}

/// A box of an array; `order` as MPI's.
inline Type subarray(const Type& child, const std::vector<int>& sizes,
                     const std::vector<int>& counts, const std::vector<int>& starts, int order) {
  Type type;
  type.bytes.clear();
  const int dims = static_cast<int>(sizes.size());
  std::vector<int> index(sizes.size(), 0);
  std::int64_t elements = 1;
  for (const int count : counts) {
    elements *= count;
  }
  for (std::int64_t n = 0; n < elements; ++n) {
    std::int64_t rest = n;
    std::int64_t place = 0;
    for (int i = dims - 1; i >= 0; --i) {  // the fastest dimension comes first here
      const int d = order == MPI_ORDER_C ? i : dims - 1 - i;
      index[d] = static_cast<int>(rest % counts[d]);
      rest /= counts[d];
    }
    for (int i = 0; i < dims; ++i) {
      const int d = order == MPI_ORDER_C ? i : dims - 1 - i;
      place = place * sizes[d] + starts[d] + index[d];
    }
    append(type.bytes, child, 1, place * child.extent);
  }
  MPI_Type_create_subarray(dims, sizes.data(), counts.data(), starts.data(), order, child.handle,
                           &type.handle);
  finish(type);
  return type;
}

/// What `rank` of `processes` has of an array that is dealt by blocks or in turn.
inline Type dealt(const Type& child, int rank, const std::vector<int>& processes,
                  const std::vector<int>& sizes, const std::vector<int>& kinds,
                  const std::vector<int>& arguments, int order) {
  Type type;
  type.bytes.clear();
  const int dims = static_cast<int>(sizes.size());
  std::vector<int> place_of_rank(sizes.size());
  int all = 1;
  for (int d = dims - 1, rest = rank; d >= 0; --d) {
    place_of_rank[d] = rest % processes[d];
    rest /= processes[d];
    all *= processes[d];
  }
  std::int64_t elements = 1;
  for (const int size : sizes) {
    elements *= size;
  }
  for (std::int64_t n = 0; n < elements; ++n) {
    bool is_own = true;
    std::int64_t rest = n;
    for (int i = dims - 1; i >= 0; --i) {
      const int d = order == MPI_ORDER_C ? i : dims - 1 - i;
      const int index = static_cast<int>(rest % sizes[d]);
      rest /= sizes[d];
      if (kinds[d] == MPI_DISTRIBUTE_NONE) {
        continue;
      }
      const bool is_default = arguments[d] == MPI_DISTRIBUTE_DFLT_DARG;
      const int block =
          kinds[d] == MPI_DISTRIBUTE_BLOCK
              ? (is_default ? (sizes[d] + processes[d] - 1) / processes[d] : arguments[d])
              : (is_default ? 1 : arguments[d]);
      is_own = is_own && index / block % processes[d] == place_of_rank[d];
    }
    if (is_own) {
      append(type.bytes, child, 1, n * child.extent);
    }
  }
  MPI_Type_create_darray(all, rank, dims, sizes.data(), kinds.data(), arguments.data(),
                         processes.data(), order, child.handle, &type.handle);
  finish(type);
  return type;
}

/// For memory: anything goes, also what repeats (where it is only read) and what descends.
inline Type random_memory(Random& random, bool may_repeat, int depth = 2) {
  if (depth == 0 || random.one_in(4)) {
    return random_named(random);
  }
  const Type child = random_memory(random, may_repeat, depth - 1);
  const int block = random.between(1, 3);
  switch (random.below(6)) {
    case 0:
      return contiguous(child, random.between(1, 5));
    case 1: {
      const int stride = may_repeat && random.one_in(3) ? 0 : block + random.below(3);
      return vector(child, random.between(1, 4), block, stride, false);
    }
    case 2: {
      std::vector<int> blocks;
      std::vector<int> at;
      for (int i = random.between(1, 4), next = 0; i > 0; --i) {
        blocks.push_back(random.between(1, 3));
        at.push_back(next);
        next += blocks.back() + random.below(3);
      }
      if (random.one_in(2)) {
        std::reverse(blocks.begin(), blocks.end());
        std::reverse(at.begin(), at.end());
      }
      return listed(random, child, blocks, at);
    }
    case 3:
      return resized(child, 0, child.extent + random.below(9));
    case 4:
      return duplicate(child);
    default: {
      const std::vector<int> sizes{random.between(1, 4), random.between(1, 4)};
      const std::vector<int> counts{random.between(1, sizes[0]), random.between(1, sizes[1])};
      const std::vector<int> starts{random.below(sizes[0] - counts[0] + 1),
                                    random.below(sizes[1] - counts[1] + 1)};
      return subarray(child, sizes, counts, starts,
                      random.one_in(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
    }
  }
}

/// Of an array that is dealt to the ranks along one of its two dimensions.
inline std::vector<Type> random_dealt(Random& random, const Type& element, int ranks) {
  std::vector<Type> types;
  const std::vector<int> sizes{random.between(1, 12), random.between(1, 12)};
  const std::vector<int> processes =
      random.one_in(2) ? std::vector<int>{ranks, 1} : std::vector<int>{1, ranks};
  const int split = processes[0] == 1 ? 1 : 0;
  std::vector<int> kinds{MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_NONE};
  std::vector<int> arguments{MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  kinds[split] = random.one_in(2) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
  if (kinds[split] == MPI_DISTRIBUTE_CYCLIC && random.one_in(2)) {
    arguments[split] = random.between(1, 4);
  }
  const int order = random.one_in(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  for (int rank = 0; rank < ranks; ++rank) {
    types.push_back(dealt(element, rank, processes, sizes, kinds, arguments, order));
  }
  return types;
}

/// For the file: of all ranks together, no byte is in two of them. Each rank calls it with the same
/// random numbers and gets all ranks' types.
inline std::vector<Type> random_file_types(Random& random, const Type& element, int ranks) {
  std::vector<Type> types;
  const int kind = random.below(4);
  if (kind == 0) {  // elements are assigned at random
    const int elements = random.between(ranks, 40 * ranks);
    std::vector<std::vector<int>> blocks(ranks);
    std::vector<std::vector<int>> at(ranks);
    for (int next = 0; next < elements;) {
      const int owner = random.below(ranks + 1);  // also to no rank
      const int length = random.between(1, 6);
      if (owner < ranks) {
        blocks[owner].push_back(length);
        at[owner].push_back(next);
      }
      next += length + random.below(2);
    }
    const std::int64_t extent = (elements + 8) * element.extent;
    for (int rank = 0; rank < ranks; ++rank) {
      types.push_back(resized(listed(random, element, blocks[rank], at[rank]), 0, extent));
    }
  } else if (kind == 1) {  // rows of a vector in turn
    const int block = random.between(1, 8);
    const int count = random.between(1, 8);
    for (int rank = 0; rank < ranks; ++rank) {
      const Type rows = vector(element, count, block, block * ranks, false);
      const Type moved = listed(random, rows, {1}, {0});
      Type placed;
      placed.bytes.clear();
      append(placed.bytes, moved, 1, rank * block * element.extent);
      const int one = 1;
      const MPI_Aint at = rank * block * element.extent;
      MPI_Type_create_hindexed(1, &one, &at, moved.handle, &placed.handle);
      finish(placed);
      types.push_back(resized(placed, 0, element.extent * block * ranks * count));
    }
  } else if (kind == 2) {  // slabs of an array
    const int slab = random.between(1, 4);
    const std::vector<int> sizes{random.between(1, 5), slab * ranks, random.between(1, 5)};
    const int order = random.one_in(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    for (int rank = 0; rank < ranks; ++rank) {
      types.push_back(
          subarray(element, sizes, {sizes[0], slab, sizes[2]}, {0, slab * rank, 0}, order));
    }
  } else {
    types = random_dealt(random, element, ranks);
  }
  if (random.one_in(3)) {  // what is made of them keeps their bounds
    const int count = random.between(1, 3);
    const int block = random.between(1, 2);
    const int stride = block + random.below(2);
    const bool is_one_block = random.one_in(2);
    for (Type& type : types) {
      type = is_one_block ? contiguous(type, count) : vector(type, count, block, stride, false);
    }
  }
  return types;
}

}  // namespace random_types
