"""The voxel finite-element code: serial text beside parallel netCDF, on the real model and on a
generated bone of 29 million voxels; parallel netCDF-4 beside both.

Not a case of contestants that take turns: each figure is the median of rounds of a whole program,
seconds of its slowest rank."""

import argparse
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

from . import host, report

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOALS = {"input": 20, "output": 10}


def _options(arguments):
    parser = argparse.ArgumentParser(prog="bench/run parabmu", description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="most ranks (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--planes", type=int, default=884, help="of the bone (%(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="of its width (%(default)s)")
    parser.add_argument("--most", type=int, default=500, help="iterations (%(default)s)")
    parser.add_argument("--bone", help="a bone.model that is there already")
    parser.add_argument("--grid", help="X,Y,Z of --bone")
    parser.add_argument("--on", metavar="DIR", help="where the files go")
    parser.add_argument("--no-real", action="store_true", help="the bone alone")
    parser.add_argument("--mpirun", default="mpirun --oversubscribe --bind-to none")
    parser.add_argument("--build", default=os.environ.get(
        "SLUICE_BUILD_DIR", os.path.join(REPOSITORY, "build", "bench")))
    return parser.parse_args(arguments)


def _run(options, folder, ranks, *command):
    """The lines of JSON that a program prints."""
    words = [*shlex.split(options.mpirun), "-n", str(ranks), *map(str, command)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _medians(samples):
    return {key: statistics.median(sample[key] for sample in samples) for key in samples[0]}


def _convert(options, folder, *arguments):
    command = os.path.join(options.build, "cli", "sluice")
    subprocess.run([command, "convert", *arguments], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)


def _real(options, folder, data):
    """One row for every rank count: solver, totals with serial and with parallel I/O."""
    for name in ("constraints.txt", "materials.txt", "o-test.voxfe.model"):
        os.symlink(os.path.join(data, name), os.path.join(folder, name))
    _convert(options, folder, "o-test.voxfe.model", "o.nc", "--grid", "148,148,48")
    program = os.path.join(options.build, "apps", "parabmu", "parabmu")
    ways = {"serial": ("LOAD_MCTSCAN 148 148 48 o-test.voxfe.model", "PRINT_X o.txt"),
            "parallel": ("LOAD_MCTSCANPAR 148 148 48 o.nc", "PARPRINT_X out.nc")}
    for way, (load, output) in ways.items():
        with open(os.path.join(folder, way), "w", encoding="ascii") as script:
            script.write("LOAD_MATERIALS_FILE materials.txt\nVOXEL_SIZE 0.1 0.1 0.1 1\n"
                         f"MAX_ITER {options.most}\nTOLERANCE 1e-9\n{load}\nSELECTION_OF_NODES\n"
                         f"SELECT_NODE_FILE constraints.txt\nCOMPUTE_SED\n{output}\n")
    rows = []
    for ranks in range(1, options.ranks + 1):
        samples = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, found in samples.items():
                found += _run(options, folder, ranks, program, way, "--json")
        rows.append({"ranks": ranks, **{way: _medians(found) for way, found in samples.items()}})
    return rows


def _bone(options, folder):
    grid = (options.grid or "").split(",")
    if options.bone:
        model = os.path.abspath(options.bone)
    else:
        model = os.path.join(folder, "bone.model")
        maker = os.path.join(REPOSITORY, "apps", "parabmu", "bone.py")
        python = os.path.join(REPOSITORY, ".venv", "bin", "python")
        made = subprocess.run(
            [python, maker, model, "--planes", str(options.planes), "--scale", str(options.scale)],
            check=True, capture_output=True, text=True)
        grid = made.stdout.split()[:3]
    _convert(options, folder, model, "bone.nc", "--grid", ",".join(grid))
    programs = os.path.join(options.build, "bench")
    samples = _run(options, folder, options.ranks, os.path.join(programs, "bench_parabmu"), model,
                   "bone.nc", *grid, options.rounds)
    result = {"grid": list(map(int, grid)), "samples": samples, **_medians(samples),
              "model_text_bytes": os.path.getsize(model),
              "model_nc_bytes": os.path.getsize(os.path.join(folder, "bone.nc"))}
    for name in ("out.txt", "out.nc", "deflated.nc"):
        os.remove(os.path.join(folder, name))
    peer = os.path.join(programs, "bench_parabmu_netcdf")
    if os.access(peer, os.X_OK):
        result["peer"] = _medians(_run(options, folder, options.ranks, peer, result["nodes"],
                                       options.rounds))
    return result


def _real_table(document):
    if document["real"]:
        yield "Real model (seconds of the slowest rank, median of rounds)"
        yield (f"{'ranks':>5} {'solver':>8} {'total serial I/O':>17} {'total parallel I/O':>19} "
               f"{'input ser.':>11} {'input par.':>11} {'output ser.':>12} {'output par.':>12}")
        for row in document["real"]:
            serial, parallel = row["serial"], row["parallel"]
            yield (f"{row['ranks']:>5} {parallel['solver_s']:>8.2f} {serial['total_s']:>17.2f} "
                   f"{parallel['total_s']:>19.2f} {serial['input_s']:>11.4f} "
                   f"{parallel['input_s']:>11.4f} {serial['output_s']:>12.4f} "
                   f"{parallel['output_s']:>12.4f}")
        yield ""


def _bone_table(document):
    bone = document["bone"]
    yield (f"Bone: {bone['voxels']:.0f} voxels, {bone['nodes']:.0f} nodes, "
           f"{document['options']['ranks']} ranks")
    for phase, key in (("input", "in"), ("output", "out")):
        serial, parallel = bone[f"text_{key}_s"], bone[f"nc_{key}_s"]
        verdict = "met" if serial / parallel >= GOALS[phase] else "not met"
        yield (f"  {phase}: text by one rank {serial:.3f} s, netCDF by all {parallel:.3f} s: "
               f"{serial / parallel:.1f} times as fast (goal {GOALS[phase]}: {verdict})")
    yield (f"  output with COMPRESS deflate:1 {bone['deflate_out_s']:.3f} s: "
           f"{bone['text_out_s'] / bone['deflate_out_s']:.1f} times as fast as text")
    yield (f"  model {bone['model_text_bytes'] / bone['model_nc_bytes']:.0f} times smaller than "
           f"its text, displacements {bone['text_bytes'] / bone['nc_bytes']:.2f} times, with "
           f"deflate:1 {bone['text_bytes'] / bone['deflate_bytes']:.2f} times")
    if "peer" in bone:
        for name, text, ours in (("plain", "not compressed", "nc_out_s"),
                                 ("deflate", "deflate:1 and shuffle", "deflate_out_s")):
            seconds = bone["peer"][f"{name}_s"]
            yield (f"  parallel netCDF-4, {text}, durable: {seconds:.3f} s, "
                   f"{seconds / bone[ours]:.2f} times Sluice's")


def _plot(document, path):
    pyplot = report.pyplot_of(REPOSITORY)
    if pyplot is None:
        return None
    figure, (totals, phases) = pyplot.subplots(1, 2, figsize=(11, 4))
    rows = document["real"]
    ranks = [row["ranks"] for row in rows]
    for way, colour in (("serial", "tab:gray"), ("parallel", "tab:blue")):
        totals.plot(ranks, [row[way]["total_s"] for row in rows], "o-", color=colour,
                    label=f"all of it, {way} I/O")
    totals.plot(ranks, [row["parallel"]["solver_s"] for row in rows], "k--", label="solver")
    totals.set(xlabel="ranks", ylabel="s", title="real model, 124,228 voxels", ylim=(0, None))
    totals.set_xticks(ranks)
    if rows:
        totals.legend()
    bone = document["bone"]
    bars = [("input: text", bone["text_in_s"], "tab:gray"),
            ("input: Sluice", bone["nc_in_s"], "tab:blue"),
            ("output: text", bone["text_out_s"], "tab:gray"),
            ("output: Sluice", bone["nc_out_s"], "tab:blue"),
            ("output: Sluice, deflate", bone["deflate_out_s"], "tab:blue")]
    if "peer" in bone:
        bars += [("output: netCDF-4", bone["peer"]["plain_s"], "tab:orange"),
                 ("output: netCDF-4, deflate", bone["peer"]["deflate_s"], "tab:orange")]
    phases.barh([b[0] for b in bars], [b[1] for b in bars], color=[b[2] for b in bars])
    for at, bar in enumerate(bars):
        phases.text(bar[1], at, f" {bar[1]:.2f} s", va="center")
    phases.invert_yaxis()
    phases.set(xscale="log", xlabel="s, slowest rank",
               title=f"bone, {bone['voxels'] / 1e6:.1f} million voxels")
    phases.set_xlim(right=max(b[1] for b in bars) * 4)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path


def main(arguments):
    """Returns the exit code."""
    options = _options(arguments)
    results = os.path.join(REPOSITORY, "build", "bench")
    os.makedirs(results, exist_ok=True)
    data = os.path.join(os.environ.get("SLUICE_DATA", os.path.join(REPOSITORY, "..", "shared",
                                                                   "data")), "voxfe")
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H%M%SZ")
    try:
        with tempfile.TemporaryDirectory(dir=options.on or results) as folder:
            document = {"format": 1, "case": "parabmu", "date": now, "options": vars(options),
                        "host": host.facts(folder, REPOSITORY, options.mpirun), "real": []}
            if not os.path.isdir(data):
                print(f"no {data}: the real model is left out (SLUICE_DATA)")
            elif not options.no_real:
                document["real"] = _real(options, folder, data)
            document["bone"] = _bone(options, folder)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    stem = f"parabmu-{now}"
    written = [report.write_json(document, results, stem),
               _plot(document, os.path.join(results, f"{stem}.png"))]
    print("\n".join([*_real_table(document), *_bone_table(document)]))
    print("\n" + "\n".join(path for path in written if path))
    return 0
