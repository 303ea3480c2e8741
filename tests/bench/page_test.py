"""The page that bench/run report makes, of documents made by hand: what is drawn, and that it is
well formed."""

import html.parser
import os
import re
import sys
import unittest
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

from runner import charts, page, tables  # noqa: E402
from runner.cli import CASES  # noqa: E402

VOID = {"meta", "img", "br"}


class Balanced(html.parser.HTMLParser):
    """Every element that begins ends, in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")


def row(name, median, group="", metric="durable", ours=False, **values):
    summary = {"min": median * 0.9, "q1": median, "median": median, "q3": median,
               "max": median * 1.1}
    return {"name": name, "group": group, "ours": ours, "samples": [values],
            "summary": {metric: summary}}


def document(case, rows, date="2026-01-01T000000Z", **more):
    return {"case": case, "date": date, "host": {"cores": 2, "cpu": "a & b"}, "options": {},
            "caption": "1 < 2", "remarks": ["goal: x: 1, not met (>= 2)", "goal: y: 3, met (>= 2)"],
            "result": {"contestants": rows, "ratios": []}} | more


def made(*documents):
    return page.page([(one, "nowhere.json") for one in documents])


class Page(unittest.TestCase):
    def check(self, text):
        parser = Balanced(text)
        self.assertEqual((parser.faults, parser.open), ([], []))
        for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            xml.etree.ElementTree.fromstring(drawing)
        self.assertNotRegex(text, r'(src|href)="(?!data:|#)')
        return text

    def test_bars_goals_and_escapes(self):
        text = self.check(made(document("write", [row("bare", 100), row("mine", 50, ours=True)])))
        self.assertIn("width:45.45%", text)  # 50 of 110
        self.assertIn('class="missed"', text)
        self.assertIn('class="met"', text)
        self.assertIn("1 &lt; 2", text)
        self.assertIn("a &amp; b", text)
        self.assertNotIn("<svg", text)

    def test_lines_by_writers_and_by_size(self):
        rows = [row(f"own x {n}", 10 * n, "1 MB") for n in (1, 2, 4)] + [row("other", 5, "1 MB")]
        text = self.check(made(document("vampire", rows)))
        self.assertEqual(text.count("<circle"), 3)
        rows = [row(name, size, f"{size} MB") for name in ("a", "b") for size in (10, 2)]
        text = self.check(made(document("write", rows)))
        self.assertEqual(text.count("<circle"), 4)
        self.assertLess(text.index(">2 MB</text>"), text.index(">10 MB</text>"))

    def test_the_timeline_of_overlap(self):
        text = self.check(made(document("overlap", [
            row("mine", 1, metric="visible", alone_s=1.0, visible_s=0.1, left_s=0.4)])))
        for share in ("10.00%", "50.00%", "40.00%"):
            self.assertIn(f"width:{share}", text)
        rounds = row("mine", 1, metric="visible")
        rounds["samples"] = [{"alone_s": 1.0, "visible_s": v, "left_s": 0.4} for v in (.9, .1, .1)]
        self.assertIn("width:10.00%", self.check(made(document("overlap", [rounds]))))

    def test_the_newest_run_comes_first_and_others_are_folded(self):
        new = document("write", [row("bare", 1)], "2026-02-02T000000Z")
        text = self.check(made(new, document("write", [row("bare", 1)])))
        self.assertEqual(text.count("<section"), 1)
        self.assertIn("run of 2026-01-01", text)
        self.assertNotIn("run of 2026-02-02", text)

    def test_results_of_another_form_are_listed(self):
        other = {"case": "parabmu", "date": "x", "host": {}, "bone": {"text_in_s": 1.25}}
        self.assertIn("<td>bone text_in_s</td><td>1.25</td>", self.check(made(other)))

    def test_tables_are_of_the_newest_run(self):
        options = {"options": {"rounds": 9, "warm_up": 1}, "absent": []}
        other = {"case": "parabmu", "date": "x", "host": {}, "bone": {"text_in_s": 1.25}}
        documents = [document("write", [row("bare", 100)], "2026-02-02T000000Z", **options),
                     document("write", [row("older", 100)], **options), other]
        for one in documents[:2]:
            one["host"]["file_system"] = "ext4"
        documents[0]["host"]["busy_cores"] = 0.25
        text = tables.page([(one, "nowhere.json") for one in documents], CASES)
        self.assertRegex(text, r"(?m)^bare +90 +100 +110$")
        self.assertIn("2026-02-02, a & b, 2 cores, ext4", text)
        self.assertIn("0.2 cores busy as it began", text)
        self.assertIn("bone: {'text_in_s': 1.25}", text)
        self.assertNotIn("older", text)

    def test_runs_of_some_groups_or_on_another_mount_replace_no_whole_one(self):
        def one(name, date, **more):
            found = document("mpiio", [row(name, 100)], date, absent=[],
                             options={"rounds": 9, "warm_up": 1, "contended": False} | more)
            found["host"]["file_system"] = "ext4"
            return found, "nowhere.json"

        text = tables.page([one("some", "2026-02-04T000000Z", groups="snapshots"),
                            one("others", "2026-02-03T000000Z", only=["others"]),
                            one("mount", "2026-02-02T000000Z", contended=True),
                            one("whole", "2026-02-01T000000Z", groups="", only=None)], CASES)
        self.assertRegex(text, r"(?m)^whole +90 +100 +110$")
        self.assertRegex(text, r"(?sm)## mpiio --contended.*^mount")
        self.assertNotIn("some ", text)
        self.assertNotIn("others ", text)

    def test_a_trial_replaces_no_serious_run(self):
        whole = {"rounds": CASES["auto"].ROUNDS, "warm_up": 1, "mib": 8, "pattern": None,
                 "place": None, "steps": 1, "ranks": 4, "set": {}}

        def one(name, date, **more):
            found = document("auto", [row(name, 100)], date, absent=[], options=whole | more)
            found["host"]["file_system"] = "ext4"
            return found, "nowhere.json"

        serious = one("serious", "2026-02-01T000000Z")
        trials = [{"rounds": 1}, {"mib": 1}, {"pattern": ["slabs"]}, {"place": ["disk"]},
                  {"ranks": 2}, {"set": {"storage": "posix"}}, {"strategies": ["serial"]},
                  {"warm_up": 0}]
        for trial in trials:
            text = tables.page([one("trial", "2026-02-02T000000Z", **trial), serious], CASES)
            self.assertRegex(text, r"(?m)^serious +", trial)
        text = tables.page([one("longer", "2026-02-02T000000Z", rounds=99, mib=64), serious], CASES)
        self.assertRegex(text, r"(?m)^longer +")

    def test_every_case_has_defaults_that_are_whole(self):
        for case in CASES.values():
            self.assertTrue(tables._is_whole({"case": case.NAME, "options": {}}, case), case.NAME)

    def test_an_axis_of_several_powers_is_logarithmic(self):
        text = charts.lines({"a": {1: 1.0, 2: 1000.0}}, [1, 2], "x", "y")
        self.assertEqual(re.findall(r'text-anchor="end">([\d.e+]+)<', text)[:4],
                         ["1", "10", "100", "1000"])

    def test_numbers_are_short(self):
        self.assertEqual([charts.number(x) for x in (0, 1234.5, 12.345, 0.00123)],
                         ["0", "1,234", "12.3", "0.00123"])

    def test_sections_stay_that_no_whole_run_replaces(self):
        present = "# Head\n\n## alone\n\nolder run.\n\n## write\n\nanother older run.\n"
        options = {"rounds": 9, "warm_up": 1, "only": ["bare"]}
        some = document("write", [row("bare", 100)], absent=[], options=options)
        whole = document("write", [row("all", 100)], absent=[], options=options | {"only": None})
        for one in (some, whole):
            one["host"]["file_system"] = "ext4"
        text = tables.page([(some, "nowhere.json")], CASES, present)
        self.assertIn("## alone\n\nolder run.\n\n## write\n\nanother older run.\n", text)
        self.assertNotIn("bare", text)
        text = tables.page([(whole, "nowhere.json")], CASES, present)
        self.assertIn("## alone\n\nolder run.\n\n## write\n", text)
        self.assertRegex(text, r"(?m)^all +90 +100 +110$")
        self.assertEqual(text, tables.page([], CASES, text))


if __name__ == "__main__":
    unittest.main()
