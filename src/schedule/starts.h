// The starts of a rule as instants: the expansion in wall-clock time, seen through a zone.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "schedule/expansion.h"
#include "schedule/zone.h"

namespace ctrlplane::schedule {

// The first and last instant that can be asked about, with a day to spare for zones. Others are
// taken for them.
inline constexpr Time kEarliest{(kMinWall - kDay) * 1'000'000};
inline constexpr Time kLatest{(kMaxWall + kDay) * 1'000'000};

class Starts {
 public:
  // Refuses with path "rrule" or "timezone".
  static Result<Starts> make(const std::string& rrule, const std::string& zone, Time anchor);

  // The first start later than t.
  std::optional<Time> first_after(Time t) const;
  // The last start that is later than `after` and not later than `to`.
  std::optional<Time> last_in(Time after, Time to) const;

  Time first() const { return first_; }
  const std::string& zone_name() const { return zone_name_; }

 private:
  Starts(Expansion expansion, Zone zone, std::string zone_name)
      : expansion_(std::move(expansion)), zone_(zone), zone_name_(std::move(zone_name)) {}

  Time at(Wall wall) const { return Time{zone_.instant(wall) * 1'000'000}; }
  Wall latest_wall(Time t) const;

  Expansion expansion_;
  Zone zone_;
  std::string zone_name_;
  Time first_;
};

}  // namespace ctrlplane::schedule
