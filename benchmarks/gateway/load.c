/* The benchmark's load generator: closed loops of prepared requests over keep-alive connections.
 *
 *     load PORT WORK RECORDS DEADLINE_S
 *
 * WORK (little endian): u32 connections, then per connection u32 requests, then for each request, connection by
 * connection, three slices (u64 offset, u64 length) of the file, which together are the request as it goes on the wire.
 * A connection sends its next request when the answer to the one before is complete. RECORDS gets one record per
 * request: u64 nanoseconds to the first byte of the answer's body, u64 to its last, u32 status, u32 bytes of body,
 * u32 whether its body ended as it should (`}`, or for an event stream `data: [DONE]`), u32 unused. Status 0: the connection
 * failed. Prints the wall time and the generator's own CPU time in nanoseconds. Exit 1 after the deadline.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define TAIL 16
enum { HEAD, LENGTH, TO_CLOSE, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER, COMPLETE };

typedef struct { uint64_t offset, length; } Slice;
typedef struct { uint64_t first_ns, last_ns; uint32_t status, bytes, ended, unused; } Record;

typedef struct {
    int fd;
    uint32_t requests, at;
    Slice *slices;   /* three for each request */
    Record *records;
    uint64_t started, sent, total;
    int phase;
    uint64_t left;   /* of the body, or of the chunk */
    uint64_t line;   /* of the trailer's line: its characters so far; of a chunk's size: whether it is over */
    int events;      /* the answer is an event stream */
    int keep;        /* the connection may be used again */
    char head[8192];
    size_t head_have;
    char tail[TAIL];
} Connection;

static const char *work;
static int poller, active;
static struct sockaddr_in address;

static uint64_t now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void watch(Connection *c, int how, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    epoll_ctl(poller, how, c->fd, &event);
}

static void connect_to(Connection *c) {
    int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    watch(c, EPOLL_CTL_ADD, EPOLLIN);
}

/* Send what is left of the current request. False where the connection broke. */
static int send_on(Connection *c) {
    while (c->sent < c->total) {
        struct iovec parts[3];
        int used = 0;
        uint64_t skip = c->sent;
        for (Slice *s = c->slices + 3 * c->at; s < c->slices + 3 * c->at + 3; s++) {
            if (skip >= s->length) {
                skip -= s->length;
                continue;
            }
            parts[used++] = (struct iovec){(char *)work + s->offset + skip, s->length - skip};
            skip = 0;
        }
        ssize_t done = writev(c->fd, parts, used);
        if (done < 0 && errno != EAGAIN) return 0;
        if (done < 0) {
            watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return 1;
        }
        c->sent += done;
    }
    watch(c, EPOLL_CTL_MOD, EPOLLIN);
    return 1;
}

static void begin(Connection *c) {
    Slice *s = c->slices + 3 * c->at;
    c->sent = c->head_have = c->line = 0;
    c->total = s[0].length + s[1].length + s[2].length;
    c->phase = HEAD;
    memset(c->tail, 0, TAIL);
    c->started = now(CLOCK_MONOTONIC);
    /* A break shows when the answer is read. */
    (void)send_on(c);
}

static void finish(Connection *c, int broken) {
    Record *record = c->records + c->at++;
    record->last_ns = now(CLOCK_MONOTONIC) - c->started;
    if (broken) record->status = 0;
    int end = TAIL;
    while (end && strchr("\r\n ", c->tail[end - 1])) end--;
    record->ended = c->events ? end >= 12 && !memcmp(c->tail + end - 12, "data: [DONE]", 12) : end && c->tail[end - 1] == '}';
    if (c->at == c->requests) {
        close(c->fd);
        active--;
        return;
    }
    if (broken || !c->keep) {
        close(c->fd);
        connect_to(c);
    }
    begin(c);
}

static void body(Connection *c, const char *bytes, size_t length) {
    Record *record = c->records + c->at;
    if (!record->bytes) record->first_ns = now(CLOCK_MONOTONIC) - c->started;
    record->bytes += length;
    size_t kept = length < TAIL ? length : TAIL;
    memmove(c->tail, c->tail + kept, TAIL - kept);
    memcpy(c->tail + TAIL - kept, bytes + length - kept, kept);
}

static const char *field(const char *head, const char *name) {
    const char *at = strcasestr(head, name);
    return at ? at + strlen(name) : NULL;
}

/* Take in the answer's head; gives how many of the bytes belonged to it. */
static size_t take_head(Connection *c, const char *bytes, size_t length) {
    size_t room = sizeof c->head - 1 - c->head_have, taken = length < room ? length : room, before = c->head_have;
    memcpy(c->head + before, bytes, taken);
    c->head_have += taken;
    c->head[c->head_have] = 0;
    char *end = strstr(c->head, "\r\n\r\n");
    if (!end) {
        if (!room) fail("an answer's head is too large");
        return taken;
    }
    end[2] = 0;
    const char *size = field(c->head, "\r\ncontent-length:"), *type = field(c->head, "\r\ncontent-type:");
    const char *coding = field(c->head, "\r\ntransfer-encoding:");
    c->records[c->at].status = atoi(c->head + 9);
    c->events = type && !strncasecmp(type + strspn(type, " "), "text/event-stream", 17);
    c->keep = !field(c->head, "\r\nconnection: close");
    c->left = size ? strtoull(size, NULL, 10) : 0;
    c->phase = coding ? CHUNK_SIZE : !size ? TO_CLOSE : c->left ? LENGTH : COMPLETE;
    if (coding) c->left = 0;
    if (c->phase == TO_CLOSE) c->keep = 0;
    return end + 4 - c->head - before;
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static void take(Connection *c, const char *bytes, size_t length) {
    while (length && c->phase != COMPLETE) {
        size_t used = 1;
        switch (c->phase) {
        case HEAD: used = take_head(c, bytes, length); break;
        case TO_CLOSE: body(c, bytes, used = length); break;
        case LENGTH:
        case CHUNK:
            used = length < c->left ? length : c->left;
            body(c, bytes, used);
            if (!(c->left -= used)) c->phase = c->phase == CHUNK ? CHUNK_END : COMPLETE;
            break;
        case CHUNK_SIZE:
            if (*bytes == '\n') c->phase = c->left ? CHUNK : TRAILER, c->line = 0;
            else if (digit(*bytes) < 0) c->line = 1; /* What follows is an extension. */
            else if (!c->line) c->left = 16 * c->left + digit(*bytes);
            break;
        case CHUNK_END:
            if (*bytes == '\n') c->phase = CHUNK_SIZE, c->line = 0;
            break;
        case TRAILER:
            if (*bytes == '\n' && !c->line) c->phase = COMPLETE;
            c->line = *bytes == '\n' ? 0 : c->line + (*bytes != '\r');
            break;
        }
        bytes += used, length -= used;
    }
}

static void readable(Connection *c) {
    static char buffer[256 << 10];
    ssize_t got = read(c->fd, buffer, sizeof buffer);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
        finish(c, got < 0 || c->phase != TO_CLOSE);
        return;
    }
    take(c, buffer, got);
    if (c->phase == COMPLETE) finish(c, 0);
}

int main(int argc, char **argv) {
    if (argc != 5) return fprintf(stderr, "usage: load PORT WORK RECORDS DEADLINE_S\n"), 2;
    int fd = open(argv[2], O_RDONLY);
    struct stat about;
    if (fd < 0 || fstat(fd, &about)) fail(argv[2]);
    work = mmap(NULL, about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (work == MAP_FAILED) fail("mmap");
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    poller = epoll_create1(0);

    uint32_t many = ((uint32_t *)work)[0], *requests = (uint32_t *)work + 1;
    uint64_t all = 0;
    for (uint32_t at = 0; at < many; at++) all += requests[at];
    Slice *slices = malloc(3 * all * sizeof *slices);
    memcpy(slices, requests + many, 3 * all * sizeof *slices);
    Record *records = calloc(all, sizeof *records);
    Connection *connections = calloc(many, sizeof *connections);
    if (!slices || !records || !connections) fail("malloc");
    uint64_t before = 0;
    for (uint32_t at = 0; at < many; before += requests[at++]) {
        connections[at].requests = requests[at];
        connections[at].slices = slices + 3 * before;
        connections[at].records = records + before;
        connect_to(connections + at);
    }
    uint64_t own = now(CLOCK_PROCESS_CPUTIME_ID), started = now(CLOCK_MONOTONIC), deadline = started + strtoull(argv[4], NULL, 10) * 1000000000ull;
    active = many;
    for (uint32_t at = 0; at < many; at++) begin(connections + at);
    struct epoll_event ready[256];
    while (active) {
        int count = epoll_wait(poller, ready, 256, 1000);
        if (now(CLOCK_MONOTONIC) > deadline) return fprintf(stderr, "the deadline is over\n"), 1;
        for (int at = 0; at < count; at++) {
            Connection *c = ready[at].data.ptr;
            if (ready[at].events & EPOLLOUT && !send_on(c)) finish(c, 1);
            else if (ready[at].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) readable(c);
        }
    }
    uint64_t wall = now(CLOCK_MONOTONIC) - started;
    own = now(CLOCK_PROCESS_CPUTIME_ID) - own;
    FILE *out = fopen(argv[3], "wb");
    if (!out || fwrite(records, sizeof *records, all, out) != all || fclose(out)) fail(argv[3]);
    printf("{\"wall_ns\": %lu, \"cpu_ns\": %lu}\n", wall, own);
    return 0;
}
