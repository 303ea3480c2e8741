"""Files of other programs, read and converted by Sluice, against h5py: equal, or named.

What Sluice does not read of a file it names with the reason. unread.txt lists the reasons: lines
"REASON<tab>FILE<tab>OBJECT<tab>WHY", with * for any text. Where h5py sees the reason too (the type
is compound, the link leads nowhere: compare.is_true), the object is "as h5py" whatever its name.
What is neither equal nor in that list fails; of all files, a line that nothing fits fails too.

    corpus_test.py            a sample of the packages' files
    SLUICE_LONG=1 ...         all of them, and those of HDF5's and netCDF's sources
"""

import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback

import compare
import corpus

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "unread.txt")
IS_LONG = os.environ.get("SLUICE_LONG") == "1"
FEWEST = 500     # of all files, those that are compared
SAMPLE = 9       # of the packages' files every ninth
THERE_AND_BACK = 6  # every sixth file by way of netCDF-4 and Zarr
ONE_FILE_S = 300  # for reading, or for one conversion
AT_ONCE = 4
MOST_BYTES = 64 << 20
# h5py 3.16 crashed in 13 of 40 readings of the attributes of this file, and in none of 40 readings
# of the copy that Sluice made.
CRASHES_H5PY = ("h5repack_attr_refs.h5",)
MOST_ELEMENTS = 16 << 20  # some files say that they have 2^33, and hold none of them


def apart(work, seconds):
    """What `work` returns, in a process of its own: a library may crash on a file, or hang."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(seconds)
        try:
            result = work()
        except BaseException:  # pylint: disable=broad-except
            result = "failed: " + traceback.format_exc(limit=3).strip().splitlines()[-1]
        with os.fdopen(writer, "w") as out:
            json.dump(result, out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as out:
        text = out.read()
    _, status = os.waitpid(child, 0)
    if not text:
        return f"failed: ended by signal {os.waitstatus_to_exitcode(status)}"
    return json.loads(text)


def kind_of(path):
    """Is it fit for being read by h5py, and written in full?"""
    import h5py
    if os.path.basename(path) in CRASHES_H5PY:
        return "not compared: h5py crashes"
    if os.path.getsize(path) > MOST_BYTES:
        return "too large"
    elements = 0
    try:
        with h5py.File(path, "r") as file:
            for _, _, target in compare.links(file):
                if isinstance(target, h5py.Dataset):
                    elements += target.size or 0
    except OSError:
        return "not opened by h5py"
    except (RuntimeError, TypeError):  # damaged on purpose, or links of a user's own type
        return "not listed by h5py"
    return "fit" if elements <= MOST_ELEMENTS else "too large"


def left_out(done):
    marker = ": left out: "
    return [line.split(marker, 1)[1] for line in done.stderr.splitlines() if marker in line]


def convert_and_compare(path, place):
    """HDF5 to HDF5: everything there, or named."""
    target = os.path.join(place, "converted.h5")
    done = compare.sluice("convert", path, target)
    named = left_out(done)
    if not os.path.exists(target):
        why = (done.stderr.strip().splitlines() or ["exit " + str(done.returncode)])[-1]
        return [["", "convert refused: " + why.replace(path, "FILE")]], []
    try:
        wanted = 1 if named else 0
        differences = compare.same_trees(path, target, named)
        if done.returncode != wanted:
            differences.append(("", f"convert ended with {done.returncode}"))
        verdict = compare.sluice("verify", target)
        if verdict.returncode != 0:
            differences.append(("", "after convert: " + verdict.stdout.replace(target, "FILE")))
        return differences, [(one.split(" (")[0], "convert: " + one.partition(" (")[2].rstrip(")"))
                             for one in named]
    finally:
        os.remove(target)


def there_and_back(path, place, ending):
    """By way of another format: what was not named on the way is equal at the end."""
    import h5py
    between = os.path.join(place, "between" + ending)
    target = os.path.join(place, "back.h5")
    remove(between, target)
    done = compare.sluice("convert", path, between)
    if not os.path.exists(between):
        return "refused", []
    named = left_out(done)
    back = compare.sluice("convert", between, target)
    if not os.path.exists(target):
        return "back refused: " + back.stderr.strip()[-200:], []
    differences = []
    found, _ = compare.listing(path)
    with h5py.File(path, "r") as old, h5py.File(target, "r") as new:
        for variable in found["variables"]:
            name = variable["name"]
            if any(one.startswith(name + " (") for one in named):
                continue
            if name not in new:
                differences.append((name, "is gone by way of " + ending))
            else:
                try:
                    expected = old[name][...]
                except (OSError, ValueError, TypeError, RuntimeError):
                    continue
                if not compare.same(expected, new[name][...]):
                    differences.append((name, "other values by way of " + ending))
    remove(between, target)
    return "done", differences


def remove(*paths):
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)


def files(place):
    packages = list(corpus.of_packages())
    if not IS_LONG:
        return packages[::SAMPLE]
    return packages + list(corpus.of_sources(os.environ.get("SLUICE_CORPUS", place)))


class Expected:
    """The lines of unread.txt, and how much was met that each of them allows."""

    def __init__(self):
        self.met = collections.Counter()
        self.lines = {}
        with open(LIST, encoding="utf-8") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    parts = line.rstrip("\n").split("\t")
                    assert len(parts) == 4 and all(parts), f"unread.txt: {line!r}"
                    text = "\t".join(parts[:3])
                    self.lines[text] = re.compile(".*".join(map(re.escape, text.split("*"))))

    def allows(self, reason, label, name):
        item = f"{reason}\t{label}\t{name}"
        fitting = [text for text, pattern in self.lines.items() if pattern.fullmatch(item)]
        self.met.update(fitting)
        return bool(fitting)

    def unmet(self):
        return [text for text in self.lines if self.met[text] == 0]


def one_line(label, name, reason, path):
    text = f"{reason}\t{label}\t{name or '-'}".replace(path, "FILE").replace("\n", " ")
    text = re.sub(r"/\S*/sluice-corpus-\w+/\d+/", "PLACE/", text)  # this run's folder
    return tuple(text.encode("ascii", "backslashreplace").decode().split("\t")[:3])


def look(number, label, path, place):
    """(figures, what was met) of one file."""
    counts = collections.Counter()
    met = []
    os.makedirs(place)
    kind = apart(lambda: kind_of(path), ONE_FILE_S)
    if kind != "fit":
        counts[kind.split(":")[0]] += 1
        return counts, met
    for what, job in (("read", lambda: compare.read_by_sluice(path)),
                      ("convert", lambda: convert_and_compare(path, place))):
        result = apart(job, ONE_FILE_S)
        if isinstance(result, str):
            met.append(one_line(label, "", what + " " + result, path))
            continue
        for name, reason in result[0] + result[1]:
            met.append(one_line(label, name, reason, path))
        if what == "read":
            counts.update(result[2])
    for ending in (".nc", ".zarr") if number % THERE_AND_BACK == 0 else ():
        result = apart(lambda: there_and_back(path, place, ending), ONE_FILE_S)
        word = result if isinstance(result, str) else result[0]
        counts[ending + " and back: " + word.split(":")[0]] += 1
        if word not in ("done", "refused"):
            met.append(one_line(label, "", ending + " " + word, path))
        for name, reason in result[1] if not isinstance(result, str) else []:
            met.append(one_line(label, name, reason, path))
    shutil.rmtree(place, ignore_errors=True)
    return counts, met


def main():
    place = tempfile.mkdtemp(prefix="sluice-corpus-")
    expected = Expected()
    counts = collections.Counter()
    unknown = []
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [pool.submit(look, number, label, path, os.path.join(place, str(number)))
                for number, (label, path) in enumerate(files(os.path.join(place, "sources")))]
        for job in jobs:
            figures, met = job.result()
            counts.update(figures)
            unknown += [item for item in met if not expected.allows(*item)]
    shutil.rmtree(place, ignore_errors=True)
    print(", ".join(f"{value} {key}" for key, value in sorted(counts.items())))
    for text, number in expected.met.most_common():
        print(number, "by reason:", text.replace("\t", " | "))
    for item in sorted(unknown):
        print("not in unread.txt:", *item, sep="\t")
    if not IS_LONG:
        return 1 if unknown or counts["files"] == 0 else 0
    for text in expected.unmet():
        print("in unread.txt, but no longer so:", text, sep="\t")
    return 1 if unknown or expected.unmet() or counts["files"] < FEWEST else 0


if __name__ == "__main__":
    sys.exit(main())
