// What HDF5 still holds of a file when it asks the driver to flush. H5Fflush writes the data of the
// datasets that were opened through one handle, H5Dflush that of one dataset; the closing of a
// second handle flushes like H5Fflush. The rest may be on the disk in part, because HDF5 evicts it
// when it likes: only a file that holds all of it is one that the program has meant.
#pragma once

namespace sluice::plugin {

/// Lets the HDF5 that holds the address `caller` write all that it has in memory of the file with
/// that number (H5FD_t). To be called when it flushes, at the end of which it calls the driver; its
/// calls of the driver meanwhile are for the driver to expect. Handles that are closed while
/// objects of theirs are open are not found. False if something failed; true if HDF5 has none of
/// the functions that this takes.
bool flush_caches(const void* caller, unsigned long file_number);

}  // namespace sluice::plugin
