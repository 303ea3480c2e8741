#include "sluice/records.hpp"

#include "api/messages.hpp"
#include "api/records/records_impl.hpp"
#include "exec/transport/solo_transport.hpp"

namespace sluice {

using detail::FileImpl;
using detail::RecordsImpl;

namespace {

layout::records::ScalarCode code_of(const Type& type) {
  const auto kind = static_cast<layout::records::ScalarCode>(type.kind);
  return type.kind == Kind::string ? kind + 256 * type.bytes : kind;
}

}  // namespace

Records::Records(const Comm& comm, const std::string& path, Mode mode, const Options& options)
    : impl_(std::make_unique<RecordsImpl>(
          [&](const Options& wanted) {
            return std::make_unique<FileImpl>(comm, path, mode, wanted);
          },
          mode, 1, options)) {}

Records::Records(const std::string& path, Mode mode, int parts, const Options& options)
    : impl_(std::make_unique<RecordsImpl>(
          [&](const Options& wanted) {
            return std::make_unique<FileImpl>(exec::make_solo(), path, mode, wanted);
          },
          mode, parts, options)) {}

Records::Records(std::unique_ptr<RecordsImpl> impl) : impl_(std::move(impl)) {}
Records::Records(Records&&) noexcept = default;

Records& Records::operator=(Records&& other) noexcept {
  if (this != &other) {
    const Records old(std::move(*this));  // closes the previous file
    impl_ = std::move(other.impl_);
  }
  return *this;
}

RecordsImpl& Records::impl() const {
  if (!impl_) {
    throw Error(Code::wrong_state,
                "these Records were moved from: use the object that they were moved to");
  }
  return *impl_;
}

Records::~Records() {
  if (impl_ && !impl_->is_here()) {
    static_cast<void>(impl_.release());  // as in ~File
    return;
  }
  // During exception unwinding the File below notifies the other ranks.
  if (!impl_ || !impl_->is_open() || impl_->unwinds()) {
    return;
  }
  detail::close_or_say(*impl_);
}

int Records::parts() const noexcept { return impl_ ? impl_->parts() : 0; }
std::uint64_t Records::groups() const { return impl().groups(); }

void Records::set_text(const std::string& name, const std::string& text) {
  impl().set_text(name, text);
}

void Records::write_raw(const void* values, Type type, std::uint64_t count, int part) {
  impl().write(part, code_of(type), values, static_cast<std::int64_t>(count));
}

Ticket Records::commit() { return impl().commit(); }
bool Records::drain(double seconds) { return impl().drain(seconds); }
bool Records::fetch() { return impl().fetch(); }
void Records::fetch(std::uint64_t group) { impl().fetch(group); }

void Records::read_raw(void* values, Type type, std::uint64_t count, int part) {
  impl().read(part, code_of(type), values, static_cast<std::int64_t>(count));
}

bool Records::at_end(int part) { return impl().at_end(part); }
void Records::close() { impl().close(); }

}  // namespace sluice
