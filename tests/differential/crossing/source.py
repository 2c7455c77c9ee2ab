"""The program whose features random histories cross: classes, methods and kernels."""

TEXT = """
from typing import ClassVar

RATE = 3
TABLE = np.array([5, -2, 7, 1], np.int32)


class Root(oa.Object):
    WEIGHT: ClassVar[int] = 1
    id: i64
    energy: i32
    small: u8
    x: f64

    def worth(self) -> i32:
        raise NotImplementedError


@oa.value
class Tag:
    a: i16
    b: f32
    who: "Root | None"
    w: oa.inline[u8, 3]

    def sum(self) -> i32:
        return i32(self.a) + i32(self.w[0]) * 2 + i32(self.w[2])


class Scene(oa.Object, frozen=True):
    factor: i32
    table: oa.inline[i32, 4]
    shift: oa.vec2


class Being(Root):
    pull: f64
    y: f32 = 1.5
    pos: oa.vec2
    friend: "Root | None"
    tag: Tag
    marks: oa.inline[i32, 3]
    links: oa.inline[Root, 2]
    log: oa.Array[i32]
    met: i64

    def grow(self, k: i32) -> i32:
        self.energy = self.energy + k * self.WEIGHT
        return self.energy

    def look(self) -> None:
        friend = self.friend
        if friend is None:
            self.marks[1] = -7
        else:
            self.marks[1] = friend.energy
        other = self.links[1]
        self.marks[2] = other.worth() if other is not None else 0
        tag = self.tag
        a = i16(i32(tag.a) + 1)
        self.tag = Tag(a, self.y * f32(0.5), friend, (tag.w[1], tag.w[2], tag.w[0]))

    def swap(self) -> None:
        old = self.links[0]
        self.links[0] = self.friend
        self.friend = self.links[1]
        self.links[1] = self.tag.who
        self.tag = Tag(self.tag.a, self.tag.b, old, self.tag.w)

    def breed(self, seed: i64, /, clock: oa.Array[i64]) -> None:
        draw = oa.randint(0, 7, seed, self.id, clock[0])
        if draw == 0:
            id = child(self.id, clock[0])
            made = oa.new(Plant, id=id, energy=self.energy // 2, friend=self)
            self.friend = made
        elif draw == 1:
            fox = Fox(child(self.id, number=1, turn=clock[0]), energy=self.energy)
            fox.links[0] = self
            fox.pos = self.pos + oa.vec2(0.5, -0.25)
        elif draw == 2:
            last: Root | None = self.friend
            for k in range(2):
                id = child(self.id, clock[0], 2 + k)
                bud = oa.new(Plant, id=id, friend=last, small=self.small)
                bud.marks[k] = k + 5
                last = bud
            self.links[1] = last

    def die(self, limit: i32 = 3, *, of: i32 = 5) -> None:
        if self.energy % of == limit:
            oa.delete(self)

    def fall(self, counts: oa.Array[i64]) -> None:
        drop(self, counts)

    def fade(self, counts: oa.Array[i64], /, *, limit: i32 = 2) -> None:
        for k in range(2):
            other = self.links[k]
            if other is not None and other.energy % 3 == limit:
                drop(other, counts)
        if self.energy % 3 == limit:
            self.fall(counts)
            drop(self, counts=counts)
        friend = self.friend
        if isinstance(friend, Being) and oa.is_alive(self):
            friend.follow(counts, limit, 2)

    def follow(self, counts: oa.Array[i64], limit: i32, /, far: i32) -> None:
        if self.energy % 3 == limit and far > 0:
            drop(self, counts)
            friend = self.friend
            if isinstance(friend, Being):
                friend.follow(counts, limit, far=far - 1)

    def hunt(self, counts: oa.Array[i64]) -> None:
        if self.energy % 2 == 0 and oa.delete(self.friend):
            oa.atomic_add(counts, 0, 1)

    def forget(self) -> None:
        if not oa.is_alive(self.friend):
            self.friend = None
        for k in range(2):
            if not oa.is_alive(self.links[k]):
                self.links[k] = None
        if not oa.is_alive(self.tag.who):
            self.tag = Tag(self.tag.a, self.tag.b, None, self.tag.w)

    def census(self, counts: oa.Array[i64]) -> None:
        oa.atomic_add(counts, self.small % 3, i64(self.energy))
        oa.atomic_max(counts, 3, self.id)
        oa.atomic_min(counts, 4, i64(self.worth()))

    def meet(self, grid: oa.HashGrid["Being"], *, radius: f32) -> i64:
        seen = i64(0)
        for other in grid.near(self.pos, radius):
            seen = seen * 31 + other.id
        self.met = seen
        return seen

    def grow_quietly(self, k: i32 = 7) -> None:
        self.grow(k)

    def tell_quietly(self, words: oa.Array[i32]) -> None:
        self.tell(words)

    def meet_quietly(self, grid: oa.HashGrid["Being"], radius: f32 = 2.5) -> None:
        self.meet(radius=radius, grid=grid)

    def walk(self, scene: Scene) -> None:
        self.pos = (self.pos + scene.shift) * f32(0.75)
        self.energy = self.energy ^ (scene.table[i32(self.small) % 4] * scene.factor)

    def tell(self, words: oa.Array[i32], /) -> i32:
        total = i32(0)
        for word in words:
            total += word
        for k in range(len(self.log)):
            total = total * 2 + self.log[k]
        self.marks[0] = total
        return total

    def write(self, *, k: i32 = 1) -> None:
        for j in range(len(self.log)):
            self.log[j] = self.log[j] * k + self.small

    def feed(self) -> None:
        self.energy += TABLE[self.small % 4] * RATE

    def bump(self, *, k: i32) -> None:
        if self.friend is not None:
            oa.atomic_add(self.friend, "energy", k)
            oa.atomic_add(self.friend, "x", 0.5)

    def lean(self, c: f64 = 0.5, /) -> None:
        friend = self.friend
        self.pull = friend.x * c if friend is not None else self.x * 0.5

    def flow(self, dt: f64 = 0.25) -> None:
        self.x += self.pull * dt * self.x


class Plant(Being):
    height: i64 = 3

    def worth(self) -> i32:
        return i32(self.height & 1023)

    def grow(self, k: i32) -> i32:
        self.small = u8(self.small * 3 + k)
        self.height = self.height * 3 + k
        return i32(self.height & 0xffff)

    def flow(self, dt: f64 = 0.25) -> None:
        self.x = self.x * (1.0 - dt) + self.pull * 0.25


class Animal(Being):
    WEIGHT = 2
    speed: f32
    hunger: i16

    def worth(self) -> i32:
        return i32(self.hunger) * self.WEIGHT

    def grow(self, k: i32) -> i32:
        super().grow(k)
        self.speed = self.speed * f32(0.5) + f32(k)
        self.hunger = i16(i32(self.hunger) ^ k)
        return i32(self.hunger)


class Fox(Animal):
    WEIGHT = 3
    seen: i64

    def __init__(self, id: i64, *, energy: i32 = 11) -> None:
        self.id = id
        self.energy = energy ^ 1
        self.hunger = i16(energy % 100)
        self.marks[1] = 4

    def grow(self, k: i32) -> i32:
        got = super().grow(k)
        if self.friend is not None:
            self.seen += self.friend.id & 0xff
        return got * 2

    def bump(self, *, k: i32) -> None:
        self.seen += k

    def fall(self, counts: oa.Array[i64]) -> None:
        if self.small % 2 == 0:
            drop(counts=counts, being=self)
        super().fall(counts)


@oa.func
def child(parent: i64, /, turn: i64, number: i64 = 0) -> i64:
    return parent * 6364136223846793005 + turn * 1442695040888963407 + number


@oa.func
def drop(being: Root, counts: oa.Array[i64]) -> None:
    if oa.delete(being):
        oa.atomic_add(counts, 5, 1)


@oa.func
def larger(a: i64, b: i64) -> i64:
    return a if a % 1000 > b % 1000 else b


@oa.kernel
def tick(clock: oa.Array[i64]):
    clock[0] += 1


@oa.kernel
def mix(a: oa.Array[i32], b: oa.Array[i32], /, out: oa.Array[i32], k: i32 = 12345):
    i = oa.grid(1)
    if i < len(out):
        v = a[i] * k - b[i]
        out[i] = v ^ (a[i] >> 3)


@oa.kernel
def grow_each(beings: oa.Array[Being], k: i32, out: oa.Array[i32]):
    i = oa.grid(1)
    if i < len(beings):
        out[i] = beings[i].grow(k)


@oa.kernel
def stamp(beings: oa.Array[Being], k: i32 = 7):
    i = oa.grid(1)
    being = beings[i]
    if being is not None:
        oa.atomic_add(being, "energy", k + i)


@oa.kernel
def gather(beings: oa.Array[Being], tags: oa.Array[Tag], out: oa.Array2[i32]):
    x, y = oa.grid(2)
    if y < len(beings) and x < out.shape[1]:
        being = beings[y]
        if being is None:
            out[y, x] = -1
        else:
            out[y, x] = being.energy * x
            if x == 0:
                tags[y] = Tag(i16(y), 2.0, being, (u8(x), u8(y), being.small))


@oa.kernel
def blur(picture: oa.Array2[i32], out: oa.Array2[i32]):
    tile = oa.shared(i32, 8)
    x, y = oa.grid(2)
    k = x % 8
    tile[k] = picture[y, x]
    oa.syncthreads()
    out[y, x] = tile[max(k - 1, 0)] + tile[k] * 2 + tile[min(k + 1, 7)]


def other_grow(self, k: i32) -> i32:
    self.small = u8(self.small * 3 + k)
    self.height = self.height * 4 + k
    return i32(self.height & 0xffff)


def other_worth(self) -> i32:
    return i32(self.hunger) * self.WEIGHT + 5


def make_late():
    class Late(Fox):
        WEIGHT = 4

        def worth(self) -> i32:
            return 99

    return Late
"""
