"""Whether anything happened to many files, by one system call where the kernel reports changes (inotify on Linux).

A search must see the newest commit, so it asks for each repository whether its refs moved: with `stat`, 3 µs for each
file. The kernel queues an event before the system call that made a change returns, so an empty queue means that no file
has changed. `stat` decides in all other cases: after any event, and where `Watches` can't be made.
"""

from __future__ import annotations

import functools
import os
import select
import stat
import struct
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

MAX_WATCHES = 2048
"""Watches of one object. Each keeps an inode in the kernel's memory, and all of a user's processes share a limit."""

_MAX_LINKS = 40
"""Symbolic links in one path, as in the kernel."""

_MOUNTS = "/proc/self/mountinfo"
_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "tmpfs", "xfs"})
"""File systems whose files change on this machine alone, and whose directories disappear one by one.

A whole subvolume of btrfs disappears without an event for its files. A layer of an overlay may change without one. The
servers of network file systems send none.
"""

MAX_QUIET_S = 10.0
"""Seconds after which files are looked at although nothing was reported."""

MIN_CALM_LOOKS = 8
_MAX_CALM_LOOKS = 1024
"""Looks without a change before files are watched; more where watches were of no use."""

_MIN_QUIET_LOOKS = 64
"""Looks that watches must have saved to have been of use."""

# Of inotify(7). Of a directory, most of these are also reported for the files in it.
_MODIFY = 0x2
_ATTRIBUTES = 0x4
_MOVED_FROM = 0x40
_MOVED_TO = 0x80
_CREATE = 0x100
_DELETE = 0x200
_DELETE_SELF = 0x400
_MOVE_SELF = 0x800
_NO_LINKS = 0x2000000 | 0x20000000
"""Don't follow a link; add events to a watch, and keep those that it has."""
_LOST = 0x2000 | 0x4000 | 0x8000
"""A file system was unmounted, events were lost, or a watch has ended."""

_OF_ITSELF = _DELETE_SELF | _MOVE_SELF
_OF_NAMES = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO
_OF_CONTENT = _OF_NAMES | _MODIFY | _ATTRIBUTES

_HEAD = struct.Struct("iIII")
_MAX_READ_BYTES = 1 << 16
"""Bytes of events that are read at a time."""


@dataclass(slots=True)
class _Plan:
    """A file to watch, with its events; of a directory, also the names in it that matter."""

    mask: int = 0
    names: set[bytes] = field(default_factory=set)
    has_all: bool = False

    def unite(self, other: _Plan | None) -> None:
        if other is not None:
            self.names |= other.names
            self.has_all |= other.has_all


class Watches:
    """Watches over files and directories, from their creation until the first change.

    Parameters
    ----------
    paths
        Absolute paths of files, of directories, whose entries are then watched too, and of absent files.

    Raises
    ------
    OSError
        If the kernel doesn't watch, for its limits or for missing permissions; if a file system is unknown; if there
        are more than `MAX_WATCHES`.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        # Before all else: `close` reads these.
        self._events = -1
        self._mounts = -1
        start, self._add_watch = _calls()
        self._events = start(os.O_NONBLOCK | os.O_CLOEXEC)
        _all_watches.add(self)
        self._of_watch: dict[int, _Plan] = {}
        self._plans: dict[str, _Plan] = {}
        try:
            self._mounts = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
            self._types = dict(_mounted_types(self._mounts))
            self._devices: set[int] = set()
            self._plain_folders: set[str] = set()
            for path in paths:
                self._watch(path)
            for path, plan in self._plans.items():
                # Never through a link: one that took the place of a directory a moment ago is watched itself.
                watch = self._add_watch(self._events, os.fsencode(path), _OF_ITSELF | _NO_LINKS | plan.mask)
                # A directory by two paths, which a mount can give it, has one watch.
                plan.unite(self._of_watch.get(watch))
                self._of_watch[watch] = plan
        except OSError:
            self.close()
            raise

        # One call asks for both. Each change of the mounts is reported once, as urgent data (proc(5)).
        self._poller = select.poll()
        self._poller.register(self._events, select.POLLIN)
        self._poller.register(self._mounts, select.POLLPRI)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching."""
        files = (self._events, self._mounts)
        self._events = -1
        self._mounts = -1
        for file in files:
            if file >= 0:
                os.close(file)

    @property
    def are_quiet(self) -> bool:
        """Whether nothing has happened since the watches were made; from the first change on, False."""
        if self._events < 0:
            return False
        ready = self._poller.poll(0)
        if not ready:
            return True
        if all(file == self._events for file, _ in ready) and self._are_ignorable():
            return True

        self.close()
        return False

    def _are_ignorable(self) -> bool:
        """Read all events; return whether they are of other files in the directories above those that are watched."""
        try:
            while data := os.read(self._events, _MAX_READ_BYTES):
                if not all(self._is_ignorable(*event) for event in _parse(data)):
                    return False
        except BlockingIOError:
            return True
        return False

    def _is_ignorable(self, watch: int, mask: int, name: bytes) -> bool:
        plan = self._of_watch.get(watch)
        if plan is None or mask & _LOST:
            return False
        # An event without a name is one of the watched file itself.
        return bool(name) and not plan.has_all and name not in plan.names

    def _watch(self, path: str) -> None:
        """Watch a path: what it names, and each directory and link on the way to it, which could lead elsewhere."""
        folder, _, name = path.rpartition("/")
        # The names that remain, the next one last, and the directory that they are in.
        parts = path.split("/")[::-1]
        current = "/"
        links = 0
        if folder in self._plain_folders:
            parts = [name]
            current = folder
        while parts:
            part = parts.pop()
            if part in {"", "."}:
                continue
            if part == "..":
                # The link that led here is watched, and a directory that moves is, too.
                current = os.path.dirname(current)
                continue

            child = f"{current}/{part}" if current != "/" else f"/{part}"
            try:
                info = os.lstat(child)
            except (FileNotFoundError, NotADirectoryError):
                self._add(current, part, _OF_NAMES)
                return

            self._check_device(info.st_dev)
            if stat.S_ISLNK(info.st_mode):
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(f"{path}: too many links")
                self._add(child, "", _ATTRIBUTES)
                target = os.readlink(child)
                parts += target.split("/")[::-1]
                current = "/" if target.startswith("/") else current
                continue

            if not any(parts):
                if not links:
                    self._plain_folders.add(current)
                self._add(child, None, _OF_CONTENT)
                # A directory that a process still uses reports its own removal late.
                if stat.S_ISDIR(info.st_mode):
                    self._add(current, part, _DELETE)
                return
            self._add(child, "", 0)
            current = child

    def _add(self, path: str, name: str | None, mask: int) -> None:
        """Plan to watch a file, and of a directory the changes of one name; None: all in it, empty: none."""
        plan = self._plans.get(path)
        if plan is None:
            if len(self._plans) >= MAX_WATCHES:
                raise OSError(f"more than {MAX_WATCHES} watches")
            plan = _Plan()
            self._plans[path] = plan
        plan.mask |= mask
        if name is None:
            plan.has_all = True
        elif name:
            plan.names.add(os.fsencode(name))

    def _check_device(self, device: int) -> None:
        if device in self._devices:
            return
        kind = self._types.get(f"{os.major(device)}:{os.minor(device)}", "")
        if kind not in _FILE_SYSTEMS:
            raise OSError(f"a file system of type {kind or 'unknown'}")
        self._devices.add(device)


def why_unwatched() -> str:
    """Return the reason why this machine can't watch any file; empty if it can watch those of local file systems."""
    try:
        Watches(["/"]).close()
    except OSError as error:
        return str(error)
    return ""


@functools.cache
def _calls() -> tuple[Callable[[int], int], Callable[[int, bytes, int], int]]:
    """Return ``inotify_init1`` and ``inotify_add_watch`` of the C library; raises `OSError` where it has none.

    The library `inotify_simple` has the same two, but starts a process to find the C library.
    """
    try:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        start = library.inotify_init1
        add = library.inotify_add_watch
    # Other systems.
    except (ImportError, AttributeError, TypeError, OSError) as error:
        raise OSError("this system has no inotify") from error

    start.argtypes = (ctypes.c_int,)
    add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)

    def raising(call: Callable[..., int]) -> Callable[..., int]:
        def run(*arguments: object) -> int:
            result = call(*arguments)
            if result < 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            return result

        return run

    return raising(start), raising(add)


def _parse(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the watch, the mask and the name of each event."""
    position = 0
    while position < len(data):
        watch, mask, _, size = _HEAD.unpack_from(data, position)
        position += _HEAD.size
        yield watch, mask, data[position : position + size].rstrip(b"\0")
        position += size


def _mounted_types(file: int) -> Iterator[tuple[str, str]]:
    """Yield the device (``8:1``) and the type of each mounted file system."""
    text = b""
    while portion := os.read(file, _MAX_READ_BYTES):
        text += portion
    for line in text.decode("utf-8", "surrogateescape").splitlines():
        # "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw", with any number of fields before the dash.
        before, _, after = line.partition(" - ")
        yield before.split(" ", 3)[2], after.partition(" ")[0]


class FileWatch:
    """Watches files once several looks at them found no change, and no more from the next change on.

    Making watches takes about as long as twenty looks, so files that change all the time are looked at instead. They
    are also looked at every ten seconds, for what has no event: changed permissions of the directories above them, as
    events for these would cost seconds in a directory with a million files.
    """

    def __init__(self) -> None:
        self._watches: Watches | None = None
        self._calm_looks = 0
        self._quiet_looks = 0
        self._required_looks = MIN_CALM_LOOKS
        self._looked_s = 0.0

    @property
    def is_quiet(self) -> bool:
        """Whether the files are watched, none has changed since, and they were looked at in the last ten seconds."""
        if self._watches is None:
            return False
        if self._watches.are_quiet:
            self._quiet_looks += 1
            return time.monotonic() - self._looked_s < MAX_QUIET_S

        if self._quiet_looks >= _MIN_QUIET_LOOKS:
            self._required_looks = MIN_CALM_LOOKS
        else:
            self._required_looks = min(2 * self._required_looks, _MAX_CALM_LOOKS)
        self._watches = None
        return False

    def note_calm(self, paths: Callable[[], Iterable[str]], is_unchanged: Callable[[], bool]) -> None:
        """Note a look that found no change. After enough of them, watch `paths` if `is_unchanged` still holds then."""
        now_s = time.monotonic()
        if self._watches is not None:
            if is_unchanged():
                self._looked_s = now_s
            else:
                self.stop()
            return

        self._calm_looks += 1
        if self._calm_looks < self._required_looks:
            return

        self._calm_looks = 0
        try:
            watches = Watches(paths())
        except OSError:
            self._required_looks = _MAX_CALM_LOOKS
            return

        # Asked with the watches in place: what changes from now on is an event.
        if is_unchanged():
            self._watches = watches
            self._quiet_looks = 0
            self._looked_s = now_s
        else:
            watches.close()

    def stop(self) -> None:
        """Watch nothing until the next calm looks."""
        if self._watches is not None:
            self._watches.close()
        self._watches = None
        self._calm_looks = 0


_all_watches: weakref.WeakSet[Watches] = weakref.WeakSet()


def _close_in_child() -> None:
    # A child shares the queue: each of its reads would take an event from its parent.
    for watches in list(_all_watches):
        watches.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
