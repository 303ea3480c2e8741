// What the C interfaces of sessions share: a number, and a session, as C gives them.
#pragma once

#include <cstdint>

#include "sluice/session.hpp"
#include "sluice/sluice.h"

namespace sluice::c_api {

/// Error invalid_argument, naming `what`, where the number is negative.
std::uint64_t count_of(std::int64_t number, const char* what);

/// Error invalid_argument where there is none, or its numbers are negative.
Session session_of(const sluice_session* session);

}  // namespace sluice::c_api
