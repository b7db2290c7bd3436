/* Preloaded into the gateway: fails chosen operations on the store's files, and writes down all of them.
 *
 * ATTACK_PREFIX   the store's path, or a folder's with a slash; files whose paths begin so are watched, -shm not
 * ATTACK_CONTROL  a file of one struct control, mapped by all processes: which operation is to fail
 * ATTACK_JOURNAL  a file to which every operation is appended, with its data, in the order of all processes
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum operation { NONE, WRITE, SYNC, TRUNCATE, RENAME, UNLINK, OPEN, OPERATIONS };
enum kind { CREATED = 1, OPENED, WRITTEN, SYNCING, SYNCED, SYNC_FAILED, TRUNCATED, RENAMED, UNLINKED, DIRECTORY };
enum { DESCRIPTORS = 65536, SHORT = -1 };

struct control {
  int64_t operation, error, countdown, times, fired;
  int64_t counted[OPERATIONS];
};

struct record {
  uint32_t kind, number;
  uint64_t file, offset, length;
};

static char prefix[PATH_MAX], folder[PATH_MAX];
static struct control *control;
static int journal = -1;
static uint64_t files[DESCRIPTORS];
static uint32_t syncs;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off64_t);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void prepare(void) {
  real_open = dlsym(RTLD_NEXT, "open64");
  real_close = dlsym(RTLD_NEXT, "close");
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_rename = dlsym(RTLD_NEXT, "rename");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  const char *path = getenv("ATTACK_PREFIX"), *shared = getenv("ATTACK_CONTROL"), *log = getenv("ATTACK_JOURNAL");
  if (!path) return;
  strncpy(prefix, path, sizeof prefix - 1);
  strncpy(folder, path, sizeof folder - 1);
  char *end = strrchr(folder, '/');
  if (end) *end = 0;
  if (shared) {
    int descriptor = real_open(shared, O_RDWR | O_CLOEXEC);
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) control = mapped;
    real_close(descriptor);
  }
  if (log) journal = real_open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int watched(const char *path) {
  size_t length = strlen(path);
  if (!*prefix || strncmp(path, prefix, strlen(prefix))) return 0;
  return length < 4 || strcmp(path + length - 4, "-shm");
}

/* The error with which this operation is to fail, SHORT, or 0. */
static int fault(enum operation operation) {
  if (!control) return 0;
  __atomic_add_fetch(&control->counted[operation], 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&control->operation, __ATOMIC_SEQ_CST) != operation) return 0;
  int64_t left = __atomic_sub_fetch(&control->countdown, 1, __ATOMIC_SEQ_CST);
  if (left > 0 || left <= -control->times) return 0;
  __atomic_add_fetch(&control->fired, 1, __ATOMIC_SEQ_CST);
  return (int)control->error;
}

static void note(enum kind kind, uint32_t number, uint64_t file, uint64_t offset, const void *data, size_t length) {
  if (journal < 0) return;
  int kept = errno;
  struct record record = {kind, number, file, offset, length};
  struct iovec parts[2] = {{&record, sizeof record}, {(void *)data, length}};
  if (writev(journal, parts, 2) < 0) abort();
  errno = kept;
}

static uint64_t file_of(int descriptor) {
  return descriptor >= 0 && descriptor < DESCRIPTORS ? files[descriptor] : 0;
}

static int open_watched(const char *path, int flags, mode_t mode) {
  int is_folder = *prefix && !strcmp(path, folder);
  if (!is_folder && !watched(path)) return real_open(path, flags, mode);
  int error = is_folder ? 0 : fault(OPEN);
  if (error > 0) return errno = error, -1;
  int created = flags & O_CREAT && access(path, F_OK);
  int descriptor = real_open(path, flags, mode);
  struct stat found;
  if (descriptor < 0 || descriptor >= DESCRIPTORS || fstat(descriptor, &found)) return descriptor;
  files[descriptor] = found.st_ino;
  note(is_folder ? DIRECTORY : created ? CREATED : OPENED, 0, found.st_ino, 0, path, strlen(path));
  if (flags & O_TRUNC && !created) note(TRUNCATED, 0, found.st_ino, 0, NULL, 0);
  return descriptor;
}

#define OPEN_LIKE(name)                                            \
  int name(const char *path, int flags, ...) {                     \
    va_list rest;                                                  \
    va_start(rest, flags);                                         \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                  \
    return open_watched(path, flags, mode);                        \
  }
OPEN_LIKE(open)
OPEN_LIKE(open64)

int close(int descriptor) {
  if (descriptor >= 0 && descriptor < DESCRIPTORS) files[descriptor] = 0;
  return real_close(descriptor);
}

/* How much of a write may go on; -1 with errno where none may. */
static ssize_t allow(size_t length) {
  int error = fault(WRITE);
  if (error > 0) return errno = error, -1;
  return error == SHORT ? (ssize_t)(length / 2) : (ssize_t)length;
}

static ssize_t pwrite_watched(int descriptor, const void *data, size_t length, off64_t offset) {
  if (!file_of(descriptor)) return real_pwrite(descriptor, data, length, offset);
  ssize_t allowed = allow(length);
  if (allowed < 0) return -1;
  note(WRITTEN, 0, file_of(descriptor), offset, data, allowed);
  return real_pwrite(descriptor, data, allowed, offset);
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
  return pwrite_watched(descriptor, data, length, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset) {
  return pwrite_watched(descriptor, data, length, offset);
}

ssize_t write(int descriptor, const void *data, size_t length) {
  if (!file_of(descriptor)) return real_write(descriptor, data, length);
  ssize_t allowed = allow(length);
  if (allowed < 0) return -1;
  note(WRITTEN, 0, file_of(descriptor), lseek(descriptor, 0, SEEK_CUR), data, allowed);
  return real_write(descriptor, data, allowed);
}

static int sync_watched(int descriptor, int (*real)(int)) {
  uint64_t file = file_of(descriptor);
  if (!file) return real(descriptor);
  uint32_t number = (uint32_t)getpid() << 16 ^ __atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST);
  note(SYNCING, number, file, 0, NULL, 0);
  int error = fault(SYNC), done = error > 0 ? -1 : real(descriptor);
  if (error > 0) errno = error;
  note(done ? SYNC_FAILED : SYNCED, number, file, 0, NULL, 0);
  return done;
}

int fsync(int descriptor) { return sync_watched(descriptor, real_fsync); }
int fdatasync(int descriptor) { return sync_watched(descriptor, real_fdatasync); }

static int truncate_watched(int descriptor, off64_t length) {
  if (file_of(descriptor)) {
    int error = fault(TRUNCATE);
    if (error > 0) return errno = error, -1;
    note(TRUNCATED, 0, file_of(descriptor), length, NULL, 0);
  }
  return real_ftruncate(descriptor, length);
}

int ftruncate(int descriptor, off_t length) { return truncate_watched(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) { return truncate_watched(descriptor, length); }

int rename(const char *from, const char *to) {
  if (watched(from) || watched(to)) {
    int error = fault(RENAME);
    if (error > 0) return errno = error, -1;
    char both[2 * PATH_MAX];
    size_t first = strlen(from) + 1, second = strlen(to);
    memcpy(both, from, first);
    memcpy(both + first, to, second);
    note(RENAMED, 0, 0, 0, both, first + second);
  }
  return real_rename(from, to);
}

int unlink(const char *path) {
  if (watched(path)) {
    int error = fault(UNLINK);
    if (error > 0) return errno = error, -1;
    note(UNLINKED, 0, 0, 0, path, strlen(path));
  }
  return real_unlink(path);
}
