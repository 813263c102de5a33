"""What the workload's programs read: pictures and videos, drawn and encoded by the host's ffmpeg.

Two sets: the one that plans are made from, and one that is held out. They differ in size and
picture. Everything is coded on one thread, without a time or a version in the files.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tautochrone.errors import TauError

FRAMES = 30
EXACT = "-threads 1 -flags +bitexact -fflags +bitexact -map_metadata -1".split()
SECONDS_MAX = 300


@dataclass(frozen=True)
class Inputs:
    """A set: the sizes, and what ffmpeg draws."""

    video: str
    video_size: str
    picture: str
    picture_size: str


SETS = {
    "recorded": Inputs("testsrc2", "176x144", "mandelbrot", "320x240"),
    "held-out": Inputs("sierpinski=seed=7:jump=30", "352x288", "smptehdbars", "480x360"),
}
# Encoders of the videos that are only decoded.
VIDEOS = {
    "video.h263": "-c:v h263 -f h263",
    "video.h264": "-c:v libx264 -x264-params threads=1:lookahead-threads=1 -f h264",
    "video.m2v": "-c:v mpeg2video -f mpeg2video",
    "video.m4v": "-c:v mpeg4 -f m4v",
}
PICTURES = {
    "picture.ppm": "-c:v ppm",
    "picture.jpg": "-c:v mjpeg -q:v 3 -pix_fmt yuvj420p -f image2",
    "picture.jp2": "-c:v jpeg2000 -f image2",
}


def make(name: str, folder: Path) -> None:
    """Write the files of a set into FOLDER."""
    inputs = SETS[name]
    folder.mkdir(parents=True)
    joint = ":" if "=" in inputs.video else "="
    _ffmpeg(
        ["-f", "lavfi", "-i", f"{inputs.video}{joint}size={inputs.video_size}:rate=25"],
        ["-frames:v", str(FRAMES), "-pix_fmt", "yuv420p", "-f", "rawvideo"],
        folder / "video.yuv",
    )
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", inputs.video_size, "-r", "25"]
    for file, options in VIDEOS.items():
        _ffmpeg([*raw, "-i", str(folder / "video.yuv")], options.split(), folder / file)
    drawn = f"{inputs.picture}=size={inputs.picture_size}:rate=1"
    for file, options in PICTURES.items():
        source = ["-f", "lavfi", "-i", drawn]
        if file != "picture.ppm":
            source = ["-i", str(folder / "picture.ppm")]
        _ffmpeg(source, ["-frames:v", "1", *options.split()], folder / file)


def _ffmpeg(source: list[str], output: list[str], path: Path) -> None:
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", *source, *output, *EXACT, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
    except FileNotFoundError as error:
        raise TauError("ffmpeg is not installed", "apt install ffmpeg") from error
    if done.returncode:
        raise TauError(f"ffmpeg cannot make {path.name}", "see its message", said=done.stderr)
