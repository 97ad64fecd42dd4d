// A job's life after hand-over: reports, heartbeats, leases, cancelling, ending.
#pragma once

#include "engine/commands.h"
#include "engine/tx.h"

namespace ctrlplane {

Reply claim(Tx& tx, const ClaimJob& c);
Reply report(Tx& tx, const ReportJob& c);
Reply heartbeat(Tx& tx, const Heartbeat& c);
Reply cancel(Tx& tx, const CancelJob& c);
Reply decide_job(Tx& tx, const DecideJob& c);

// The live jobs of its attempt, itself included; also when the target is gone.
std::vector<Job> attempt_of(const State& state, JobIx j);

// Makes a job terminal. With the last job of its attempt the attempt ends: the target's current release
// moves if all were successful, otherwise an attempt is used, unless the engine itself cancelled it.
void end_job(Tx& tx, JobIx j, JobStatus status, std::string message, bool by_engine = false);

// The agent may or may not be at work: keeps the target until it returns, the timeout hits or a person
// decides; people are told.
void require_action(Tx& tx, JobIx j, std::string message);

// Timers of jobs.
void job_timed_out(Tx& tx, JobIx j);
void lease_fired(Tx& tx, JobIx j);

}  // namespace ctrlplane
