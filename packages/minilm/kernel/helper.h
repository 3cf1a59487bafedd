/* A second thread that helps with one call at a time.
 *
 * A call is a row of stages, each of pieces that can be done in any order. Whoever is awake takes
 * the next pieces, so the caller waits for the helper only while that is at work on some. The
 * helper is made when first needed, sleeps between calls, and leaves a call when callers could use
 * its processor. Who does a piece makes no difference to its bytes.
 */
#ifndef MINILM_HELPER_H
#define MINILM_HELPER_H

#include <stdint.h>

/* Does the pieces `first` to `last` of a stage, the last not included; the caller is lane 0. */
typedef void Pieces(void *call, int stage, int first, int last, int lane);

#if __SIZEOF_POINTER__ == 8 && (defined(__linux__) || defined(__APPLE__))
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

/* Rounds of waiting: some microseconds, about half a millisecond, and too long for the caller. */
enum { SHORT_WAIT = 1000, LONG_WAIT = 30000, TOO_LONG = SHORT_WAIT + 2000 };

/* After it had to wait too long, a caller does without the helper for 1, 3, 7 ... calls. */
enum { MOST_ALONE = 63 };

/* A stage that is under way: its number, how many pieces it has, and how many are taken. */
#define TICKET(number, pieces) ((uint64_t)(uint32_t)(number) << 32 | (uint64_t)(pieces) << 16)
#define PIECES(ticket) ((int)((ticket) >> 16 & 0xffff))
#define TAKEN(ticket) ((int)((ticket)&0xffff))

typedef struct {
    int first, last;
} Range;

/* What the caller and the helper write is on lines of its own. */
static struct {
    uint64_t ticket __attribute__((aligned(64)));
    Pieces *pieces __attribute__((aligned(64)));
    void *call;
    int stage;
    int open;      /* whether a call is under way */
    int processor; /* the caller's, or -1 where that is not known */
    uint32_t number;
    int finished __attribute__((aligned(64))); /* pieces of this stage, by the helper */
    int owned __attribute__((aligned(64)));    /* whether a caller has the helper */
    int callers;
    int processors;
    int waited; /* too long, in this call */
    int alone, left_alone; /* calls to do without the helper, and how many of them are to come */
} shared;

static struct {
    pthread_mutex_t door;
    pthread_cond_t called;
    pthread_t thread;
    unsigned calls;
    int kept_from; /* a processor, or -1 */
    enum { ABSENT, PRESENT, LEAVING, IMPOSSIBLE } state;
} helper = {.door = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER};

static void breathe(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Takes a third of what is left, so that two who work alike end together. */
static int take_pieces(Range *range) {
    uint64_t ticket = __atomic_load_n(&shared.ticket, __ATOMIC_ACQUIRE);
    for (;;) {
        int left = PIECES(ticket) - TAKEN(ticket);
        if (left == 0) return 0;
        int some = (left + 2) / 3;
        if (__atomic_compare_exchange_n(&shared.ticket, &ticket, ticket + some, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            range->first = TAKEN(ticket);
            range->last = range->first + some;
            return some;
        }
    }
}

static int processor(void) {
#if defined(__linux__)
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Sends the helper, which sleeps, to the other processors: the system tends to wake it where the
 * caller is. */
static void keep_away(int own) {
#if defined(__linux__)
    cpu_set_t others;
    if (own < 0 || own == helper.kept_from || sched_getaffinity(0, sizeof others, &others)) return;
    CPU_CLR(own, &others);
    pthread_setaffinity_np(helper.thread, sizeof others, &others);
    helper.kept_from = own;
#else
    (void)own;
#endif
}

/* Whether whoever helps takes the processor from a caller. */
static int in_the_way(void) {
    int own = processor();
    return __atomic_load_n(&shared.callers, __ATOMIC_RELAXED) >=
               __atomic_load_n(&shared.processors, __ATOMIC_RELAXED) ||
           (own >= 0 && own == __atomic_load_n(&shared.processor, __ATOMIC_RELAXED));
}

/* Helps with the call that is under way, until it ends. */
static void help(void) {
    Range range;
    for (int wait = 0; wait < LONG_WAIT; wait++) {
        if (!__atomic_load_n(&shared.open, __ATOMIC_RELAXED) || in_the_way()) return;
        int some = take_pieces(&range);
        if (some) {
            shared.pieces(shared.call, shared.stage, range.first, range.last, 1);
            __atomic_add_fetch(&shared.finished, some, __ATOMIC_RELEASE);
            wait = 0;
        } else {
            breathe();
        }
    }
}

static void *live(void *nothing) {
    pthread_mutex_lock(&helper.door);
    for (unsigned seen = helper.calls - 1; helper.state == PRESENT;) {
        if (seen == helper.calls) {
            pthread_cond_wait(&helper.called, &helper.door);
            continue;
        }
        seen = helper.calls;
        pthread_mutex_unlock(&helper.door);
        help();
        pthread_mutex_lock(&helper.door);
    }
    pthread_mutex_unlock(&helper.door);
    return nothing;
}

static void dismiss_helper(void) {
    pthread_mutex_lock(&helper.door);
    int present = helper.state == PRESENT;
    helper.state = present ? LEAVING : helper.state;
    pthread_mutex_unlock(&helper.door);
    if (!present) return;
    pthread_cond_signal(&helper.called);
    pthread_join(helper.thread, NULL);
}

/* In a child process there is no helper, and no caller but those to come. */
static void forget_helper(void) {
    pthread_mutex_init(&helper.door, NULL);
    pthread_cond_init(&helper.called, NULL);
    helper.state = helper.state == PRESENT ? ABSENT : helper.state;
    shared.owned = shared.callers = shared.open = 0;
}

static void prepare_helper(void) {
    pthread_atfork(NULL, NULL, forget_helper);
    atexit(dismiss_helper);
}

/* Signals are for the threads of the program, whose system calls they are to interrupt. */
static void make_helper(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_helper);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&helper.thread, NULL, live, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    helper.state = failed ? IMPOSSIBLE : PRESENT;
    helper.kept_from = -1;
}

/* Every call begins here. Calls the helper, unless there is no processor for it or somebody else
 * has it; tells whether it may come. */
static int call_helper(Pieces *pieces, void *call, int processors) {
    int callers = __atomic_add_fetch(&shared.callers, 1, __ATOMIC_RELAXED);
    if (callers >= processors || __atomic_exchange_n(&shared.owned, 1, __ATOMIC_ACQUIRE)) return 0;
    if (shared.left_alone > 0) {
        shared.left_alone--;
        __atomic_store_n(&shared.owned, 0, __ATOMIC_RELEASE);
        return 0;
    }
    shared.pieces = pieces;
    shared.call = call;
    shared.waited = 0;
    int own = processor();
    __atomic_store_n(&shared.processor, own, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.processors, processors, __ATOMIC_RELAXED);
    pthread_mutex_lock(&helper.door);
    helper.calls++;
    __atomic_store_n(&shared.open, 1, __ATOMIC_RELAXED);
    if (helper.state == ABSENT) make_helper();
    if (helper.state == PRESENT) keep_away(own);
    pthread_mutex_unlock(&helper.door);
    pthread_cond_signal(&helper.called);
    return 1;
}

/* Every call ends here, `called` as it began. */
static void let_helper_go(int called) {
    if (called) {
        __atomic_store_n(&shared.open, 0, __ATOMIC_RELAXED);
        shared.alone = shared.waited ? 2 * shared.alone + 1 : shared.alone / 2;
        if (shared.alone > MOST_ALONE) shared.alone = MOST_ALONE;
        shared.left_alone = shared.waited ? shared.alone : 0;
        __atomic_store_n(&shared.owned, 0, __ATOMIC_RELEASE);
    }
    __atomic_sub_fetch(&shared.callers, 1, __ATOMIC_RELAXED);
}

/* Does a stage with the helper, if that comes; returns when all of it is done. */
static void share_stage(Pieces *pieces, void *call, int stage, int count) {
    Range range;
    int own = 0;
    shared.stage = stage;
    __atomic_store_n(&shared.finished, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.ticket, TICKET(++shared.number, count), __ATOMIC_RELEASE);
    for (int some; (some = take_pieces(&range)); own += some)
        pieces(call, stage, range.first, range.last, 0);
    for (int wait = 0; __atomic_load_n(&shared.finished, __ATOMIC_ACQUIRE) + own < count; wait++) {
        if (wait < SHORT_WAIT)
            breathe();
        else
            sched_yield();
        if (wait == TOO_LONG) shared.waited = 1;
    }
}

#else

static int call_helper(Pieces *pieces, void *call, int processors) {
    (void)pieces, (void)call, (void)processors;
    return 0;
}

static void let_helper_go(int called) { (void)called; }

static void share_stage(Pieces *pieces, void *call, int stage, int count) {
    pieces(call, stage, 0, count, 0);
}

#endif
#endif
