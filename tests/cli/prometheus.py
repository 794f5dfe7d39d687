"""prometheus.py FILE: reads a file of Prometheus as strictly as its text format 0.0.4 is written down, and prints the
name and the value of each metric. What it does not take, a collector may drop as a whole."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
VALUE = r"[+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Inf|NaN)"


def read(text):
    helps, types, values = set(), {}, {}
    assert text.endswith("\n"), "the last line has no end"
    for line in text[:-1].split("\n"):
        if m := re.fullmatch(rf"# HELP ({NAME}) ((?:[^\\]|\\[n\\])*)", line):
            assert m[1] not in helps and m[1] not in types, line
            helps.add(m[1])
        elif m := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram|summary|untyped)", line):
            assert m[1] not in types, line
            types[m[1]] = m[2]
        else:
            m = re.fullmatch(rf"({NAME})(?:{{((?:{LABEL},?)*)}})? ({VALUE})(?: -?\d+)?", line)
            assert m, line
            assert list(types)[-1:] == [m[1]], line  # a metric stands after its type, in one piece
            assert (m[1], m[2]) not in values, line
            values[m[1], m[2]] = float(m[3])
    return values


with open(sys.argv[1], "rb") as f:
    for (metric, _), number in read(f.read().decode()).items():
        print(metric, number)
