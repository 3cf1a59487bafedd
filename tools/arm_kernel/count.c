/* A plugin of QEMU that prints how many instructions a program executed. Its interface is declared here:
 * Debian has no package with the header. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb;
typedef uint64_t Id;

enum { ADD_UINT64 };

extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(Id, void (*)(Id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int, void *, uint64_t);
extern void qemu_plugin_register_atexit_cb(Id, void (*)(Id, void *), void *);

int qemu_plugin_version = 1;
static uint64_t executed;

static void translate(Id id, struct qemu_plugin_tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_UINT64, &executed, qemu_plugin_tb_n_insns(block));
}

static void print_count(Id id, void *unused) {
    (void)id, (void)unused;
    fprintf(stderr, "executed %llu\n", (unsigned long long)executed);
}

int qemu_plugin_install(Id id, const void *info, int count, char **given) {
    (void)info, (void)count, (void)given;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, print_count, NULL);
    return 0;
}
