/* Stands in for libcupti where there is no GPU: gives back the records of a file.

   PRETEND_CUPTI_RECORDS  the file: for each record its length in bytes (u64), then its bytes, in
                          which a kernel's name is a place in `names`.
   PRETEND_CUPTI_REFUSES  a function and the result that it gives, such as cuptiActivityEnable=35;
                          for one that is called again and again with +N: from its Nth call on.
   PRETEND_CUPTI_VERSION  what cuptiGetVersion says instead of 130001.
   PRETEND_CUPTI_DROPPED  how many records were dropped.
   PRETEND_CUPTI_AGAIN    if it is set, every flush gives back the records, else the first one.

   The clock shows 1000, 2000, ... */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNEL = 10, UNIFIED_MEMORY = 25, NAME_AT = 104, MAX_LIMIT_REACHED = 12 };

typedef void (*Requested)(uint8_t **, size_t *, size_t *);
typedef void (*Completed)(void *, uint32_t, uint8_t *, size_t, size_t);

static const char *names[] = {"", "kernel_a", "kernel_b"};
static Requested requested;
static Completed completed;
static uint64_t clock_shows;
static int enabled[64], delivered;

static long number(const char *variable, long otherwise) {
  const char *text = getenv(variable);
  return text ? strtol(text, NULL, 10) : otherwise;
}

static uint32_t answer(const char *function) {
  static int calls;
  const char *refuses = getenv("PRETEND_CUPTI_REFUSES");
  size_t length = strlen(function);
  if (!refuses || strncmp(refuses, function, length) || refuses[length] != '=') return 0;
  const char *plus = strchr(refuses, '+');
  if (plus && ++calls < atoi(plus + 1)) return 0;
  return (uint32_t)atoi(refuses + length + 1);
}

uint32_t cuptiGetVersion(uint32_t *version) {
  *version = (uint32_t)number("PRETEND_CUPTI_VERSION", 130001);
  return answer("cuptiGetVersion");
}

uint32_t cuptiGetResultString(uint32_t result, const char **text) {
  switch (result) {
    case 2: *text = "CUPTI_ERROR_INVALID_DEVICE"; return 0;
    case 28: *text = "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED"; return 0;
    case 35: *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"; return 0;
    default: return 1;
  }
}

uint32_t cuptiGetTimestamp(uint64_t *now) {
  *now = clock_shows += 1000;
  return 0;
}

uint32_t cuptiActivityRegisterCallbacks(Requested r, Completed c) {
  requested = r, completed = c;
  return answer("cuptiActivityRegisterCallbacks");
}

uint32_t cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t *words, uint32_t count) {
  uint32_t result = answer("cuptiActivityConfigureUnifiedMemoryCounter");
  if (enabled[UNIFIED_MEMORY]) return 1;
  for (uint32_t i = 0; i < count; i++)
    if (words[4 * i] != 1 || words[4 * i + 1] < 1 || words[4 * i + 1] > 8 || !words[4 * i + 3])
      return 1;
  return result;
}

uint32_t cuptiActivityEnable(uint32_t kind) {
  if (!requested) return 7;
  uint32_t result = answer("cuptiActivityEnable");
  enabled[kind] = !result;
  return result;
}

uint32_t cuptiActivityDisable(uint32_t kind) {
  enabled[kind] = 0;
  return 0;
}

/* As CUPTI does, from a thread of its own. */
static void *deliver(void *ignored) {
  const char *path = getenv("PRETEND_CUPTI_RECORDS");
  FILE *file = path ? fopen(path, "rb") : NULL;
  uint64_t length;
  uint8_t *buffer = NULL, record[4096];
  size_t size = 0, valid = 0, most = 0;
  while (file && fread(&length, sizeof length, 1, file) == 1) {
    if (length > sizeof record || fread(record, length, 1, file) != 1) break;
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    if (!enabled[kind]) continue;
    if (kind == KERNEL) {
      uint64_t place;
      memcpy(&place, record + NAME_AT, sizeof place);
      memcpy(record + NAME_AT, &names[place], sizeof names[place]);
    }
    if (valid + length > size) {
      if (buffer) completed(NULL, 0, buffer, size, valid);
      requested(&buffer, &size, &most);
      valid = 0;
      if (!buffer) break;
    }
    memcpy(buffer + valid, record, length);
    valid += length;
  }
  if (buffer) completed(NULL, 0, buffer, size, valid);
  if (file) fclose(file);
  return ignored;
}

uint32_t cuptiActivityFlushAll(uint32_t flag) {
  pthread_t thread;
  uint32_t result = answer("cuptiActivityFlushAll");
  (void)flag;
  if (result || (delivered && !getenv("PRETEND_CUPTI_AGAIN"))) return result;
  delivered = 1;
  if (pthread_create(&thread, NULL, deliver, NULL)) return 999;
  pthread_join(thread, NULL);
  return 0;
}

/* The newest records, of CUDA 13.0: 216 bytes of a kernel, 104 of a counter. */
uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
  uint32_t kind = 0;
  uint32_t result = answer("cuptiActivityGetNextRecord");
  uint8_t *next = buffer;
  if (result) return result;
  if (*record) {
    memcpy(&kind, *record, sizeof kind);
    next = *record + (kind == KERNEL ? 216 : 104);
  }
  if (next >= buffer + valid || next < buffer) {
    *record = NULL;
    return MAX_LIMIT_REACHED;
  }
  *record = next;
  return 0;
}

uint32_t cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped) {
  (void)context, (void)stream;
  *dropped = (size_t)number("PRETEND_CUPTI_DROPPED", 0);
  return 0;
}
