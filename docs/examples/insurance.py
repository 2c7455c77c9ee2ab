"""The value of insurance policies, by simulating the life of each holder many times.

The oracle is the actuary's sums over a table of mortality, and the formula of Black and Scholes for
a fund with a guarantee.
"""

import argparse
import math

import numpy as np

import sharedoa as oa
from sharedoa import f64, i32, u64

AGES = np.arange(121)
MORTALITY = np.minimum(0.0002 + 0.00003 * 1.1**AGES, 1.0)  # to die within a year, by age
INTEREST, VOLATILITY = 0.03, 0.2


class Policy(oa.Object):
    id: u64
    age: i32
    term: i32 = 30
    sum: f64 = 1000.0

    def dies(self, year: i32, path: i32) -> bool:
        return oa.random64(5, self.id, path, year) < f64(MORTALITY[self.age + year])

    def pays(self, path: i32) -> f64:
        """What one life is paid, at its present value."""
        raise NotImplementedError


class Term(Policy):
    """Pays in the end of the year of death."""

    def survival(self) -> f64:
        return 0.0

    def pays(self, path: i32) -> f64:
        for year in range(self.term):
            if self.dies(year, path):
                return self.sum * math.exp(-INTEREST * (year + 1))
        return self.survival()


class Endowment(Term):
    """Pays at death or in the end."""

    def survival(self) -> f64:
        return self.sum * math.exp(-INTEREST * self.term)


class Annuity(Policy):
    """Pays in each year that its holder lives to see."""

    def pays(self, path: i32) -> f64:
        year, total = 0, 0.0
        while not self.dies(year, path):
            year += 1
            total += self.sum * 0.05 * math.exp(-INTEREST * year)
        return total


class Fund(Policy):
    """Pays a fund in the end, but not less than the sum, if its holder lives."""

    def pays(self, path: i32) -> f64:
        if any(self.dies(year, path) for year in range(self.term)):
            return 0.0
        drift = (INTEREST - 0.5 * VOLATILITY**2) * self.term
        spread = VOLATILITY * math.sqrt(self.term) * oa.normal(6, self.id, path)
        return max(self.sum, self.sum * math.exp(drift + spread)) * math.exp(-INTEREST * self.term)


@oa.kernel
def simulate(policies: oa.Array[Policy], paid: oa.Array2[f64]) -> None:
    path, k = oa.grid(2)
    paid[k, path] = policies[k].pays(path)


def expected(kind: type[Policy], age: int, term: int = 30) -> float:
    dying = MORTALITY[age:]
    alive = np.concatenate([[1.0], np.cumprod(1 - dying)])
    value = np.exp(-INTEREST * np.arange(len(alive)))
    if kind is Annuity:
        return float(50.0 * (alive * value)[1:].sum())
    term_only = 1000.0 * (alive[:term] * dying[:term] * value[1 : term + 1]).sum()
    spread = VOLATILITY * math.sqrt(term)
    d1 = (INTEREST + 0.5 * VOLATILITY**2) * term / spread
    normal = [0.5 * math.erfc(-d / math.sqrt(2)) for d in (d1, d1 - spread)]
    with_guarantee = normal[0] + value[term] * (1 - normal[1])
    at_end = {Term: 0.0, Endowment: value[term], Fund: with_guarantee}[kind]
    return float((0.0 if kind is Fund else term_only) + 1000.0 * alive[term] * at_end)


def main(size: int = 20_000, plot: str = "") -> None:
    ages = np.arange(20, 70, 10)
    kinds = (Term, Endowment, Annuity, Fund)
    policies: oa.Array[Policy] = oa.concat(*(oa.new(kind, len(ages), age=ages) for kind in kinds))
    policies.id = np.arange(len(policies))
    paid = oa.zeros((len(policies), size), f64)
    simulate[size, len(policies)](policies, paid)
    means = [paid[k].mean() for k in range(len(policies))]
    print("policy      age     simulated         value")
    for policy, mean, lives in zip(policies, means, paid.numpy(), strict=True):
        value, error = expected(type(policy), policy.age), lives.std() / math.sqrt(size)
        print(f"{type(policy).__name__:9} {policy.age:5} {mean:9.2f} +-{error:6.2f}{value:10.2f}")
        assert abs(mean - value) < 4.5 * error + 3000 / size  # what happened to nobody
    if plot:
        import matplotlib.pyplot as plt

        plt.plot(ages, np.reshape(means, (4, -1)).T, label=[k.__name__ for k in kinds])
        plt.legend()
        plt.savefig(plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20_000, help="simulated lives of each policy")
    parser.add_argument("--plot", metavar="FILE", default="")
    main(**vars(parser.parse_args()))
