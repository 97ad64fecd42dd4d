// One thread of control: what is posted runs in order, one at a time. The loops of a replica, its lease
// and its outbox all run on one; nothing in them needs a lock. Production runs it on a thread, the
// simulator on virtual time.
#pragma once

#include <functional>

#include "base/clock.h"

namespace ctrlplane {

using Task = std::move_only_function<void()>;

class Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(Task task) = 0;
  // At least `delay` of boot time from now.
  virtual void post_after(Duration delay, Task task) = 0;
  virtual const Clock& clock() const = 0;
};

}  // namespace ctrlplane
