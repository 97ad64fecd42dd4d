"""A file system of a fixed size that can be filled to the last byte, seen by this process and its children only.

It takes root to mount one; without, there is none, and the run says so.
"""

import ctypes
import os
import subprocess
from pathlib import Path

CLONE_NEWNS = 0x00020000


class SmallDisk:
    """In memory, with a file that takes whatever is left."""

    def __init__(self, folder, megabytes):
        self.folder = Path(folder)
        self.ballast = self.folder / "ballast"
        self.folder.mkdir()
        # Mounts of this namespace go when its last process ends, however that comes about.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        mount("--make-rprivate", "/")
        mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(self.folder))

    def free_bytes(self):
        room = os.statvfs(self.folder)
        return room.f_bavail * room.f_frsize

    def fill(self):
        """Also what is given back meanwhile, by a server that crashes say, when it is called again."""
        fd = os.open(self.ballast, os.O_WRONLY | os.O_CREAT)
        try:
            while (left := self.free_bytes()) > 0:
                os.posix_fallocate(fd, os.fstat(fd).st_size, left)
        except OSError:
            pass  # somebody was faster: it is full
        finally:
            os.close(fd)

    def clear(self):
        self.ballast.unlink(missing_ok=True)

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
