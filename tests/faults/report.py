"""What a run prints: a line of progress, tables at the end."""

import sys
import time


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Progress:
    """One line that is written over on a terminal; elsewhere a line now and then."""

    EVERY = 0.5, 15.0

    def __init__(self):
        self.began = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.next_at = 0.0

    def show(self, text, force=False):
        now = time.monotonic()
        if now < self.next_at and not force:
            return
        self.next_at = now + self.EVERY[0 if self.terminal else 1]
        line = f"{clock(now - self.began)}  {text}"
        if self.terminal:
            print(f"\r\033[K{line[:150]}", end="", flush=True)
        else:
            print(line, flush=True)

    def end(self):
        if self.terminal:
            print()


def alone(fault, faults, run_end):
    """No other one was happening at the same time, or had ended just before."""
    end = (fault.ended or run_end) + 1
    return all(other is fault or (other.ended or run_end) + 2 < fault.began or other.began > end
               for other in faults)


def longest_silence(faults, acknowledged_at, run_end):
    """Kind → the longest time some workspace had no acknowledged write during such a fault, or just after."""
    longest = {}
    for fault in faults:
        begin, end = fault.began, (fault.ended or run_end) + 1
        gaps = [silence(times, begin, end, run_end) for times in acknowledged_at.values()]
        longest[fault.kind] = max([longest.get(fault.kind, 0.0), *gaps])
    return longest


def silence(times, begin, end, run_end):
    """The longest gap between acknowledgements that begins before `end` and reaches past `begin`."""
    longest, before = 0.0, begin
    for at in times:
        if at <= begin:
            continue
        longest = max(longest, at - before)
        before = at
        if at >= end:
            return longest
    return max(longest, run_end - before)


def print_faults(faults, kinds, acknowledged_at, run_end):
    every = longest_silence(faults, acknowledged_at, run_end)
    single = longest_silence([f for f in faults if alone(f, faults, run_end)], acknowledged_at, run_end)

    def figure(silences, kind):
        return f"{silences[kind]:.1f}" if kind in silences else "-"

    print(f"\n{'fault':<36}{'times':>7}{'longest time without a write, s':>36}")
    print(f"{'':<43}{'with others':>18}{'alone':>18}")
    for kind in kinds:
        times = sum(fault.kind == kind for fault in faults)
        print(f"{kind:<36}{times:>7}{figure(every, kind):>18}{figure(single, kind):>18}")
    most, most_alone = (f"{max(s.values(), default=0.0):.1f}" for s in (every, single))
    print(f"{'all':<36}{len(faults):>7}{most:>18}{most_alone:>18}")
    print("(in any one workspace, while the fault lasted and just after)")


def print_figures(figures):
    print()
    for name, value in figures.items():
        print(f"{name:<36}{value:>7}" if not isinstance(value, float) else f"{name:<36}{value:>7.1f}")


def print_verdicts(verdicts, show=8):
    print(f"\n{'promise':<76}violations")
    for promise, evidence in verdicts.items():
        print(f"{promise:<76}{len(evidence):>10}")
    for promise, evidence in verdicts.items():
        if evidence:
            print(f"\nVIOLATED: {promise}")
            for line in evidence[:show]:
                print(f"  {line}")
            if len(evidence) > show:
                print(f"  … and {len(evidence) - show} more")
