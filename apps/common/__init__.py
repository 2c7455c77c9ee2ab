"""What several programs share: random numbers as the paper's artifact draws them, prefix sums."""
