"""NumPy arrays without elements, as tests see them.

NumPy broadcasts such an array and a number, or an array of one element, to an array without elements, whose `all()` is
true: it would equal every number. So it refuses every operation with what has elements.
"""

import functools
import sys


def guarded(array):
    """The array itself; in place of one without elements, one that raises ValueError beside operands that have some."""
    return array.view(_guard()) if array.size == 0 else array


@functools.lru_cache(maxsize=None)
def _guard():
    numpy = sys.modules["numpy"]
    comparisons = {numpy.isclose, numpy.allclose, numpy.array_equiv}

    def plain(value):
        return value.view(numpy.ndarray) if type(value) is EmptyArray else value

    def check(operands):
        if any(numpy.size(plain(operand)) > 0 for operand in operands):
            raise ValueError("an array without elements meets one that has some")

    class EmptyArray(numpy.ndarray):
        def __array_ufunc__(self, function, method, *inputs, out=None, **options):
            if len(inputs) > 1:
                check(inputs)
            if out is not None:
                options["out"] = tuple(plain(each) for each in out)
            result = getattr(function, method)(*map(plain, inputs), **options)
            return guarded(result) if isinstance(result, numpy.ndarray) else result

        def __array_function__(self, function, types, args, kwargs):
            if function not in comparisons:
                return super().__array_function__(function, types, args, kwargs)
            check([*args, *kwargs.values()][:2])
            return function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})

    return EmptyArray
