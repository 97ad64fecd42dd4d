// A compiled selector over one or more entities: a CEL condition. Compile errors are kInvalid and point at
// the place.
//
//   resource.kind == 'Cluster' && resource.metadata['region'] in ['eu-west-1', 'eu-central-1']
//   environment.name == 'prod' && deployment.metadata['tier'] == '1'
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "model/entities.h"
#include "state/narrowing.h"

namespace ctrlplane {

namespace cel {
class Program;
}

enum class Match : uint8_t {
  kNo,
  kYes,
  kMissingKey,  // a metadata key that is not there: each use of a selector says what that means
  kError,       // any other error of the evaluation, an exhausted budget among them
};

// What a selector is asked about. Members that it does not look at may be null.
struct SelectorInput {
  const Resource* resource = nullptr;
  const Deployment* deployment = nullptr;
  const Environment* environment = nullptr;
  const Version* version = nullptr;
  const JobAgent* agent = nullptr;
};

class Selector {
 public:
  // The variables it may name.
  enum class Subject : uint8_t {
    kResource,     // resource
    kAgent,        // jobAgent
    kTarget,       // deployment, environment, resource
    kVersion,      // version, environment, resource, deployment
    kDependency,   // deployment, version
    kEnvironment,  // environment
    kDeployment,   // deployment
    kVersionOnly,  // version
  };

  static Result<Selector> compile(std::string_view text, Subject subject);
  Selector(Selector&&) noexcept;
  Selector& operator=(Selector&&) noexcept;
  ~Selector();

  // A variable that it reads and that `input` does not have makes it kError.
  Match match(const SelectorInput& input) const;
  // Of the subject it was compiled for.
  Match match(const Resource& r) const { return match({.resource = &r}); }
  Match match(const JobAgent& a) const { return match({.agent = &a}); }

  // Can the value of that variable change the result?
  bool uses(std::string_view variable) const;
  // What is known of the resources it can match. Reads its text again: for once, not for each resource.
  Narrowing narrowing() const;

 private:
  Selector(std::unique_ptr<cel::Program> program, Subject subject);
  std::unique_ptr<cel::Program> program_;
  Subject subject_;
};

}  // namespace ctrlplane
