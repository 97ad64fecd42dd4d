// Errors are values. A function that can fail on bad input or a failing world returns Result<T>;
// exceptions stop at the edge of the library that throws them.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ctrlplane {

// Each code maps to one HTTP status, so that a refusal decided deep inside needs no translation.
enum class ErrorCode {
  kInvalid,          // 400: the request can never succeed as it stands
  kUnauthenticated,  // 401
  kForbidden,        // 403: names the missing permission
  kNotFound,         // 404: absent, or not yours
  kConflict,         // 409: duplicate, stale, already ended
  kFrozen,           // 409: a freeze covers it
  kTooLarge,         // 413
  kUnsupported,      // 415
  kBusy,             // 429: a bounded queue is full
  kInternal,         // 500: a defect of ours
  kNotCommitted,     // 503: certainly had no effect; safe to retry
  kUnknown,          // 503: may have had its effect; retry with the same Idempotency-Key
  kUnavailable,      // 503: not the owner, or the store is out of reach; had no effect
};

std::string_view to_string(ErrorCode code);
int http_status(ErrorCode code);

struct ErrorDetail {
  std::string path;  // e.g. "rules[0].selector"
  std::string message;
  bool operator==(const ErrorDetail&) const = default;
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::vector<ErrorDetail> details = {};

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

// A refusal that points at one member of the request.
inline std::unexpected<Error> invalid(std::string path, std::string message) {
  Error e{ErrorCode::kInvalid, path + ": " + message};
  e.details.push_back({std::move(path), std::move(message)});
  return std::unexpected(std::move(e));
}

}  // namespace ctrlplane

// TRY(expr): the value of a Result, or return its error from the enclosing function.
#define TRY(...)                                                              \
  __extension__({                                                             \
    auto&& try_result_ = (__VA_ARGS__);                                       \
    if (!try_result_) return std::unexpected(std::move(try_result_).error()); \
    *std::move(try_result_);                                                  \
  })
