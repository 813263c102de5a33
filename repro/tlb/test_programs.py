"""The benchmarks compute the right values: each job's value is a naive model's.

Method: all of them run together on the tile, with few numbers and many preemptions.
"""

import cmath
import math
import re
from collections.abc import Callable
from pathlib import Path

from tautochrone.tlb.geometry import DATA
from tautochrone.tlb.tile import placing, shape, simulation
from tautochrone.tlb.tile.system import System, TileTask

from repro.tlb.benchmarks import NAMES, arguments, program

OBJECTS, OBJECT_BYTES, NUMBERS_LOG2 = 4, 3000, 4
COUNT = OBJECTS << NUMBERS_LOG2
PERIOD, PHASE = 400_000, 3_000
RUN_CYCLES = 900_000
MASK = (1 << 32) - 1
TAPS = (-3, -9, -14, -6, 24, 77, 138, 181, 181, 138, 77, 24, -6, -14, -9, -3)


def numbers() -> list[int]:
    """What the programs begin with."""
    state, found = 1, []
    for _ in range(COUNT):
        state ^= state << 13 & MASK
        state ^= state >> 17
        state ^= state << 5 & MASK
        found.append((state >> 16) - 32768)
    return found


def checksum(values: list[int]) -> int:
    total = 0
    for value in values:
        total = (total * 31 + value) & MASK
    return total


def truncated(dividend: int, divisor: int) -> int:
    """C's division."""
    return abs(dividend) // divisor * (1 if dividend >= 0 else -1)


def statistics() -> int:
    values = numbers()
    half = COUNT // 2
    pairs = list(zip(values[:half], values[half:], strict=True))
    mean_x, mean_y = (truncated(sum(column), half) for column in zip(*pairs, strict=True))
    variance_x = sum((x - mean_x) ** 2 for x, _ in pairs)
    variance_y = sum((y - mean_y) ** 2 for _, y in pairs)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    return (variance_x >> 8 ^ variance_y >> 4 ^ covariance) & MASK


def count() -> int:
    values = numbers()
    positive = [value for value in values if value > 0]
    others = sum(value for value in values if value <= 0)
    return (len(positive) << 24 ^ sum(positive) ^ others << 8) & MASK


def fir() -> int:
    values = numbers()
    return checksum(
        [
            sum(tap * values[i - k] for k, tap in enumerate(TAPS) if i >= k) >> 10
            for i in range(COUNT)
        ]
    )


def transformed(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The transform in fixed point, halved in each of its steps, by its definition in halves."""
    if len(points) == 1:
        return points
    low, high = [], []
    for i, (even, odd) in enumerate(zip(transformed(points[::2]), transformed(points[1::2]))):
        angle = 2 * math.pi * i / len(points)
        cosine, sine = round(math.cos(angle) * 2**14), -round(math.sin(angle) * 2**14)
        real, imaginary = odd[0] >> 1, odd[1] >> 1
        turned = (cosine * real - sine * imaginary >> 14, cosine * imaginary + sine * real >> 14)
        low.append(tuple((each >> 1) + more for each, more in zip(even, turned, strict=True)))
        high.append(tuple((each >> 1) - more for each, more in zip(even, turned, strict=True)))
    return low + high


def fft() -> int:
    values = numbers()
    half = COUNT // 2
    points = list(zip(values[:half], values[half:], strict=True))
    found = transformed(points)
    for k, (real, imaginary) in enumerate(found):
        exact = sum(
            complex(*point) * cmath.exp(-2j * math.pi * i * k / half)
            for i, point in enumerate(points)
        )
        assert abs(complex(real, imaginary) - exact / half) < 2 * math.log2(half)
    return checksum([real for real, _ in found] + [imaginary for _, imaginary in found])


def adpcm() -> int:
    """Steps grow by a tenth; a code says how many quarters of a step a number differs by."""
    text = program("adpcm").read_text(encoding="utf-8")
    steps = [
        int(word) for word in re.findall(r"\d+", re.split("[{}]", text.partition("steps[")[2])[1])
    ]
    assert all(1.04 < high / low < 1.18 for low, high in zip(steps, steps[1:], strict=False))
    sample = place = 0
    decoded = []
    for value in numbers():
        parts = [steps[place] >> shift for shift in (0, 1, 2)]
        rest, change, code = abs(value - sample), steps[place] >> 3, 0
        for part in parts:
            code = code * 2 + (rest >= part)
            rest -= part * (code & 1)
            change += part * (code & 1)
        sample += -change if value < sample else change
        sample = min(max(sample, -32768), 32767)
        place = min(max(place + (2 * code - 6 if code > 3 else -1), 0), len(steps) - 1)
        decoded.append(sample)
    return checksum(decoded)


MODELS: dict[str, Callable[[], int]] = {
    "bubble_sort": lambda: checksum(sorted(numbers())),
    "insertion_sort": lambda: checksum(sorted(numbers())),
    "nth_largest": lambda: sorted(numbers(), reverse=True)[COUNT // 4] & MASK,
    "statistics": statistics,
    "count": count,
    "fft": fft,
    "adpcm": adpcm,
    "fir": fir,
}


def test_every_job_comes_to_what_a_model_says(tmp_path: Path) -> None:
    tlb = shape.parsed("16x4")
    geometry = tlb.geometry()
    tasks = []
    for number, name in enumerate(NAMES, start=1):
        own = placing.masks(geometry, (number,))
        place = placing.place(geometry, number, own, heap_pages=OBJECTS)
        values = arguments(OBJECTS, OBJECT_BYTES, OBJECTS, number, 1, NUMBERS_LOG2)
        tasks.append(TileTask(name, PERIOD, PHASE * number, program(name), values, place))
    state, stack = placing.extents(geometry, placing.masks(geometry, (0,)), 0, ((DATA, 1),) * 2)
    system = System(geometry, tuple(tasks), state.start, stack.start, RUN_CYCLES)
    found = simulation.simulate(system, tlb, simulation.builder(tmp_path))
    assert found.faults == []
    for task, name in enumerate(NAMES):
        jobs = found.of(task)
        assert len(jobs) >= 3, name
        assert len({job.value for job in jobs}) == 1, name
        assert jobs[0].value == MODELS[name](), name
