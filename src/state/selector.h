// A compiled selector over one entity. Compile errors are kInvalid and point at the place.
//
// Understood today: `true`, `false`, and conjunctions (`&&`) of equalities on fields and metadata, e.g.
//   resource.kind == 'Cluster' && resource.metadata['region'] == 'eu'
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/entities.h"

namespace ctrlplane {

enum class Match : uint8_t {
  kNo,
  kYes,
  kMissingKey,  // a metadata key that is not there: each use of a selector says what that means
  kError,
};

class Selector {
 public:
  enum class Subject : uint8_t { kResource, kAgent };

  static Result<Selector> compile(std::string_view text, Subject subject);

  Match match(const Resource& r) const;
  Match match(const JobAgent& a) const;

 private:
  enum class Field : uint8_t { kName, kKind, kVersion, kIdentifier, kType, kMetadata };
  struct Term {
    Field field;
    std::string key;
    std::string value;
  };
  struct Parser;

  template <class E>
  Match match_terms(const E& e) const;

  bool never_ = false;
  std::vector<Term> terms_;
};

}  // namespace ctrlplane
