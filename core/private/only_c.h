// Included first by each source of the core: says what is the matter before anything else does.
#ifdef __cplusplus
#error "compile this file as C (gcc, not g++): C++ can use its header, and link the object"
#endif
