"""A file system of a fixed size that can be filled to the last byte, seen by this process and its children only.

It takes root to mount one; without, there is none, and the run says so.
"""

import ctypes
import os
import subprocess
from pathlib import Path

CLONE_NEWNS = 0x00020000


class SmallDisk:
    """In memory. It is full when it is as small as what is in it."""

    def __init__(self, folder, megabytes):
        self.folder, self.megabytes = Path(folder), megabytes
        self.folder.mkdir()
        # Mounts of this namespace go when its last process ends, however that comes about.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        mount("--make-rprivate", "/")
        mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(self.folder))

    def free_bytes(self):
        room = os.statvfs(self.folder)
        return room.f_bfree * room.f_frsize

    def fill(self):
        """Also what was given back meanwhile, by a server that crashed say, when it is called again."""
        for _ in range(100):  # somebody may write between the look and the deed: it cannot be smaller than that
            room = os.statvfs(self.folder)
            try:
                return self.resize(max(room.f_blocks - room.f_bfree, 1) * room.f_frsize)  # 0: without end
            except subprocess.CalledProcessError:
                continue
        raise OSError("the disk grows faster than it can be filled")

    def clear(self):
        self.resize(self.megabytes << 20)

    def resize(self, size):
        mount("-o", f"remount,size={size}", str(self.folder))

    def close(self):
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False, capture_output=True)


def mount(*words):
    subprocess.run(["mount", *words], check=True, capture_output=True)


def small_disk(folder, megabytes):
    """None where it cannot be had."""
    try:
        return SmallDisk(folder, megabytes) if os.geteuid() == 0 else None
    except (OSError, subprocess.CalledProcessError):
        return None
