#include "cli/apply.h"

#include <algorithm>
#include <ostream>
#include <set>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/existing.h"
#include "cli/json_text.h"
#include "cli/report.h"
#include "cli/text.h"
#include "cli/write_document.h"

namespace ctrlplane::cli {
namespace {

namespace bj = boost::json;

constexpr size_t kManyResources = 200;  // from so many on a person wants to see how far it is

// A document with what the server has of it, and what follows from both.
struct Step {
  const Document* document;
  std::optional<Existing> existing = {};
  std::vector<std::string> changed = {};     // members
  std::vector<std::string> depends_on = {};  // titles of other documents
};

class Applier {
 public:
  Applier(Session& session, std::vector<Document> documents, bool dry_run)
      : session_(session),
        client_(session.client),
        documents_(std::move(documents)),
        dry_run_(dry_run),
        report_(session, dry_run) {
    for (const Document& d : documents_) titles_.insert(d.title());
  }

  Outcome<void> run() {
    bool fresh = TRY(workspace_is_fresh(client_, documents_));
    if (fresh) new_workspace_ = "workspace/" + client_.workspace_name();
    ExistingThings things(client_, fresh);
    things.prepare(documents_);
    std::vector<Step> steps;
    steps.reserve(documents_.size());
    for (const Document& d : documents_) steps.push_back(TRY(look_at(things, d)));
    if (!mistakes_.empty()) return std::unexpected(mistakes_failure(std::move(mistakes_)));

    size_t resources = static_cast<size_t>(
        std::ranges::count(documents_, "resource", [](const Document& d) { return d.type->kind; }));
    report_.expect(session_.console.err_is_terminal && resources > kManyResources ? documents_.size() : 0);
    for (const Step& step : steps) TRY(apply(step));
    return report_.finish();
  }

 private:
  Outcome<Step> look_at(ExistingThings& things, const Document& document);
  Outcome<void> look_at_systems(ExistingThings& things, Step& step);
  Outcome<void> look_at_provider(ExistingThings& things, Step& step);
  Outcome<void> look_at_deployment(ExistingThings& things, Step& step);
  // False, and a mistake, if it is neither on the server nor among the documents.
  bool refer(Step& step, std::string_view member, std::string_view kind, const std::string& name,
             bool on_server);

  Outcome<void> apply(const Step& step);
  Outcome<Written> write(const Step& step);
  Links links_of(const Step& step) const;
  std::string id_of_title(const std::string& title) const {
    auto found = ids_.find(title);
    return found == ids_.end() ? std::string() : found->second;
  }

  Session& session_;
  Client& client_;
  std::vector<Document> documents_;
  bool dry_run_;
  Report report_;
  std::string new_workspace_;  // title of the document that makes the workspace of all others
  std::set<std::string> titles_;
  std::map<std::string, std::string> ids_;  // by title: of what exists or was made
  std::vector<std::string> mistakes_;
};

Outcome<Step> Applier::look_at(ExistingThings& things, const Document& document) {
  Step step{&document};
  if (!new_workspace_.empty() && document.type->kind != "workspace")
    step.depends_on.push_back(new_workspace_);
  step.existing = TRY(things.find(document));
  if (step.existing) {
    ids_[document.title()] = step.existing->id;
    step.changed = differing_members(document, *step.existing);
  }
  TRY(look_at_systems(things, step));
  TRY(look_at_provider(things, step));
  TRY(look_at_deployment(things, step));
  return step;
}

bool Applier::refer(Step& step, std::string_view member, std::string_view kind, const std::string& name,
                    bool on_server) {
  std::string title = fmt::format("{}/{}", kind, name);
  if (titles_.contains(title)) {
    step.depends_on.push_back(title);
    return true;
  }
  if (on_server) return true;
  Place at = step.document->place;
  at.line = step.document->lines.find(member)->second;
  mistakes_.push_back(
      fmt::format("{}: {}: there is no {} '{}', here or on the server", at.text(), member, kind, name));
  return false;
}

Outcome<void> Applier::look_at_systems(ExistingThings& things, Step& step) {
  if (!step.document->has("systems")) return {};
  std::set<std::string> wanted;
  for (const std::string& name : step.document->texts("systems")) {
    std::vector<std::string> ids = TRY(things.systems(name));
    if (ids.size() > 1)
      mistakes_.push_back(fmt::format("{}: systems: there are {} systems called '{}' on the server",
                                      step.document->place.text(), ids.size(), name));
    if (!ids.empty()) ids_[fmt::format("system/{}", name)] = ids[0];
    refer(step, "systems", "system", name, !ids.empty());
    wanted.insert(name);
  }
  std::set<std::string> linked;
  if (step.existing)
    for (const auto& [id, name] : step.existing->systems) linked.insert(name);
  if (step.existing && wanted != linked) step.changed.emplace_back("systems");
  return {};
}

Outcome<void> Applier::look_at_provider(ExistingThings& things, Step& step) {
  if (!step.document->has("provider")) return {};
  std::string name = step.document->text("provider");
  auto provider = TRY(things.provider(name));
  if (provider) ids_["provider/" + name] = provider->id;
  refer(step, "provider", "provider", name, provider.has_value());
  if (step.existing && (!provider || text_at(*step.existing->values, "providerId") != provider->id))
    step.changed.emplace_back("provider");
  return {};
}

Outcome<void> Applier::look_at_deployment(ExistingThings& things, Step& step) {
  if (!step.document->has("deployment")) return {};
  std::string name = step.document->text("deployment");
  auto deployment = TRY(things.deployment(name));
  if (deployment) ids_["deployment/" + name] = deployment->id;
  refer(step, "deployment", "deployment", name, deployment.has_value());
  return {};
}

Links Applier::links_of(const Step& step) const {
  Links links;
  const Document& d = *step.document;
  if (d.has("provider")) links.provider = id_of_title("provider/" + d.text("provider"));
  if (d.has("deployment")) links.deployment = id_of_title("deployment/" + d.text("deployment"));
  if (!d.has("systems")) return links;
  std::set<std::string> wanted;
  for (const std::string& name : d.texts("systems")) wanted.insert(id_of_title("system/" + name));
  for (const std::string& id : wanted)
    if (!step.existing || !step.existing->systems.contains(id)) links.link.push_back(id);
  if (step.existing)
    for (const auto& [id, name] : step.existing->systems)
      if (!wanted.contains(id)) links.unlink.push_back(id);
  return links;
}

Outcome<Written> Applier::write(const Step& step) {
  const Existing* existing = step.existing ? &*step.existing : nullptr;
  Links links = links_of(step);
  Written written{existing ? existing->id : std::string()};
  bool only_links = existing && step.changed == std::vector<std::string>{"systems"};
  if (!only_links) written = TRY(write_document(client_, *step.document, existing, links));
  TRY(write_links(client_, *step.document, written.id, links));
  return written;
}

Outcome<void> Applier::apply(const Step& step) {
  const Document& d = *step.document;
  std::string title = d.title();
  for (const std::string& other : step.depends_on)
    if (report_.has_failed(other)) return report_.skipped(title, other), Outcome<void>();
  if (step.existing && step.changed.empty()) return report_.unchanged(title), Outcome<void>();
  if (step.existing && d.type->kind == "version") {
    std::vector<std::string> fixed = step.changed;
    std::erase_if(fixed, [](const std::string& m) { return m == "status" || m == "message"; });
    if (!fixed.empty()) {
      report_.failed(title,
                     {.message = fmt::format("it is published with another {}, and versions do not change",
                                             fmt::join(fixed, ", "))});
      return {};
    }
  }
  Written written;
  if (!dry_run_) {
    auto done = write(step);
    if (!done) {
      report_.failed(title, done.error());
      if (done.error().exit_code == kUnreachable) return std::unexpected(report_.stop(done.error()));
      return {};
    }
    written = *std::move(done);
    ids_[title] = written.id;
  }
  if (step.existing)
    report_.changed(title, step.changed);
  else
    report_.created(title);
  for (const std::string& warning : written.warnings) report_.warned(title, warning);
  return {};
}

}  // namespace

Outcome<void> apply_documents(Session& session, std::vector<Document> documents, bool dry_run) {
  return Applier(session, std::move(documents), dry_run).run();
}

void add_apply(CLI::App& app, const FramePtr& frame) {
  struct Arguments {
    std::vector<std::string> files;
    bool dry_run = false;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = add_verb(app, frame, "apply", "Make the workspace be as YAML documents say",
                            "  ctrlplane apply -f shop/ -f agents.yaml --dry-run\n"
                            "  echo '{type: System, name: shop}' | ctrlplane apply -f -",
                            [a](Session& s) -> Outcome<void> {
                              auto documents = TRY(read_documents(a->files, s.console));
                              return apply_documents(s, std::move(documents), a->dry_run);
                            });
  verb->add_option("-f,--file", a->files, "a file, a folder, or - for standard input; any number of times")
      ->required()
      ->allow_extra_args(false);
  verb->add_flag("--dry-run", a->dry_run, "only say what would be done");
}

}  // namespace ctrlplane::cli
