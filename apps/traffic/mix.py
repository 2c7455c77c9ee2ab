"""Which kinds of vehicles the producers make, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from sharedoa.errors import ArgumentError

CAR, TRUCK, BUS = range(3)
KIND_NAMES = ("car", "truck", "bus")

#: A kind is drawn with 16 bits of the vehicle's seed, so that it takes no draw of its own.
_SHARES = 1 << 16


@dataclass(frozen=True)
class Mix:
    """Fractions of trucks and buses; the rest are cars.

    Raises ArgumentError unless both lie in 0 to 1 and together too.
    """

    trucks: float = 0.0
    buses: float = 0.0

    def __post_init__(self) -> None:
        if not (self.trucks >= 0 and self.buses >= 0 and self.trucks + self.buses <= 1):
            raise ArgumentError(
                f"{self.trucks} trucks and {self.buses} buses are no fractions of one whole",
                "give two numbers of 0 or more with a sum of at most 1",
            )

    @property
    def truck_shares(self) -> int:
        """A seed's upper 16 bits below this make a truck."""
        return round(self.trucks * _SHARES)

    @property
    def bus_shares(self) -> int:
        """Those that do not, and lie below this, make a bus."""
        return round((self.trucks + self.buses) * _SHARES)


CARS_ONLY = Mix()
