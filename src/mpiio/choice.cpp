#include "mpiio/choice.hpp"

#include <algorithm>

#include "mpiio/errors.hpp"
#include "mpiio/file.hpp"

namespace sluice::mpiio {

namespace {

/// Ranks write runs of this mean length themselves; shorter ones are exchanged first.
constexpr std::int64_t exchange_below_bytes = 128 << 10;
/// Where a file has stripes, runs that are shorter than one, up to this.
constexpr std::int64_t most_exchanged_bytes = std::int64_t{4} << 20;
/// Windows are read whole if at least one byte in this many is requested. Where fewer are written
/// hardly any runs meet, and each window costs a round: a short range has few of them.
constexpr std::int64_t most_window_for_one = 8;
constexpr std::int64_t short_range_bytes = std::int64_t{64} << 20;
/// Beyond this place in the file ranks move their own bytes: sums of domains could overflow.
constexpr std::int64_t most_exchanged_place = std::int64_t{1} << 60;

/// As MPI calls it: `later` becomes what both say together.
void add_summaries(void* earlier, void* later, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    static_cast<Summary*>(later)[i].add_before(static_cast<const Summary*>(earlier)[i]);
  }
}

/// How MPI reduces a Summary. Made once; freed when MPI ends, which some MPIs check.
struct Reduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op{};

  Reduction() {
    constexpr int numbers = sizeof(Summary) / sizeof(std::int64_t);
    check(mpi.Type_contiguous(numbers, MPI_INT64_T, &type), "making a datatype");
    check(mpi.Type_commit(&type), "making a datatype");
    constexpr int is_commutative = 0;
    check(mpi.Op_create(&add_summaries, is_commutative, &op), "making a reduction");
    // MPI deletes what is on MPI_COMM_SELF before all else.
    int keyval = 0;
    check(mpi.Comm_create_keyval(&no_reduction_for_copies, &free_reduction, &keyval, nullptr),
          "an attribute");
    check(mpi.Comm_set_attr(MPI_COMM_SELF, keyval, this), "an attribute");
    check(mpi.Comm_free_keyval(&keyval), "an attribute");
  }

  static int no_reduction_for_copies(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  static int free_reduction(MPI_Comm, int, void* value, void*) {
    auto* const reduction = static_cast<Reduction*>(value);
    mpi.Type_free(&reduction->type);
    mpi.Op_free(&reduction->op);
    return MPI_SUCCESS;
  }
};

/// Does any rank have a byte between the first and the last one of another rank?
bool interleave(std::vector<Run> ranges) {
  const auto comes_first = [](const Run& a, const Run& b) { return a.offset < b.offset; };
  std::erase_if(ranges, [](const Run& range) { return range.length == 0; });
  if (!std::is_sorted(ranges.begin(), ranges.end(), comes_first)) {
    std::sort(ranges.begin(), ranges.end(), comes_first);
  }
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  for (const Run& range : ranges) {
    if (range.offset < high) {
      return true;
    }
    high = std::max(high, range.end());
  }
  return false;
}

}  // namespace

void Summary::add_before(const Summary& earlier) {
  is_in_order = earlier.is_in_order != 0 && is_in_order != 0 && earlier.high <= low ? 1 : 0;
  error_class = std::max(error_class, earlier.error_class);
  ranks += earlier.ranks;
  bytes += earlier.bytes;
  runs += earlier.runs;
  low = std::min(low, earlier.low);
  high = std::max(high, earlier.high);
  file_bytes = std::max(file_bytes, earlier.file_bytes);
  most_scattered = std::max(most_scattered, earlier.most_scattered);
  least_alignment_log2 = std::min(least_alignment_log2, earlier.least_alignment_log2);
  is_ascending = std::min(is_ascending, earlier.is_ascending);
}

Summary summary_of_all(const File& file, const Summary& own) {
  static auto* const reduction = new Reduction;  // MPI may end after static objects do
  Summary all;
  check(mpi.Allreduce(&own, &all, 1, reduction->type, reduction->op, file.comm),
        "reducing the accesses");
  return all;
}

Choice::Choice(const File& file, bool is_write, const Summary& own, const Summary& all)
    : is_write_(is_write), all_(all) {
  if (!is_write) {
    all_.high = std::min(all_.high, all_.file_bytes);
  }
  const bool may = may_exchange(file);
  const bool must = may && file.hints.must_exchange(is_write);
  const std::int64_t below_bytes =
      std::clamp(file.hints.exchange().stripe_bytes, exchange_below_bytes, most_exchanged_bytes);
  const std::int64_t range_bytes = all_.range().length;
  const bool is_dense = range_bytes / most_window_for_one <= all_.bytes ||
                        (is_write && range_bytes <= short_range_bytes);
  const bool may_help = may && mean_run() < below_bytes && is_dense;
  const bool is_asked = may_help || (is_write && file.report.is_wanted());
  if (must || (is_asked && all_.is_in_order == 0)) {
    gather(file, own.range());
    interleaves_ = interleave(ranges_);
  }
  exchanges_ = must || (may_help && interleaves_);
}

std::int64_t Choice::mean_run() const { return all_.bytes / std::max<std::int64_t>(all_.runs, 1); }

bool Choice::may_exchange(const File& file) const {
  return all_.ranks > 1 && all_.high > all_.low && all_.high <= most_exchanged_place &&
         all_.is_ascending != 0 && !file.atomicity.is_on && file.hints.may_exchange(is_write_) &&
         domains(file).has_countable_rounds();
}

void Choice::gather(const File& file, const Run& own) {
  ranges_.resize(static_cast<std::size_t>(file.ranks));
  constexpr int numbers = sizeof(Run) / sizeof(std::int64_t);
  check(mpi.Allgather(&own, numbers, MPI_INT64_T, ranges_.data(), numbers, MPI_INT64_T, file.comm),
        "exchanging the accessed ranges");
}

Domains Choice::domains(const File& file) const {
  return make_domains({all_.low, all_.high - all_.low},
                      {mean_run(), all_.most_scattered, file.node.is_only}, file.ranks,
                      file.hints.exchange());
}

}  // namespace sluice::mpiio
