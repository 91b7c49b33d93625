# SPDX-License-Identifier: Apache-2.0
"""The table that bench.py prints."""
import os

# name, text, format, target (at most; a leading ">" means at least), and what the peers took on such a machine.
ROWS = [
    ("bpf_us", "BPF time per sample", "%.1f µs", 14, "33–51 µs", "41–46 µs"),
    ("cpu_us", "agent CPU per sample, 97 Hz", "%.1f µs", 10, "58–143 µs", "96 µs"),
    ("idle_percent", "agent CPU, idle machine, 20 Hz", "%.3f %%", 0.1, "0.9 %", "1.2 %"),
    ("rss_mib", "peak RSS", "%.1f MiB", 30, "89–139 MiB", "144–174 MiB"),
    ("maps_mib", "BPF maps", "%.1f MiB", 12, "33–40 MiB", "100–107 MiB"),
    ("start_quiet_s", "start to first sample, quiet", "%.2f s", 0.3, "2.4–5 s", "6–11 s"),
    ("start_busy_s", "start to first sample, busy", "%.2f s", 0.6, "4–8 s", "8.5–28 s"),
    ("start_cold_cpu_s", "CPU of a 1 s run, cold cache", "%.2f s", None, "", ""),
    ("start_quiet_cpu_s", "CPU of a 1 s run, warm cache", "%.2f s", None, "", ""),
    ("lost_percent", "samples lost, steady load", "%.3f %%", 0.1, "< 0.1 %", "< 0.1 %"),
    ("new_lost", "samples lost per new process", "%.3f", 0.05, "~0.8", "~0.8"),
    ("named_percent", "native frames named, of those with a symbol", "%.2f %%", ">99", "0 %", ""),
    ("load_percent", "samples that are of the load", "%.0f %%", None, "", ""),
    ("output_mib", "bytes written", "%.1f MiB", None, "", ""),
    ("binary_mib", "binary, stripped", "%.2f MiB", 3, "71 MB", "76 MB"),
]


def met(value, target):
    if target is None:
        return ""
    if value is None:
        return "not measured"
    if isinstance(target, str):
        return "met" if value >= float(target[1:]) else "NOT MET"
    return "met" if value <= target else "NOT MET"


def cell(result, name, form, base=None):
    """Median and range, and how many times the base it is."""
    median = result.median(name)
    if median is None:
        return ""
    low, high = result.range(name)
    text = form % median
    if len(result.values[name]) > 1:
        text += " (%s–%s)" % (form.split()[0] % low, form.split()[0] % high)
    return text + (" = %.2g ×" % (median / base) if base else "")


class Table:
    def __init__(self, results, rounds, warm, window, machine):
        self.results = results
        self.heading = ("%d rounds of %g s after %g s, %d CPUs; machine busy %.0f %%, stolen %.2f %%; load average %.1f. "
                        "Median (range); × is that of wick."
                        % (rounds, window, warm, os.cpu_count(), 100 * machine[0], 100 * machine[1], os.getloadavg()[0]))

    def row(self, name, text, form, target, otel, parca):
        wick = self.results["wick"]
        limit = "" if target is None else \
            ("≥ " + form % float(target[1:]) if isinstance(target, str) else "≤ " + form % target)
        peers = [cell(self.results[peer], name, form, wick.median(name)) for peer in ("otel", "perf", "bpftrace")]
        return [text, cell(wick, name, form), limit, met(wick.median(name), target), *peers, otel, parca]

    def text(self):
        rows = [["", "wick", "target", "", "OTel eBPF profiler", "perf --call-graph dwarf", "bpftrace (frame pointers)",
                 "OTel 0.159, not this run", "parca-agent, not this run"]]
        rows += [self.row(*row) for row in ROWS]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        rows.insert(1, ["-" * width for width in widths])
        lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in rows]
        return self.heading + "\n\n" + "\n".join(lines)
