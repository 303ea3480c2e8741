#include "text/parallel_text.hpp"

#include <span>

#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

std::string unfinished(const std::string& path) { return path + ".unfinished"; }

}  // namespace

ParallelText::ParallelText(const Context& context, const std::string& path)
    : context_(context), path_(path) {
  exec::on_root(context.transport, [&] {
    if (context.storage.exists(path)) {
      throw Error(Code::exists, path + ": exists already: choose another name");
    }
    if (context.storage.exists(unfinished(path))) {
      context.storage.remove(unfinished(path));
    }
    context.storage.open(unfinished(path), storage::Access::create);
  });
}

void ParallelText::append(const std::string& part) {
  const exec::PrefixSum sums =
      context_.transport.prefix_sum(static_cast<std::int64_t>(part.size()));
  std::exception_ptr failure;
  try {
    if (!part.empty()) {
      if (!file_) {
        file_ = context_.storage.open(unfinished(path_), storage::Access::read_write);
      }
      file_->write(bytes_ + static_cast<std::uint64_t>(sums.below), std::as_bytes(std::span(part)));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  exec::agree(context_.transport, failure);
  bytes_ += static_cast<std::uint64_t>(sums.all);
}

std::uint64_t ParallelText::close() {
  file_.reset();
  exec::on_root(context_.transport, [&] { context_.storage.rename(unfinished(path_), path_); });
  return bytes_;
}

}  // namespace sluice::cli
