# The image that the application carries. -DTAU_JPEG_IMAGE names another one of images/.
#ifndef TAU_JPEG_IMAGE
#define TAU_JPEG_IMAGE "kernel/systems/jpeg/images/64x64.jpg"
#endif
    .section .rodata.image, "a"
    .globl tau_jpeg_image, tau_jpeg_image_bytes
    .balign 4
tau_jpeg_image_bytes:
    .word end - tau_jpeg_image
tau_jpeg_image:
    .incbin TAU_JPEG_IMAGE
end:
