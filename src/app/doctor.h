// What `ctrlplane doctor` finds out about a store. It reads only, and a server may be running meanwhile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/store.h"

namespace ctrlplane::app {

enum class Health : uint8_t {
  kOk,
  kWarning,  // runs, and somebody should look at it
  kProblem,  // does not run, or does not keep what it promises
};
std::string_view to_string(Health health);

struct Finding {
  Health health = Health::kOk;
  std::string check;  // "schema", "disk", "workspace acme"
  std::string message;
  std::string advice = {};  // what to do; empty where there is nothing to do
  std::map<std::string, int64_t> counts = {};
};

struct Diagnosis {
  std::vector<Finding> findings;

  void add(Finding finding) { findings.push_back(std::move(finding)); }
  size_t count(Health health) const;
  bool healthy() const { return count(Health::kProblem) == 0; }
};

struct DoctorOptions {
  std::string database;         // as `serve` takes it
  bool full_integrity = false;  // every index against its table; takes minutes on large files
};

// `pause` returns when that time has passed: beats are counters, so a replica's life shows in two looks.
Diagnosis diagnose(const DoctorOptions& options, const Clock& clock,
                   const std::function<void(Duration)>& pause);

// ---- The parts, for tests ----------------------------------------------------------------------------

// Who runs on the store, from two looks that are longer than a beat apart.
struct Servers {
  bool one_file = false;  // SQLite: the file's lock says all there is to say
  bool running = false;   // somebody does
  std::map<store::ReplicaId, store::Replica> alive;
  size_t silent = 0;  // rows of replicas whose beat stands still
};
Servers compare_beats(const std::vector<store::Replica>& before, const std::vector<store::Replica>& after);
Finding judge_servers(const Servers& servers);

// A decision that is due in both looks has been missed, unless nobody is there to make it.
struct WorkspaceHealth;
std::vector<Finding> judge_workspace(const std::string& name, const WorkspaceHealth& before,
                                     const WorkspaceHealth* after, const Servers& servers);

}  // namespace ctrlplane::app
