#include "text/parallel_text.hpp"

#include <span>

#include "commit/publish/agreed_path.hpp"
#include "commit/publish/atomic_file.hpp"
#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

template <class Work>
void ParallelText::named(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    throw commit::naming(error, commit::building_path(path_), name_);
  }
}

ParallelText::ParallelText(const Context& context, const std::string& path)
    : context_(context),
      name_(path),
      path_(commit::agreed_path(context.transport, context.storage, path)),
      left_(context.is_root() ? commit::building_path(path_) : "") {
  exec::on_root(context.transport, [&] {
    if (context.storage.exists(path_)) {
      throw Error(Code::exists, path + ": exists already: choose another name");
    }
    named([&] {
      context.storage.open(commit::fresh_building_path(context.storage, path_),
                           storage::Access::create);
    });
  });
}

ParallelText::~ParallelText() {
  if (!is_named_ && context_.is_root()) {
    commit::forget_building(context_.storage, path_);
  }
}

void ParallelText::append(const std::string& part) {
  const exec::PrefixSum sums =
      context_.transport.prefix_sum(static_cast<std::int64_t>(part.size()));
  exec::together(context_.transport, [&] {
    if (!part.empty()) {
      write(bytes_ + static_cast<std::uint64_t>(sums.below), part);
    }
  });
  bytes_ += static_cast<std::uint64_t>(sums.all);
}

void ParallelText::append(std::uint64_t bytes, const Produce& produce) {
  const exec::PrefixSum sums = context_.transport.prefix_sum(static_cast<std::int64_t>(bytes));
  std::uint64_t at = bytes_ + static_cast<std::uint64_t>(sums.below);
  std::exception_ptr failure;
  produce([&](const std::string& piece) {
    if (!failure) {
      failure = exec::failure_of([&] { write(at, piece); });
      at += piece.size();
    }
  });
  exec::agree(context_.transport, failure);
  bytes_ += static_cast<std::uint64_t>(sums.all);
}

void ParallelText::write(std::uint64_t at, const std::string& part) {
  named([&] {
    if (!file_) {
      file_ = context_.storage.open(commit::building_path(path_), storage::Access::read_write);
    }
    file_->write(at, std::as_bytes(std::span(part)));
  });
}

std::uint64_t ParallelText::close() {
  exec::together(context_.transport, [&] {
    if (file_) {
      named([&] { file_->sync(); });
    }
    file_.reset();
  });
  exec::on_root(context_.transport, [&] {
    named([&] { context_.storage.rename_new(commit::building_path(path_), path_); });
    is_named_ = true;
    context_.storage.sync_directory(path_);
  });
  return bytes_;
}

}  // namespace sluice::cli
