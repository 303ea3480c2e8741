// The protocol between a sender and its writer: for every message a header, then the runs, then the
// packed bytes. A sender sends nothing before its turn, so the writer never holds more than one
// message, whatever the number of ranks.
#include <algorithm>
#include <exception>

#include "exec/transport/tags.hpp"
#include "exec/write/sink.hpp"

namespace sluice::exec {

namespace {

constexpr std::size_t payload_limit = 4U << 20;
constexpr std::size_t runs_limit = 64U << 10;

struct Header {
  std::uint64_t runs = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t is_last = 0;
};

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

RemoteSink::RemoteSink(Transport& transport, int writer) : transport_(transport), writer_(writer) {}

void RemoteSink::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (payload_.size() == payload_limit || runs_.size() == runs_limit) {
      send(false);
    }
    const std::size_t taken = std::min(bytes.size(), payload_limit - payload_.size());
    payload_.insert(payload_.end(), bytes.begin(), bytes.begin() + static_cast<long>(taken));
    if (!runs_.empty() && runs_.back().offset + runs_.back().length == offset) {
      runs_.back().length += taken;
    } else {
      runs_.push_back({offset, taken});
    }
    offset += taken;
    bytes = bytes.subspan(taken);
  }
}

void RemoteSink::finish() { send(true); }

void RemoteSink::send(bool last) {
  if (!has_turn_) {
    std::byte turn{};
    transport_.receive(writer_, turn_tag, {&turn, 1});
    has_turn_ = true;
  }
  const Header header{runs_.size(), payload_.size(), last ? 1U : 0U};
  transport_.send(writer_, batch_header_tag, bytes_of(header));
  if (!runs_.empty()) {
    transport_.send(writer_, batch_runs_tag, std::as_bytes(std::span(runs_)));
    transport_.send(writer_, batch_payload_tag, payload_);
  }
  runs_.clear();
  payload_.clear();
}

void take_in_turn(Transport& transport, std::span<const int> senders,
                  const std::function<void(std::uint64_t, std::span<const std::byte>)>& visit) {
  struct Run {
    std::uint64_t offset;
    std::uint64_t length;
  };
  std::exception_ptr failure;
  std::vector<Run> runs;
  std::vector<std::byte> payload;
  for (const int sender : senders) {
    const std::byte turn{};
    transport.send(sender, turn_tag, {&turn, 1});
    Header header;
    do {
      transport.receive(sender, batch_header_tag, std::as_writable_bytes(std::span(&header, 1)));
      if (header.runs == 0) {
        continue;
      }
      runs.resize(header.runs);
      payload.resize(header.payload_bytes);
      transport.receive(sender, batch_runs_tag, std::as_writable_bytes(std::span(runs)));
      transport.receive(sender, batch_payload_tag, payload);
      if (failure) {
        continue;  // the sender must not wait for this rank; the step has failed in any case
      }
      try {
        std::size_t at = 0;
        for (const Run& run : runs) {
          visit(run.offset, std::span(payload).subspan(at, run.length));
          at += run.length;
        }
      } catch (...) {
        failure = std::current_exception();
      }
    } while (header.is_last == 0);
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace sluice::exec
