"""Guards empty NumPy arrays in tests.

NumPy broadcasts an empty array and a number (or an array of one element) to an empty array, and `all()` of that is
true. An empty array would therefore equal every number. A guarded one refuses operations with non-empty operands.
"""

import functools
import sys


def guarded(array):
    """Returns the array. Guards an empty one: operations with non-empty operands raise ValueError."""
    return array.view(_guard()) if array.size == 0 else array


@functools.lru_cache(maxsize=None)
def _guard():
    numpy = sys.modules["numpy"]
    comparisons = {numpy.isclose, numpy.allclose, numpy.array_equiv}

    def plain(value):
        return value.view(numpy.ndarray) if type(value) is EmptyArray else value

    def check(operands):
        if any(numpy.size(plain(operand)) > 0 for operand in operands):
            raise ValueError("an empty array cannot be combined with a non-empty one")

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
