"""The real command on a pseudo terminal, with an emulator that keeps the screen: what a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyte

WAIT = 20.0
PAUSE = 0.02

ENTER, ESCAPE, F2 = "\r", "\x1b", "\x1bOQ"
CTRL_C, CTRL_D, CTRL_O, CTRL_T, CTRL_J = "\x03", "\x04", "\x0f", "\x14", "\n"
UP, DOWN, PAGE_UP = "\x1b[A", "\x1b[B", "\x1b[5~"


class Terminal:
    """`send` types, `wait` waits for words on the screen, `raw` is every byte that came."""

    def __init__(self, folder: Path, *arguments: str, columns: int = 80, rows: int = 24, **environment: str) -> None:
        self.raw = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self.status: int | None = None
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("THINKWIRE_", "NO_COLOR"))}
        environ |= {"TERM": "xterm-256color", "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
        environ |= {"XDG_CONFIG_HOME": str(folder / "none"), "LC_ALL": "C.UTF-8", **environment}
        command = [sys.executable, "-W", "error", "-m", "thinkwire.cli", "chat", *arguments]
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # pragma: no cover
            os.chdir(folder)
            os.execve(sys.executable, command, environ)
        self.resize(columns, rows)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 65536)
            except OSError:  # the other side is closed
                data = b""
            if not data:
                return
            with self._lock:
                self.raw += data
                self._stream.feed(data)

    # ---- what a person does --------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def ask(self, text: str) -> None:
        self.send(text)
        self.wait(text[-10:].strip())
        self.send(ENTER)

    def answer(self, key: str) -> None:
        """To a question before a call, which does not hear what is typed in its first moment."""
        self.wait("Run ", "a always")
        end = time.monotonic() + WAIT
        while "a always" in self.text:
            assert time.monotonic() < end, f"it is not heard; the screen is\n{self.text}"
            self.send(key)
            with contextlib.suppress(AssertionError):
                self.until(lambda text: "a always" not in text, within=0.3)

    def escape(self) -> None:
        """Closes a menu. What is typed right behind an escape would be another key."""
        before = self.text
        self.send(ESCAPE)
        self.until(lambda text: text != before)

    def paste(self, text: str) -> None:
        self.send(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        with self._lock:
            self._screen.resize(rows, columns)
            fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # ---- what a person sees --------------------------------------------------------------------------------------

    @property
    def lines(self) -> list[str]:
        with self._lock:
            return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait(self, *words: str, gone: str = "", within: float = WAIT) -> str:
        return self.until(lambda text: all(word in text for word in words) and not (gone and gone in text), within)

    def until(self, holds: Callable[[str], bool], within: float = WAIT) -> str:
        end = time.monotonic() + within
        while not holds(text := self.text):
            assert time.monotonic() < end, f"it did not come about; the screen is\n{text}"
            time.sleep(PAUSE)
        return text

    # ---- its end -------------------------------------------------------------------------------------------------

    def leave(self) -> int:
        self.send(CTRL_D)
        return self.ended()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.ended()

    def ended(self) -> int:
        """The exit code; minus the signal, if that was its end."""
        end = time.monotonic() + WAIT
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            assert time.monotonic() < end, f"it did not end; the screen is\n{self.text}"
            time.sleep(PAUSE)
        self._reader.join(WAIT)
        return self.status

    def close(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self._reader.join(WAIT)
        os.close(self._fd)
