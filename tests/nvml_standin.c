/* A stand-in for NVIDIA's management library, so that the real pynvml can be tested on a machine without a GPU.

   What it plays is read from the environment:
     STANDIN_GPUS         names of the GPUs, comma-separated
     STANDIN_INIT         error code of the initialisation
     STANDIN_UNSUPPORTED  readings that answer "not supported": utilisation memory power temperature clocks energy
     STANDIN_FORBIDDEN    index of a GPU this user may not open
     STANDIN_MIG          index of a GPU split into two instances (its slots 0 and 2)
     STANDIN_LOST         set: every reading answers "GPU is lost"
     STANDIN_NOT_AVAILABLE set: readings succeed with NVML's number for "not available"
     STANDIN_HANG         set: readings do not come back
     STANDIN_HOLDER       process id of who computes on every GPU, with 5 GiB; none: nobody
     STANDIN_USED         GiB of memory in use on every GPU
   Compiled with -DOLD_DRIVER it lacks the functions an old driver lacks. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };

typedef struct { int index; int slot; } Device; /* slot -1: a whole GPU */
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned int gpu, memory; } Utilisation;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; } Process;

static Device gpus[16], instances[16];
static unsigned long long energy[16];

static int number(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : otherwise;
}

static int count(void) {
    const char *names = getenv("STANDIN_GPUS");
    int n = names && *names ? 1 : 0;
    for (; names && *names; names++) n += *names == ',';
    return n;
}

/* What any reading of `device` answers before its value; 0: it has one. */
static int refused(const Device *device, const char *reading) {
    const char *unsupported = getenv("STANDIN_UNSUPPORTED");
    if (getenv("STANDIN_HANG")) sleep(1000);
    if (getenv("STANDIN_LOST")) return GPU_IS_LOST;
    if (unsupported && strstr(unsupported, reading)) return NOT_SUPPORTED;
    if (device->slot >= 0 && strcmp(reading, "memory")) return NOT_SUPPORTED;
    if (device->index == number("STANDIN_MIG", -1) && !strcmp(reading, "utilisation")) return NOT_SUPPORTED;
    return OK;
}

static unsigned int available(unsigned int value) { return getenv("STANDIN_NOT_AVAILABLE") ? 0xFFFFFFFFu : value; }

int nvmlInitWithFlags(unsigned int flags) { (void)flags; return number("STANDIN_INIT", OK); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "stand-in error"; }
int nvmlDeviceGetCount_v2(unsigned int *n) { *n = count(); return OK; }
int nvmlSystemGetDriverVersion(char *text, unsigned int size) { snprintf(text, size, "999.1"); return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device **device) {
    if ((int)index >= count()) return INVALID_ARGUMENT;
    if ((int)index == number("STANDIN_FORBIDDEN", -1)) return NO_PERMISSION;
    gpus[index] = (Device){(int)index, -1};
    *device = &gpus[index];
    return OK;
}

int nvmlDeviceGetName(Device *device, char *text, unsigned int size) {
    const char *from = getenv("STANDIN_GPUS");
    for (int skip = device->index; skip; from++) skip -= *from == ',';
    snprintf(text, size, "%.*s%s", (int)strcspn(from, ","), from, device->slot >= 0 ? " MIG 1g.10gb" : "");
    return OK;
}

int nvmlDeviceGetUUID(Device *device, char *text, unsigned int size) {
    if (device->slot >= 0) snprintf(text, size, "MIG-%d%d00-aaaa", device->index, device->slot);
    else snprintf(text, size, "GPU-%d000-bbbb", device->index);
    return OK;
}

int nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
    int error = refused(device, "memory");
    unsigned long long gib = 1ull << 30;
    *memory = (Memory){80 * gib, 0, number("STANDIN_USED", device->index + 1) * gib};
    if (device->slot >= 0) *memory = (Memory){10 * gib, 0, (device->slot + 1) * gib / 2};
    return error;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned int *n, Process *processes) {
    unsigned int pid = number("STANDIN_HOLDER", 0), room = *n;
    *n = pid != 0;
    if (*n > room) return INSUFFICIENT_SIZE;
    if (*n) processes[0] = (Process){pid, 5ull << 30, 0, 0};
    return refused(device, "memory");
}

int nvmlDeviceGetUtilizationRates(Device *device, Utilisation *rates) {
    *rates = (Utilisation){available(10 + device->index), 0};
    return refused(device, "utilisation");
}

int nvmlDeviceGetPowerUsage(Device *device, unsigned int *milliwatts) {
    *milliwatts = available(100000 + 1000 * device->index);
    return refused(device, "power");
}

int nvmlDeviceGetTemperature(Device *device, int sensor, unsigned int *celsius) {
    (void)sensor;
    *celsius = available(40 + device->index);
    return refused(device, "temperature");
}

int nvmlDeviceGetClockInfo(Device *device, int type, unsigned int *mhz) {
    *mhz = available(1000 * type + device->index);
    return refused(device, "clocks");
}

#ifndef OLD_DRIVER
int nvmlDeviceGetTotalEnergyConsumption(Device *device, unsigned long long *millijoules) {
    *millijoules = 5000000 + 1000 * energy[device->index]++;
    return refused(device, "energy");
}

int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned int *n) {
    *n = device->index == number("STANDIN_MIG", -1) ? 3 : 0;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned int slot, Device **instance) {
    if (device->index != number("STANDIN_MIG", -1) || slot == 1) return NOT_FOUND;
    instances[slot] = (Device){device->index, (int)slot};
    *instance = &instances[slot];
    return OK;
}
#endif
