// delete: by kind and name, or all that files describe.
#include <ostream>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/documents.h"
#include "cli/existing.h"
#include "cli/json_text.h"
#include "cli/names.h"
#include "cli/text.h"
#include "cli/verb.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

struct DeleteArguments {
  std::string kind;
  std::vector<std::string> names, files;
  bool yes = false, dry_run = false;
};

struct Doomed {
  std::string title;  // "system/shop"
  std::string path;
};

Outcome<std::string> delete_path(Client& client, const Kind& k, const std::string& id,
                                 const std::string& name) {
  if (k.deleted == Delete::kById) return fmt::format("{}/{}", TRY(list_path(client, k)), segment(id));
  return fmt::format("{}/{}/{}", TRY(client.workspace_path()), k.by_name, segment(name));
}

Outcome<std::vector<Doomed>> by_name(Session& s, const DeleteArguments& a) {
  const Kind& k = *TRY(kind_called(a.kind));
  if (k.deleted == Delete::kNever) return wrong_use(fmt::format("{} cannot be deleted", k.plural));
  if (a.names.empty())
    return wrong_use(fmt::format("which {}? ctrlplane delete {} NAME", k.singular, k.singular));
  std::vector<Doomed> all;
  for (const std::string& name : a.names) {
    bj::value item = TRY(find_one(s.client, k, name));
    std::string path = TRY(delete_path(s.client, k, text_at(item, k.id), text_at(item, k.name)));
    if (std::ranges::find(all, path, &Doomed::path) == all.end()) all.push_back({item_name(k, item), path});
  }
  return all;
}

// In the opposite order of apply. What is gone already is no failure; versions go with their deployment.
Outcome<std::vector<Doomed>> by_file(Session& s, const DeleteArguments& a) {
  std::vector<Document> documents = TRY(read_documents(a.files, s.console));
  ExistingThings things(s.client, TRY(workspace_is_fresh(s.client, documents)));
  things.prepare(documents);
  std::vector<Doomed> all;
  for (const Document& d : documents) {
    const Kind& k = kind(d.type->kind);
    if (k.deleted == Delete::kNever) continue;
    auto existing = TRY(things.find(d));
    if (existing)
      all.push_back({d.title(), TRY(delete_path(s.client, k, existing->id, d.text(d.type->key)))});
    else
      s.console.out << printable(d.title()) << " is not there\n";
  }
  std::ranges::reverse(all);
  return all;
}

Outcome<void> confirm(Session& s, const std::vector<Doomed>& all) {
  Console& c = s.console;
  if (!c.in_is_terminal)
    return wrong_use("deleting asks first, and there is no terminal to ask on: say --yes");
  for (const Doomed& d : all) c.err << "  " << printable(d.title) << '\n';
  if (agrees(c, fmt::format("delete {}?", all.size() == 1 ? "it" : fmt::format("these {}", all.size()))))
    return {};
  return failed("nothing was deleted");
}

Outcome<void> delete_things(Session& s, const DeleteArguments& a) {
  if (a.kind.empty() == a.files.empty()) return wrong_use("say what to delete: a kind and names, or -f FILE");
  std::vector<Doomed> all = TRY(a.files.empty() ? by_name(s, a) : by_file(s, a));
  if (all.empty()) return {};
  if (a.dry_run) {
    for (const Doomed& d : all) s.console.out << printable(d.title) << " would be deleted\n";
    return {};
  }
  if (!a.yes) TRY(confirm(s, all));
  size_t failures = 0;
  for (const Doomed& d : all) {
    auto gone = s.client.send("DELETE", d.path);
    if (gone) {
      s.console.out << printable(d.title) << " deleted\n";
      continue;
    }
    if (gone.error().exit_code == kUnreachable) return std::unexpected(std::move(gone.error()));
    ++failures;
    s.console.err << printable(d.title) << " failed: " << one_line(gone.error()) << '\n';
  }
  if (failures) return failed(fmt::format("{} of {} were not deleted", failures, all.size()));
  return {};
}

}  // namespace

void add_delete(CLI::App& app, const FramePtr& frame) {
  auto a = std::make_shared<DeleteArguments>();
  CLI::App* verb = add_verb(app, frame, "delete", "Delete things by name, or all that files describe",
                            "  ctrlplane delete environment staging\n"
                            "  ctrlplane delete -f shop/ --yes",
                            [a](Session& s) { return delete_things(s, *a); });
  verb->add_option("kind", a->kind, "what: system, environment, deployment, …");
  verb->add_option("name", a->names, "which: names, ids or beginnings of ids");
  verb->add_option("-f,--file", a->files, "a file, a folder, or - for standard input; any number of times")
      ->allow_extra_args(false);
  verb->add_flag("-y,--yes", a->yes, "do not ask");
  verb->add_flag("--dry-run", a->dry_run, "only say what would be done");
}

}  // namespace ctrlplane::cli
