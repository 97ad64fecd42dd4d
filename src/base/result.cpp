#include "base/result.h"

namespace ctrlplane {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kUnauthenticated: return "unauthenticated";
    case ErrorCode::kForbidden: return "forbidden";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kConflict: return "conflict";
    case ErrorCode::kFrozen: return "frozen";
    case ErrorCode::kTooLarge: return "too_large";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kBusy: return "busy";
    case ErrorCode::kInternal: return "internal";
    case ErrorCode::kNotCommitted: return "not_committed";
    case ErrorCode::kUnknown: return "unknown";
    case ErrorCode::kUnavailable: return "unavailable";
  }
  return "internal";
}

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return 400;
    case ErrorCode::kUnauthenticated: return 401;
    case ErrorCode::kForbidden: return 403;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kConflict:
    case ErrorCode::kFrozen: return 409;
    case ErrorCode::kTooLarge: return 413;
    case ErrorCode::kUnsupported: return 415;
    case ErrorCode::kBusy: return 429;
    case ErrorCode::kInternal: return 500;
    case ErrorCode::kNotCommitted:
    case ErrorCode::kUnknown:
    case ErrorCode::kUnavailable: return 503;
  }
  return 500;
}

}  // namespace ctrlplane
