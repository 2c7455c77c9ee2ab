// What both programs of traffic read and write, and the numbers of its rules.
#pragma once

#include "cuda_prefix_sum.h"
#include "cuda_program.h"
#include "cuda_xorwow.h"

constexpr float CREATION_PROBABILITY = 0.02f, SLOW_DOWN_PROBABILITY = 0.2f;
// A car's own top speed is drawn from SLOWEST to SLOWEST + TOP_SPEEDS - 1 cells a step.
constexpr int SLOWEST = 5, TOP_SPEEDS = 5;
// The most cells that a car plans in one step.
constexpr int PATH_CELLS = 10;
// The most roads that enter or leave an intersection, and steps between two changes of its light.
constexpr int MAX_DEGREE = 4, PHASE_TIME = 5;
// The index that stands for a null reference.
constexpr int NOTHING = -1;
// Kinds of cells.
constexpr signed char NORMAL = 1, PRODUCER = 2;
// Places in the array of counters.
constexpr int COUNT = 0, NEXT_COUNT = 1;

// Cells and lights by index; neighbours and cells of lights have MAX_DEGREE places each. There is
// room for `capacity` cells and cars, of which as many can be in use as there are cells.
struct Network {
  explicit Network(Run &run)
      : cells(run.number()), lights(run.number()), capacity(run.number()),
        random(run.read<Xorwow>(cells)), incoming(run.read<int>(MAX_DEGREE * cells)),
        outgoing(run.read<int>(MAX_DEGREE * cells)), num_incoming(run.read<int>(cells)),
        num_outgoing(run.read<int>(cells)), limit(run.read<int>(cells)),
        max_velocity(run.read<int>(cells)), x(run.read<float>(cells)), y(run.read<float>(cells)),
        is_target(run.read<unsigned char>(cells)), type(run.read<signed char>(cells)),
        light_cells(run.read<int>(MAX_DEGREE * lights)), light_sizes(run.read<int>(lights)) {}

  int cells, lights, capacity;
  Xorwow *random;
  int *incoming, *outgoing, *num_incoming, *num_outgoing, *limit, *max_velocity;
  float *x, *y;
  unsigned char *is_target;
  signed char *type;
  int *light_cells, *light_sizes;
};

// What is written: the counters, then cars created in each cell, cells that the car of each slot
// moved, and cars removed from each slot.
struct Results {
  explicit Results(int cells)
      : size(2 + 3 * cells), counters(zeros<int>(size)), created(counters + 2),
        moved(created + cells), removed(moved + cells) {}

  int size;
  int *counters, *created, *moved, *removed;
};
