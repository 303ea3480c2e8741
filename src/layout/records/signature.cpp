#include "layout/records/signature.hpp"

#include <algorithm>

#include "sluice/error.hpp"
#include "sluice/types.hpp"

namespace sluice::layout::records {

namespace {

/// Runs compared backwards: enough to distinguish the places in the body of a loop.
constexpr std::uint64_t most_compared = 64;
/// Runs compared in one search: enough to skip hundreds of places that differ early, and a few that
/// differ late.
constexpr std::uint64_t most_compared_in_all = 384;

void put_number(std::vector<std::byte>& text, std::uint64_t value) {
  while (value >= 0x80) {
    text.push_back(static_cast<std::byte>(value | 0x80));
    value >>= 7;
  }
  text.push_back(static_cast<std::byte>(value));
}

}  // namespace

std::uint32_t scalar_bytes(ScalarCode code) noexcept {
  constexpr std::array<std::uint8_t, 14> bytes = {0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16, 1};
  constexpr std::uint32_t float16_kind = static_cast<std::uint32_t>(Kind::f16);
  constexpr std::uint32_t string_kind = static_cast<std::uint32_t>(Kind::string);
  if (code < bytes.size()) {
    return bytes[code];
  }
  if (code == float16_kind) {
    return 2;
  }
  if (code >= int128_code && code <= complex256_code) {
    return code >= complex160_code ? 32 : 16;
  }
  return code > 255 && code % 256 == string_kind ? code / 256 : 0;
}

std::string scalar_name(ScalarCode code) {
  constexpr std::array<const char*, 5> wide = {"int128", "float80", "float128", "complex160",
                                               "complex256"};
  if (code >= int128_code && code <= complex256_code) {
    return wide[code - int128_code];
  }
  if (scalar_bytes(code) == 0) {
    return "type " + std::to_string(code);
  }
  return type_name({static_cast<Kind>(code % 256), scalar_bytes(code)});
}

// -- writing --------------------------------------------------------------------------------------

std::uint64_t SignatureCoder::matching_before(std::uint64_t distance) const {
  std::uint64_t same = 0;
  while (same < most_compared && distance + same < std::min(repeat_.runs, window_runs) &&
         repeat_.window[(repeat_.runs - 1 - same) % window_runs] ==
             repeat_.window[(repeat_.runs - 1 - same - distance) % window_runs]) {
    ++same;
  }
  return same;
}

/// Of the earlier places of the run, the one with the longest common history is taken: in a loop
/// that is the same place of its body.
void SignatureCoder::search(const Run& run) {
  close_repeat();
  std::uint64_t best = 0;
  std::uint64_t most_same = 0;
  std::uint64_t compared = 0;
  const std::uint64_t reach = std::min(repeat_.runs, window_runs - 1);
  for (std::uint64_t d = 1;
       d <= reach && most_same < most_compared && compared < most_compared_in_all; ++d) {
    if (repeat_.window[(repeat_.runs - d) % window_runs] != run) {
      continue;
    }
    const std::uint64_t same = matching_before(d);
    compared += same + 1;
    if (best == 0 || same > most_same) {
      best = d;
      most_same = same;
    }
  }
  if (best != 0) {
    repeat_.distance = best;
    repeat_.length = 1;
  } else {
    put_number(text_, 0);
    put_number(text_, run.code);
    put_number(text_, run.count);
  }
  repeat_.window[repeat_.runs % window_runs] = run;
  ++repeat_.runs;
}

void SignatureCoder::close_repeat() {
  if (repeat_.distance != 0) {
    put_number(text_, repeat_.distance);
    put_number(text_, repeat_.length);
  }
  repeat_.distance = 0;
  repeat_.length = 0;
}

const std::vector<std::byte>& SignatureCoder::finish() {
  close_repeat();
  return text_;
}

void SignatureCoder::restart() {
  text_.clear();
  repeat_.runs = 0;
  repeat_.distance = 0;
  repeat_.length = 0;
}

// -- reading --------------------------------------------------------------------------------------

std::uint64_t SignatureReader::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && at_ < text_.size(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(text_[at_++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      return value;
    }
  }
  throw Error(Code::damaged, "the signature of a part is damaged");
}

bool SignatureReader::next(Run& run) {
  if (left_ == 0) {
    if (at_ == text_.size()) {
      return false;
    }
    distance_ = number();
    if (distance_ == 0) {
      const std::uint64_t code = number();
      run.code = static_cast<ScalarCode>(code);
      run.count = number();
      if (code > 0xffffffff || scalar_bytes(run.code) == 0 || run.count == 0) {
        throw Error(Code::damaged, "the signature of a part is damaged");
      }
    } else {
      left_ = number();
      if (left_ == 0 || distance_ > std::min(runs_, window_runs - 1)) {
        throw Error(Code::damaged, "the signature of a part is damaged");
      }
    }
  }
  if (left_ != 0) {
    --left_;
    run = window_[(runs_ - distance_) % window_runs];
  }
  if (window_.empty()) {
    window_.resize(window_runs);
  }
  window_[runs_ % window_runs] = run;
  ++runs_;
  return true;
}

}  // namespace sluice::layout::records
