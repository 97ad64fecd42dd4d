"""What can go wrong, and when: one deck of faults, shuffled from the seed.

A fault is a generator that the injector moves on: it yields seconds to wait, or a condition to wait for.
A few run at once, never two on the same subject; after every batch all is well for a while. Every second
batch begins with one that is alone, so that its price can be told.
"""

import random
import signal
import time

CONDITION_PATIENCE = 60.0  # then a fault goes on although what it waits for has not come about


class Fault:
    """One that is happening."""

    def __init__(self, kind, subject, steps):
        self.kind, self.subject, self.steps = kind, subject, steps
        self.began = time.monotonic()
        self.ended = None
        self.condition, self.resume_at = None, self.began

    def move(self, now):
        """False when it is over."""
        if self.condition and not self.condition() and now < self.resume_at:
            return True
        if not self.condition and now < self.resume_at:
            return True
        try:
            waits_for = next(self.steps)
        except StopIteration:
            self.ended = time.monotonic()
            return False
        self.condition = waits_for if callable(waits_for) else None
        self.resume_at = time.monotonic() + (CONDITION_PATIENCE if self.condition else waits_for)
        return True

    def finish(self):
        """Moves it on to its end without waiting."""
        for _ in self.steps:
            pass
        self.ended = time.monotonic()


# ---- The kinds ---------------------------------------------------------------------------------------------


def kill(cluster, replica, chance):
    replica.kill()
    yield chance.uniform(0.5, 6)
    replica.start()
    yield replica.ready


def pause(replica, seconds):
    replica.signal(signal.SIGSTOP)
    yield seconds
    replica.signal(signal.SIGCONT)


def pause_past_the_lease(cluster, replica, chance):
    return pause(replica, chance.uniform(12, 15))


def pause_shortly(cluster, replica, chance):
    return pause(replica, chance.uniform(1, 5))


def stop_and_start(cluster, replica, chance):
    replica.ask_to_end()
    yield lambda: not replica.running()
    if replica.running():
        replica.kill()
    yield chance.uniform(0, 2)
    replica.start()
    yield replica.ready


def restart_postgres(cluster, _, chance):
    cluster.postgres.stop("immediate")
    yield chance.uniform(0, 3)
    cluster.postgres.start()


def refuse_commits(cluster, _, chance):
    cluster.refuse_commits(True)
    yield chance.uniform(0.5, 4)
    cluster.refuse_commits(False)


def fill_disk(cluster, _, chance):
    """PostgreSQL refuses what needs room, or crashes and cannot start: until somebody makes room."""
    for _ in range(chance.randint(2, 12)):
        cluster.disk.fill()
        yield 0.5
    cluster.disk.clear()
    yield cluster.postgres_is_back


def cut(link):
    link.cut()
    yield 0.5


def hold(link, chance):
    """What was held comes late, or never."""
    link.hold()
    yield chance.uniform(1, 12)
    if chance.random() < 0.5:
        link.cut()
    link.resume()


def refuse(link, chance):
    link.refuse()
    yield chance.uniform(1, 14)
    link.resume()


def cut_database(cluster, replica, chance):
    return cut(replica.database)


def hold_database(cluster, replica, chance):
    return hold(replica.database, chance)


def refuse_database(cluster, replica, chance):
    return refuse(replica.database, chance)


def cut_door(cluster, replica, chance):
    return cut(replica.door)


def hold_door(cluster, replica, chance):
    return hold(replica.door, chance)


def refuse_door(cluster, replica, chance):
    return refuse(replica.door, chance)


def kill_agent(cluster, agent, chance):
    agent.kill()
    yield chance.uniform(0.2, 3)
    agent.start()


def cut_agents(cluster, link, chance):
    return cut(link)


REPLICA, DATABASE, AGENT, AGENTS_DOOR = "replica", "database", "agent", "agents' door"
DISK_FULL = "PostgreSQL's disk full"
KINDS = {
    "replica killed": (REPLICA, kill),
    "replica paused past its lease": (REPLICA, pause_past_the_lease),
    "replica paused 1-5 s": (REPLICA, pause_shortly),
    "replica stopped and started": (REPLICA, stop_and_start),
    "PostgreSQL restarted (immediate)": (DATABASE, restart_postgres),
    "PostgreSQL refuses commits (53100)": (DATABASE, refuse_commits),
    DISK_FULL: (DATABASE, fill_disk),
    "to PostgreSQL: cut": (REPLICA, cut_database),
    "to PostgreSQL: held 1-12 s": (REPLICA, hold_database),
    "to PostgreSQL: refused 1-14 s": (REPLICA, refuse_database),
    "between replicas: cut": (REPLICA, cut_door),
    "between replicas: held 1-12 s": (REPLICA, hold_door),
    "between replicas: refused 1-14 s": (REPLICA, refuse_door),
    "agent killed": (AGENT, kill_agent),
    "agents' connections cut": (AGENTS_DOOR, cut_agents),
}


def kinds_for(cluster):
    """Those that can be had."""
    return [kind for kind in KINDS
            if (cluster.count > 1 or not kind.startswith("between replicas"))
            and (cluster.disk or kind != DISK_FULL)]


class Injector:
    """Moves faults on; called again and again from the main thread."""

    def __init__(self, cluster, chance, on_begin=lambda fault: None):
        self.cluster, self.chance, self.on_begin = cluster, chance, on_begin
        self.at_once = min(cluster.count + 1, 3)
        self.active, self.past = [], []
        self.deck = []
        self.next_at = time.monotonic() + 2
        self.left_in_batch = chance.randint(4, 6)
        self.resting = False  # waits for health after a batch
        self.batches, self.alone = 0, None

    def move(self, now, is_well):
        """`is_well()` says whether everything works again; it is asked when a batch of faults is over."""
        for fault in list(self.active):
            if not fault.move(now):
                self.active.remove(fault)
        if self.resting:
            if self.active or not is_well():
                return
            self.resting = False
            self.batches += 1
            self.left_in_batch = self.chance.randint(4, 6)
            self.next_at = now + self.chance.uniform(1, 3)
        elif self.alone:
            if self.alone.ended:
                self.alone, self.next_at = None, now + 2
        elif now >= self.next_at and len(self.active) < self.at_once:
            self.begin()
            self.next_at = now + self.chance.uniform(0.5, 2)
            self.left_in_batch -= 1
            self.resting = self.left_in_batch == 0

    def begin(self):
        if not self.deck:
            self.deck = kinds_for(self.cluster)
            self.chance.shuffle(self.deck)
        kind = self.deck.pop()
        on, make = KINDS[kind]
        subject = self.pick(on)
        if subject is None:  # its turn comes
            return self.deck.insert(0, kind)
        # A source of its own, so that what a fault draws does not depend on when.
        chance = random.Random(self.chance.getrandbits(64))
        fault = Fault(kind, subject, make(self.cluster, subject, chance))
        if self.batches % 2 == 1 and not self.active and self.left_in_batch > 3:
            self.alone = fault
        self.active.append(fault)
        self.past.append(fault)
        self.on_begin(fault)

    def pick(self, on):
        """A subject without a fault, or None."""
        candidates = {REPLICA: self.cluster.replicas, DATABASE: [self.cluster.postgres],
                      AGENT: self.cluster.agents, AGENTS_DOOR: [self.cluster.agents_door]}[on]
        taken = {id(fault.subject) for fault in self.active}
        free = [one for one in candidates if id(one) not in taken]
        return self.chance.choice(free) if free else None

    def finish(self):
        for fault in self.active:
            fault.finish()
        self.active = []
