"""The scalars that tbparse reads from a folder of event files. Request: {"folder"}. Response: [[tag, step, value]]."""

from contract import answer
from tbparse import SummaryReader


def read(request):
    table = SummaryReader(request["folder"]).scalars
    return [[row.tag, int(row.step), float(row.value)] for row in table.itertuples()]


answer(read)
