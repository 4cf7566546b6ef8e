// Preloaded: all allocations of other threads than the main one fail while a flag is set.
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

volatile int fail_in_other_threads = 0;

static int fails(void) {
  if (!fail_in_other_threads || syscall(SYS_gettid) == getpid()) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { return fails() ? NULL : __libc_realloc(old, n); }
void *aligned_alloc(size_t line, size_t n) { return fails() ? NULL : __libc_memalign(line, n); }
