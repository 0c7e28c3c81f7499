"""A worker that works off a queue in an SQLite file, under a policy.

python -m examples.thumbnail_worker.worker http://127.0.0.1:9000
"""

from __future__ import annotations

import signal
import sys
import threading

import httpx

from examples.thumbnail_worker.jobs import Job
from examples.thumbnail_worker.resilience import thumbnails


def submit(picture: str, width: int = 200) -> str:
    """Put a job; the picture is its id, so that asking twice is one job.

    Raises:
        QueueFullError: a thousand jobs are waiting already.
    """
    job = Job(picture, width)
    return thumbnails.jobs.put(job, id=f"{picture}@{width}").outcome


def handler(client: httpx.Client) -> None:
    """Decorate the function that makes one thumbnail; the worker calls it.

    The policy passes what is left of the attempt as ``timeout``.
    """

    @thumbnails.render
    def render(job: Job, timeout: float = 2.0) -> None:
        picture = client.get(f"/pictures/{job.picture}", timeout=timeout)
        picture.raise_for_status()
        small = picture.content[: job.width]
        path = f"/thumbnails/{job.picture}"
        client.put(path, content=small, timeout=timeout).raise_for_status()


def main(url: str) -> None:
    """Work until the process is told to end; then finish what was begun."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with httpx.Client(base_url=url) as client:
        handler(client)
        with thumbnails.jobs.worker():
            ended.wait()


if __name__ == "__main__":
    main(sys.argv[1])
