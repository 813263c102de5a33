// C++ threads that run tasks: thread-local objects with destructors, exceptions, and a thread that
// pthread_exit ends. Every object is found again, and nothing is left.
#include <cstdio>
#include <map>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "linux/runtime/colors/tau_task.h"

static thread_local std::map<int, std::string> notes;

static int fill(const char *task) {
    pthread_setname_np(pthread_self(), task);
    int found = 0;
    for (int number = 0; number < 50; number++) {
        notes[number] = std::string(40, static_cast<char>('a' + number % 26));
    }
    try {
        throw std::runtime_error(std::string(30, 'x'));
    } catch (const std::exception &error) {
        found = static_cast<int>(std::string(error.what()).size());
    }
    for (auto &[number, text] : notes) {
        found += text[0] == 'a' + number % 26;
    }
    return found;
}

static void *leave(void *) {
    std::vector<int> numbers(100, 1);
    fill("two");
    pthread_exit(nullptr);
}

int main() {
    std::vector<std::thread> threads;
    std::vector<int> results(8);
    pthread_t last;
    for (int number = 0; number < 8; number++) {
        tau_task_if_any(number % 2 != 0 ? "one" : nullptr);
        threads.emplace_back(
            [&results, number] { results[number] = fill(number % 2 ? "one" : "two"); });
    }
    tau_task_if_any(nullptr);
    for (auto &thread : threads) {
        thread.join();
    }
    pthread_create(&last, nullptr, leave, nullptr);
    pthread_join(last, nullptr);
    for (int result : results) {
        if (result != 80) {
            return 1;
        }
    }
    std::puts("done");
    return 0;
}
