// Traffic: which of the two programs before runs.
int main(int argc, char **argv) {
  Run run(argc, argv);
  int steps = run.number();
  Network network(run);
  Results results(network.cells);
  auto *simulate = run.variant == "virtual" ? with_classes::simulate : with_arrays::simulate;
  simulate(run, steps, network, results);
  run.write(results.counters, results.size);
}
