"""Arrays of calls that ended by a timeout or a failure of MPI: messages may still use them."""

import gc
import weakref

import numpy as np
import pytest

import sluice
from sluice import Code
from sluice._library import lib


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("code, is_kept", [(Code.TIMEOUT, True), (Code.MPI, True),
                                           (Code.IO, False)])
@pytest.mark.parametrize("call", ["save", "close"])
def test_what_a_checkpoint_was_saving_outlives_it(tmp_path, monkeypatch, call, code, is_kept,
                                                  order):
    field = np.ones((4, 3), order=order)
    state = sluice.Checkpoint(tmp_path / "state.h5", log="off")
    state.array("u", field)
    held = weakref.ref(state._memory["u"])
    del field

    class Failing:
        def __getattr__(self, name):
            if name == f"sluice_checkpoint_{call}":
                return lambda *arguments: int(code)
            return getattr(lib, name)

    with monkeypatch.context() as patch:
        patch.setattr("sluice._checkpoint.lib", Failing())
        with pytest.raises(sluice.Error, check=lambda e: e.code == code):
            state.close() if call == "close" else state.save(0.0)
    state.close()
    del state
    gc.collect()
    assert (held() is not None) == is_kept
