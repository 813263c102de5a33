// What became of a JPEG image. Names in parentheses are from ITU-T T.81.
#ifndef TAU_JPEG_STATUS_H
#define TAU_JPEG_STATUS_H

enum tau_jpeg_status {
    TAU_JPEG_OK,
    TAU_JPEG_TRUNCATED,     // The data end early, or a marker stands where data should.
    TAU_JPEG_NO_JPEG,       // It does not begin with a start of image (SOI).
    TAU_JPEG_BAD_SEGMENT,   // A marker segment contradicts itself, or a marker may not stand there.
    TAU_JPEG_NOT_BASELINE,  // Another process than baseline sequential (SOF0).
    TAU_JPEG_PRECISION,     // Samples of other than 8 bits, or tables of other than 8 bits.
    TAU_JPEG_COMPONENTS,    // Neither one component nor three.
    TAU_JPEG_SAMPLING,      // None of 4:4:4, 4:2:2, 4:2:0.
    TAU_JPEG_COLOR_SPACE,   // Three components that are not Y, Cb, Cr.
    TAU_JPEG_SCANS,         // More than one scan.
    TAU_JPEG_SIZE,          // A side of 0, or more pixels than the caller has room for.
    TAU_JPEG_NO_TABLE,      // A component names a table that was not defined.
    TAU_JPEG_BAD_TABLE,     // A table that no code can have.
    TAU_JPEG_BAD_CODE,      // Data that no code, or no block, can have.
    TAU_JPEG_BAD_RESTART,   // Not the restart marker (RSTm) that is due.
    TAU_JPEG_STATUS_COUNT,
};

// One line for people.
const char *tau_jpeg_reason(enum tau_jpeg_status status);

#endif
