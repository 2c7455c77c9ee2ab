// Traffic with an array a field. Each class of apps/traffic/faithful has one kind of object, or tells
// its kinds apart by a field, so that nothing is left of dispatch but the test for producers.
#include "cuda_traffic.h"

namespace with_arrays {
// [user code: switch]
// Fields of `count` cells, but for those that no step reads.
struct Cells {
  int count;
  unsigned *random;
  const int *outgoing, *num_outgoing, *max_velocity;
  const unsigned char *is_target;
  const signed char *type;
  int *car, *limit;

  __device__ bool is_exit(int cell) const { return num_outgoing[cell] == 0 || is_target[cell]; }
};

// Fields of the cars in `capacity` slots, and whether each slot holds one; of fields with several
// words one word of all cars after the other. The first `slots` slots are used.
struct Cars {
  int slots, capacity;
  int *path, *position, *path_length, *velocity, *max_velocity, *active;
  unsigned *random, *unused;

  __device__ int &path_at(int car, int place) const { return path[place * capacity + car]; }
  __device__ bool has(int car, const int *counters) const {
    return car < slots && car < counters[COUNT] && active[car] == 1;
  }
};

struct Lights {
  int count;
  const int *cells, *num_cells;
  int *timer, *phase_time, *phase;

  __device__ int cell(int light) const { return cells[MAX_DEGREE * light + phase[light]]; }
};

__device__ Xorwow load(const unsigned *random, int i, int stride) {
  Xorwow found = {random[i], {}};
  for (int k = 0; k < 5; k++) found.v[k] = random[(k + 1) * stride + i];
  return found;
}

__device__ void store(const Xorwow &state, unsigned *random, int i, int stride) {
  random[i] = state.d;
  for (int k = 0; k < 5; k++) random[(k + 1) * stride + i] = state.v[k];
}

__global__ void initialize_cells(Cells cells, const Xorwow *random) {
  int i = thread_x();
  if (i >= cells.count) return;
  cells.car[i] = NOTHING;
  store(random[i], cells.random, i, cells.count);
}

__global__ void initialize_lights(Lights lights) {
  int i = thread_x();
  if (i < lights.count) lights.phase_time[i] = PHASE_TIME;
}

__global__ void create_cars(Cells cells, Cars cars, int *counters, int *created) {
  int i = thread_x();
  if (i >= cells.count || cells.type[i] != PRODUCER || cells.car[i] != NOTHING) return;
  Xorwow random = load(cells.random, i, cells.count);
  if (random.uniform() < CREATION_PROBABILITY) {
    int slot = atomicAdd(counters + COUNT, 1);
    unsigned seed = random.bits();
    cars.position[slot] = i;
    cars.path_length[slot] = 0;
    cars.velocity[slot] = 0;
    cars.max_velocity[slot] = int(random.bits() % TOP_SPEEDS) + SLOWEST;
    cars.active[slot] = 1;
    cells.car[i] = slot;
    store(seeded(seed), cars.random, slot, cars.capacity);
    created[i]++;
  }
  store(random, cells.random, i, cells.count);
}

__global__ void step_lights(Lights lights, Cells cells) {
  int i = thread_x();
  if (i >= lights.count || lights.num_cells[i] == 0) return;
  lights.timer[i] = (lights.timer[i] + 1) % lights.phase_time[i];
  if (lights.timer[i] == 0) {
    cells.limit[lights.cell(i)] = 0;
    lights.phase[i] = (lights.phase[i] + 1) % lights.num_cells[i];
    int green = lights.cell(i);
    cells.limit[green] = cells.max_velocity[green];
  }
}

// The length of the path: as many free cells ahead as the car has velocity.
__device__ int extend_path(const Cells &cells, const Cars &cars, int i, int velocity,
                           Xorwow &random) {
  int cell = cars.position[i], length = 0;
  while (length < velocity && !cells.is_exit(cell)) {
    int turn = random.bits() % unsigned(cells.num_outgoing[cell]);
    cell = cells.outgoing[MAX_DEGREE * cell + turn];
    if (cells.car[cell] != NOTHING) break;
    cars.path_at(i, length++) = cell;
  }
  return length;
}

// The velocity that keeps the limits of the cells ahead, and stops before an occupied one.
__device__ int constrain_velocity(const Cells &cells, const Cars &cars, int i, int velocity) {
  velocity = min(velocity, cells.limit[cars.position[i]]);
  for (int distance = 1; distance <= velocity; distance++) {
    int cell = cars.path_at(i, distance - 1);
    if (cells.car[cell] != NOTHING) return distance - 1;
    int limit = cells.limit[cell];
    if (velocity > limit) {
      if (limit <= distance - 1) return distance - 1;
      velocity = limit;
    }
  }
  return velocity;
}

__global__ void prepare_paths(Cells cells, Cars cars, const int *counters) {
  int i = thread_x();
  if (!cars.has(i, counters)) return;
  Xorwow random = load(cars.random, i, cars.capacity);
  int faster = cars.velocity[i] + 1 + int(random.bits() % 2);
  int wanted = min(cars.max_velocity[i], faster);
  int length = extend_path(cells, cars, i, wanted, random);
  int velocity = constrain_velocity(cells, cars, i, length);
  if (random.uniform() < SLOW_DOWN_PROBABILITY && velocity > 0) velocity--;
  cars.path_length[i] = length;
  cars.velocity[i] = velocity;
  store(random, cars.random, i, cars.capacity);
}

__global__ void move_cars(Cells cells, Cars cars, const int *counters, int *moved, int *removed) {
  int i = thread_x();
  if (!cars.has(i, counters)) return;
  int position = cars.position[i], velocity = cars.velocity[i];
  for (int step = 0; step < velocity; step++) {
    cells.car[position] = NOTHING;
    position = cars.path_at(i, step);
    cells.car[position] = i;
  }
  moved[i] += velocity;
  if (cells.is_exit(position)) {
    cells.car[position] = NOTHING;
    position = NOTHING;
    cars.active[i] = 0;
    removed[i]++;
  }
  cars.position[i] = position;
}

__global__ void initialize_next(Cars next) {
  int i = thread_x();
  if (i < next.capacity) next.active[i] = 0;
}

__global__ void compact_cars(Cells cells, Cars cars, const int *prefix, Cars next, int *counters) {
  int i = thread_x();
  if (!cars.has(i, counters)) return;
  int slot = prefix[i];
  for (int place = 0; place < PATH_CELLS; place++) next.path_at(slot, place) = cars.path_at(i, place);
  for (int k = 0; k < 6; k++) {
    next.random[k * next.capacity + slot] = cars.random[k * cars.capacity + i];
    next.unused[k * next.capacity + slot] = cars.unused[k * cars.capacity + i];
  }
  next.position[slot] = cars.position[i];
  next.path_length[slot] = cars.path_length[i];
  next.velocity[slot] = cars.velocity[i];
  next.max_velocity[slot] = cars.max_velocity[i];
  next.active[slot] = 1;
  cells.car[cars.position[i]] = slot;
  atomicAdd(counters + NEXT_COUNT, 1);
}

__global__ void take_next_count(int *counters) {
  if (thread_x() == 0) {
    counters[COUNT] = counters[NEXT_COUNT];
    counters[NEXT_COUNT] = 0;
  }
}

Cars no_cars(int slots, int capacity) {
  auto column = [=] { return zeros<int>(capacity); };
  return {slots, capacity, zeros<int>(PATH_CELLS * capacity), column(), column(), column(),
          column(), column(), zeros<unsigned>(6 * capacity), zeros<unsigned>(6 * capacity)};
}

void simulate(Run &run, int steps, const Network &network, const Results &results) {
  int slots = network.cells, capacity = network.capacity, *counters = results.counters;
  Cells cells = {slots, room_for<unsigned>(6 * slots), network.outgoing, network.num_outgoing,
                 network.max_velocity, network.is_target, network.type, room_for<int>(slots),
                 network.limit};
  launch(initialize_cells, slots, cells, network.random);
  Lights lights = {network.lights, network.light_cells, network.light_sizes,
                   zeros<int>(network.lights), room_for<int>(network.lights),
                   zeros<int>(network.lights)};
  launch(initialize_lights, lights.count, lights);
  Cars cars = no_cars(slots, capacity), next = no_cars(slots, capacity);
  int *prefix = room_for<int>(slots);
  PrefixSum prefix_sum(slots);
  run.measure_run(steps, 2, [&] {
    launch(create_cars, slots, cells, cars, counters, results.created);
    launch(step_lights, lights.count, lights, cells);
    launch(prepare_paths, slots, cells, cars, counters);
    launch(move_cars, slots, cells, cars, counters, results.moved, results.removed);
    prefix_sum.launch(cars.active, prefix);
    launch(initialize_next, capacity, next);
    launch(compact_cars, slots, cells, cars, prefix, next, counters);
    launch(take_next_count, 1, counters);
    std::swap(cars, next);
  });
}
// [end of user code]
}  // namespace with_arrays
