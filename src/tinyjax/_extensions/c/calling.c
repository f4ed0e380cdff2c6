
/* A call from Python, which is behind the program in the same file: where the data of arrays are, by
   the buffer protocol. Python's functions are given, so that nothing is linked. */

#include <stddef.h>
#include <stdlib.h>

struct python_buffer {
    void *data, *owner;
    ptrdiff_t bytes, itemsize;
    int readonly, ndim;
    char *format;
    ptrdiff_t *shape, *strides, *suboffsets;
    void *internal;
};

struct python_functions {
    int (*buffer)(void *, struct python_buffer *, int);
    void (*release)(struct python_buffer *);
    void (*clear_error)(void);
    void *(*item)(void *, ptrdiff_t);
    void *(*release_thread)(void);
    void (*acquire_thread)(void *);
};

struct python_array {
    const char *format;
    int ndim;
    const ptrdiff_t *shape;
};

static int python_fits(const struct python_buffer *view, const struct python_array *array) {
    if (strcmp(view->format, array->format)) return 0;
    if (array->ndim < 0) return 1; /* whoever calls knows the shapes */
    if (view->ndim != array->ndim) return 0;
    for (int i = 0; i < array->ndim; ++i)
        if (view->shape[i] != array->shape[i]) return 0;
    return 1;
}

static const struct python_array python_types[] = {$types};

/* Returns 0, or the number of the first array that has another type, or -1 without memory. */
int python_call(const struct python_functions *python, void *arrays$parameters) {
    enum { COUNT = sizeof python_types / sizeof *python_types - 1, CONTIGUOUS = 0x20 | 0x18, FORMAT = 4 };
    struct python_buffer views[COUNT + 1];
    int open = 0, status = 0;
    while (!status && open < COUNT) {
        if (python->buffer(python->item(arrays, open), &views[open], CONTIGUOUS | FORMAT)) {
            python->clear_error();
            status = open + 1;
            break;
        }
        status = python_fits(&views[open], &python_types[open]) ? 0 : open + 1;
        ++open;
    }
    if (!status) {
        /* the workspace of the last call, whose pages are there, while Python's lock is held */
        static void *last;
        static size_t last_size;
        size_t size = last ? last_size : 0, needed = $workspace_bytes;
        void *workspace = last, *thread;
        last = 0;
        thread = python->release_thread();
        if (!workspace || size < needed) {
            free(workspace);
            size = needed;
            workspace = malloc(size + 1);
        }
        status = workspace ? $call : -1;
        python->acquire_thread(thread);
        if (last) free(workspace);
        else last = workspace, last_size = size;
    }
    while (open) python->release(&views[--open]);
    return status;
}
