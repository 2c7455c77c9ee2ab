// Traffic with virtual functions: the classes of apps/traffic/faithful, made on the device.
#include "cuda_traffic.h"

namespace with_classes {
// [user code: virtual]
struct CarBase;

struct CellBase {
  Xorwow random_state;
  unsigned random_unused[6];
  CellBase *incoming[MAX_DEGREE], *outgoing[MAX_DEGREE];
  CarBase *car;
  int num_incoming, num_outgoing, max_velocity, current_max_velocity;
  float x, y;
  bool is_target;
  signed char type;

  __device__ virtual float random_uni() = 0;
  __device__ virtual int get_current_max_velocity() = 0;
  __device__ virtual int get_max_velocity() = 0;
  __device__ virtual void set_current_max_velocity(int velocity) = 0;
  __device__ virtual void remove_speed_limit() = 0;
  __device__ virtual int get_num_incoming() = 0;
  __device__ virtual void set_num_incoming(int count) = 0;
  __device__ virtual int get_num_outgoing() = 0;
  __device__ virtual void set_num_outgoing(int count) = 0;
  __device__ virtual CellBase *get_incoming(int slot) = 0;
  __device__ virtual void set_incoming(int slot, CellBase *cell) = 0;
  __device__ virtual CellBase *get_outgoing(int slot) = 0;
  __device__ virtual void set_outgoing(int slot, CellBase *cell) = 0;
  __device__ virtual float get_x() = 0;
  __device__ virtual float get_y() = 0;
  __device__ virtual bool is_free() = 0;
  __device__ virtual bool is_sink() = 0;
  __device__ virtual bool get_is_target() = 0;
  __device__ virtual void set_target() = 0;
  __device__ virtual void occupy(CarBase *car) = 0;
  __device__ virtual void release() = 0;
};

struct Cell : CellBase {
  __device__ float random_uni() override { return random_state.uniform(); }
  __device__ int get_current_max_velocity() override { return current_max_velocity; }
  __device__ int get_max_velocity() override { return max_velocity; }
  __device__ void set_current_max_velocity(int velocity) override {
    current_max_velocity = velocity;
  }
  __device__ void remove_speed_limit() override { current_max_velocity = max_velocity; }
  __device__ int get_num_incoming() override { return num_incoming; }
  __device__ void set_num_incoming(int count) override { num_incoming = count; }
  __device__ int get_num_outgoing() override { return num_outgoing; }
  __device__ void set_num_outgoing(int count) override { num_outgoing = count; }
  __device__ CellBase *get_incoming(int slot) override { return incoming[slot]; }
  __device__ void set_incoming(int slot, CellBase *cell) override { incoming[slot] = cell; }
  __device__ CellBase *get_outgoing(int slot) override { return outgoing[slot]; }
  __device__ void set_outgoing(int slot, CellBase *cell) override { outgoing[slot] = cell; }
  __device__ float get_x() override { return x; }
  __device__ float get_y() override { return y; }
  __device__ bool is_free() override { return car == nullptr; }
  __device__ bool is_sink() override { return num_outgoing == 0; }
  __device__ bool get_is_target() override { return is_target; }
  __device__ void set_target() override { is_target = true; }
  __device__ void occupy(CarBase *entering) override { car = entering; }
  __device__ void release() override { car = nullptr; }
};

struct CarBase {
  CellBase *path[PATH_CELLS], *position;
  Xorwow random_state;
  unsigned random_unused[6];
  int path_length, velocity, max_velocity;

  __device__ virtual void set_path(CellBase *cell, int place) = 0;
  __device__ virtual CellBase *get_path(int place) = 0;
  __device__ virtual void set_path_length(int length) = 0;
  __device__ virtual int get_path_length() = 0;
  __device__ virtual int random_int(int low, int high) = 0;
  __device__ virtual float random_uni() = 0;
  __device__ virtual void step_initialize_iteration() = 0;
  __device__ virtual int get_velocity() = 0;
  __device__ virtual void set_velocity(int velocity) = 0;
  __device__ virtual void set_max_velocity(int velocity) = 0;
  __device__ virtual int get_max_velocity() = 0;
  __device__ virtual void set_position(CellBase *cell) = 0;
  __device__ virtual CellBase *get_position() = 0;
  __device__ virtual void step_slow_down() = 0;
  __device__ virtual CellBase *next_step(CellBase *cell) = 0;
  __device__ virtual void step_accelerate() = 0;
};

struct Car : CarBase {
  __device__ void set_path(CellBase *cell, int place) override { path[place] = cell; }
  __device__ CellBase *get_path(int place) override { return path[place]; }
  __device__ void set_path_length(int length) override { path_length = length; }
  __device__ int get_path_length() override { return path_length; }
  __device__ int random_int(int low, int high) override {
    return int(random_state.bits() % unsigned(high - low)) + low;
  }
  __device__ float random_uni() override { return random_state.uniform(); }
  __device__ void step_initialize_iteration() override { path_length = 0; }
  __device__ int get_velocity() override { return velocity; }
  __device__ void set_velocity(int now) override { velocity = now; }
  __device__ void set_max_velocity(int most) override { max_velocity = most; }
  __device__ int get_max_velocity() override { return max_velocity; }
  __device__ void set_position(CellBase *cell) override { position = cell; }
  __device__ CellBase *get_position() override { return position; }
  __device__ void step_slow_down() override {
    if (random_uni() < SLOW_DOWN_PROBABILITY && velocity > 0) velocity--;
  }
  __device__ CellBase *next_step(CellBase *cell) override {
    return cell->get_outgoing(random_int(0, cell->get_num_outgoing()));
  }
  __device__ void step_accelerate() override {
    int faster = velocity + random_int(1, 3);
    velocity = faster < max_velocity ? faster : max_velocity;
  }
};

struct TrafficLightBase {
  CellBase *cells[MAX_DEGREE];
  int num_cells, timer, phase_time, phase;

  __device__ virtual void set_cell(int slot, CellBase *cell) = 0;
  __device__ virtual CellBase *get_cell(int slot) = 0;
  __device__ virtual int get_num_cells() = 0;
  __device__ virtual int get_timer() = 0;
  __device__ virtual int set_timer(int timer) = 0;
  __device__ virtual int get_phase_time() = 0;
  __device__ virtual void set_phase(int phase) = 0;
  __device__ virtual int get_phase() = 0;
};

struct TrafficLight : TrafficLightBase {
  __device__ void set_cell(int slot, CellBase *cell) override { cells[slot] = cell; }
  __device__ CellBase *get_cell(int slot) override { return cells[slot]; }
  __device__ int get_num_cells() override { return num_cells; }
  __device__ int get_timer() override { return timer; }
  __device__ int set_timer(int now) override { return timer = now; }
  __device__ int get_phase_time() override { return phase_time; }
  __device__ void set_phase(int now) override { phase = now; }
  __device__ int get_phase() override { return phase; }
};

__device__ CellBase *cell_or_null(Cell *memory, int i) {
  return i == NOTHING ? nullptr : memory + i;
}

__global__ void make_cells(Network network, Cell *memory, CellBase **cells) {
  int i = thread_x();
  if (i >= network.cells) return;
  Cell *cell = new (memory + i) Cell;
  cell->random_state = network.random[i];
  for (int k = 0; k < 6; k++) cell->random_unused[k] = 0;
  for (int k = 0; k < MAX_DEGREE; k++) {
    cell->incoming[k] = cell_or_null(memory, network.incoming[MAX_DEGREE * i + k]);
    cell->outgoing[k] = cell_or_null(memory, network.outgoing[MAX_DEGREE * i + k]);
  }
  cell->car = nullptr;
  cell->num_incoming = network.num_incoming[i];
  cell->num_outgoing = network.num_outgoing[i];
  cell->max_velocity = network.max_velocity[i];
  cell->current_max_velocity = network.limit[i];
  cell->x = network.x[i];
  cell->y = network.y[i];
  cell->is_target = network.is_target[i];
  cell->type = network.type[i];
  cells[i] = cell;
}

__global__ void make_cars(int capacity, Car *memory, CarBase **cars) {
  int i = thread_x();
  if (i < capacity) cars[i] = new (memory + i) Car();
}

__global__ void make_lights(Network network, Cell *cells, TrafficLight *memory,
                            TrafficLightBase **lights) {
  int i = thread_x();
  if (i >= network.lights) return;
  TrafficLight *light = new (memory + i) TrafficLight();
  for (int k = 0; k < MAX_DEGREE; k++)
    light->cells[k] = cell_or_null(cells, network.light_cells[MAX_DEGREE * i + k]);
  light->num_cells = network.light_sizes[i];
  light->phase_time = PHASE_TIME;
  lights[i] = light;
}

__global__ void create_cars(int count, CellBase **cells, CarBase **cars, int *active, int *counters,
                            int *created) {
  int i = thread_x();
  if (i >= count) return;
  CellBase *cell = cells[i];
  if (cell->type == PRODUCER && cell->is_free() && cell->random_uni() < CREATION_PROBABILITY) {
    int slot = atomicAdd(counters + COUNT, 1);
    CarBase *car = cars[slot];
    unsigned seed = cell->random_state.bits();
    car->set_position(cell);
    car->set_path_length(0);
    car->set_velocity(0);
    car->set_max_velocity(int(cell->random_state.bits() % TOP_SPEEDS) + SLOWEST);
    active[slot] = 1;
    cell->occupy(car);
    car->random_state = seeded(seed);
    created[i]++;
  }
}

__global__ void step_lights(int count, TrafficLightBase **lights) {
  int i = thread_x();
  if (i >= count) return;
  TrafficLightBase *light = lights[i];
  if (light->get_num_cells() > 0) {
    light->set_timer((light->get_timer() + 1) % light->get_phase_time());
    if (light->get_timer() == 0) {
      light->get_cell(light->get_phase())->set_current_max_velocity(0);
      light->set_phase((light->get_phase() + 1) % light->get_num_cells());
      light->get_cell(light->get_phase())->remove_speed_limit();
    }
  }
}

__device__ void extend_path(CarBase *car) {
  CellBase *cell = car->get_position();
  for (int step = 0, velocity = car->get_velocity(); step < velocity; step++) {
    if (cell->is_sink() || cell->get_is_target()) break;
    cell = car->next_step(cell);
    if (!cell->is_free()) break;
    int length = car->get_path_length();
    car->set_path(cell, length);
    car->set_path_length(length + 1);
  }
  car->set_velocity(car->get_path_length());
}

__device__ void constrain_velocity(CarBase *car) {
  int limit = car->get_position()->get_current_max_velocity();
  if (car->get_velocity() > limit) car->set_velocity(limit);
  for (int distance = 1; distance <= car->get_velocity(); distance++) {
    CellBase *cell = car->get_path(distance - 1);
    if (!cell->is_free()) {
      car->set_velocity(distance - 1);
      break;
    }
    if (car->get_velocity() > cell->get_current_max_velocity()) {
      if (cell->get_current_max_velocity() > distance - 1) {
        car->set_velocity(cell->get_current_max_velocity());
      } else {
        car->set_velocity(distance - 1);
        break;
      }
    }
  }
}

__global__ void prepare_paths(int slots, CarBase **cars, const int *active, const int *counters) {
  int i = thread_x();
  if (i >= slots || i >= counters[COUNT] || active[i] != 1) return;
  CarBase *car = cars[i];
  car->step_initialize_iteration();
  car->step_accelerate();
  extend_path(car);
  constrain_velocity(car);
  car->step_slow_down();
}

__global__ void move_cars(int slots, CarBase **cars, int *active, const int *counters, int *moved,
                          int *removed) {
  int i = thread_x();
  if (i >= slots || i >= counters[COUNT] || active[i] != 1) return;
  CarBase *car = cars[i];
  int velocity = car->get_velocity();
  for (int step = 0; step < velocity; step++) {
    CellBase *cell = car->get_path(step);
    car->get_position()->release();
    cell->occupy(car);
    car->set_position(cell);
  }
  moved[i] += velocity;
  CellBase *position = car->get_position();
  if (position->is_sink() || position->get_is_target()) {
    position->release();
    car->set_position(nullptr);
    active[i] = 0;
    removed[i]++;
  }
}

__global__ void initialize_next(int capacity, int *next_active) {
  int i = thread_x();
  if (i < capacity) next_active[i] = 0;
}

__global__ void compact_cars(int slots, CarBase **cars, const int *active, const int *prefix,
                             CarBase **next_cars, int *next_active, int *counters) {
  int i = thread_x();
  if (i >= slots || i >= counters[COUNT] || active[i] != 1) return;
  int slot = prefix[i];
  CarBase *car = next_cars[slot];
  *car = *cars[i];
  next_active[slot] = 1;
  CellBase *position = car->get_position();
  position->release();
  position->occupy(car);
  atomicAdd(counters + NEXT_COUNT, 1);
}

__global__ void take_next_count(int *counters) {
  if (thread_x() == 0) {
    counters[COUNT] = counters[NEXT_COUNT];
    counters[NEXT_COUNT] = 0;
  }
}

CarBase **no_cars(int capacity) {
  auto **cars = room_for<CarBase *>(capacity);
  launch(make_cars, capacity, capacity, room_for<Car>(capacity), cars);
  return cars;
}

void simulate(Run &run, int steps, const Network &network, const Results &results) {
  int slots = network.cells, lights_count = network.lights, capacity = network.capacity;
  auto *memory = room_for<Cell>(capacity);
  auto **cells = room_for<CellBase *>(slots);
  launch(make_cells, slots, network, memory, cells);
  auto **lights = room_for<TrafficLightBase *>(lights_count);
  launch(make_lights, lights_count, network, memory, room_for<TrafficLight>(lights_count), lights);
  CarBase **cars = no_cars(capacity), **next_cars = no_cars(capacity);
  int *active = zeros<int>(capacity), *next_active = zeros<int>(capacity);
  int *prefix = room_for<int>(capacity), *counters = results.counters;
  PrefixSum prefix_sum(slots);
  run.measure_run(steps, 2, [&] {
    launch(create_cars, slots, slots, cells, cars, active, counters, results.created);
    launch(step_lights, lights_count, lights_count, lights);
    launch(prepare_paths, slots, slots, cars, active, counters);
    launch(move_cars, slots, slots, cars, active, counters, results.moved, results.removed);
    prefix_sum.launch(active, prefix);
    launch(initialize_next, capacity, capacity, next_active);
    launch(compact_cars, slots, slots, cars, active, prefix, next_cars, next_active, counters);
    launch(take_next_count, 1, counters);
    std::swap(cars, next_cars);
    std::swap(active, next_active);
  });
}
// [end of user code]
}  // namespace with_classes
