#include "sluice/checkpoint.hpp"

#include "api/checkpoint/checkpoint_impl.hpp"
#include "api/file/selected.hpp"
#include "api/messages.hpp"
#include "exec/transport/agree.hpp"

namespace sluice {

using detail::CheckpointImpl;
using detail::Registered;

Checkpoint::Checkpoint(const Comm& comm, const std::string& path, const CheckpointOptions& options)
    : impl_(std::make_unique<CheckpointImpl>(comm, path, options)) {}

Checkpoint::Checkpoint(std::unique_ptr<CheckpointImpl> impl) : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;

Checkpoint& Checkpoint::operator=(Checkpoint&& other) noexcept {
  if (this != &other) {
    const Checkpoint old(std::move(*this));  // closes what this one held
    impl_ = std::move(other.impl_);
  }
  return *this;
}

CheckpointImpl& Checkpoint::impl() const {
  if (!impl_) {
    throw Error(Code::wrong_state,
                "this Checkpoint was moved from: use the one that it was moved to");
  }
  return *impl_;
}

Checkpoint::~Checkpoint() {
  if (impl_ && !impl_->is_here()) {
    static_cast<void>(impl_.release());  // as in ~File
    return;
  }
  if (!impl_ || !impl_->is_open()) {
    return;
  }
  if (impl_->unwinds()) {
    impl_->leave();
    impl_->drop();  // everything that was saved is there
    return;
  }
  detail::close_or_say(*impl_);
}

void Checkpoint::array_raw(const std::string& name, void* data, Type type, const Shape& shape,
                           const Selection& mine) {
  impl().add({name, type, shape, detail::ByPlace{data, mine}});
}

void Checkpoint::array_sized(const std::string& name, void* data, std::uint64_t size, Type type,
                             const Shape& shape, const Selection& mine) {
  Selection part = mine;
  const std::exception_ptr wrong = exec::failure_of([&] {
    const model::Box box = detail::box_of(mine, detail::dims_of(shape), size);
    detail::require_size("checkpoint: " + name, mine, box.count, size);
    part.count = {box.count.begin(), box.count.end()};
  });
  impl().add({name, type, shape, detail::ByPlace{data, part}, wrong});
}

void Checkpoint::rows_sized(const std::string& name, const std::uint64_t* ids, std::uint64_t count,
                            void* data, std::uint64_t size, Type type, const Shape& shape) {
  const std::exception_ptr wrong = exec::failure_of([&] {
    detail::require_row_size("checkpoint: " + name, count, detail::dims_of(shape), size);
  });
  impl().add({name, type, shape, detail::ByRows{data, {ids, ids + count}}, wrong});
}

void Checkpoint::rows_raw(const std::string& name, const std::uint64_t* ids, std::uint64_t count,
                          void* data, Type type, const Shape& shape) {
  impl().add({name, type, shape, detail::ByRows{data, {ids, ids + count}}});
}

void Checkpoint::value_raw(const std::string& name, void* value, Type type) {
  impl().add({name, type, {}, detail::SingleValue{value}});
}

void Checkpoint::text(const std::string& name, std::string& text, std::uint32_t most_bytes) {
  impl().add({name, string_type(most_bytes), {}, detail::OfText{{&text, nullptr}, {}}});
}

void Checkpoint::text_raw(const std::string& name, char* text, std::uint32_t capacity) {
  impl().add({name, string_type(capacity), {}, detail::OfText{{nullptr, text}, {}}});
}

void Checkpoint::bytes(const std::string& name, void* data, std::uint64_t bytes,
                       OnOtherRanks otherwise) {
  impl().add({name, type_of<std::uint8_t>(), {bytes}, detail::OfRank{data, otherwise}});
}

Restored Checkpoint::restore() { return impl().restore(); }
bool Checkpoint::due() { return impl().due(); }
bool Checkpoint::ending() const { return impl().ending(); }
Saved Checkpoint::save(double time) { return impl().save(time); }
bool Checkpoint::drain(double seconds) { return impl().drain(seconds); }
void Checkpoint::close() { impl().close(); }

}  // namespace sluice
