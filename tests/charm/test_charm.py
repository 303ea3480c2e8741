"""sluice.charm under charmrun: chares in many more than PEs, on the move, one of them late; what is
wrong is told with both who did it; more than the budget; reading."""

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

if importlib.util.find_spec("charm4py") is None:
    pytest.skip("charm4py is not installed (python/requirements-dev.txt)", allow_module_level=True)

HERE = os.path.dirname(os.path.abspath(__file__))
PIECE, CHARES, STEPS, LATE = 3001, 24, 4, 5  # of program.py
PES = 3


def _run(folder, *scenarios, most_s=120):
    """Runs program.py; its exit code and what it said. Fails where it takes longer than most_s."""
    charmrun = os.path.join(os.path.dirname(sys.executable), "charmrun")
    run = subprocess.Popen(
        [sys.executable, charmrun, f"+p{PES}", "++local", "++quiet",
         os.path.join(HERE, "program.py"), folder, *scenarios],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        told, _ = run.communicate(timeout=most_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)  # processing elements outlive charmrun, and spin
    return run.returncode, told


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """One run of all scenarios; its result and its folder."""
    folder = str(tmp_path_factory.mktemp("charm"))
    code, told = _run(folder, "walk", "wrong", "budget", "left", "reading")
    assert code == 0, told
    with open(os.path.join(folder, "result.json")) as file:
        return json.load(file) | {"folder": folder}


def _file(seen, name):
    return np.fromfile(os.path.join(seen["folder"], name), dtype=np.uint8)


def test_every_piece_is_where_it_belongs(seen):
    assert seen["pes"] == PES
    expected = []
    for step in range(STEPS):
        for chare in [c for c in range(CHARES) if c != LATE] + [LATE]:
            expected.append(np.full(PIECE, (37 * chare + 11 * step) % 251, dtype=np.uint8))
    np.testing.assert_array_equal(_file(seen, "walk.bin"), np.concatenate(expected))


def test_chares_moved_between_their_steps(seen):
    for chare, pes in seen["walk"]["pes"].items():
        pes = [pe for pe in pes if pe >= 0]
        assert [(pe - pes[0]) % PES for pe in pes] == [step % PES for step in range(STEPS)], chare


def test_each_session_completes_once_and_a_late_chare_holds_back_nobody(seen):
    names = [name for name, _ in seen["walk"]["order"]]
    assert sorted(names) == sorted(f"{who} {step}" for who in ("others", "late")
                                   for step in range(STEPS))
    assert all(failure is None for _, failure in seen["walk"]["order"])
    # The late chare was called when the others' sessions were complete: had they waited for it,
    # nothing would ever have been.
    assert [name.split()[0] for name in names] == ["others"] * STEPS + ["late"] * STEPS


def test_what_is_wrong_is_an_error_that_names_who(seen):
    told = {name: (code, text) for name, code, text in seen["wrong"]}
    assert told["overlap"][0] == "OVERLAP"
    assert "rank 0" in told["overlap"][1] and "rank 2" in told["overlap"][1], told["overlap"]
    assert "rank 0" in told["overlap complete"][1] and "rank 2" in told["overlap complete"][1]
    assert told["hole"][0] == "HOLE"
    assert "1000" in told["hole complete"][1], told["hole complete"]
    assert "not inside the session" in told["outside"][1]
    assert told["outside close"][0] == "HOLE"
    assert told["absent"][0] == "NOT_FOUND"


def test_a_coroutine_waits_for_room_and_others_are_told(seen):
    first, second, third, again, complete, empty = seen["budget"]
    assert first is None and third is None and again is None and complete is None and empty is None
    assert "@coro" in second
    expected = np.concatenate([np.full(5 << 20, 1), np.full(5 << 20, 2), np.full(8, 3)])
    written = _file(seen, "budget.bin")
    np.testing.assert_array_equal(written[:-8], expected.astype(np.uint8))
    assert written[-8:].tobytes() == b"the end."


def test_a_failure_ends_what_was_left_to_be_written(seen):
    assert seen["left"] == [None, None, "OVERLAP", "OVERLAP", None, None]
    assert _file(seen, "after.bin").tobytes() == bytes([7] * 10)


def test_chares_read_what_was_written(seen):
    assert seen["reading"] == {"same": True, "beyond": "TRUNCATED"}


@pytest.mark.parametrize("pe", [1, 2])
def test_a_killed_pe_ends_the_run_soon(tmp_path, pe):
    """PE 1 writes the file's tiles, PE 2 does not; either way nobody waits for ever, and no session
    that lacks bytes is said to be complete."""
    code, told = _run(str(tmp_path), f"killed-{pe}", most_s=60)
    assert code != 0
    assert "begun" in told and "complete" not in told, told
