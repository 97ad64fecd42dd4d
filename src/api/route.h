// One line per operation of the API: what it is called with, what it answers, what it asks of the caller, and
// the function that does it. The router, the checks of requests and openapi.json all follow from it.
#pragma once

#include <string_view>
#include <vector>

#include "api/permission.h"
#include "base/result.h"

namespace ctrlplane::api {

class Call;

// Begins the answer. An error it returns is the answer; otherwise it has answered, or will.
using Handler = Status (*)(Call&);

struct QueryParameter {
  std::string_view name;
  std::string_view type;  // in the notation of shape.h
  std::string_view about = {};
};

// Of a POST whose answer got lost between two replicas.
enum class Repeat : uint8_t {
  kByKey,   // may be sent again: the owner remembers the request's id
  kFreely,  // may be sent again as it is, because doing it twice is doing it once
  kNever,   // its answer must not be remembered
};

struct Outcome {
  int status = 200;
  std::string_view shape = {};  // empty: no body
};

struct Route {
  std::string_view method;
  std::string_view path;  // "/api/v1/…/{name}"; a literal segment goes before a parameter
  std::string_view id;    // operationId
  std::string_view summary;
  Permission permission;
  std::vector<QueryParameter> query = {};
  std::string_view body = {};  // a shape; empty: a body is ignored
  bool body_optional = false;
  bool bulk = false;  // takes large bodies
  Repeat repeat = Repeat::kByKey;
  std::vector<Outcome> outcomes = {};  // the first is the ordinary success
  Handler handler = nullptr;
  std::string_view content_type = "application/json";  // of the ordinary success
  std::string_view other_type = {};                    // that it can be had as too
};

struct Family {
  std::string_view tag;
  std::vector<Route> routes;
};

#define CTRLPLANE_W "/api/v1/workspaces/{workspaceId}"

// limit and offset, with further parameters behind them.
std::vector<QueryParameter> paged(std::vector<QueryParameter> more = {});

// All of them: the registry. A new family is a line in routes.cpp.
const std::vector<Family>& families();

}  // namespace ctrlplane::api
