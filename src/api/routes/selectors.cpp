// Trying a selector before it is stored.
#include <charconv>

#include <fmt/core.h>

#include "api/families.h"
#include "api/resource_search.h"
#include "api/views.h"

namespace ctrlplane::api {
namespace {

// The compiler's places are "line:column".
void write_place(JsonWriter& w, std::string_view place) {
  size_t colon = place.find(':');
  int line = 0, column = 0;
  if (colon == std::string_view::npos) return;
  auto first = std::from_chars(place.data(), place.data() + colon, line);
  auto second = std::from_chars(place.data() + colon + 1, place.data() + place.size(), column);
  if (first.ec == std::errc() && second.ec == std::errc()) w.member("line", line).member("column", column);
}

Status validate(Call& c) {
  auto subject =
      c.body().text("subject") == "jobAgent" ? Selector::Subject::kAgent : Selector::Subject::kResource;
  auto compiled = Selector::compile(c.body().text("selector"), subject);
  JsonWriter w;
  w.open().member("valid", compiled.has_value());
  if (!compiled) {
    const Error& e = compiled.error();
    w.member("message", e.details.empty() ? e.message : e.details[0].message);
    if (!e.details.empty()) write_place(w, e.details[0].path);
  }
  w.close();
  return c.reply(w.take());
}

struct Preview {
  Selector selector;
  size_t total = 0, errors = 0;
  std::vector<ResourceId> sample;
  std::string error_sample;
};

constexpr size_t kSample = 20;

void look(Preview& p, const Resource& r) {
  switch (p.selector.match(r)) {
    case ctrlplane::Match::kYes:
      ++p.total;
      if (p.sample.size() < kSample) p.sample.push_back(r.id);
      return;
    case ctrlplane::Match::kError:
      ++p.errors;
      if (p.error_sample.empty()) p.error_sample = r.identifier;
      return;
    case ctrlplane::Match::kNo:
    case ctrlplane::Match::kMissingKey: return;
  }
}

std::string text(const State& s, const Preview& p) {
  JsonWriter w;
  w.open().member("total", p.total).key("sample").open_array();
  for (ResourceId id : p.sample)
    if (ResourceIx r = s.resources.find(id)) write(w, s.id(), s.resources[r].row);
  w.close_array().member("errors", p.errors).member_unless_empty("errorSample", p.error_sample).close();
  return w.take();
}

Status preview(Call& c) {
  auto compiled = Selector::compile(c.body().text("selector"), Selector::Subject::kResource);
  if (!compiled) return invalid("selector", compiled.error().message);
  auto preview =
      std::make_shared<Preview>(Preview{.selector = *std::move(compiled), .sample = {}, .error_sample = {}});
  look_at_resources(c, {.among = preview->selector.narrowing(),
                        .sought = Sought::kYesOrError,
                        .look = [preview](const Resource& r) { look(*preview, r); },
                        .answer = [preview](const State& s) { return text(s, *preview); }});
  return {};
}

}  // namespace

Family selector_family() {
  using namespace permission;
  return {"Selectors",
          {
              {.method = "POST",
               .path = CTRLPLANE_W "/selectors/validate",
               .id = "validateSelector",
               .summary = "Does this selector compile, and if not, where is it wrong?",
               .permission = kRead,
               .body = "SelectorRequest",
               .outcomes = {{200, "SelectorVerdict"}},
               .handler = validate},
              {.method = "POST",
               .path = CTRLPLANE_W "/selectors/preview",
               .id = "previewSelector",
               .summary = "How many resources match, and some of them",
               .permission = kRead,
               .body = "SelectorRequest",
               .outcomes = {{200, "SelectorPreview"}},
               .handler = preview},
          }};
}

}  // namespace ctrlplane::api
