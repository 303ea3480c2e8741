"""Files of other programs, read and converted by Sluice, against h5py: equal, or named.

What Sluice does not read of a file it names with the reason, and unread.txt has the same list: a
line "FILE<tab>OBJECT<tab>REASON" each. What is neither equal nor in that list fails.

    corpus_test.py            a sample of the packages' files
    SLUICE_LONG=1 ...         all of them, and those of HDF5's and netCDF's sources
    corpus_test.py --write    writes unread.txt anew (with SLUICE_LONG=1)
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
SAMPLE = 9       # of the packages' files every ninth
THERE_AND_BACK = 6  # every sixth file by way of netCDF-4 and Zarr
ONE_FILE_S = 60  # for reading, or for one conversion
AT_ONCE = 4
MOST_BYTES = 64 << 20
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
        return differences, [(one, "convert") for one in named]
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


def known():
    lines = set()
    with open(LIST, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                lines.add(tuple(line.rstrip("\n").split("\t")))
    return lines


def one_line(label, name, reason, path):
    text = f"{label}\t{name}\t{reason}".replace(path, "FILE").replace("\n", " ")
    text = re.sub(r"/\S*/sluice-corpus-\w+/\d+/", "PLACE/", text)  # this run's folder
    return tuple(text.encode("ascii", "backslashreplace").decode().split("\t")[:3])


def look(number, label, path, place):
    """(figures, lines of unread.txt) of one file."""
    counts = collections.Counter()
    met = set()
    os.makedirs(place)
    kind = apart(lambda: kind_of(path), ONE_FILE_S)
    if kind != "fit":
        counts[kind.split(":")[0]] += 1
        return counts, met
    for what, job in (("read", lambda: compare.read_by_sluice(path)),
                      ("convert", lambda: convert_and_compare(path, place))):
        result = apart(job, ONE_FILE_S)
        if isinstance(result, str):
            met.add(one_line(label, "", what + " " + result, path))
            continue
        for name, reason in result[0] + result[1]:
            met.add(one_line(label, name, reason, path))
        if what == "read":
            counts.update(result[2])
    for ending in (".nc", ".zarr") if number % THERE_AND_BACK == 0 else ():
        result = apart(lambda: there_and_back(path, place, ending), ONE_FILE_S)
        word = result if isinstance(result, str) else result[0]
        counts[ending + " and back: " + word.split(":")[0]] += 1
        if word not in ("done", "refused"):
            met.add(one_line(label, "", ending + " " + word, path))
        for name, reason in result[1] if not isinstance(result, str) else []:
            met.add(one_line(label, name, reason, path))
    shutil.rmtree(place, ignore_errors=True)
    return counts, met


def main():
    place = tempfile.mkdtemp(prefix="sluice-corpus-")
    expected = known()
    counts = collections.Counter()
    met = set()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [pool.submit(look, number, label, path, os.path.join(place, str(number)))
                for number, (label, path) in enumerate(files(os.path.join(place, "sources")))]
        for job in jobs:
            figures, lines = job.result()
            counts.update(figures)
            met |= lines
    shutil.rmtree(place, ignore_errors=True)
    print(", ".join(f"{value} {key}" for key, value in sorted(counts.items())))
    if "--write" in sys.argv:
        with open(LIST, "w", encoding="utf-8") as file:
            file.write("# What Sluice does not read, or not keep, of other programs' files: see "
                       "corpus_test.py\n")
            file.writelines("\t".join(line) + "\n" for line in sorted(met))
        return 0
    unknown = sorted(met - expected)
    for line in unknown:
        print("not in unread.txt:", *line, sep="\t")
    if IS_LONG:
        gone = sorted(expected - met)
        for line in gone:
            print("in unread.txt, but no longer so:", *line, sep="\t")
        return 1 if unknown or gone or counts["files"] < 400 else 0
    return 1 if unknown or counts["files"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
