"""Bad input of system.toml: the line, the cause, and nothing else happens."""

import random
from pathlib import Path

import pytest

from tautochrone.compose.description import read_description
from tautochrone.errors import TauError
from tautochrone.files.toml_file import FILE_BYTES_MAX

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "kernel/systems/jpeg/system.toml"
SEED = 11

# Old text of the example, new text, message.
WRONG = [
    ('format = "tautochrone system"', "", ": format is missing"),
    ('format = "tautochrone system"', 'format = "plan"', ":3: format is 'plan', expected one of"),
    ("version = 1", "version = 2", ":4: version is 2, expected an integer from 1 to 1"),
    ("version = 1", "version = 1\nextra = 1", ":5: extra is unknown"),
    ("user_slot_cycles = 10_000", "user_slot_cycles = true", ":7: time.user_slot_cycles is True"),
    ("user_slot_cycles = 10_000", "", ":6: time.user_slot_cycles is missing"),
    ("os_slot_cycles", "os_slots", ":8: time.os_slots is unknown"),
    ("frame_first = 64", "frame_first = 3", ":12: memory.frame_first is 3, expected"),
    ('"jpeg.vld", "idle"', '"jpeg.vdl", "idle"', ":16: tile[0].slots: unknown task jpeg.vdl"),
    ('"jpeg.vld", "idle"', '"neighbor.x", "idle"', ":16: tile[0].slots: unknown task"),
    ('"jpeg.vld", "idle"', '"jpeg.cc", "idle"', ":19: tile[1].slots: jpeg.cc has slots on two"),
    ('"jpeg.vld", "idle"', '"idle"', ":25: application[0].tasks: jpeg.vld has no slot"),
    ('["loader", "jpeg.idct"', '["idle", "jpeg.idct"', ":19: tile[1].slots: no slot is the loader"),
    ('"loader", "jpeg.vld"', '"jpeg vld"', ":16: tile[0].slots[0] is 'jpeg vld', expected appl"),
    ('name = "jpeg"', 'name = "loader"', ":22: application[0].name: the name loader is taken"),
    ('name = "jpeg"', 'name = "9"', ":22: application[0].name is '9', expected a letter"),
    ('name = "jpeg"', 'name = "jpég"', ":22: application[0].name is 'jpég', expected a letter"),
    ("sources = [", "executable = 'x'\nsources = [", ":21: application[0]: give either"),
    ("page_bytes = 16384", "page_bytes = 5000", ":26: application[0].page_bytes: a page cannot ha"),
    ("page_bytes = 16384", "page_bytes = 1024\naddress = 0x80100001",
     ":27: application[0].address: it is n"),
    ("page_bytes = 16384", "page_bytes = 1024\npool_address = 0x8ffffc00\npool_pages = 8\n"
     "pool_frames = 1", ":28: application[0].pool_pages: they end at"),
    ('sources = ["image.S", "*.c", "tasks/*.c"]', "sources = []",
     ":23: application[0].sources: give"),
    ('flags = ["', 'flags = ["\\u0000", "', ":24: application[0].flags[0] is"),
    ('flags = ["', 'flags = ["-Os", "-B.", "', ":24: application[0].flags[1]: -B. is not among"),
    ('writer = "idct"', 'writer = "cc"', ":34: application[0].fifos[1]: writer and reader are"),
    ('writer = "idct"', 'writer = "xx"', ":35: application[0].fifos[1].writer: jpeg has no task"),
    ('operation = "load"', 'operation = "unload"', ":39: command[0].operation: jpeg is not loaded"),
    ('operation = "load"', 'operation = "start"', ":39: command[0].operation is 'start'"),
    ('application = "jpeg"', 'application = "gepj"', ":40: command[0].application: unknown applic"),
    ("epoch = 64", "epoch = -1", ":41: command[0].epoch is -1, expected"),
    ("epoch = 64", "epoch = 64\n[[use_case]]\nname = 'u'\napplications = ['gepj']",
     ":44: use_case[0].applications: unknown application gepj"),
    ("epoch = 64", "epoch = 64\n[[use_case]]\nname = 'u'\napplications = ['jpeg']",
     ":44: use_case[0].applications: jpeg has commands of its own"),
    ("epoch = 64", "epoch = 64\n[[switch]]\nuse_case = 'v'\narrives = 1\nepoch = 2",
     ":43: switch[0].use_case: unknown use case v"),
    ("epoch = 64", "epoch = 64\n[[use_case]]\nname = 'u'\napplications = []\n"
     "[[switch]]\nuse_case = 'u'\narrives = 3\nends = 3\nepoch = 4",
     ":49: switch[0].epoch: its commands arrive in epoch 3, the old ones end at 3"),
]  # fmt: skip


def damaged(tmp_path: Path, old: str, new: str) -> Path:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path = tmp_path / "system.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_the_example_is_sound() -> None:
    description = read_description(EXAMPLE)
    assert [each["name"] for each in description.tables["application"]] == ["jpeg"]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[each[2] for each in WRONG])
def test_a_wrong_line_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = damaged(tmp_path, old, new)
    with pytest.raises(TauError) as caught:
        read_description(path)
    assert caught.value.message.startswith(f"{path}{said}"), caught.value.message
    assert caught.value.next_step


def test_tiles_that_seldom_begin_together_are_refused(tmp_path: Path) -> None:
    """[KRN-20]: 61 and 62 slots."""
    idle = '"idle", '
    path = damaged(tmp_path, 'slots = ["loader", "jpeg.vld"', f'slots = [{56 * idle}"jpeg.vld"')
    path.write_text(path.read_text().replace('"jpeg.cc", "idle"', f'"jpeg.cc", {58 * idle}'))
    text = path.read_text().replace(f'{56 * idle}"jpeg.vld"', f'{56 * idle}"loader", "jpeg.vld"')
    path.write_text(text)
    with pytest.raises(TauError, match="cannot be ordered: major frames of 61, 62 slots") as caught:
        read_description(path)
    assert caught.value.next_step and "3,782" in caught.value.message


def test_an_epoch_after_the_last_cycle_is_refused(tmp_path: Path) -> None:
    """Of 5 slots: the last one that ends before 2^64 is taken, and the next one is not."""
    path = damaged(tmp_path, "user_slot_cycles = 10_000", "user_slot_cycles = 1_000_000_000")
    text = path.read_text(encoding="utf-8")
    last = ((1 << 64) - 1 - 400_000) // (5 * 1_000_001_000) - 1
    path.write_text(text.replace("epoch = 64", f"epoch = {last}"), encoding="utf-8")
    read_description(path)
    path.write_text(text.replace("epoch = 64", f"epoch = {last + 1}"), encoding="utf-8")
    with pytest.raises(TauError, match=rf":41: .*epoch {last + 1} ends after 2\^64") as caught:
        read_description(path)
    assert caught.value.next_step == f"give {last} or less"


def test_a_second_load_is_refused(tmp_path: Path) -> None:
    path = damaged(tmp_path, "[[command]]", "[[command]]\noperation='load'\napplication='jpeg'\n"
                   "epoch=70\n[[command]]")  # fmt: skip
    with pytest.raises(TauError, match=r":43: command\[1\].operation: jpeg is loaded already"):
        read_description(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = [", b"a = 1\na = 2", b"[" * 5000, b""])
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "system.toml"
    path.write_bytes(content)
    with pytest.raises(TauError):
        read_description(path)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(TauError, match="larger than"):
        read_description(path)


def test_random_damage_is_refused_or_understood(tmp_path: Path) -> None:
    """Lines and words dropped, doubled and exchanged: a TauError or a description, nothing else."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "system.toml"
    refused = 0
    for _ in range(400):
        mutant = list(lines)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(mutant))
            match chance.randrange(4):
                case 0:
                    del mutant[at]
                case 1:
                    mutant.insert(at, chance.choice(lines))
                case 2:
                    words = mutant[at].split(" ")
                    words[chance.randrange(len(words))] = chance.choice(["=", "-1", '"', "[[a]]"])
                    mutant[at] = " ".join(words)
                case _:
                    mutant[at] = chance.choice(lines)
        path.write_text("\n".join(mutant), encoding="utf-8")
        try:
            read_description(path)
        except TauError as error:
            refused += 1
            assert str(path) in error.message
    assert 200 < refused <= 400
