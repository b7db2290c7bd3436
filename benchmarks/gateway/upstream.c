/* The benchmark's upstream: an epoll server that answers chat completions with what costs next to nothing to make.
 *
 *     upstream PORT STEP_US
 *
 * One thread, keep-alive, HTTP/1.1 requests with a content length. The answer to a plain request is the scripted agent's
 * next turn: of assistant messages 0, 1, 2, ... every fifth is a text, the others call a tool, with an id made of the
 * request's `user` member and the turn, so that what a conversation holds is what was answered. A request with
 * `"stream":true` gets 64 chunks, the last one with the usage, and the end mark, each written by itself: at once, or, where `user` begins with
 * `paced`, one chunk for every stream at each step of STEP_US microseconds, as an engine decodes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CHUNKS 64
#define MOST_CONNECTIONS 8192
#define FIRST_CAPACITY (128 << 10)

typedef struct {
    char *in;            /* what was read of a request and not answered yet */
    size_t have, capacity;
    char out[64 << 10];  /* what could not be written yet */
    size_t out_from, out_to;
    char user[64];
    int next_chunk;      /* of the stream under way; 0: none */
    int paced;
} Connection;

static Connection *connections[MOST_CONNECTIONS];
static int poller, open_streams;
static unsigned long answers;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void hang_up(int fd) {
    Connection *c = connections[fd];
    if (c->next_chunk && c->paced) open_streams--;
    free(c->in);
    free(c);
    connections[fd] = NULL;
    close(fd);
}

/* Write now, or keep for later. False where the connection broke. */
static int put(int fd, const char *bytes, size_t length) {
    Connection *c = connections[fd];
    if (c->out_to == c->out_from) {
        ssize_t done = write(fd, bytes, length);
        if (done < 0 && errno != EAGAIN) return 0;
        if (done < 0) done = 0;
        bytes += done, length -= done;
        if (!length) return 1;
        c->out_from = c->out_to = 0;
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.fd = fd};
        epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event);
    }
    if (c->out_to + length > sizeof c->out) return 0; /* A client this slow has no place in a benchmark. */
    memcpy(c->out + c->out_to, bytes, length);
    c->out_to += length;
    return 1;
}

static int count(const char *text, size_t length, const char *wanted) {
    int found = 0;
    size_t size = strlen(wanted);
    for (const char *at = text; (at = memmem(at, length - (at - text), wanted, size)); at += size) found++;
    return found;
}

static int holds(const char *body, size_t length, const char *compact, const char *spaced) {
    return memmem(body, length, compact, strlen(compact)) || memmem(body, length, spaced, strlen(spaced));
}

/* The string value of the request's `user` member; empty where it has none. */
static void read_user(const char *body, size_t length, char *user, size_t most) {
    const char *at = memmem(body, length, "\"user\":", 7), *end = body + length;
    size_t size = 0;
    if (at) {
        at += 7;
        while (at < end && (*at == ' ' || *at == '"')) at++;
        while (at < end && *at != '"' && size + 1 < most) user[size++] = *at++;
    }
    user[size] = 0;
}

/* The tools that conversations call, as texts.py names them: each two turns long. */
static const char *look_ups[] = {"get_shipment", "get_invoice", "get_product", "get_ticket"};

static int answer_plain(int fd, const char *body, size_t length) {
    char message[1024], text[2048], head[256];
    int turn = count(body, length, "\"role\":\"assistant\"") + count(body, length, "\"role\": \"assistant\"");
    const char *finish = turn % 5 == 4 ? "stop" : "tool_calls";
    if (turn % 5 == 4)
        sprintf(message, "{\"role\":\"assistant\",\"content\":\"Step %d is done: the order is as you asked. "
                         "Is there anything else that I can do for you today?\"}", turn);
    else
        sprintf(message, "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_%s_%d\",\"type\":\"function\","
                         "\"function\":{\"name\":\"%s\",\"arguments\":\"{\\\"order_id\\\":\\\"W%06d\\\"}\"}}]}",
                connections[fd]->user, turn, look_ups[turn / 2 % 4], turn);
    int size = sprintf(text, "{\"id\":\"chatcmpl-%016lx\",\"object\":\"chat.completion\",\"created\":1750000000,\"model\":\"bench\","
                             "\"choices\":[{\"index\":0,\"message\":%s,\"logprobs\":null,\"finish_reason\":\"%s\"}],"
                             "\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":64,\"total_tokens\":%zu}}",
                       ++answers, message, finish, length / 4, length / 4 + 64);
    int before = sprintf(head, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req-%016lx\r\n"
                               "content-length: %d\r\n\r\n", answers, size);
    memmove(text + before, text, size);
    memcpy(text, head, before);
    return put(fd, text, before + size);
}

/* The next chunk of a stream, the last one with the end mark behind it. */
static int stream_on(int fd) {
    Connection *c = connections[fd];
    char event[512], choice[160] = "";
    int number = c->next_chunk, finishing = number == CHUNKS - 1;
    const char *usage = number == CHUNKS ? "{\"prompt_tokens\":500,\"completion_tokens\":62,\"total_tokens\":562}" : "null";
    if (number < CHUNKS) {
        char delta[64] = "{}";
        if (number == 1) strcpy(delta, "{\"role\":\"assistant\",\"content\":\"\"}");
        else if (!finishing) sprintf(delta, "{\"content\":\" word%02d\"}", number);
        sprintf(choice, "{\"index\":0,\"delta\":%s,\"logprobs\":null,\"finish_reason\":%s}", delta,
                finishing ? "\"stop\"" : "null");
    }
    int size = sprintf(event + 8, "data: {\"id\":\"chatcmpl-%s\",\"object\":\"chat.completion.chunk\",\"created\":1750000000,"
                                  "\"model\":\"bench\",\"choices\":[%s],\"usage\":%s}\n\n",
                       c->user, choice, usage);
    char framing[9];
    sprintf(framing, "%06x\r\n", size);
    memcpy(event, framing, 8);
    memcpy(event + 8 + size, "\r\n", 2);
    if (!put(fd, event, size + 10)) return 0;
    if (number < CHUNKS) {
        c->next_chunk++;
        return 1;
    }
    c->next_chunk = 0;
    if (c->paced) open_streams--;
    static const char end[] = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    return put(fd, end, sizeof end - 1);
}

static int answer_stream(int fd) {
    Connection *c = connections[fd];
    static const char head[] = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                               "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
    if (!put(fd, head, sizeof head - 1)) return 0;
    c->next_chunk = 1;
    c->paced = !strncmp(c->user, "paced", 5);
    if (c->paced) {
        open_streams++;
        return 1;
    }
    while (c->next_chunk)
        if (!stream_on(fd)) return 0;
    return 1;
}

/* Answer what is complete in the connection's buffer. False where it is to be closed. */
static int answer(int fd) {
    Connection *c = connections[fd];
    char *end;
    while (!c->next_chunk && (end = memmem(c->in, c->have, "\r\n\r\n", 4))) {
        size_t head = end + 4 - c->in, length = 0;
        *end = 0;
        char *named = strcasestr(c->in, "\r\ncontent-length:");
        if (named) length = strtoul(named + 17, NULL, 10);
        *end = '\r';
        if (!named && !strncmp(c->in, "POST", 4)) return 0; /* A body of unknown length. */
        if (head + length > c->capacity) {
            while (c->capacity < head + length) c->capacity *= 2;
            if (!(c->in = realloc(c->in, c->capacity + 1))) fail("realloc");
        }
        if (c->have < head + length) return 1;
        const char *body = c->in + head;
        read_user(body, length, c->user, sizeof c->user);
        int streamed = holds(body, length, "\"stream\":true", "\"stream\": true");
        if (!(streamed ? answer_stream(fd) : answer_plain(fd, body, length))) return 0;
        c->have -= head + length;
        memmove(c->in, c->in + head + length, c->have);
    }
    return 1;
}

static int readable(int fd) {
    Connection *c = connections[fd];
    for (;;) {
        if (c->have == c->capacity) {
            c->capacity *= 2;
            if (!(c->in = realloc(c->in, c->capacity + 1))) fail("realloc");
        }
        size_t room = c->capacity - c->have;
        ssize_t got = read(fd, c->in + c->have, room);
        if (got == 0 || (got < 0 && errno != EAGAIN)) return 0;
        if (got < 0) return 1;
        c->have += got;
        if ((size_t)got == room) continue;
        return answer(fd);
    }
}

static int writable(int fd) {
    Connection *c = connections[fd];
    ssize_t done = write(fd, c->out + c->out_from, c->out_to - c->out_from);
    if (done < 0) return errno == EAGAIN;
    c->out_from += done;
    if (c->out_from < c->out_to) return 1;
    c->out_from = c->out_to = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event);
    return 1;
}

static void accept_all(int listener) {
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= MOST_CONNECTIONS) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        Connection *c = connections[fd] = calloc(1, sizeof *c);
        c->capacity = FIRST_CAPACITY;
        if (!(c->in = malloc(c->capacity + 1))) fail("malloc");
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

static void step(int timer) {
    unsigned long ticks;
    if (read(timer, &ticks, sizeof ticks) < 0) return;
    for (int fd = 0; open_streams && fd < MOST_CONNECTIONS; fd++) {
        Connection *c = connections[fd];
        if (c && c->next_chunk && c->paced && !(stream_on(fd) && answer(fd))) hang_up(fd);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: upstream PORT STEP_US\n"), 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) fail("listen");
    long step_ns = atol(argv[2]) * 1000;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec every = {{step_ns / 1000000000, step_ns % 1000000000}, {step_ns / 1000000000, step_ns % 1000000000}};
    timerfd_settime(timer, 0, &every, NULL);
    poller = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[256];
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    event.data.fd = timer;
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
    for (;;) {
        int many = epoll_wait(poller, ready, 256, -1);
        for (int at = 0; at < many; at++) {
            int fd = ready[at].data.fd, good = 1;
            if (fd == listener) accept_all(listener);
            else if (fd == timer) step(timer);
            else if (connections[fd]) {
                if (ready[at].events & EPOLLOUT) good = writable(fd);
                if (good && ready[at].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) good = readable(fd);
                if (!good) hang_up(fd);
            }
        }
    }
}
