"""The end of a program, and signals: whatever other threads do, the exit code is right and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from conftest import run


def ended(made: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return made.returncode, made.stdout, made.stderr


def test_the_interpreter_ends_while_callbacks_run() -> None:
    """With a thread that waits, with one that is busy, and with skills that were never closed."""
    for body in ("never.wait()", "busy()"):
        made = run(
            f"""
            import threading, prowess
            never = threading.Event()
            def busy():
                while True: pass
            class Stuck:
                def list(self): {body}
                def read(self, id, path): return None
            try:
                prowess.Skills(Stuck(), callback_timeout=0.05)
            except prowess.CallbackTimeoutError:
                print("timeout")
            kept = prowess.Skills(prowess.MemorySource({{}})).chat()
            """
        )
        assert ended(made) == (0, "timeout\n", ""), made


@pytest.mark.parametrize("limit", ["60.0", "None"])
@pytest.mark.parametrize("part", ["source", "selector", "embedder", "approval", "report"])
def test_the_interpreter_ends_while_a_daemon_thread_is_in_a_callback(part: str, limit: str) -> None:
    """The interpreter stops such a thread where it next needs it, which must not unwind what is below the callback."""
    made = run(
        f"""
        import sys, threading, time, prowess
        part, entered = {part!r}, threading.Event()
        text = "---\\nname: bread\\ndescription: Bakes bread.\\n---\\nBody.\\n"
        def slow(*_, **__):
            entered.set()
            while True: time.sleep(0.001)
        def fails(*_, **__): raise ValueError
        class Slow:
            list = read = slow
        options = {{
            "source": {{}},
            "selector": {{"selector": slow}},
            "embedder": {{"embed": slow}},
            "approval": {{"approve": slow, "policy": {{"scopes": {{"explicit": {{"approve": True}}}}}}}},
            "report": {{"selector": fails, "on_error": slow}},
        }}[part]
        def work():
            source = Slow() if part == "source" else prowess.MemorySource({{"bread": text}})
            chat = prowess.Skills(source, callback_timeout={limit}, **options).chat()
            chat.call("load_skill", {{"name": "bread"}})
            chat.call("search_skills", {{"query": "bread"}})
        threading.Thread(target=work, daemon=True).start()
        assert entered.wait(60)
        print("ends", flush=True)
        sys.exit(3)
        """
    )
    assert ended(made) == (3, "ends\n", ""), made


def test_the_interpreter_ends_while_a_daemon_thread_fails_again_and_again() -> None:
    made = run(
        """
        import threading, prowess
        entered, text = threading.Event(), "---\\nname: bread\\ndescription: Bakes bread.\\n---\\nBody.\\n"
        skills = prowess.Skills(prowess.MemorySource({"bread": text}), selector=lambda *_, **__: 7)
        def work():
            while True:
                for use in (lambda: skills.search("x"), lambda: skills["none"], lambda: prowess.check("x", profile="none")):
                    try: use()
                    except prowess.ProwessError: entered.set()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        assert entered.wait(60)
        print("ends")
        """
    )
    assert ended(made) == (0, "ends\n", ""), made


def test_the_interpreter_ends_while_threads_are_inside_an_operation() -> None:
    made = run(
        """
        import tempfile, threading, prowess
        place = tempfile.mkdtemp()
        entered = threading.Barrier(3)
        def watch():
            watching = prowess.Skills(place).watch()
            entered.wait()
            next(watching)
        def refresh():
            skills = prowess.Skills(place, prowess.MemorySource({}))
            entered.wait()
            while True: skills.refresh()
        for work in (watch, refresh):
            threading.Thread(target=work, daemon=True).start()
        entered.wait()
        print("ends")
        """
    )
    assert ended(made) == (0, "ends\n", ""), made


def interrupted(code: str) -> str:
    """What a program writes after its first line, when it is interrupted then."""
    code = textwrap.dedent(code)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        written = process.communicate(timeout=60)[0]
        assert process.returncode == 0, (code, written)
        return written


on_unix = pytest.mark.skipif(os.name == "nt", reason="signals of this kind are of Unix")


@on_unix
def test_an_interrupt_ends_what_waits() -> None:
    """Ctrl-C while folders are watched, and while a callback does not return."""
    for wait in ("next(prowess.Skills(place).watch())", "prowess.Skills(Stuck())", "prowess.Skills(Stuck(), callback_timeout=None)"):
        written = interrupted(
            f"""
            import tempfile, threading, prowess
            class Stuck:
                def list(self): threading.Event().wait()
                def read(self, id, path): return None
            with tempfile.TemporaryDirectory() as place:
                try:
                    print("ready", flush=True)
                    {wait}
                except KeyboardInterrupt:
                    print("interrupted", flush=True)
            """
        )
        assert written == "interrupted\n", wait


# A site that accepts connections and never answers.
SILENT = """
import signal, socket, threading, prowess
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
address = f"http://127.0.0.1:{server.getsockname()[1]}/"
kept = []
def accept(then):
    kept.append(server.accept())
    then()
def when_asked(then): threading.Thread(target=accept, args=(then,), daemon=True).start()
"""


@on_unix
def test_an_interrupt_ends_a_wait_for_a_site() -> None:
    """It is not lost, and is not taken for a failure of the operation."""
    written = interrupted(
        SILENT
        + """
when_asked(lambda: print("ready", flush=True))
try:
    prowess.Skills(address)
except BaseException as error:
    print(type(error).__name__, flush=True)
"""
    )
    assert written == "KeyboardInterrupt\n"


@on_unix
def test_what_the_handler_of_a_signal_raises_is_raised() -> None:
    made = run(
        SILENT
        + """
class Mine(Exception): pass
def handler(*_): raise Mine
signal.signal(signal.SIGUSR1, handler)
when_asked(lambda: signal.raise_signal(signal.SIGUSR1))
try:
    prowess.Skills(address)
except Mine:
    print("mine")
# In a callback, and while the exception of a failure is made.
def signals(*_, **__): signal.raise_signal(signal.SIGUSR1)
class Signals:
    list = read = signals
try:
    prowess.Skills(Signals(), callback_timeout=None)
except prowess.SourceError as error:
    print(type(error.__cause__).__name__)
"""
    )
    assert ended(made) == (0, "mine\nMine\n", ""), made


@on_unix
def test_a_pending_signal_is_raised_when_an_operation_fails() -> None:
    """It reaches Python while the failure is made, and counts before it."""
    made = run(
        """
        import os, signal, threading, prowess
        class Mine(Exception): pass
        def handler(signal, frame):
            # Only while the exception of a failure is made.
            if frame.f_code.co_filename.endswith("_errors.py"): raise Mine
        signal.signal(signal.SIGUSR1, handler)
        chat, stop, seen = prowess.Skills(prowess.MemorySource({})).chat(), threading.Event(), 0
        def signals():
            while not stop.is_set(): os.kill(os.getpid(), signal.SIGUSR1)
        thread = threading.Thread(target=signals)
        thread.start()
        try:
            while seen < 10:
                try:
                    chat.tools("french")
                except prowess.ValidationError:
                    pass
                except Mine:
                    seen += 1
        finally:
            stop.set()
            thread.join()
        print("seen")
        """
    )
    assert ended(made) == (0, "seen\n", ""), made


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_ends_that_was_forked_while_a_callback_ran() -> None:
    made = run(
        """
        import os, sys, threading, warnings, prowess
        warnings.simplefilter("ignore")
        entered, go = threading.Event(), threading.Event()
        class Slow:
            def list(self): entered.set(); go.wait(); return []
            def read(self, id, path): return None
        thread = threading.Thread(target=lambda: prowess.Skills(Slow()))
        thread.start()
        entered.wait()
        pid = os.fork()
        if pid == 0:
            sys.exit(3)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        go.set()
        thread.join()
        print(code)
        """
    )
    assert ended(made) == (0, "3\n", ""), made
