#include "cli/documents.h"

#include <algorithm>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/check.h"
#include "cli/duration.h"
#include "cli/files.h"
#include "cli/json_text.h"
#include "cli/text.h"
#include "cli/yaml_reader.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr bool kRequired = true;

constexpr DocumentMember kName = {"name", Shape::kText, kRequired};
constexpr DocumentMember kDescription = {"description"};
constexpr DocumentMember kMetadata = {"metadata", Shape::kTextMap};
constexpr DocumentMember kSystems = {"systems", Shape::kTexts, false, {}, true};

const std::vector<DocumentType> kTypes = {
    {"Workspace", "workspace", "slug", {{"slug", Shape::kText, kRequired}, kName}},
    {"ResourceProvider", "provider", "name", {kName, kMetadata}},
    {"JobAgent",
     "agent",
     "name",
     {kName, {"agentType", Shape::kText, kRequired, "type"}, {"config", Shape::kObject}, kMetadata}},
    {"System", "system", "name", {kName, kDescription, kMetadata}},
    // Before what it is about: nothing of a file starts that a policy of the same file would have held.
    {"Policy",
     "policy",
     "name",
     {kName,
      kDescription,
      {"selector"},
      {"priority", Shape::kInteger},
      {"enabled", Shape::kFlag},
      kMetadata,
      {"rules", Shape::kObjects}}},
    {"Environment",
     "environment",
     "name",
     {kName, kDescription, {"resourceSelector", Shape::kSelector}, kMetadata, kSystems}},
    {"Deployment",
     "deployment",
     "name",
     {kName,
      {"slug"},
      kDescription,
      {"resourceSelector", Shape::kSelector},
      {"jobAgentSelector", Shape::kSelector},
      {"jobAgentConfig", Shape::kObject},
      {"jobTimeout", Shape::kDuration},
      kMetadata,
      kSystems}},
    {"Resource",
     "resource",
     "identifier",
     {{"identifier", Shape::kText, kRequired},
      {"name"},
      {"kind", Shape::kText, kRequired},
      {"version", Shape::kText, kRequired},
      {"config", Shape::kObject},
      kMetadata,
      {"provider", Shape::kText, false, {}, true}}},
    {"Version",
     "version",
     "tag",
     {{"deployment", Shape::kText, kRequired, {}, true},
      {"tag", Shape::kText, kRequired},
      {"name"},
      {"status"},
      {"message"},
      {"config", Shape::kObject},
      {"jobAgentConfig", Shape::kObject},
      kMetadata,
      {"targetSelector"},
      {"onSelectorError"}}},
};

std::unexpected<Trouble> trouble(const YAML::Node& node, std::string_view path, std::string message) {
  return std::unexpected(Trouble{line_of(node), std::string(path), std::move(message)});
}

std::vector<std::string_view> names_of(const auto& described) {
  std::vector<std::string_view> names;
  names.reserve(described.size());
  for (const auto& d : described) names.push_back(d.name);
  return names;
}

Read<bj::value> read_texts(const YAML::Node& node, const std::string& path) {
  if (!node.IsSequence()) return trouble(node, path, "must be a list of names");
  bj::array texts;
  std::set<std::string> seen;
  for (const YAML::Node& item : node) {
    std::string text = TRY(read_text(item, path));
    if (!seen.insert(text).second) return trouble(item, path, fmt::format("has '{}' twice", text));
    texts.emplace_back(text);
  }
  return texts;
}

Read<bj::value> read_text_map(const YAML::Node& node, const std::string& path) {
  bj::object map;
  auto each = [&](const std::string& name, const YAML::Node& value, int) -> Read<void> {
    map.emplace(name, TRY(read_text(value, path + "." + name)));
    return {};
  };
  TRY(for_each_member(node, path, each));
  return map;
}

Read<bj::value> read_objects(const YAML::Node& node, const std::string& path) {
  if (!node.IsSequence()) return trouble(node, path, "must be a list (each entry begins with '- ')");
  bj::array objects;
  for (const YAML::Node& item : node) {
    std::string at = fmt::format("{}[{}]", path, objects.size());
    if (!item.IsMap()) return trouble(item, at, "must have members (name: value)");
    objects.push_back(TRY(read_value(item, at)));
  }
  return objects;
}

Read<bj::value> read_scalar(const DocumentMember& member, const YAML::Node& node, const std::string& path) {
  bj::value v = TRY(read_value(node, path));
  if (member.shape == Shape::kInteger && !v.is_int64()) return trouble(node, path, "must be a whole number");
  if (member.shape == Shape::kFlag && !v.is_bool()) return trouble(node, path, "must be true or false");
  return v;
}

Read<bj::value> read_member(const DocumentMember& member, const YAML::Node& node) {
  std::string path(member.name);
  switch (member.shape) {
    case Shape::kText:
    case Shape::kSelector: return bj::value(bj::string(TRY(read_text(node, path))));
    case Shape::kDuration: {
      auto d = parse_duration(TRY(read_text(node, path)));
      if (!d) return trouble(node, path, "must be a duration like 30m or PT30M");
      return bj::value(bj::string(format_iso8601(*d)));
    }
    case Shape::kTexts: return read_texts(node, path);
    case Shape::kTextMap: return read_text_map(node, path);
    case Shape::kInteger:
    case Shape::kFlag: return read_scalar(member, node, path);
    case Shape::kObjects: return read_objects(node, path);
    case Shape::kObject: {
      if (!node.IsMap()) return trouble(node, path, "must have members (name: value)");
      return read_value(node, path);
    }
  }
  return bj::value(nullptr);
}

Read<const DocumentType*> type_of(const YAML::Node& node) {
  if (!node.IsMap()) return trouble(node, "", "a document must have members (type: System, name: …)");
  std::vector<std::string_view> names = names_of(kTypes);
  YAML::Node type = node["type"];
  if (!type.IsDefined())
    return trouble(node, "type", fmt::format("is missing; it is one of {}", fmt::join(names, ", ")));
  std::string word = TRY(read_text(type, "type"));
  auto found = std::ranges::find(kTypes, word, &DocumentType::name);
  if (found != kTypes.end()) return &*found;
  return trouble(
      type, "type",
      fmt::format("'{}' is none of {}{}", word, fmt::join(names, ", "), did_you_mean(word, names)));
}

// All mistakes of one document.
class DocumentReader {
 public:
  DocumentReader(std::string file, int number) : place_{std::move(file), number, 1} {}

  std::optional<Document> read(const YAML::Node& node) {
    place_.line = std::max(line_of(node), 1);
    auto type = type_of(node);
    if (!type) return note(type.error()), std::nullopt;
    Document document(**type, place_);
    auto all = for_each_member(node, "",
                               [&](const std::string& name, const YAML::Node& value, int line) -> Read<void> {
                                 if (name != "type") read_into(document, name, value, line);
                                 return {};
                               });
    if (!all) note(all.error());
    for (const DocumentMember& m : (*type)->members)
      if (m.required && !document.lines.contains(m.name))
        note({place_.line, std::string(m.name),
              fmt::format("is missing; every {} must have it", (*type)->name)});
      else if (m.required && document.text(m.name).empty() && document.has(m.name))
        note({document.lines.find(m.name)->second, std::string(m.name), "must not be empty"});
    if (!mistakes.empty()) return std::nullopt;
    return document;
  }

  std::vector<std::string> mistakes;

 private:
  void read_into(Document& document, const std::string& name, const YAML::Node& node, int line) {
    const auto& members = document.type->members;
    auto member = std::ranges::find(members, name, &DocumentMember::name);
    if (member == members.end()) {
      std::string meant = did_you_mean(name, names_of(members));
      note({line, name, fmt::format("{} has no such member{}", document.type->name, meant)});
      return;
    }
    document.lines.emplace(name, line);
    auto value = read_member(*member, node);
    if (value) {
      document.members->emplace(name, *std::move(value));
      return;
    }
    if (node.IsNull()) value.error().line = line;
    note(value.error());
  }

  void note(const Trouble& t) {
    Place at = place_;
    if (t.line) at.line = t.line;
    mistakes.push_back(fmt::format("{}: {}{}", at.text(), t.path.empty() ? "" : t.path + ": ", t.message));
  }

  Place place_;
};

class FilesReader {
 public:
  explicit FilesReader(Console& console) : console_(console) {}

  Outcome<void> read(const std::string& path) {
    if (path == "-") return read_text_of("standard input", read_all(console_.in));
    std::vector<std::string> files = TRY(files_at(path));
    for (const std::string& file : files) {
      std::string text = TRY(read_file(file));
      TRY(read_text_of(file, text));
    }
    return {};
  }

  Outcome<std::vector<Document>> finish() {
    // Stable, so that those of one type keep their order.
    std::ranges::stable_sort(documents_, {}, [](const Document& d) { return d.type - kTypes.data(); });
    std::map<std::string, const Document*> seen;
    for (const Document& d : documents_) {
      auto [other, is_new] = seen.emplace(d.title(), &d);
      if (!is_new)
        mistakes_.push_back(
            fmt::format("{}: {} is also in {}", d.place.text(), d.title(), other->second->place.text()));
    }
    if (!mistakes_.empty()) return std::unexpected(mistakes_failure(std::move(mistakes_)));
    if (documents_.empty()) return wrong_use("there is no document in what was given");
    return std::move(documents_);
  }

 private:
  Outcome<void> read_text_of(const std::string& file, const std::string& text) {
    auto nodes = parse_yaml(text);
    if (!nodes) {
      mistakes_.push_back(fmt::format("{}, line {}: {}", file, nodes.error().line, nodes.error().message));
      return {};
    }
    for (size_t i = 0; i < nodes->size(); ++i) {
      if ((*nodes)[i].IsNull()) continue;  // nothing between two '---'
      DocumentReader reader(file, static_cast<int>(i) + 1);
      if (auto document = reader.read((*nodes)[i])) documents_.push_back(*std::move(document));
      std::ranges::move(reader.mistakes, std::back_inserter(mistakes_));
    }
    return {};
  }

  Console& console_;
  std::vector<Document> documents_;
  std::vector<std::string> mistakes_;
};

}  // namespace

const std::vector<DocumentType>& document_types() { return kTypes; }

std::string Place::text() const { return fmt::format("{}, document {}, line {}", file, document, line); }

Document::Document(const DocumentType& t, Place p)
    : type(&t), place(std::move(p)), members(std::make_unique<bj::object>()) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

bool Document::has(std::string_view member) const { return members->contains(member); }

std::string Document::text(std::string_view member) const {
  const bj::value* v = members->if_contains(member);
  return v && v->is_string() ? std::string(v->get_string()) : v ? compact_json(*v) : std::string();
}

std::vector<std::string> Document::texts(std::string_view member) const {
  std::vector<std::string> out;
  const bj::value* v = members->if_contains(member);
  if (v && v->is_array())
    for (const bj::value& item : v->get_array()) out.emplace_back(item.get_string());
  return out;
}

std::string Document::key() const {
  std::string key = text(type->key);
  return has("deployment") ? text("deployment") + "@" + key : key;
}

std::string Document::title() const { return fmt::format("{}/{}", type->kind, key()); }

Failure mistakes_failure(std::vector<std::string> mistakes) {
  CHECK(!mistakes.empty());
  if (mistakes.size() == 1) return {.exit_code = kWrongUse, .message = std::move(mistakes[0])};
  return {.exit_code = kWrongUse,
          .message = fmt::format("{} mistakes; nothing was sent", mistakes.size()),
          .hints = std::move(mistakes)};
}

Outcome<std::vector<Document>> read_documents(const std::vector<std::string>& paths, Console& console) {
  FilesReader reader(console);
  for (const std::string& path : paths) TRY(reader.read(path));
  return reader.finish();
}

}  // namespace ctrlplane::cli
