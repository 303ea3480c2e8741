#include "commit/parts/index_name.hpp"

#include "storage/named_file.hpp"

namespace sluice::commit {

IndexName::IndexName(storage::Storage& storage, const std::string& path)
    : storage_(storage), path_(path), lease_(storage.lease(path)) {}

void IndexName::begin(bool is_new) {
  is_new_ = is_new;
  holder_ = storage_.exists(path_) ? Holder::another : Holder::nothing;
  if (is_new && holder_ != Holder::nothing) {
    throw taken_error(path_);
  }
  if (holder_ == Holder::nothing) {
    left_journal_ = keep_left_journal(storage_, path_);
  }
}

void IndexName::found(storage::File& file) {
  identity_ = file.identity();
  holder_ = Holder::own;
}

void IndexName::check() const {
  if (lease_) {
    lease_->check();
  }
  if (holder_ == Holder::own && !storage::is_at(storage_, path_, identity_)) {
    throw storage::moved_error(path_, "");
  }
}

bool IndexName::has_last() const {
  if (lease_) {
    lease_->check();
  }
  return storage::is_at(storage_, path_, identity_);
}

}  // namespace sluice::commit
