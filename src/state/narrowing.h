// What the text of a selector tells, without evaluating it, about the resources it can match: equalities
// on fields and metadata, joined by && and ||.
//
//   resource.kind == 'Cluster' && resource.metadata['region'] in ['eu-1', 'eu-2'] && size(resource.name) < 9
//   → all of: kind is Cluster · region is one of two · something unknown
//
// It is true of a resource that the selector matches, and the index (resource_index.h) can say of which
// resources it is true. A selector is never decided by it: the expression itself has the last word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ctrlplane {

// The results of a selector that somebody looks for. Where a failing evaluation counts as a match, or is
// counted, resources that "do not fulfil" the equalities may belong to it too: a missing key is not a no.
enum class Sought : uint8_t {
  kYes,
  kYesOrError,  // all but kNo and kMissingKey
  kAllButNo,
};

enum class ResourceField : uint8_t {
  kName,
  kKind,
  kVersion,
  kIdentifier,
  kProvider,     // the id as text
  kMetadata,     // the value of a key
  kMetadataKey,  // is the key there? It has no value.
};

struct Narrowing {
  enum class Kind : uint8_t {
    kUnknown,  // nothing is known
    kTerm,     // `field` (and `key`) has one of the texts of `any_of`
    kAll,      // all of `parts`; without any it is true of every resource
    kAny,      // at least one of `parts`; without any it is true of none
  };

  static Narrowing unknown() { return {}; }
  static Narrowing term(ResourceField field, std::string key, std::vector<std::string> any_of);
  static Narrowing all(std::vector<Narrowing> parts);
  static Narrowing any(std::vector<Narrowing> parts);

  Kind kind = Kind::kUnknown;
  // Has something unknown in it. What has not gives true, false or a missing key, never another error.
  bool partial = true;
  ResourceField field = ResourceField::kName;
  std::string key;
  std::vector<std::string> any_of;
  std::vector<Narrowing> parts;  // in the order in which they are evaluated
};

// Of the text of an expression that compiles with `resource` as a variable.
Narrowing narrowing_of(std::string_view source);

}  // namespace ctrlplane
