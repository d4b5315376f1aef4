%%born fastwire
/* decode_frame in C, for archives of many million frames; needs the gauge's header on the include path. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tidewire.h"

static PyObject *fast_decode(PyObject *self, PyObject *args) {
    const char *data;
    Py_ssize_t size;
    tide_frame frame;
    (void)self;
    if (!PyArg_ParseTuple(args, "y#", &data, &size))
        return NULL;
    if (decode_frame((const uint8_t *)data, (size_t)size, &frame) != 0) {
        PyErr_SetString(PyExc_ValueError, "no frame");
        return NULL;
    }
    return Py_BuildValue("(iIi)", frame.station, frame.minute, frame.level_mm);
}

static PyMethodDef methods[] = {
    {"decode_frame", fast_decode, METH_VARARGS, "Read a frame from the head of data."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fastwire", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fastwire(void) {
    return PyModule_Create(&module);
}
