"""Decides which objects of the candidate are equal, and which operators it may carry out.

The candidate's `==` alone decides nothing, because it could always be true. Two objects of one class are equal if it
says so and their fields have the same values. That is not enough if a test compares a result with an object that it
makes itself, because the candidate sees how that object is made. Therefore:

- The fields of the result were reported before the other object was made, unless the result was made from that object.
- The fields of the made object contain the arguments that it was made with. If they do not, an object made again with
  the same arguments has the same fields, and one made with other arguments has others.

An operator runs in the candidate's process. If an operand is a value of the test, the other one must be an object that
the test made: in `abs(f(3) - 12) < 1e-6`, an object that `f` returns would decide the comparison.
"""

from .stand_in import StandIn, number_of, stand_in_of

_read = object.__getattribute__
# What is added to numbers of arguments to get others.
_STEPS = (1, 3, 1009)


class Equality:
    """What is known about the objects of one candidate. `request` asks it, and `decode` converts a value of it."""

    def __init__(self, request, decode):
        self._request = request
        self._decode = decode
        # The numbers of the classes that tests name.
        self.classes = set()
        self._time = 0
        # By object: its class, and the time when it was first seen.
        self._owners = {}
        # By object: the time when its fields were reported, and the fields as parsed JSON.
        self._states = {}
        # By object: the objects that it was computed from.
        self._sources = {}
        # By object that a test made by calling a class: the time, the class and the arguments.
        self._made = {}
        self._operands = set()
        self._taken = set()
        # Classes of which making an object changed others.
        self._sharing = set()
        # What requests mentioned since all fields were reported, and whether all of them made an object.
        self._mentioned = set()
        self._only_made = True
        self._comparing = set()

    # Called by the judge.

    def asking(self, number, do, args, kwargs):
        """Records a request. Returns what `answered` needs to know of it."""
        if do == "call" and number in self.classes and self._states:
            # What was computed before the candidate sees these arguments does not depend on them.
            self._request(None, "states")
        self._time += 1
        mentioned = _numbers_in([*args, *kwargs.values()]) | ({number} - {None})
        return self._time, number, do, (args, kwargs), mentioned

    def found(self, number, owner):
        """Records an object that an answer contains for the first time."""
        self._owners[number] = owner, self._time

    def answered(self, asked, value, states):
        """Records an answer: its value, and the fields that have changed."""
        time, number, do, (args, kwargs), mentioned = asked
        sources = mentioned.union(*(self._sources.get(each, ()) for each in mentioned))
        self._note_sharing(do, number, mentioned, [each for each, _ in states])
        for each, fields in states:
            self._states[each] = time, fields
            self._sources[each] = sources
        if do != "call" or number not in self.classes:
            # Objects of the test that the candidate was not given for this.
            self._taken |= {each for each in _numbers_in(value) if each in self._made} - sources
        if type(value) is not StandIn:
            return
        result = number_of(value)
        is_new = self._owners[result][1] == time
        # Such as a method, whose result is computed from its object.
        self._sources.setdefault(result, sources)
        if do == "call" and number in self.classes and is_new:
            self._made[result] = time, number, args, kwargs
            self._operands.add(result)
        elif do in ("operate", "unary") and is_new:
            self._operands.add(result)
        elif do == "call":
            self._operands.discard(result)

    def _note_sharing(self, do, number, mentioned, changed):
        if do != "states":
            self._mentioned |= mentioned
            self._only_made = self._only_made and do == "call" and number in self.classes
            return
        if self._only_made:
            known = {each for each in changed if each in self._states} - self._mentioned
            self._sharing |= {self._owners[each][0] for each in known if each in self._owners}
        self._mentioned, self._only_made = set(), True

    def is_operand(self, stand_in, others):
        """Returns whether the candidate may carry out an operator of an object with these operands."""
        if _owner_of(stand_in) not in self.classes:
            return False
        return all(stand_in_of(each) is not None for each in others) or number_of(stand_in) in self._operands

    def equal(self, left, right):
        """Returns whether two objects are equal. Raises AssertionError if they are and that says nothing."""
        if left is not right and _owner_of(left) is None or _owner_of(left) != _owner_of(right):
            return False
        if left is right:
            if number_of(left) in self._taken:
                raise AssertionError("the result is the object to compare with, which was not passed to the code")
            return True
        self._request(None, "states")
        pair = number_of(left), number_of(right)
        if frozenset(pair) in self._comparing:
            return True
        before = [self._latest(each) for each in pair]
        self._comparing.add(frozenset(pair))
        try:
            if not self._same_fields(*pair):
                return False
        finally:
            self._comparing.discard(frozenset(pair))
        if self._request(pair[0], "equals", [right]) is not True or [self._latest(each) for each in pair] != before:
            return False
        if not self._comparing:
            self._check(*pair)
        return True

    # What an equality says.

    def _check(self, left, right):
        if not self._states[left][1]["dict"]:
            raise AssertionError("the compared objects have no fields")
        if self._owners[left][0] in self._sharing:
            raise AssertionError("the compared objects change when another one is made")
        made = [each for each in (left, right) if each in self._made and self._latest(each) == self._made[each][0]]
        for each in made:
            if not self._depends_on_arguments(each):
                raise AssertionError("the compared objects do not depend on their arguments")
        if len(made) == 1:
            result = left if made[0] == right else right
            is_earlier = self._latest(result) < self._made[made[0]][0]
            if not is_earlier and made[0] not in self._sources.get(result, ()):
                raise AssertionError("the object to compare with was made before the result: make it after the result")

    def _depends_on_arguments(self, number):
        _, kind, args, kwargs = self._made[number]
        given = self._values_given(number)
        if not given:
            return self._has_other(number)
        if given <= set(self._values_in([self._fields(number)])):
            return True
        return self._is_made_alike(number, kind, args, kwargs)

    def _is_made_alike(self, number, kind, args, kwargs):
        """Makes the object again, and others. Returns whether only the first is the same."""
        if not self._same_fields(number, number_of(self._request(kind, "call", args, kwargs))):
            return False
        for step in _STEPS:
            changed = {name: _changed(each, step) for name, each in kwargs.items()}
            try:
                other = self._request(kind, "call", [_changed(each, step) for each in args], changed)
            except Exception:
                # Other arguments may be invalid.
                if not self._has_other(number):
                    return False
            else:
                if self._same_fields(number, number_of(other)):
                    return False
        return True

    def _has_other(self, number):
        """Returns whether an object of the same class has had other fields."""
        return any(
            repr(fields) != repr(self._states[number][1])
            for each, (_, fields) in self._states.items()
            if self._owners.get(each, (None,))[0] == self._owners[number][0]
        )

    def _values_given(self, number):
        _, _, args, kwargs = self._made[number]
        return set(self._values_in([*args, *kwargs.values()]))

    # The fields of objects.

    def _same_fields(self, left, right):
        fields = [self._fields(each) for each in (left, right)]
        if None in fields:
            raise TypeError("objects with so many fields, or with fields of such types, cannot be compared")
        return fields[0] == fields[1]

    def _fields(self, number):
        return self._decode(self._states[number][1]) if number in self._states else None

    def _latest(self, number):
        """Returns the time of the last change of an object and of all that its fields contain."""
        latest, seen, left = 0, set(), [number]
        while left:
            each = left.pop()
            if each not in seen and each in self._states:
                seen.add(each)
                time, fields = self._states[each]
                latest = max(latest, time)
                left.extend(_references_in(fields))
        return latest

    def _values_in(self, content, seen=()):
        for value in content:
            stand_in = stand_in_of(value)
            if type(value) is StandIn:
                number = number_of(stand_in)
                if number not in seen:
                    yield "object", number
                    yield from self._values_in([self._fields(number)], (*seen, number))
            elif isinstance(value, dict):
                yield from self._values_in([*value.keys(), *value.values()], seen)
            elif isinstance(value, (list, tuple, set, frozenset)):
                yield from self._values_in(value, seen)
            elif value is not None:
                yield value


def _owner_of(stand_in):
    return _read(stand_in, "_class")


def _numbers_in(value):
    stand_in = stand_in_of(value)
    if stand_in is not None:
        return {number_of(stand_in)}
    if type(value) is dict:
        value = [*value.keys(), *value.values()]
    return set().union(*map(_numbers_in, value)) if type(value) in (list, tuple, set, frozenset) else set()


def _references_in(fields):
    if type(fields) is list:
        for each in fields:
            yield from _references_in(each)
    elif type(fields) is dict:
        if type(fields.get("object")) is int:
            yield fields["object"]
        yield from _references_in(list(fields.values()))


def _changed(value, step):
    """Returns another value of the same type."""
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float):
        return value + step
    if kind in (str, bytes):
        return value + (b"x" if kind is bytes else "x") * step
    if kind in (list, tuple, set, frozenset):
        return kind(_changed(each, step) for each in value)
    return {key: _changed(each, step) for key, each in value.items()} if kind is dict else value
