/* A second thread that helps with one call at a time.
 *
 * A call is a row of stages, each of pieces that can be done in any order. Whoever is awake takes
 * the next pieces, so the caller waits for the helper only while that is at work on some. One of the
 * two leads from stage to stage: the caller, or the helper as long as the caller has other things to
 * do. The helper is made when first needed, sleeps between calls, and leaves a call when callers
 * could use its processor. Who does a piece makes no difference to its bytes.
 */
#ifndef MINILM_HELPER_H
#define MINILM_HELPER_H

#include <stdint.h>

/* Does the pieces `first` to `last` of a stage, the last not included; the caller is lane 0. */
typedef void Pieces(void *call, int stage, int first, int last, int lane);

/* A row of stages, from `next` on. */
typedef struct {
    Pieces *pieces;
    int (*count)(const void *call, int stage); /* of a stage's pieces */
    void *call;
    int next, end;
} Stages;

/* Who leads; nobody does while the helper is still to come. */
enum { CALLER, HELPER, NOBODY, FINISHED };

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
    Stages stages __attribute__((aligned(64)));
    int leader;
    int wanted;    /* whether the caller wants to lead */
    int open;      /* whether a call is under way */
    int processor; /* the caller's, or -1 where that is not known */
    uint32_t number;
    int done_by_other __attribute__((aligned(64))); /* pieces of this stage, by who does not lead */
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

/* Lets time pass; tells once when it is more than the caller should have to wait. */
static int wait_a_moment(int round) {
    if (round < SHORT_WAIT)
        breathe();
    else
        sched_yield();
    return round == TOO_LONG;
}

/* Takes half of what is left: in few stretches, because the weights behind a stretch were asked for in
 * vain, and in small ones at last, so that two who work alike end together. */
static int take_pieces(Range *range) {
    uint64_t ticket = __atomic_load_n(&shared.ticket, __ATOMIC_ACQUIRE);
    for (;;) {
        int left = PIECES(ticket) - TAKEN(ticket);
        if (left == 0) return 0;
        int some = (left + 1) / 2;
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

static int is_leader(int who) { return __atomic_load_n(&shared.leader, __ATOMIC_ACQUIRE) == who; }

static void let_lead(int who) { __atomic_store_n(&shared.leader, who, __ATOMIC_RELEASE); }

/* Takes the lead, if nobody has it. */
static int take_lead(int who) {
    int nobody = NOBODY;
    return __atomic_compare_exchange_n(&shared.leader, &nobody, who, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void do_pieces_of_stage(Range range, int lane) {
    const Stages *stages = &shared.stages;
    stages->pieces(stages->call, stages->next, range.first, range.last, lane);
}

/* Does some pieces for whoever leads; tells whether there were any. */
static int follow(int lane) {
    Range range;
    int some = take_pieces(&range);
    if (!some) return 0;
    do_pieces_of_stage(range, lane);
    __atomic_add_fetch(&shared.done_by_other, some, __ATOMIC_RELEASE);
    return 1;
}

/* Leads through a stage; returns when all of it is done. */
static void share_stage(int lane) {
    Stages *stages = &shared.stages;
    int count = stages->count(stages->call, stages->next), own = 0;
    Range range;
    __atomic_store_n(&shared.done_by_other, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.ticket, TICKET(++shared.number, count), __ATOMIC_RELEASE);
    for (int some; (some = take_pieces(&range)); own += some) do_pieces_of_stage(range, lane);
    for (int wait = 0; __atomic_load_n(&shared.done_by_other, __ATOMIC_ACQUIRE) + own < count; wait++)
        if (wait_a_moment(wait) && lane == 0) shared.waited = 1;
}

/* The helper leads until the caller wants to, needs its processor, or nothing is left to do. */
static void lead_for_caller(void) {
    for (; shared.stages.next < shared.stages.end; shared.stages.next++) {
        if (__atomic_load_n(&shared.wanted, __ATOMIC_RELAXED)) return let_lead(CALLER);
        if (in_the_way()) return let_lead(NOBODY);
        share_stage(1);
    }
    let_lead(FINISHED);
}

/* Helps with the call that is under way, until it ends. */
static void help(void) {
    for (int wait = 0; wait < LONG_WAIT; wait++) {
        if (!__atomic_load_n(&shared.open, __ATOMIC_RELAXED) || in_the_way()) return;
        if (take_lead(HELPER)) lead_for_caller();
        if (is_leader(FINISHED)) return;
        if (follow(1))
            wait = 0;
        else
            breathe();
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
    if (shared.leader == HELPER) {
        shared.leader = NOBODY;
        shared.stages.next = 0;
    }
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
 * has it; tells whether it may come. If nobody is to lead, it will. */
static int call_helper(const Stages *stages, int leader, int processors) {
    int callers = __atomic_add_fetch(&shared.callers, 1, __ATOMIC_RELAXED);
    if (callers >= processors || __atomic_exchange_n(&shared.owned, 1, __ATOMIC_ACQUIRE)) return 0;
    if (shared.left_alone > 0) {
        shared.left_alone--;
        __atomic_store_n(&shared.owned, 0, __ATOMIC_RELEASE);
        return 0;
    }
    shared.stages = *stages;
    shared.waited = shared.wanted = 0;
    int own = processor();
    __atomic_store_n(&shared.processor, own, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.processors, processors, __ATOMIC_RELAXED);
    pthread_mutex_lock(&helper.door);
    helper.calls++;
    let_lead(leader);
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
        let_lead(CALLER);
        shared.alone = shared.waited ? 2 * shared.alone + 1 : shared.alone / 2;
        if (shared.alone > MOST_ALONE) shared.alone = MOST_ALONE;
        shared.left_alone = shared.waited ? shared.alone : 0;
        __atomic_store_n(&shared.owned, 0, __ATOMIC_RELEASE);
    }
    __atomic_sub_fetch(&shared.callers, 1, __ATOMIC_RELAXED);
}

/* The caller leads through what is left, with the helper, if that comes. */
static void lead_to_the_end(void) {
    __atomic_store_n(&shared.wanted, 1, __ATOMIC_RELAXED);
    for (int wait = 0; !take_lead(CALLER) && !is_leader(CALLER) && !is_leader(FINISHED); wait++) {
        if (follow(0))
            wait = 0;
        else if (wait_a_moment(wait))
            shared.waited = 1;
    }
    for (; shared.stages.next < shared.stages.end; shared.stages.next++) share_stage(0);
}

#else

static int call_helper(const Stages *stages, int leader, int processors) {
    (void)stages, (void)leader, (void)processors;
    return 0;
}

static void let_helper_go(int called) { (void)called; }

static void lead_to_the_end(void) {}

#endif
#endif
