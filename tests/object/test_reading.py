"""What other programs wrote is read several requests at a time, and none is made twice."""

import time
from collections import Counter

import numpy as np
import pytest
import zarr

import faulty_proxy
import sluice

CHUNKS = 24


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("compressors", [None, "auto"])
def test_many_chunks(server, monkeypatch, compressors):
    values = np.arange(10 * CHUNKS, dtype="f4")
    group = zarr.open_group(str(server.object_path("data", "other.zarr")), mode="w")
    group.create_array("x", shape=values.shape, chunks=(10,), dtype="f4",
                       compressors=compressors)[:] = values

    def choose(method, path, headers):
        return "slow" if "/x/c/" in path else None
    with faulty_proxy.Proxy(server.port, choose) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        began = time.monotonic()
        with sluice.open("s3://data/other.zarr") as file:
            np.testing.assert_array_equal(file["x"][...], values)
        took = time.monotonic() - began
    asked = Counter((method, path) for method, path, what in proxy.seen if what == "slow")
    assert Counter(method for method, _ in asked) == {"HEAD": CHUNKS, "GET": CHUNKS}
    assert set(asked.values()) == {1}, asked
    one_after_the_other = 2 * CHUNKS * faulty_proxy.SLOW_S
    assert took < one_after_the_other / 2
