"""The first promise, as a comparison of sets: a freeze is a barrier.

Whoever talks to the server notes a number before it sends a request and another after it has the answer. The
numbers only grow, so `a.answered < b.asked` says that the one was over before the other began. No clock is
compared and nothing is allowed for: where the numbers leave the order open, both orders are right.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf


@dataclass(frozen=True)
class Work:
    """What a freeze can be about."""

    deployment: str
    environment: str
    resource: str
    version: str = ""
    tag: str = ""

    @property
    def key(self):
        return f"{self.resource}-{self.environment}-{self.deployment}"


@dataclass
class Frozen:
    """A freeze as its client saw it. The thaw is counted from when it was asked for: it may be done then."""

    id: str
    covers: callable  # Work → bool
    asked: int
    answered: int
    in_flight: dict = field(default_factory=dict)  # of the 201: job → (key of its target, version)
    thaw_asked: float = inf
    thaw_answered: float = inf


@dataclass
class Handed:
    """A job that an agent has received, and when that agent said that it has ended."""

    job: str
    work: Work
    asked: int
    answered: int
    end_asked: float = inf
    end_answered: float = inf


@dataclass
class Refused:
    """An answer `frozen`; `freeze` if it named one."""

    work: Work
    asked: int
    answered: int
    freeze: str = ""


def slipped_through(freezes, handed, exempt=lambda freeze, work: False):
    """Jobs that agents had while a freeze over them stood, and that are not in its list.

    The agent had its job before the thaw was asked for, and did not say that it had ended before the 201 was
    there. So it was handed over before the freeze, and must be listed, or after it, and must not be.
    """
    for freeze in freezes:
        for given in handed:
            if given.answered >= freeze.thaw_asked or given.end_asked <= freeze.answered:
                continue
            if given.job in freeze.in_flight or not freeze.covers(given.work):
                continue
            if not exempt(freeze, given.work):
                yield (f"freeze {freeze.id} (asked {freeze.asked}, 201 {freeze.answered}, thaw asked "
                       f"{freeze.thaw_asked}) does not list job {given.job} on {given.work.key} "
                       f"(claim asked {given.asked}, answered {given.answered}, end asked {given.end_asked})")


def wrongly_listed(freezes, handed):
    """Jobs in a list that no agent had when the freeze was made, or that it does not cover."""
    claims = defaultdict(list)
    for given in handed:
        claims[given.job].append(given)
    for freeze in freezes:
        for job, (key, version) in freeze.in_flight.items():
            fault = what_is_wrong(freeze, claims.get(job, []), key, version)
            if fault:
                yield (f"freeze {freeze.id} (asked {freeze.asked}, 201 {freeze.answered}) lists job {job}: "
                       f"{fault}")


def what_is_wrong(freeze, claims, key, version):
    if not any(given.asked < freeze.answered for given in claims):
        return "no agent had asked for it by then"
    given = claims[0]
    if (given.work.key, given.work.version) != (key, version):
        return f"it is version {given.work.version} on {given.work.key}, not {version} on {key}"
    if not freeze.covers(given.work):
        return f"the freeze does not cover {given.work.key}"
    if all(given.end_answered < freeze.asked for given in claims):
        return "it had ended before"
    return None


def held_by_nothing(freezes, refused):
    """Refusals although no freeze stood there, or by one that did not."""
    by_id = {freeze.id: freeze for freeze in freezes}
    for no in refused:
        named = [by_id[no.freeze]] if no.freeze in by_id else [] if no.freeze else freezes
        if not any(f.asked < no.answered and f.thaw_answered > no.asked and f.covers(no.work) for f in named):
            yield (f"{no.work.key} was refused as frozen (asked {no.asked}, answered {no.answered}) by "
                   f"{no.freeze or 'nobody named'}")
