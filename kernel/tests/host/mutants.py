"""Small wrong changes of the decoder, the pipeline and the FIFO, and the tests that notice them."""

from __future__ import annotations

from testing.mutants import Group, Mutant, mutants_of

HOST = "kernel/tests/host"
DECODER_TESTS = (f"{HOST}/test_jpeg.py", f"{HOST}/test_jpeg_fuzz.py", f"{HOST}/test_chains.py")

HUFFMAN = [
    ("all ones is a code", "huffman.c", "code + count >= 1u << bits", "code + count > 1u << bits"),
    (
        "lookup of shorter codes only",
        "huffman.c",
        "bits <= TAU_JPEG_L",
        "bits < 4 && bits <= TAU_JPEG_L",
    ),
    (
        "limit excludes the last code",
        "huffman.c",
        "code << (16 - bits);",
        "(code - 1) << (16 - bits);",
    ),
    ("index of the first length", "huffman.c", "(used - code)", "(used)"),
    (
        "longest codes not tried",
        "huffman.h",
        "bits <= TAU_JPEG_CODE_BITS_MAX; bits++) {\n        if",
        "bits < TAU_JPEG_CODE_BITS_MAX; bits++) {\n        if",
    ),
]
BITS = [
    ("stuffed zero kept", "bits.h", "bits->next += 2;", "bits->next += 1;"),
    (
        "a byte behind the end",
        "bits.h",
        "if (bits->next == bits->end) {",
        "if (bits->next > bits->end) {",
    ),
    (
        "the byte behind a last 0xff",
        "bits.h",
        "bits->end - bits->next >= 2 &&",
        "bits->end - bits->next >= 1 &&",
    ),
    (
        "absent bits not counted",
        "bits.h",
        "            bits->absent += 8;\n        } else if",
        "            bits->absent += 0;\n        } else if",
    ),
    (
        "the last bit is absent",
        "bits.h",
        "bits->absent > bits->count;",
        "bits->absent >= bits->count && bits->absent > 0;",
    ),
    ("negative one too far", "bits.h", "(1u << size) - 1)", "(1u << size))"),
    ("too few bits held", "bits.h", "if (bits->count < size) {", "if (bits->count + 4 < size) {"),
    ("a byte too much passed", "bits.h", "bits->absent > 7) {", "bits->absent > 15) {"),
    (
        "fill bytes not passed",
        "bits.h",
        "        next++;\n    }\n    if (next == bits->end ||",
        "        next++;\n        break;\n    }\n    if (next == bits->end ||",
    ),
]
HEADER = [
    (
        "segment beyond the end",
        "header.c",
        "left(bytes) < length - 2)",
        "left(bytes) + 8 < length - 2)",
    ),
    ("length of 1", "header.c", "if (length < 2) {", "if (length < 1) {"),
    (
        "tables stay defined",
        "header.c",
        "header->quantizations[i].is_defined = false;",
        "header->quantizations[i].is_defined = true;",
    ),
    (
        "table of two bytes read as bytes",
        "tables.c",
        "if (kind >> 4 != 0) {",
        "if (kind >> 4 > 1) {",
    ),
    (
        "table cut short",
        "tables.c",
        "left(&segment) < TAU_JPEG_BLOCK)",
        "left(&segment) < TAU_JPEG_BLOCK / 2)",
    ),
    (
        "step of 0",
        "tables.c",
        "if (table->steps[i] == 0) {",
        "if (table->steps[i] == 0 && i > 0) {",
    ),
    (
        "many symbols",
        "tables.c",
        "symbols_count > TAU_JPEG_SYMBOLS_MAX ||",
        "symbols_count > 4096 ||",
    ),
    (
        "symbols behind the segment",
        "tables.c",
        "symbols_count > tau_jpeg_bytes_left(segment)",
        "symbols_count > 4000",
    ),
    ("differences of 12 bits", "tables.c", "DC_SIZE_MAX = 11", "DC_SIZE_MAX = 12"),
    ("pixels of one too many", "frame.c", "pixels > pixels_max)", "pixels > pixels_max + 20)"),
    ("two frames", "frame.c", "if (header->components_count != 0 ||", "if ("),
    (
        "any table's number",
        "frame.c",
        "component->quantization >= TAU_JPEG_QUANTIZATIONS)",
        "component->quantization >= 64)",
    ),
    ("any Huffman table's number", "frame.c", "dc >= TAU_JPEG_HUFFMANS ||", ""),
    (
        "undefined tables",
        "frame.c",
        "if (!header->quantizations[component->quantization].is_defined ||",
        "if (",
    ),
    ("RGB taken for YCbCr", "frame.c", "(header->is_rgb || are_ids", "(false || are_ids"),
    (
        "part of the spectrum",
        "frame.c",
        "spectrum == TAU_JPEG_BLOCK - 1 &&",
        "spectrum < TAU_JPEG_BLOCK &&",
    ),
]
VLD = [
    (
        "run beyond the block",
        "vld.c",
        "if (i >= TAU_JPEG_BLOCK) {",
        "if (i > TAU_JPEG_BLOCK + 8) {",
    ),
    (
        "prediction not kept",
        "vld.c",
        "*prediction = (int16_t)(*prediction +",
        "*prediction = (int16_t)(",
    ),
    (
        "predictions survive a restart",
        "vld.c",
        "            vld->predictions[i] = 0;\n        }\n        vld->restart_left",
        "            vld->predictions[i] += 0;\n        }\n        vld->restart_left",
    ),
    ("any restart marker", "vld.c", "(vld->restart_next + 1) & 7", "(vld->restart_next + 1) & 3"),
    (
        "restart one MCU late",
        "vld.c",
        "vld->restart_left = vld->header.restart_interval;\n        vld->restart_next",
        "vld->restart_left = vld->header.restart_interval + 1u;\n        vld->restart_next",
    ),
    (
        "old coefficients stay",
        "vld.c",
        "i < TAU_JPEG_BLOCK / 2; i += 4",
        "i < TAU_JPEG_BLOCK / 4; i += 4",
    ),
    ("the same step for all", "vld.c", "size) * tables.steps[i]", "size) * tables.steps[1]"),
    ("zigzag of a neighbor", "vld.c", "0,  1,  8,  16, 9,", "0,  8,  1,  16, 9,"),
    (
        "chroma with the tables of luma",
        "vld.c",
        "i < luma_blocks ? 0 : i - luma_blocks + 1",
        "i < luma_blocks ? 0 : 1",
    ),
    (
        "truncated data decode",
        "vld.c",
        "if (tau_jpeg_bits_are_overdrawn(&bits)) {",
        "if (false && tau_jpeg_bits_are_overdrawn(&bits)) {",
    ),
    ("end of image not asked", "vld.c", "if (is_last && !tau", "if (false && !tau"),
    (
        "MCUs of 8 rows",
        "vld.c",
        "TAU_JPEG_SIDE << shape.down_log2);\n    vld->left",
        "TAU_JPEG_SIDE);\n    vld->left",
    ),
]
PIXELS = [
    ("not rounded", "idct.c", "(value + (1u << (bits - 1))) >> bits", "(value) >> bits"),
    ("flat column scaled twice", "idct.c", "f.x0 << PASS_BITS;", "f.x0 << (PASS_BITS + 1);"),
    ("flat though not", "idct.c", "f.x5 | f.x6 | f.x7) == 0", "f.x5 | f.x6) == 0"),
    ("a rotation's constant", "idct.c", "FIXED(3.072711026)", "FIXED(3.0)"),
    ("samples wrap around", "idct.c", "return sample < 0 ? 0 : 255;", "return sample & 255;"),
    (
        "rows swapped",
        "idct.c",
        "samples[1] = four_samples(sums.x4,",
        "samples[1] = four_samples(sums.x5,",
    ),
    ("failed tokens transformed", "idct.c", "&& place.status == 0", ""),
    ("green of red", "color.c", "FIXED(0.71414)", "FIXED(0.70414)"),
    (
        "pixels wrap around",
        "color.c",
        "return value > 255 ? 255 : (uint8_t)value;",
        "return (uint8_t)value;",
    ),
    (
        "columns beyond the image",
        "color.c",
        "(uint32_t)place.width - place.left);",
        "(uint32_t)place.width);",
    ),
    (
        "rows beyond the image",
        "color.c",
        "(uint32_t)place.height - place.top);",
        "(uint32_t)place.height);",
    ),
    (
        "chroma of the row above",
        "color.c",
        "(y >> shape.down_log2) * TAU_JPEG_SIDE",
        "(y >> 1) * TAU_JPEG_SIDE",
    ),
    (
        "second row of blocks",
        "color.c",
        "y / TAU_JPEG_SIDE << shape.across_log2",
        "y / TAU_JPEG_SIDE",
    ),
    (
        "any size stored",
        "color.c",
        "place.height > pixels_max ||",
        "place.height > 2 * pixels_max ||",
    ),
    (
        "the last token passed on late",
        "tasks/idct.c",
        "is_last = coefficients->place.is_last;",
        "is_last = iteration > 0 && coefficients->place.is_last;",
    ),
    ("last word not summed", "tasks/cc.c", "(bytes + 3) / 4", "bytes / 4"),
]
FIFO = [
    ("one token too many", "fifo.c", "< end->tokens_count;", "<= end->tokens_count;"),
    (
        "counters compared",
        "fifo.c",
        "end->own[OTHER_COUNTER] != end->own[OWN_COUNTER]",
        "end->own[OTHER_COUNTER] > end->own[OWN_COUNTER]",
    ),
    (
        "own count loaded from the other page",
        "fifo.c",
        "count = end->own[OWN_COUNTER] + 1;",
        "count = end->other[OTHER_COUNTER] + 1;",
    ),
    (
        "ring one token longer",
        "fifo.c",
        "end->place == end->token_bytes * end->tokens_count",
        "end->place == end->token_bytes * (end->tokens_count + 1)",
    ),
    ("other side not told", "fifo.c", "end->other[OTHER_COUNTER] = count;", "(void)count;"),
    (
        "writes into its own page",
        "fifo.c",
        "(unsigned char *)end->other + TAU",
        "(unsigned char *)end->own + TAU",
    ),
]
PIPELINE = [
    (
        "memory not changed",
        "work.c",
        "work->scratch[work->place] += rest;",
        "work->scratch[work->place] += 0 * rest;",
    ),
    ("tokens alike", "work.c", "uint32_t word = number;", "uint32_t word = 0 * number;"),
    ("two tasks share their memory", "tasks.c", "&works[task]", "&works[task / 2]"),
]
GROUPS = [
    Group(
        "decoder",
        DECODER_TESTS,
        mutants_of("kernel/systems/jpeg", [*HUFFMAN, *BITS, *HEADER, *VLD, *PIXELS]),
        quick=1,
    ),
    Group("fifo", [f"{HOST}/test_fifo.py"], mutants_of("kernel/base", FIFO), quick=1),
    Group("pipeline", [f"{HOST}/test_chains.py"], mutants_of("kernel/systems/pipeline", PIPELINE)),
]
ALL: list[tuple[Group, Mutant]] = [(group, each) for group in GROUPS for each in group.mutants]
