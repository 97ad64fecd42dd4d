#!/usr/bin/env python3
"""Compares the starts of random rules with those of dateutil, an implementation of RFC 5545 of its own.

dateutil works in wall-clock time without zones; the rule for days on which clocks change is applied to its
results here. The same seed always asks the same questions. Ends with `N passed, M failed`.
"""

import argparse
import random
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

from dateutil import rrule

UTC = timezone.utc
FREQUENCIES = ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]
WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia",
         "America/Sao_Paulo", "Africa/Casablanca", "Europe/Dublin", "America/St_Johns", "Antarctica/Troll"]
MAX_PERIODS = {"YEARLY": 300, "MONTHLY": 1500}  # that dateutil may look at; it knows no end itself
HORIZON = timedelta(days=365 * 90)


class TooFar(Exception):
    pass


class Periods:
    """Counts the periods that dateutil looks at, and ends the search after so many."""

    left = 0

    @classmethod
    def watch(cls, name):
        original = getattr(rrule._iterinfo, name)

        def watched(self, *args):
            cls.left -= 1
            if cls.left < 0:
                raise TooFar
            return original(self, *args)

        setattr(rrule._iterinfo, name, watched)


for method in ("ydayset", "mdayset", "wdayset", "ddayset"):
    Periods.watch(method)


# ---- instants ---------------------------------------------------------------------------------

def change_between(early, late, zone):
    """The first second with another offset than `early` has."""
    offset = early.astimezone(zone).utcoffset()
    while late - early > timedelta(seconds=1):
        middle = early + timedelta(seconds=(late - early) // timedelta(seconds=2))
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late


def instant_of(wall, zone):
    """A wall time that comes twice: the first. One that is skipped: the moment of the change."""
    early, late = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (1, 0))
    if late.astimezone(zone).replace(tzinfo=None) == wall:
        return late  # fold=0 is the first of two
    return change_between(early, late, zone)


def written(t):
    return t.strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- rules by chance --------------------------------------------------------------------------

class Question:
    def __init__(self, seed):
        self.random = random.Random(seed)
        r = self.random
        self.zone_name = r.choice(ZONES)
        self.zone = ZoneInfo(self.zone_name)
        self.freq = r.choice(FREQUENCIES)
        self.parts = {}
        self.change = self.some_change() if self.chance(0.6) else None
        self.anchor = self.some_anchor()
        self.choose_parts()
        if self.freq == "WEEKLY" and "BYSETPOS" in self.parts:
            self.move_anchor_to_week_start()
        wall = self.anchor.astimezone(self.zone).replace(tzinfo=None)
        self.explicit = r.random() < 0.5
        self.start_form = r.choice(["floating", "utc", "tzid"]) if self.explicit else ""
        self.wall = wall
        self.start_from = self.some_question()
        self.choose_end()

    def chance(self, p):
        return self.random.random() < p

    def some_instant(self):
        seconds = self.random.randrange(40 * 365 * 86400)
        return datetime(1995, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)

    def some_change(self):
        """A moment at which clocks are changed, since that is where errors live; None if they never are."""
        early = self.some_instant()
        for _ in range(400):
            late = early + timedelta(days=1)
            if early.astimezone(self.zone).utcoffset() != late.astimezone(self.zone).utcoffset():
                return change_between(early, late, self.zone)
            early = late
        return None

    def some_anchor(self):
        """Near enough to the change for dateutil, which goes on period by period from there."""
        if not self.change:
            return self.some_instant()
        hours = {"SECONDLY": 1, "MINUTELY": 40, "HOURLY": 400, "DAILY": 3000}.get(self.freq, 20000)
        return self.change - timedelta(seconds=self.random.randrange(hours * 3600))

    def some_question(self):
        r = self.random
        if self.change:
            return self.change + timedelta(seconds=r.randrange(-4 * 3600, 2 * 3600))
        interval = int(self.parts.get("INTERVAL", ["1"])[0])
        unit = {"YEARLY": 365 * 86400, "MONTHLY": 30 * 86400, "WEEKLY": 7 * 86400, "DAILY": 86400,
                "HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}[self.freq]
        most = {"YEARLY": 10, "MONTHLY": 30, "WEEKLY": 60, "DAILY": 200}.get(self.freq, 300)
        return self.anchor + timedelta(seconds=r.randrange(-unit, unit * interval * most))

    def some_hours(self):
        """Often those around the change."""
        if not self.change or self.chance(0.3):
            return self.numbers(0, 23, 4)
        hour = self.change.astimezone(self.zone).hour
        return [str(n) for n in sorted({(hour + self.random.randint(-2, 1)) % 24 for _ in range(2)})]

    def numbers(self, least, most, count, negative=False):
        r = self.random
        values = {r.randint(least, most) * (-1 if negative and self.chance(0.4) else 1)
                  for _ in range(r.randint(1, count))}
        return [str(v) for v in sorted(values)]

    def choose_parts(self):
        r, freq, parts = self.random, self.freq, self.parts
        if self.chance(0.4):
            most = {"YEARLY": 4, "MONTHLY": 15, "WEEKLY": 8, "DAILY": 40, "HOURLY": 80}.get(freq, 4000)
            parts["INTERVAL"] = [str(r.randint(1, most) if self.chance(0.5) else r.randint(1, 5))]
        if self.chance(0.3):
            parts["WKST"] = [r.choice(WEEKDAYS)]
        if self.chance(0.1 if self.change else 0.25):
            parts["BYMONTH"] = self.numbers(1, 12, 4)
        if not self.change or self.chance(0.4):  # else the day of the change would seldom be in
            self.choose_days()
        if self.chance(0.25 if freq in ("MINUTELY", "SECONDLY") else 0.7 if self.change else 0.4):
            parts["BYHOUR"] = self.some_hours()
        if self.chance(0.3):
            parts["BYMINUTE"] = self.numbers(0, 59, 4)
        if self.chance(0.2):
            parts["BYSECOND"] = self.numbers(0, 59, 3)
        if any(name.startswith("BY") for name in parts) and self.chance(0.25):
            parts["BYSETPOS"] = self.numbers(1, r.choice([1, 3, 10, 366]), 3, negative=True)

    def choose_days(self):
        freq, parts, r = self.freq, self.parts, self.random
        if freq != "WEEKLY" and self.chance(0.25):
            parts["BYMONTHDAY"] = self.numbers(1, 31 if self.chance(0.5) else 28, 5, negative=True)
        if freq not in ("DAILY", "WEEKLY", "MONTHLY") and self.chance(0.15):
            parts["BYYEARDAY"] = self.numbers(1, 366, 8, negative=True)
        if freq == "YEARLY" and self.chance(0.25):
            # dateutil miscounts the weeks of the year before, of which the first days of January may be.
            parts["BYWEEKNO"] = self.numbers(1, 51, 4, negative=True)
        if self.chance(0.4):
            days = sorted(r.sample(WEEKDAYS, r.randint(1, 4)))
            # dateutil takes days with and without a number together for "both"; RFC 5545 means "either".
            if freq in ("MONTHLY", "YEARLY") and "BYWEEKNO" not in parts and self.chance(0.5):
                most = 5 if freq == "MONTHLY" or "BYMONTH" in parts else 53
                days = [self.numbers(1, most, 1, negative=True)[0] + d for d in days]
            parts["BYDAY"] = days

    def move_anchor_to_week_start(self):
        """dateutil lets BYSETPOS choose from what is left of the first week only."""
        first = WEEKDAYS.index(self.parts.get("WKST", ["MO"])[0])
        while self.anchor.astimezone(self.zone).weekday() != first:
            self.anchor -= timedelta(days=1)

    def choose_end(self):
        self.count = self.until = self.until_utc = None
        ending = self.random.random()
        age = max(self.start_from - self.anchor, timedelta(hours=3))
        end = self.start_from + age * self.random.choice([0.2, 1])
        if ending < 0.2:
            self.count = self.random.choice([1, 2, 5, 20, 300])
            self.parts["COUNT"] = [str(self.count)]
        elif ending < 0.3:
            self.until_utc = end.replace(microsecond=0)
            self.parts["UNTIL"] = [end.strftime("%Y%m%dT%H%M%SZ")]
        elif ending < 0.4:
            self.until = end.astimezone(self.zone).replace(tzinfo=None, microsecond=0)
            self.parts["UNTIL"] = [self.until.strftime("%Y%m%dT%H%M%S")]
        elif ending < 0.45:
            day = end.astimezone(self.zone).replace(tzinfo=None)
            self.until = day.replace(hour=23, minute=59, second=59, microsecond=0)
            self.parts["UNTIL"] = [day.strftime("%Y%m%d")]

    # ---- asked of both ---------------------------------------------------------------------------

    def text(self):
        parts = [f"FREQ={self.freq}"] + [f"{k}={','.join(v)}" for k, v in self.parts.items()]
        self.random.shuffle(parts)
        lines = ["RRULE:" * self.chance(0.5) + ";".join(parts)]
        if self.start_form == "floating":
            lines.insert(0, f"DTSTART:{self.wall:%Y%m%dT%H%M%S}")
        elif self.start_form == "utc":
            lines.insert(0, f"DTSTART:{self.anchor:%Y%m%dT%H%M%SZ}")
        elif self.start_form == "tzid":
            lines.insert(0, f"DTSTART;TZID={self.zone_name}:{self.wall:%Y%m%dT%H%M%S}")
        return "\\n".join(lines)

    def line(self, starts):
        # With its start written down, a rule does not look at its anchor.
        anchor = self.anchor if not self.explicit else datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
        fields = [self.zone_name, written(anchor), self.text(), written(self.start_from), str(starts)]
        return "\t".join(fields)

    def oracle(self):
        numbers = {name: [int(v) for v in self.parts[name]] if name in self.parts else None
                   for name in ("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYHOUR", "BYMINUTE",
                                "BYSECOND", "BYSETPOS", "INTERVAL")}
        if not self.explicit:  # finer than a time that the rule names: zero
            if "BYHOUR" in self.parts and self.freq not in ("MINUTELY", "SECONDLY"):
                numbers["BYMINUTE"] = numbers["BYMINUTE"] or [0]
            if self.parts.keys() & {"BYHOUR", "BYMINUTE"} and self.freq != "SECONDLY":
                numbers["BYSECOND"] = numbers["BYSECOND"] or [0]
        days = None
        if "BYDAY" in self.parts:
            days = [rrule.weekday(WEEKDAYS.index(d[-2:]), int(d[:-2]) if d[:-2] else None)
                    for d in self.parts["BYDAY"]]
        return rrule.rrule(
            FREQUENCIES.index(self.freq), dtstart=self.wall, interval=(numbers["INTERVAL"] or [1])[0],
            wkst=WEEKDAYS.index(self.parts.get("WKST", ["MO"])[0]), count=self.count, until=self.until,
            bysetpos=numbers["BYSETPOS"], bymonth=numbers["BYMONTH"], bymonthday=numbers["BYMONTHDAY"],
            byyearday=numbers["BYYEARDAY"], byweekno=numbers["BYWEEKNO"], byweekday=days,
            byhour=numbers["BYHOUR"], byminute=numbers["BYMINUTE"], bysecond=numbers["BYSECOND"])

    def expected(self, starts):
        """(starts, whether that is all there is to know, whether the rule has no start at all)"""
        found, any_start = [], False
        Periods.left = MAX_PERIODS.get(self.freq, 5000)
        if self.freq == "SECONDLY" and self.parts.keys() & {"BYHOUR", "BYMINUTE"}:
            Periods.left = 200  # dateutil tries every second of a day for the next one
        try:
            for wall in self.oracle():
                t = instant_of(wall, self.zone)
                if self.until_utc and t > self.until_utc:
                    break
                any_start = True
                if t - max(self.start_from, self.anchor) > HORIZON:
                    return found, False, False
                if t > self.start_from and (not found or found[-1] != t):
                    found.append(t)
                    if len(found) == starts:
                        break
        except ValueError:  # dateutil knows of some that they never come true
            return [], True, True
        except TooFar:
            return found, False, False
        return found, True, not any_start


def differs(question, starts, answer):
    """(what is wrong with the answer, None if nothing is; how many starts were compared)"""
    expected, complete, never = question.expected(starts)
    if answer.startswith(("backwards", "malformed")):
        return answer, 0
    if answer.startswith("refused"):
        fine = never or (not complete and not expected)
        return (None if fine else f"{answer}, but it has starts"), 0
    if never:
        return f"taken, but it never comes true: {answer}", 0
    got = answer.split()
    if not complete:
        got = got[:len(expected)]
    wanted = [written(t) for t in expected]
    return (None if got == wanted else f"got    {' '.join(got)}\n  wanted {' '.join(wanted)}"), len(wanted)


def ask(probe, lines):
    """One answer for each line, also when the probe hangs or ends early."""
    try:
        run = subprocess.run([probe], input="".join(line + "\n" for line in lines), stdout=subprocess.PIPE,
                             text=True, timeout=60)
        answers = run.stdout.splitlines()
    except subprocess.TimeoutExpired as slow:
        answers = (slow.stdout or b"").decode().splitlines()
    return answers + ["malformed: no answer"] * (len(lines) - len(answers))


def main():
    root = Path(__file__).resolve().parent.parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", default=root / "build/dev/bin/schedule_probe", help="the program to ask")
    parser.add_argument("--rules", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    starts = 6
    questions = [Question(f"{args.seed}/{n}") for n in range(args.rules)]
    lines = [q.line(starts) for q in questions]
    answers = ask(args.probe, lines)

    failed = compared = 0
    for question, line, answer in zip(questions, lines, answers):
        wrong, count = differs(question, starts, answer)
        compared += count
        if wrong:
            failed += 1
            print(f"{line}\n  {wrong}")
    print(f"{compared} starts compared")
    print(f"{len(lines) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
