"""forward_test.py APP PROGRAM MPIEXEC...: a checkpoint counts outputs that `forward` writes in the
background, slowly. A job that is killed at a checkpoint can be restarted from it: what it counts is
in the file."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from jobs import kill, looks, processes_of  # noqa: E402

ROUNDS = 3
# The output is behind, and the checkpoint is not.
SETTINGS = """[{output}]
strategy = "forward"
compress = "{codec}"
[state]
strategy = "shared"
"""


def vampire(steps, way):
    return ["--output", "spins.h5", "--lattice", "bcc", "--size", "24", "24", "24", "--start",
            "random", "--steps", str(steps), "--every", "1", "--checkpoint", "state.h5",
            "--checkpoint-every", "7"]


def occam(steps, way):
    return ["params.nml", f"steps={steps}", "print_every=1", "conf_every=0", "density_every=2",
            "time_step_ps=0.002", f"output='{way}'", "checkpoint='state.h5'", "checkpoint_every=3"]


def make_input(folder, program):
    subprocess.run([program.with_name("iopc"), "generate", "parts=4", "blocks=40"], cwd=folder,
                   check=True, capture_output=True)


# Arguments, the output's name without its ending, ways of output, what makes the input.
ROWS = {"vampire": (vampire, "spins", ("",), lambda folder, program: None),
        "occam": (occam, "traj", ("h5md", "vtkhdf", "records"), make_input)}


def kill_at_a_checkpoint(job, state):
    """At the second one: the first is there before there is much output."""
    first = None
    for _ in looks(120, 0.001):
        assert job.poll() is None, job.communicate()[1]
        if state.exists():
            now = state.stat().st_mtime_ns
            first = first or now
            if now != first:
                break
    else:
        raise AssertionError("no second checkpoint within 120 s")
    kill(processes_of(job))
    job.communicate()


def main(app, program, *mpiexec):
    arguments, output, ways, prepare = ROWS[app]
    for way in [way for way in ways for _ in range(ROUNDS)]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder, Path(program))
            (folder / "sluice.toml").write_text(SETTINGS.format(
                output=output, codec="none" if way == "records" else "zstd:19"))
            command = [*mpiexec, "-n", "2", program]
            with subprocess.Popen(
                    [*command, *arguments(100000, way)], cwd=folder, stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE, text=True, start_new_session=True) as job:
                kill_at_a_checkpoint(job, folder / "state.h5")
            run = subprocess.run([*command, *arguments(30, way)], cwd=folder, capture_output=True,
                                 text=True, timeout=300, check=False)
            assert run.returncode == 0, f"{way}: {run.stdout}{run.stderr}"
            assert "goes on from" in run.stdout, run.stdout
    print(f"{app}: {ROUNDS} jobs a way of output, killed at a checkpoint, went on from it")


os.environ["SLUICE_TIMEOUT_S"] = "60"
main(*sys.argv[1:])
