#!/usr/bin/env python3
"""A python that has imported what tests import, and forks for each of them: warm.py SOCKET

tests/warm.c is the client: a test runs it as it runs python. numpy, h5py and scipy take a quarter of a second of a
processor to begin, and the tests begin python thousands of times. What differs from a new process is done by a new one:
another environment of python, and options. Ends when its parent does."""
import atexit, builtins, ctypes, gc, io, os, selectors, signal, socket, struct, sys, traceback, types

for name in ("json math random csv re subprocess sqlite3 struct itertools collections fractions decimal datetime "
             "hashlib tempfile numpy numpy.ma h5py scipy scipy.sparse scipy.io pandas "
             "xarray netCDF4 h5netcdf").split():
    try:
        __import__(name)
    except ImportError:
        pass
libc = ctypes.CDLL(None)
libc.prctl(1, signal.SIGTERM)  # when the parent ends
# what python and its libraries read when they begin
WAS = {k: os.environ.get(k) for k in ("HDF5_PLUGIN_PATH LD_PRELOAD LD_LIBRARY_PATH OPENBLAS_NUM_THREADS "
                                      "OPENBLAS_CORETYPE PYTHONIOENCODING PYTHONWARNINGS TZ").split()}
PYTHON = sys.executable


def received(conn):
    """(arguments, environment, umask, the four files) of one who asks."""
    head, fds, _, _ = socket.recv_fds(conn, 12, 4)
    size, argc, mask = struct.unpack("3I", head)
    text = b""
    while len(text) < size:
        piece = conn.recv(size - len(text))
        if not piece:
            break
        text += piece
    parts = text.split(b"\0")[:-1]
    return [os.fsdecode(p) for p in parts[:argc]], dict(p.split(b"=", 1) for p in parts[argc:] if b"=" in p), mask, fds


def become(args, env, mask, fds):
    """The forked process: becomes what was asked for. Does not return."""
    for i in range(3):
        os.dup2(fds[i], i)
    os.fchdir(fds[3])
    for fd in fds:
        os.close(fd)
    os.umask(mask)
    env = {os.fsdecode(k): os.fsdecode(v) for k, v in env.items()}
    if not args or args[0] != "-c" and args[0] != "-" and args[0].startswith("-") or \
            any(env.get(k) != v for k, v in WAS.items()):
        os.execve(PYTHON, [PYTHON, *args], env)
    for k in set(os.environ) - set(env):
        del os.environ[k]
    for k, v in env.items():
        if os.environ.get(k) != v:
            os.environ[k] = v
    sys.path[1:1] = filter(None, env.get("PYTHONPATH", "").split(":"))
    sys.stdin, sys.stdout = sys.__stdin__, sys.__stdout__ = open(0), open(1, "w")
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace")
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    main.__builtins__ = builtins
    status = 0
    try:
        if args[0] == "-c":
            sys.argv, sys.path[0], code, name = ["-c", *args[2:]], "", args[1], "<string>"
        elif args[0] == "-":
            sys.argv, sys.path[0], code, name = args, "", sys.stdin.buffer.read(), "<stdin>"
        else:
            sys.argv, sys.path[0], name = args, os.path.dirname(os.path.realpath(args[0])), args[0]
            main.__file__ = name
            with io.open_code(name) as f:
                code = f.read()
        exec(compile(code, name, "exec"), main.__dict__)
    except SystemExit as e:
        status = e.code if isinstance(e.code, int) else int(e.code is not None)
        if e.code is not None and not isinstance(e.code, int):
            print(e.code, file=sys.stderr)
    except BaseException as e:
        traceback.print_exception(type(e), e, e.__traceback__.tb_next)
        status = 1
    main.__dict__.clear()
    gc.collect()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        status = status or 120
    libc.exit(status & 255)  # libraries write what they hold back


def serve(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    woken, wake = socket.socketpair()
    woken.setblocking(False)
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    ready.register(woken, selectors.EVENT_READ)
    asked = {}  # process: who asked for it
    gc.collect()
    gc.freeze()
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                conn, _ = listener.accept()
                wants = received(conn)
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    for s in (listener, conn, woken, wake, ready, *asked.values()):
                        s.close()
                    become(*wants)
                for fd in wants[3]:
                    os.close(fd)
                asked[pid] = conn
                ready.register(conn, selectors.EVENT_READ, pid)
            elif key.fileobj is woken:
                woken.recv(4096)
            elif key.data in asked:  # who asked has ended
                ready.unregister(key.fileobj)
                os.kill(key.data, signal.SIGTERM)
        while asked:
            pid, how = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            conn = asked.pop(pid)
            if conn in ready.get_map():
                ready.unregister(conn)
            try:
                conn.send(struct.pack("i", os.waitstatus_to_exitcode(how)))
            except OSError:
                pass
            conn.close()


serve(sys.argv[1])
