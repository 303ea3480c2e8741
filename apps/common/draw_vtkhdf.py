"""Draws an array of a VTKHDF file off screen, with VTK's own reader: points as dots, an image as
the surface where it has a value, cells as they are.

  draw_vtkhdf.py FILE PICTURE ARRAY [--step N] [--component N] [--level VALUE] [--dots PIXELS]
                 [--warp ARRAY FACTOR] [--keep ARRAY FROM TO] [--turn AZIMUTH ELEVATION]
"""

import argparse

import numpy as np
import vtkmodules.vtkRenderingOpenGL2  # noqa: F401  (what draws)
from PIL import Image
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkLookupTable
from vtkmodules.vtkCommonDataModel import vtkDataObject
from vtkmodules.vtkFiltersCore import vtkAppendFilter, vtkContourFilter, vtkThreshold
from vtkmodules.vtkFiltersGeneral import vtkVertexGlyphFilter
from vtkmodules.vtkFiltersGeneral import vtkWarpVector
from vtkmodules.vtkFiltersGeometry import vtkGeometryFilter
from vtkmodules.vtkIOHDF import vtkHDFReader
from vtkmodules.vtkRenderingAnnotation import vtkScalarBarActor
from vtkmodules.vtkRenderingCore import (vtkActor, vtkPolyDataMapper, vtkRenderer, vtkRenderWindow,
                                         vtkWindowToImageFilter)


def read(path, step):
    reader = vtkHDFReader()
    reader.SetFileName(path)
    reader.UpdateInformation()
    steps = reader.GetNumberOfSteps()
    if steps:
        reader.SetStep(step % steps)
    reader.Update()
    data = reader.GetOutput()
    if data.IsA("vtkPartitionedDataSet"):
        append = vtkAppendFilter()
        for part in range(data.GetNumberOfPartitions()):
            append.AddInputData(data.GetPartition(part))
        append.Update()
        data = append.GetOutput()
    return data


def piped(made, data):
    made.SetInputData(data)
    made.Update()
    return made.GetOutput()


def shape_of(data, wish):
    """What is drawn: always a surface, lines or points."""
    if data.GetNumberOfCells() == 0:
        data = piped(vtkVertexGlyphFilter(), data)
    if wish.keep:
        chosen = vtkThreshold()
        chosen.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_POINTS, wish.keep[0])
        chosen.SetThresholdFunction(vtkThreshold.THRESHOLD_BETWEEN)
        chosen.SetLowerThreshold(float(wish.keep[1]))
        chosen.SetUpperThreshold(float(wish.keep[2]))
        data = piped(chosen, data)
    if wish.level is not None:
        contour = vtkContourFilter()
        contour.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_POINTS, wish.array)
        contour.SetValue(0, wish.level)
        return piped(contour, data)
    if wish.warp:
        warp = vtkWarpVector()
        warp.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_POINTS, wish.warp[0])
        warp.SetScaleFactor(float(wish.warp[1]))
        data = piped(warp, data)
    return piped(vtkGeometryFilter(), data)


def colours(low, high):
    """From dark blue by green to yellow."""
    stops = np.array([[68, 2, 86], [60, 80, 139], [33, 145, 141], [92, 200, 99], [253, 231, 37]])
    table = vtkLookupTable()
    table.SetNumberOfTableValues(64)
    for i, at in enumerate(np.linspace(0, len(stops) - 1, 64)):
        rgb = [np.interp(at, range(len(stops)), stops[:, k]) / 255 for k in range(3)]
        table.SetTableValue(i, *rgb, 1)
    table.SetRange(low, high)
    return table


def actor_of(shape, wish):
    data = shape.GetPointData()
    data = data if data.HasArray(wish.array) else shape.GetCellData()
    array = data.GetArray(wish.array)
    values = vtk_to_numpy(array)
    values = values if values.ndim == 1 else values[:, wish.component]
    mapper = vtkPolyDataMapper()
    mapper.SetInputData(shape)
    mapper.SelectColorArray(wish.array)
    mapper.SetScalarMode(3 if data is shape.GetPointData() else 4)
    table = colours(values.min(), values.max())
    if array.GetNumberOfComponents() > 1:
        table.SetVectorModeToComponent()
        table.SetVectorComponent(wish.component)
    mapper.SetLookupTable(table)
    mapper.UseLookupTableScalarRangeOn()
    actor = vtkActor()
    actor.SetMapper(mapper)
    actor.GetProperty().SetAmbient(0.35)
    actor.GetProperty().SetDiffuse(0.7)
    if wish.dots:
        actor.GetProperty().SetPointSize(wish.dots)
        actor.GetProperty().SetRepresentationToPoints()
        actor.GetProperty().SetRenderPointsAsSpheres(True)
    return actor, table


def draw(wish):
    renderer = vtkRenderer()
    renderer.SetBackground(1, 1, 1)
    shape = shape_of(read(wish.file, wish.step), wish)
    if shape.GetNumberOfPoints() == 0:
        raise SystemExit(f"{wish.file}: nothing to draw")
    actor, table = actor_of(shape, wish)
    renderer.AddViewProp(actor)
    if wish.level is None:
        bar = vtkScalarBarActor()
        bar.SetLookupTable(table)
        bar.SetTitle(wish.array)
        bar.SetNumberOfLabels(3)
        bar.SetLabelFormat("%.3g")
        bar.UnconstrainedFontSizeOn()
        for text in (bar.GetTitleTextProperty(), bar.GetLabelTextProperty()):
            text.SetColor(0, 0, 0)
            text.SetFontSize(13)
            text.ItalicOff()
            text.ShadowOff()
        bar.SetPosition(0.8, 0.2)
        bar.SetWidth(0.18)
        bar.SetHeight(0.6)
        renderer.AddViewProp(bar)
    window = vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(8)
    window.SetSize(460, 340)
    window.AddRenderer(renderer)
    azimuth, elevation = np.radians(wish.turn)
    camera = renderer.GetActiveCamera()
    camera.SetFocalPoint(0, 0, 0)
    camera.SetPosition(np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth),
                       np.sin(elevation))
    camera.SetViewUp(0, 0, 1)
    renderer.ResetCamera()
    camera.Zoom(1.1)
    window.Render()
    grab = vtkWindowToImageFilter()
    grab.SetInput(window)
    grab.ReadFrontBufferOff()
    grab.Update()
    image = grab.GetOutput()
    width, height, _ = image.GetDimensions()
    pixels = vtk_to_numpy(image.GetPointData().GetScalars()).reshape(height, width, -1)[::-1]
    Image.fromarray(np.ascontiguousarray(pixels)).quantize(64).save(wish.picture, optimize=True)


def main():
    words = argparse.ArgumentParser(description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("file")
    words.add_argument("picture")
    words.add_argument("array")
    words.add_argument("--step", type=int, default=-1)
    words.add_argument("--component", type=int, default=0)
    words.add_argument("--level", type=float)
    words.add_argument("--dots", type=float, default=0)
    words.add_argument("--warp", nargs=2, metavar=("ARRAY", "FACTOR"))
    words.add_argument("--keep", nargs=3, metavar=("ARRAY", "FROM", "TO"))
    words.add_argument("--turn", nargs=2, type=float, default=(35, 20))
    draw(words.parse_args())


if __name__ == "__main__":
    main()
