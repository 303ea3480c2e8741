"""In ParaView, by pvbatch on any number of ranks: says as JSON what its reader finds in a VTKHDF
file, and draws it.

  paraview_look.py FILE RESULT PICTURE
"""

import json
import sys

from paraview import servermanager, simple

path, result, picture = sys.argv[1:]
reader = simple.VTKHDFReader(FileName=[path])
reader.UpdatePipeline()
owners = simple.ProcessIdScalars(Input=reader)
owners.UpdatePipeline()
info = reader.GetDataInformation()
heights = reader.PointData["height"]
found = {
    "kind": info.GetDataSetTypeAsString(),
    "points": info.GetNumberOfPoints(),
    "cells": info.GetNumberOfCells(),
    "bounds": list(info.GetBounds()),
    "range": list(heights.GetRange()) if heights is not None else None,
    "owners": list(owners.PointData["ProcessId"].GetRange()),
    "ranks": servermanager.vtkProcessModule.GetProcessModule().GetNumberOfLocalPartitions(),
}
view = simple.CreateView("RenderView")
view.ViewSize = [500, 300]
view.OrientationAxesVisibility = 0
display = simple.Show(reader, view)
display.Representation = "Surface"
if heights is not None:
    simple.ColorBy(display, ("POINTS", "height"))
    display.RescaleTransferFunctionToDataRange(True)
view.ResetCamera()
simple.GetActiveCamera().Elevation(-40)
view.ResetCamera()
simple.Render(view)
simple.SaveScreenshot(picture, view)
with open(result, "w", encoding="ascii") as file:
    json.dump(found, file)
