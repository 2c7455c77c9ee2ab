"""``python -m bench.page_migrations``: the benchmark by itself."""

from . import main

if __name__ == "__main__":
    main()
