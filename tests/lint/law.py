#!/usr/bin/env python3
"""The law of dependence (ARCHITECTURE.md). law.py ROOT prints each include that breaks it, and each circle of files
that include one another; the status is then 1."""
import os
import re
import sys

ORDER = {  # rooms of a row may know those of the rows above, and themselves
    'lib': ['base', 'durable calculus', 'codegen', 'model', 'h5', 'dense storage tablefile', 'relation', 'kernel',
            'sparse', 'table', 'physical', 'run'],
    'plans': ['lang', 'tra', 'reference ia storel', 'rules eindecomp', 'search', 'explain'],
}
TOPS = {'cmd': {'cmd', 'plans', 'formats', 'lib'}, 'plans': {'plans', 'lib'}, 'formats': {'formats', 'lib'},
        'lib': {'lib'}}
RANK = {(top, room): i for top, rows in ORDER.items() for i, row in enumerate(rows) for room in row.split()}


def rooms(path):
    """The folder of a file, and its room where the folder has rooms."""
    parts = path.split('/')
    return parts[0], parts[1] if parts[0] in ORDER else ''


def allowed(a, b):
    (top, room), (of, there) = rooms(a), rooms(b)
    if of not in TOPS[top]: return False
    if top != of or top not in ORDER or room == there: return True
    return RANK.get((of, there), 99) < RANK.get((top, room), -1)


def includes(root):
    """{file: files that it includes}, by paths from the root."""
    found = {}
    for top in TOPS:
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                if not name.endswith(('.c', '.h')): continue
                path = os.path.join(folder, name)
                with open(path) as f:
                    named = re.findall(r'^#include "([^"]+)"', f.read(), re.M)
                found[os.path.relpath(path, root)] = [
                    os.path.relpath(os.path.join(folder, n), root) for n in named]
    return found


def circles(graph):
    """Each file from which its own includes lead back to it, with the way."""
    done, bad = set(), []

    def walk(f, way):
        if f in way: bad.append(' > '.join(way[way.index(f):] + [f]))
        if f in done or f in way: return
        for g in graph.get(f, []): walk(g, way + [f])
        done.add(f)
    for f in graph: walk(f, [])
    return bad


graph = includes(sys.argv[1])
bad = ['%s includes %s' % (a, b) for a, to in sorted(graph.items()) for b in to if not allowed(a, b)] + circles(graph)
print('\n'.join(bad))
sys.exit(bool(bad))
