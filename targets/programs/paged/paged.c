// Starts a heap on pages inside an image, and says where its parts are. Not counted.
//
// TAU_IMAGE_HEAP is the header of the heap. Frames are a pool of the space's own: a released
// frame is ready again, without zeroing.
#include TAU_IMAGE_HEAP

enum tau_status tau_image_start(unsigned char *memory, uint32_t size_bytes, uint32_t frames_count,
                                uint32_t first, uint32_t pages);

static struct tau_frames machine;
static struct tau_frames frames;

// MEMORY is for the links of the frames and, after them, the tables.
enum tau_status tau_image_start(unsigned char *memory, uint32_t size_bytes, uint32_t frames_count,
                                uint32_t first, uint32_t pages) {
    const uint32_t links_bytes = frames_count * (uint32_t)sizeof(uint32_t);
    enum tau_status status =
        tau_frames_init(&machine, (uint32_t *)(void *)memory, frames_count, NULL);
    if (status == TAU_OK) {
        status = tau_frames_add(&machine, (struct tau_frame){0}, frames_count);
    }
    if (status == TAU_OK) {
        status = tau_frames_reserve(&machine, &frames, frames_count);
    }
    return status != TAU_OK
               ? status
               : start(memory + links_bytes, size_bytes - links_bytes, &frames, first, pages);
}
