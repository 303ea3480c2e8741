"""Writes the field of the case `compress` (compressed_field.hpp) as one process with h5py; prints
the seconds until the file is closed, and until it is on the disk."""

import os
import sys
import time

import h5py
import numpy as np

path = sys.argv[1]
planes, chunk, level = (int(word) for word in sys.argv[2:])
ROWS, COLUMNS = 256, 1024
waves = np.sin(np.arange(1024) * 0.01)
index = np.arange(planes * ROWS * COLUMNS, dtype=np.uint64)
noise = ((index * np.uint64(2654435761) & np.uint64(0xFFFFFFFF)) >> np.uint64(16)).astype("f8")
smooth = (waves[np.arange(planes) % 1024][:, None, None] + waves[:ROWS][None, :, None]) + waves
field = (smooth + noise.reshape(smooth.shape) * 2.0**-16 * 1e-4).astype("f4")
begin_s = time.perf_counter()
with h5py.File(path, "w") as file:
    file.create_dataset(
        "field", data=field, chunks=(chunk, ROWS, COLUMNS), shuffle=True, compression=level
    )
close_s = time.perf_counter() - begin_s
descriptor = os.open(path, os.O_RDONLY)
os.fsync(descriptor)
os.close(descriptor)
print(close_s, time.perf_counter() - begin_s)
