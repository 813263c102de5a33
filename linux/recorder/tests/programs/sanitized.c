// Merges each file that it is given, with the sanitizers' eyes on every access. The first argument
// says whether they are raw recordings or target streams.
#include <stdio.h>
#include <string.h>

#include "tool/native/record/merge.h"

int main(int count, char **arguments) {
    struct tau_merge_result result;
    for (int i = 3; i < count; i++) {
        if (strcmp(arguments[1], "raw") == 0) {
            tau_merge_recording(arguments[i], arguments[2], "{}", NULL, NULL, &result);
        } else {
            tau_merge_target_stream(arguments[i], arguments[2], "{}", NULL, NULL, &result);
        }
        printf("%s\n", arguments[i]);
        fflush(stdout);
    }
    return 0;
}
