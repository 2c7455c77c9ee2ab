// Conway's game: cells that refer to a state with virtual functions, and two flags a cell.
#include "cuda_program.h"

// [user code: virtual]
struct State {
  __device__ virtual bool is_alive() = 0;
  __device__ virtual bool lives_on(int neighbours) = 0;
};

struct Dead : State {
  __device__ bool is_alive() override { return false; }
  __device__ bool lives_on(int neighbours) override { return neighbours == 3; }
};

struct Alive : State {
  __device__ bool is_alive() override { return true; }
  __device__ bool lives_on(int neighbours) override { return neighbours == 2 || neighbours == 3; }
};

struct Cell {
  State *state, *following;
};

__global__ void make_states(Dead *dead, Alive *alive) {
  new (dead) Dead;
  new (alive) Alive;
}

__global__ void make_cells(int count, Cell *cells, const unsigned char *board, State *dead,
                           State *alive) {
  int i = thread_x();
  if (i < count) cells[i].state = board[i] ? alive : dead;
}

__global__ void decide(int side, Cell *cells, State *dead, State *alive) {
  int column = thread_x(), row = thread_y();
  if (column >= side || row >= side) return;
  int neighbours = 0;
  for (int y = row > 0 ? row - 1 : 0; y < row + 2 && y < side; y++)
    for (int x = column > 0 ? column - 1 : 0; x < column + 2 && x < side; x++)
      if ((x != column || y != row) && cells[y * side + x].state->is_alive()) neighbours++;
  Cell &cell = cells[row * side + column];
  cell.following = cell.state->lives_on(neighbours) ? alive : dead;
}

__global__ void apply(int count, Cell *cells) {
  int i = thread_x();
  if (i < count) cells[i].state = cells[i].following;
}
// [end of user code]

__global__ void flags(int count, Cell *cells, unsigned char *board) {
  int i = thread_x();
  if (i < count) board[i] = cells[i].state->is_alive();
}

// [user code: switch]
__device__ bool lives_on(unsigned char state, int neighbours) {
  switch (state) {
    case 0: return neighbours == 3;
    default: return neighbours == 2 || neighbours == 3;
  }
}

__global__ void decide(int side, const unsigned char *states, unsigned char *following) {
  int column = thread_x(), row = thread_y();
  if (column >= side || row >= side) return;
  int neighbours = 0;
  for (int y = row > 0 ? row - 1 : 0; y < row + 2 && y < side; y++)
    for (int x = column > 0 ? column - 1 : 0; x < column + 2 && x < side; x++)
      if (x != column || y != row) neighbours += states[y * side + x];
  following[row * side + column] = lives_on(states[row * side + column], neighbours);
}
// [end of user code]

int main(int argc, char **argv) {
  Run run(argc, argv);
  int side = run.number(), count = side * side;
  auto *board = run.read<unsigned char>(count);
  if (run.variant == "virtual") {
    auto *dead = room_for<Dead>(1);
    auto *alive = room_for<Alive>(1);
    auto *cells = room_for<Cell>(count);
    launch(make_states, 1, dead, alive);
    launch(make_cells, count, count, cells, board, static_cast<State *>(dead),
           static_cast<State *>(alive));
    void (*kernel)(int, Cell *, State *, State *) = decide;
    run.measure([=] {
      launch_square(kernel, side, side, cells, static_cast<State *>(dead),
                    static_cast<State *>(alive));
      launch(apply, count, count, cells);
    });
    launch(flags, count, count, cells, board);
  } else {
    auto *following = room_for<unsigned char>(count);
    void (*kernel)(int, const unsigned char *, unsigned char *) = decide;
    run.measure([&] {
      launch_square(kernel, side, side, static_cast<const unsigned char *>(board), following);
      std::swap(board, following);
    });
  }
  run.write(board, count);
}
