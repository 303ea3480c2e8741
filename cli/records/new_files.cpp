#include "records/new_files.hpp"

#include <filesystem>

#include "exec/transport/agree.hpp"
#include "sluice/error.hpp"
#include "storage/durable_folder.hpp"

namespace sluice::cli {

NewFiles::NewFiles(const Context& context, std::string folder)
    : context_(context), folder_(std::move(folder)) {
  const auto made = exec::on_root(context_.transport, [&] {
    const bool is_new = storage::make_durable_folder(context_.storage, folder_);
    return std::vector<std::byte>{std::byte{is_new}};
  });
  is_own_folder_ = made[0] != std::byte{0};
  if (is_own_folder_) {
    left_folder_.emplace(folder_, LeftToParent::What::empty_folder);
  }
}

NewFiles::~NewFiles() {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    try {
      context_.storage.remove(building(names_[i]));
    } catch (const Error&) {
      continue;  // it was not created; or the next conversion replaces it
    }
  }
  if (is_own_folder_) {
    // The last rank removes it. A folder with files stays.
    std::error_code error;
    std::filesystem::remove(folder_, error);
  }
}

std::string NewFiles::begin(const std::string& name) {
  if (context_.storage.exists(folder_ + "/" + name)) {
    throw Error(Code::exists, folder_ + "/" + name + ": exists already: choose another folder");
  }
  names_.push_back(name);
  std::string path = building(name);
  left_.emplace_back(path);
  if (context_.storage.exists(path)) {
    context_.storage.remove(path);  // of a conversion that was killed
  }
  return path;
}

void NewFiles::take_name() {
  context_.storage.open(building(names_.back()), storage::Access::read_write)->sync();
  context_.storage.rename_new(building(names_.back()), folder_ + "/" + names_.back());
  names_.pop_back();
  left_.pop_back();
}

void NewFiles::finish() {
  exec::together(context_.transport, [&] {
    while (names_.size() > (context_.is_root() ? 1 : 0)) {
      take_name();
    }
  });
  exec::together(context_.transport, [&] {
    if (!names_.empty()) {
      take_name();
    }
    if (context_.is_root()) {
      context_.storage.sync_directory(folder_ + "/.");
    }
  });
  is_own_folder_ = false;
  left_folder_.reset();
}

}  // namespace sluice::cli
