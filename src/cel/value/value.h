// A CEL value in 16 bytes, trivially copyable. Text, lists and maps are borrowed: from the program
// (literals), from the embedding program (bound variables) or from the Arena of the evaluation; a
// Value is good as long as the longest-lived of what it borrows is left alone.
//
// An error is a value too. It says what went wrong (Fault), where (byte offset into the source) and
// a message; a missing map key has a Fault of its own because callers treat it differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "cel/value/arena.h"

namespace ctrlplane::cel {

enum class Kind : uint8_t {
  kAbsent,  // no value: what Object::field answers for a field it does not have
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kTimestamp,
  kDuration,
  kType,
  kOptional,
  kOpaque,  // a value of a library's own type (network addresses)
};

enum class Fault : uint8_t {
  kMissingKey,  // m['k'] or m.k where the map has no such key
  kNoOverload,  // operator or function not defined for these kinds of value
  kUnknownName,
  kUnbound,  // a declared variable the activation does not hold
  kDivideByZero,
  kOverflow,
  kRange,
  kIndex,
  kInvalidArgument,
  kBudget,  // steps or memory used up; never absorbed by && and ||
};

std::string_view to_string(Fault fault);

class Object;
class Sequence;
class Opaque;
class Value;
struct MapData;

// A field name or string key as the plan holds it: hashed once (hash_text), and for a field of a
// declared struct type its index in the declaration, so that an Object may `switch` on it.
struct Name {
  std::string_view text;
  uint64_t hash = 0;
  int32_t index = -1;  // -1: not known statically
};

uint64_t hash_text(std::string_view text);

class Value {
 public:
  constexpr Value() : kind_(Kind::kAbsent), i_(0) {}

  static Value null() { return Value(Kind::kNull, 0, 0); }
  static Value boolean(bool b) { return Value(Kind::kBool, 0, b ? 1 : 0); }
  static Value integer(int64_t i) { return Value(Kind::kInt, 0, i); }
  static Value unsigned_integer(uint64_t u) { return Value(Kind::kUint, 0, static_cast<int64_t>(u)); }
  static Value real(double d) {
    Value v(Kind::kDouble, 0, 0);
    v.d_ = d;
    return v;
  }
  // Text of 4 GiB and more is cut: nothing upstream of us takes such a body.
  static Value string(std::string_view s) { return text(Kind::kString, s); }
  static Value bytes(std::string_view s) { return text(Kind::kBytes, s); }
  static Value list(std::span<const Value> items) {
    Value v(Kind::kList, length(items.size()), 0);
    v.items_ = items.data();
    return v;
  }
  static Value list(const Sequence& sequence) {
    Value v(Kind::kList, 0, 0);
    v.tag_ = kForeign;
    v.sequence_ = &sequence;
    return v;
  }
  static Value map(const MapData& map) {
    Value v(Kind::kMap, 0, 0);
    v.map_ = &map;
    return v;
  }
  static Value map(const Object& object) {
    Value v(Kind::kMap, 0, 0);
    v.tag_ = kForeign;
    v.object_ = &object;
    return v;
  }
  // nanos in [0, 999999999]; the seconds round towards the past.
  static Value timestamp(int64_t seconds, uint32_t nanos) { return Value(Kind::kTimestamp, nanos, seconds); }
  static Value timestamp(Time t);
  static Value duration(int64_t nanos) { return Value(Kind::kDuration, 0, nanos); }
  // The name must live as long as the value: type names are literals or the program's.
  static Value type(std::string_view name) { return text(Kind::kType, name); }
  static Value none() { return Value(Kind::kOptional, 0, 0); }
  static Value some(const Value* inner) {
    Value v(Kind::kOptional, 0, 0);
    v.items_ = inner;
    return v;
  }
  static Value opaque(const Opaque& opaque) {
    Value v(Kind::kOpaque, 0, 0);
    v.opaque_ = &opaque;
    return v;
  }
  static constexpr uint32_t kNoPosition = 0xffffffff;
  // Held by reference, so that an error whose text is known when planning costs nothing to raise.
  struct ErrorText {
    std::string_view message;
  };
  static Value error(Fault fault, const ErrorText& message, uint32_t position = kNoPosition) {
    Value v(Kind::kError, position, 0);
    v.tag_ = static_cast<uint8_t>(fault);
    v.error_ = &message;
    return v;
  }
  // Copies the message into the arena.
  static Value error(Arena& arena, Fault fault, std::string_view message, uint32_t position = kNoPosition);

  Kind kind() const { return kind_; }
  bool is(Kind k) const { return kind_ == k; }
  bool is_absent() const { return kind_ == Kind::kAbsent; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_true() const { return kind_ == Kind::kBool && i_ != 0; }
  bool is_false() const { return kind_ == Kind::kBool && i_ == 0; }
  bool is_missing_key() const { return is_error() && fault() == Fault::kMissingKey; }
  bool is_budget_error() const { return is_error() && fault() == Fault::kBudget; }
  bool is_number() const { return kind_ == Kind::kInt || kind_ == Kind::kUint || kind_ == Kind::kDouble; }

  bool as_bool() const { return i_ != 0; }
  int64_t as_int() const { return i_; }
  uint64_t as_uint() const { return static_cast<uint64_t>(i_); }
  double as_double() const { return d_; }
  std::string_view as_text() const { return {chars_, extra_}; }  // string, bytes, type
  int64_t seconds() const { return i_; }                         // timestamp
  uint32_t nanos() const { return extra_; }                      // timestamp
  int64_t duration_nanos() const { return i_; }
  Time as_time() const;  // timestamp, cut to microseconds
  bool is_foreign() const { return tag_ == kForeign; }
  std::span<const Value> items() const { return {items_, extra_}; }  // list, not foreign
  const Sequence& sequence() const { return *sequence_; }            // list, foreign
  const MapData& map_data() const { return *map_; }                  // map, not foreign
  const Object& object() const { return *object_; }                  // map, foreign
  const Opaque& as_opaque() const { return *opaque_; }
  bool has_value() const { return items_ != nullptr; }  // optional
  Value inner() const { return *items_; }               // optional with a value

  Fault fault() const { return static_cast<Fault>(tag_); }
  std::string_view message() const { return error_->message; }
  uint32_t position() const { return extra_; }  // of an error
  // Errors made inside a library function learn their place from the node that called it.
  Value at(uint32_t position) const {
    Value v = *this;
    if (v.kind_ == Kind::kError && v.extra_ == kNoPosition) v.extra_ = position;
    return v;
  }

 private:
  static constexpr uint8_t kForeign = 1;
  constexpr Value(Kind kind, uint32_t extra, int64_t i) : kind_(kind), extra_(extra), i_(i) {}
  static uint32_t length(size_t n) { return n > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(n); }
  static Value text(Kind kind, std::string_view s) {
    Value v(kind, length(s.size()), 0);
    v.chars_ = s.data();
    return v;
  }

  Kind kind_;
  uint8_t tag_ = 0;     // an error's Fault; of a list or map: belongs to the embedding program
  uint32_t extra_ = 0;  // length of text or list; nanoseconds; position of an error
  union {
    int64_t i_;
    double d_;
    const char* chars_;
    const Value* items_;
    const Sequence* sequence_;
    const MapData* map_;
    const Object* object_;
    const Opaque* opaque_;
    const ErrorText* error_;
  };
};
static_assert(sizeof(Value) == 16);

// A struct or string-keyed map of the embedding program, read in place: nothing is copied until an
// expression asks for it. Implementations must be const-safe for as many threads as evaluate.
class Object {
 public:
  virtual ~Object() = default;
  // The field's value, or an absent Value. A field that exists but is null answers Value::null().
  // What has to be made for it (the text of an id) goes into the arena.
  virtual Value field(const Name& name, Arena& arena) const = 0;
  virtual size_t size() const = 0;
  // Writes all size() keys, in any order. Called only when an expression walks over the object.
  virtual void keys(std::span<std::string_view> out) const = 0;
};

// A list of the embedding program.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual size_t size() const = 0;
  virtual Value at(size_t i, Arena& arena) const = 0;
};

// A value of a type that only a library's functions understand. It lives in an arena and is never
// destroyed, so it must hold nothing that would need it.
class Opaque {
 public:
  virtual std::string_view type_name() const = 0;
  virtual bool equals(const Opaque& other) const = 0;
  virtual std::string text() const = 0;
  // A copy in another arena; null if there is no room.
  virtual const Opaque* copy(Arena& arena) const = 0;

 protected:
  ~Opaque() = default;
};

// The name type(v) shows: "int", "google.protobuf.Timestamp", …
std::string_view type_name(const Value& v);

// Lists and maps whoever they belong to.
inline size_t list_size(const Value& v) { return v.is_foreign() ? v.sequence().size() : v.items().size(); }
inline Value list_at(Arena& arena, const Value& v, size_t i) {
  return v.is_foreign() ? v.sequence().at(i, arena) : v.items()[i];
}

}  // namespace ctrlplane::cel
