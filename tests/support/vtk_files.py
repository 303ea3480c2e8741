"""What VTK reads of a VTKHDF file, for the tests of the applications that write them."""


def steps_of(path):
    """(time, data set) of each step, or of a file without steps, with the parts of all ranks as
    one; an AssertionError where VTK reports an error."""
    from vtkmodules.vtkFiltersCore import vtkAppendFilter
    from vtkmodules.vtkIOHDF import vtkHDFReader

    errors, steps = [], []
    reader = vtkHDFReader()
    reader.AddObserver("ErrorEvent", lambda *words: errors.append(words))
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    for step in range(max(1, reader.GetNumberOfSteps())):
        reader.SetStep(step)
        reader.Update()
        assert not errors, f"{path}, step {step}: VTK reports errors"
        output = reader.GetOutput()
        if output.IsA("vtkPartitionedDataSet"):
            append = vtkAppendFilter()
            for part in range(output.GetNumberOfPartitions()):
                append.AddInputData(output.GetPartition(part))
            append.Update()
            output = append.GetOutput()
        copy = output.NewInstance()
        copy.DeepCopy(output)
        steps.append((reader.GetTimeValue(), copy))
    return steps


def array(holder, name=None):
    """An array of point or cell data by name, or the points of a grid, as numpy's."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    found = holder.GetArray(name) if name is not None else holder.GetPoints().GetData()
    assert found is not None, f"no array {name}"
    return vtk_to_numpy(found)
