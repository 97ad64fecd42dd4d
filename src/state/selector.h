// A compiled selector over one entity: a CEL condition. Compile errors are kInvalid and point at the place.
//
//   resource.kind == 'Cluster' && resource.metadata['region'] in ['eu-west-1', 'eu-central-1']
//   jobAgent.name == 'runner'
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/entities.h"

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

class Selector {
 public:
  enum class Subject : uint8_t { kResource, kAgent };

  static Result<Selector> compile(std::string_view text, Subject subject);
  Selector(Selector&&) noexcept;
  Selector& operator=(Selector&&) noexcept;
  ~Selector();

  // Of the subject it was compiled for.
  Match match(const Resource& r) const;
  Match match(const JobAgent& a) const;

 private:
  explicit Selector(std::unique_ptr<cel::Program> program);
  std::unique_ptr<cel::Program> program_;
};

}  // namespace ctrlplane
