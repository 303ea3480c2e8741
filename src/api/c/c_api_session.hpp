// Shared by the C interfaces of sessions: conversion of numbers and of sessions from C.
#pragma once

#include <cstdint>

#include "sluice/session.hpp"
#include "sluice/sluice.h"

namespace sluice::c_api {

/// Error invalid_argument, naming `what`, if the number is negative.
std::uint64_t count_of(std::int64_t number, const char* what);

/// Error invalid_argument if it is null, or its numbers are negative.
Session session_of(const sluice_session* session);

}  // namespace sluice::c_api
