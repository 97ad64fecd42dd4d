// What the server says about itself.
#include <fmt/core.h>

#include "api/api.h"
#include "api/families.h"
#include "api/reference_page.h"
#include "store/migrations.h"

namespace ctrlplane::api {
namespace {

Status healthz(Call& c) { return c.reply(R"({"status":"ok"})"); }

Status readyz(Call& c) {
  if (c.api().ready()) return c.reply(R"({"status":"ok"})");
  std::string_view reason = c.api().leaving()             ? "the server is stopping"
                            : c.api().directory().ready() ? "the store has not answered lately"
                                                          : "the accounts are not loaded yet";
  return c.reply(503, fmt::format(R"({{"status":"not ready","reason":"{}"}})", reason));
}

Status version(Call& c) {
  const std::string& v = c.api().options().version;
  return c.reply(fmt::format(R"({{"api":"{}","workspaceEngine":"{}","version":"{}","schema":{}}})", v, v, v,
                             store::migrations().back().number));
}

Status openapi(Call& c) { return c.reply(c.api().openapi()); }

Status metrics(Call& c) {
  // The loops' figures belong to their thread.
  c.api().post([self = c.shared_from_this()] {
    self->respond(
        {.headers = {{"Content-Type", "text/plain; version=0.0.4"}}, .body = self->api().metrics()});
  });
  return {};
}

Status reference(Call& c) {
  net::Response r{.headers = {{"Content-Type", "text/html; charset=utf-8"}},
                  .body = std::string(kReferencePage)};
  r.headers.add("Content-Security-Policy",
                "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'");
  return c.respond(std::move(r));
}

}  // namespace

Family instance_family() {
  using namespace permission;
  return {"Instance",
          {
              {.method = "GET",
               .path = "/api/healthz",
               .id = "healthz",
               .summary = "Is the process alive?",
               .permission = kPublic,
               .outcomes = {{200, "Health"}},
               .handler = healthz},
              {.method = "GET",
               .path = "/api/readyz",
               .id = "readyz",
               .summary = "Can it serve requests now?",
               .permission = kPublic,
               .outcomes = {{200, "Readiness"}, {503, "Readiness"}},
               .handler = readyz},
              {.method = "GET",
               .path = "/api/version",
               .id = "version",
               .summary = "Version of the program",
               .permission = kPublic,
               .outcomes = {{200, "ServerVersion"}},
               .handler = version},
              {.method = "GET",
               .path = "/api/openapi.json",
               .id = "openapi",
               .summary = "This document",
               .permission = kPublic,
               .outcomes = {{200}},
               .handler = openapi},
              {.method = "GET",
               .path = "/api/ui",
               .id = "reference",
               .summary = "This document, to browse",
               .permission = kPublic,
               .outcomes = {{200}},
               .handler = reference,
               .content_type = "text/html"},
              {.method = "GET",
               .path = "/metrics",
               .id = "metrics",
               .summary = "Figures for Prometheus",
               .permission = kPublic,
               .outcomes = {{200}},
               .handler = metrics,
               .content_type = "text/plain"},
          }};
}

}  // namespace ctrlplane::api
