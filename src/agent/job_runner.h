// One job from its claim to its last report.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/output_sender.h"
#include "agent/process.h"
#include "agent/setup.h"
#include "agent/stop_plan.h"

namespace ctrlplane::agent {

class JobRunner {
 public:
  // `control` is the job's among the held ones.
  JobRunner(Setup& setup, PulledJob job, std::shared_ptr<JobControl> control);

  // Reports inProgress and, only once that is accepted, runs the command; returns when its end is reported,
  // refused, or the agent gives up. `on_decided` is called once, when the server has accepted or refused the
  // first report or it is not wanted any more: until then the server would hand out the same job again.
  // False if the last report was not delivered.
  bool run(const std::function<void(bool accepted)>& on_decided);

 private:
  enum class Delivery { kAccepted, kRefused, kAbandoned };
  struct Ending {
    std::string status;
    std::string reason = {};
    std::string last_line = {};  // of the output: for the server, not for the agent's own log
  };

  Delivery deliver(const std::string& status, const std::string& message,
                   const std::function<bool()>& abandon);
  Ending execute();
  Ending supervise(Process& process);
  void act(StopPlan& plan, Process& process);
  Ending ending_of(StopReason reason, ExitStatus status) const;
  bool is_unwanted() const { return control_->stop_requested() != StopReason::kNone; }
  LeaseEnd lease() const;

  Setup& setup_;
  PulledJob job_;
  std::shared_ptr<JobControl> control_;
  Api api_;
  OutputSender output_;
  Duration unreached_ = {};  // how long the server had been silent when the command was stopped for it
};

}  // namespace ctrlplane::agent
