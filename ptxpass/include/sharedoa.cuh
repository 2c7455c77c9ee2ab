// Objects of C++ classes in CUDA managed memory, placed by class, for programs that ptxpass
// rewrites.
//
// sharedoa::heap constructs objects on the device, side by side with others of their class, and
// tells the rewritten code which addresses belong to which class. The same source without ptxpass
// is the original program: nothing of this header is on the way of a virtual call then.
//
// The first part, up to __CUDACC__, needs a C++17 compiler only. One .cu file of a program includes
// this header; it holds the heap and all device code that calls virtual methods.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(_MSC_VER)
#error "sharedoa.cuh needs the Itanium C++ ABI (Linux): ptxpass finds classes by their _ZTV symbols"
#endif
#if !defined(__CUDACC__)
#define SHAREDOA_BOTH
#else
#define SHAREDOA_BOTH __host__ __device__
#include <cuda_runtime.h>
#include <cxxabi.h>
#include <new>
#endif

namespace sharedoa {

// What went wrong, and what to do about it.
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// -------------------------------------------------------------------------------- references

// In a build for a mode with tagged references, bits 49 to 63 of a reference are the type index.
inline constexpr unsigned tag_shift = 49;
inline constexpr std::uint32_t tag_limit = (1u << 15) - 1;

// The object's address: the reference without its type index. For the host, whose code is not
// rewritten; on the device it may be used, but need not.
template <class T>
SHAREDOA_BOTH T* address(T* reference) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << tag_shift) - 1;
    return reinterpret_cast<T*>(reinterpret_cast<std::uint64_t>(reference) & mask);
}

// A reference whose fields both sides may use: r->radius. Converts to T*, and has its size.
template <class T>
class ref {
public:
    SHAREDOA_BOTH ref(T* reference = nullptr) : reference_(reference) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
    SHAREDOA_BOTH ref(ref<U> other) : reference_(other.get()) {}

    SHAREDOA_BOTH T* get() const { return reference_; }
    SHAREDOA_BOTH operator T*() const { return reference_; }
    SHAREDOA_BOTH T& operator*() const { return *operator->(); }
    SHAREDOA_BOTH T* operator->() const {
#if defined(__CUDA_ARCH__)
        return reference_;  // rewritten code strips the type index where it reads memory
#else
        return address(reference_);
#endif
    }

private:
    T* reference_;
};

// An array of references in managed memory, as heap::create returns it. Copies are views of the
// same array, which lives as long as the heap.
template <class T>
class references {
public:
    references() = default;
    SHAREDOA_BOTH references(T** items, std::size_t size) : items_(items), size_(size) {}

    SHAREDOA_BOTH T** data() const { return items_; }
    SHAREDOA_BOTH std::size_t size() const { return size_; }
    SHAREDOA_BOTH ref<T> operator[](std::size_t index) const { return items_[index]; }

private:
    T** items_ = nullptr;
    std::size_t size_ = 0;
};

// -------------------------------------------------------------------------------- the range tree

// A node of the tree that rewritten code walks: complete, in one array, children of node i at
// 2i + 1 and 2i + 2, ranges in order of address as leaves, inner nodes with their children's
// smallest start and largest end.
struct tree_node {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t type_index;
    std::uint32_t stride;  // bytes from one object to the next
    std::uint64_t live;    // not used here
};
static_assert(sizeof(tree_node) == 32 && std::is_trivially_copyable_v<tree_node>);
static_assert(offsetof(tree_node, end) == 8 && offsetof(tree_node, type_index) == 16);
static_assert(offsetof(tree_node, stride) == 20 && offsetof(tree_node, live) == 24);

// Addresses from start up to end (not included), for objects of one class.
struct range {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t type_index;
    std::uint32_t stride;
};

// The ranges in order of address; those of one class that touch are one.
inline std::vector<range> merge_neighbours(std::vector<range> ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const range& left, const range& right) { return left.start < right.start; });
    std::vector<range> merged;
    for (const range& next : ranges) {
        if (!merged.empty() && merged.back().end == next.start &&
            merged.back().type_index == next.type_index && merged.back().stride == next.stride) {
            merged.back().end = next.end;
        } else {
            merged.push_back(next);
        }
    }
    return merged;
}

// The tree over sorted, disjoint, non-empty ranges: 2**d + K - 1 nodes, d = ceil(log2 K).
inline std::vector<tree_node> build_tree(const std::vector<range>& ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].start >= ranges[i].end || (i > 0 && ranges[i - 1].end > ranges[i].start)) {
            throw error("ranges must be sorted, disjoint and not empty; merge_neighbours sorts");
        }
    }
    if (ranges.empty()) return {};
    std::size_t leaves = 1;
    while (leaves < ranges.size()) leaves *= 2;
    const std::size_t first_leaf = leaves - 1;
    // A missing leaf is an empty range at the end of memory, which changes no hull.
    std::vector<tree_node> nodes(2 * first_leaf + 1, tree_node{UINT64_MAX, 0, 0, 0, 0});
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const range& leaf = ranges[i];
        nodes[first_leaf + i] = {leaf.start, leaf.end, leaf.type_index, leaf.stride, 0};
    }
    for (std::size_t i = first_leaf; i-- > 0;) {
        nodes[i].start = std::min(nodes[2 * i + 1].start, nodes[2 * i + 2].start);
        nodes[i].end = std::max(nodes[2 * i + 1].end, nodes[2 * i + 2].end);
    }
    nodes.resize(first_leaf + ranges.size());
    return nodes;
}

// -------------------------------------------------------------------------------- places

namespace detail {

// Places for objects of one class, side by side.
struct region {
    char* start;
    char* unused;  // places from here on were never taken
    std::size_t capacity;
    std::size_t size;  // bytes, the padding behind the last place included
};

// All places of one class, and what is known of the class.
struct class_record {
    static constexpr std::size_t unit = 256;  // regions start at multiples of it

    std::string name;
    std::size_t stride = 0;
    std::uint32_t type_index = 0;
    bool known = false;  // whether type_index was read
    std::vector<region> regions;
    std::vector<char*> freed;

    std::size_t unused(const region& part) const {
        return part.capacity - static_cast<std::size_t>(part.unused - part.start) / stride;
    }

    std::size_t room() const {
        std::size_t places = freed.size();
        for (const region& part : regions) places += unused(part);
        return places;
    }

    // SharedOA's growth: a class starts with `initial` places, and each region has twice as many
    // as the one before. What does not fit takes the smallest size of that sequence that holds it.
    // cut(bytes, what) gives memory. Returns whether there is a new region.
    template <class Cut>
    bool make_room(std::size_t count, std::size_t initial, Cut cut) {
        const std::size_t available = room();
        if (available >= count) return false;
        std::size_t held = 0;
        for (const region& part : regions) held += part.capacity;
        std::size_t capacity = initial;
        while (capacity <= held) capacity *= 2;
        while (capacity < count - available) capacity *= 2;
        const std::size_t size = (capacity * stride + unit - 1) / unit * unit;
        char* start = cut(size, std::to_string(capacity) + " objects of " + name);
        regions.push_back({start, start, capacity, size});
        return true;
    }

    // Write `count` places, at most room(), to `places`; freed ones first.
    void take(std::size_t count, char** places) {
        for (; count > 0 && !freed.empty(); --count) {
            *places++ = freed.back();
            freed.pop_back();
        }
        for (region& part : regions) {
            std::size_t taken = std::min(count, unused(part));
            count -= taken;
            for (; taken > 0; --taken, part.unused += stride) *places++ = part.unused;
        }
    }

    // The regions as rewritten code is told.
    void add_ranges(std::vector<range>& ranges) const {
        for (const region& part : regions) {
            const auto start = reinterpret_cast<std::uint64_t>(part.start);
            ranges.push_back(
                {start, start + part.size, type_index, static_cast<std::uint32_t>(stride)});
        }
    }
};

}  // namespace detail
}  // namespace sharedoa

#if defined(__CUDACC__)

// Words 0 and 1: address of the tree's nodes, and their number. Word 15 is set by ptxpass: bit 0,
// the code was rewritten; bit 1, for a mode with tagged references.
extern "C" {
__constant__ unsigned long long sharedoa_state[16];
// A second file with a heap would have a state block of its own, which nobody fills. So the linker
// shall refuse it.
int sharedoa_cuh_is_included_by_one_file_only = 1;
}

namespace sharedoa {

// What a program expects of its build; heap's constructor throws when it is another.
enum class mode {
    automatic,  // whatever it is
    original,   // not rewritten
    untagged,   // rewritten, references are addresses
    tagged,     // rewritten, references carry type indices
};

// An argument of heap::create of which object i gets values[i]; memory that the device can read.
template <class A>
struct each {
    explicit each(const A* array) : values(array) {}
    const A* values;
};

namespace detail {

inline void check(cudaError_t status, const std::string& what) {
    if (status == cudaSuccess) return;
    std::string cure = "an earlier kernel may be the cause: run under compute-sanitizer";
    if (status == cudaErrorMemoryAllocation) {
        cure = "create fewer objects, or reserve no more than needed";
    } else if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
        cure = "nvidia-smi tells whether there is a device, and for which CUDA its driver is";
    } else if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidSymbol ||
               status == cudaErrorInvalidDeviceFunction ||
               status == cudaErrorUnsupportedPtxVersion) {
        cure = "compile for this device, with nvcc -arch=native";
    }
    cudaGetLastError();
    throw error("sharedoa: " + what + " failed: " + cudaGetErrorString(status) +
                "\n  help: " + cure);
}

template <class T>
std::string name_of() {
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> plain(
        abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status), std::free);
    return plain ? plain.get() : typeid(T).name();
}

template <class A>
__device__ const A& item(const A& argument, std::size_t) {
    return argument;
}

template <class A>
__device__ const A& item(const each<A>& argument, std::size_t index) {
    return argument.values[index];
}

__device__ inline std::size_t thread() {
    return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
}

// The names of these kernels contain "sharedoa", by which ptxpass knows that they construct objects
// in the heap, and not somewhere else.
template <class T, class... A>
__global__ void construct(T* const* places, std::size_t count, A... arguments) {
    const std::size_t i = thread();
    if (i < count) ::new (static_cast<void*>(places[i])) T(item(arguments, i)...);
}

template <class T>
__global__ void destruct(T* const* objects, std::size_t count) {
    const std::size_t i = thread();
    if (i < count) address(objects[i])->T::~T();
}

// ptxpass writes a class's type index before its vtable; without ptxpass a 0 lies there.
static __global__ void read_type_index(const void* object, std::uint32_t* result) {
    *result = (*static_cast<const std::uint32_t* const*>(object))[-1];
}

static __global__ void set_tag(std::uint64_t* places, std::size_t count, std::uint64_t tag) {
    const std::size_t i = thread();
    if (i < count) places[i] |= tag;
}

template <class... Parameters, class... Arguments>
void launch(const std::string& what, void (*kernel)(Parameters...), std::size_t count,
            Arguments... arguments) {
    constexpr unsigned threads = 256;
    const std::size_t blocks = (count + threads - 1) / threads;
    if (blocks > 0x7fffffff) throw error("sharedoa: " + what + ": too many objects at once");
    kernel<<<static_cast<unsigned>(blocks), threads>>>(arguments...);
    check(cudaGetLastError(), what);
    check(cudaDeviceSynchronize(), what);
}

// Managed memory, freed with the heap.
class memory {
public:
    memory() = default;
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory() {
        for (void* block : blocks_) cudaFree(block);  // fails only when the process is ending
    }

    char* allocate(std::size_t size, const std::string& what) {
        void* block = nullptr;
        check(cudaMallocManaged(&block, size),
              "allocating " + std::to_string(size) + " bytes for " + what);
        if (reinterpret_cast<std::uint64_t>(block) >> tag_shift) {
            cudaFree(block);
            throw error("sharedoa: managed memory lies above 2**49, where references have their "
                        "type index\n  help: this system's addresses are too long here");
        }
        blocks_.push_back(block);
        return static_cast<char*>(block);
    }

    // Part of a slab of 64 MiB or more, behind what was cut from it before.
    char* cut(std::size_t size, const std::string& what) {
        if (size > left_) {
            const std::size_t slab = std::max(size, std::size_t{64} << 20);
            next_ = allocate(slab, what);
            left_ = slab;
        }
        left_ -= size;
        return std::exchange(next_, next_ + size);
    }

private:
    std::vector<void*> blocks_;
    char* next_ = nullptr;
    std::size_t left_ = 0;
};

}  // namespace detail

// Places objects by class in managed memory. One at a time in a program, for the current device;
// used by one host thread; objects and arrays die with it.
class heap {
public:
    // initial_region: places in the first region of a class; each next one has twice as many.
    explicit heap(mode expected = mode::automatic, std::size_t initial_region = 4096)
        : initial_region_(std::max<std::size_t>(initial_region, 1)) {
        std::uint64_t flags = 0;
        detail::check(cudaMemcpyFromSymbol(&flags, sharedoa_state, sizeof flags, 15 * sizeof flags),
                      "reading sharedoa_state");
        rewritten_ = flags & 1;
        tagged_ = flags & 2;
        if (expected != mode::automatic && expected != build()) {
            static const char* const names[] = {"", "original", "untagged", "tagged"};
            throw error(std::string("sharedoa: the program expects a build of kind ") +
                        names[static_cast<int>(expected)] + ", but this one is " +
                        names[static_cast<int>(build())] +
                        "\n  help: build with ptxpass and a fitting --mode, or expect "
                        "sharedoa::mode::automatic");
        }
        if (std::exchange(exists(), true)) {
            throw error("sharedoa: a second heap, but kernels know of one only\n"
                        "  help: keep one heap and create all objects in it");
        }
    }
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;
    ~heap() {
        cudaDeviceSynchronize();
        cudaFree(tree_);
        exists() = false;
    }

    // What ptxpass made of this program: original, untagged or tagged.
    mode build() const {
        return !rewritten_ ? mode::original : tagged_ ? mode::tagged : mode::untagged;
    }

    // `count` objects T(arguments...), constructed on the device. An argument sharedoa::each(array)
    // gives each object its own value. References are those that rewritten code takes.
    template <class T, class... A>
    references<T> create(std::size_t count, A... arguments) {
        detail::class_record& record = record_of<T>();
        if (count == 0) return {};
        make_room(record, count);
        T** items = array<T*>(count);
        record.take(count, reinterpret_cast<char**>(items));
        detail::launch("constructing " + std::to_string(count) + " objects of " + record.name,
                       detail::construct<T, A...>, count, items, count, arguments...);
        if (!record.known) learn_type_index(record, items[0]);
        if (tagged_) {
            detail::launch("tagging references", detail::set_tag, count,
                           reinterpret_cast<std::uint64_t*>(items), count,
                           std::uint64_t{record.type_index} << tag_shift);
        }
        publish();
        return {items, count};
    }

    // Make room for `count` more objects of T, in one region.
    template <class T>
    void reserve(std::size_t count) {
        make_room(record_of<T>(), count);
        publish();
    }

    // Run the destructors of objects that create<T> made; create<T> uses their places again.
    template <class T>
    void destroy(references<T> objects) {
        detail::class_record& record = record_of<T>();
        if (objects.size() == 0) return;
        detail::launch("destroying objects of " + record.name, detail::destruct<T>, objects.size(),
                       objects.data(), objects.size());
        for (std::size_t i = objects.size(); i-- > 0;) {
            record.freed.push_back(reinterpret_cast<char*>(address(objects.data()[i])));
        }
    }

    // Managed memory for `count` items, not initialised.
    template <class T>
    T* array(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T>);
        const std::size_t size = std::max<std::size_t>(count * sizeof(T), 1);
        return reinterpret_cast<T*>(memory_.allocate(size, "an array"));
    }

    // Where which class lies, in order of address, as rewritten code is told.
    std::vector<range> ranges() const {
        std::vector<range> found;
        for (const auto& item : classes_) {
            if (item.second.type_index != 0) item.second.add_ranges(found);
        }
        return merge_neighbours(std::move(found));
    }

    // Tell the rewritten code. create and reserve do it; kernels under way are waited for.
    void publish() {
        if (!changed_ || !rewritten_) return;
        const std::vector<tree_node> nodes = build_tree(ranges());
        const std::size_t size = nodes.size() * sizeof(tree_node);
        detail::check(cudaDeviceSynchronize(), "waiting for the device");
        if (nodes.size() > tree_capacity_) {
            cudaFree(std::exchange(tree_, nullptr));
            tree_capacity_ = 0;
            detail::check(cudaMalloc(&tree_, 2 * size), "allocating the range tree");
            tree_capacity_ = 2 * nodes.size();
        }
        if (!nodes.empty()) {
            detail::check(cudaMemcpy(tree_, nodes.data(), size, cudaMemcpyHostToDevice),
                          "copying the range tree");
        }
        const std::uint64_t words[2] = {reinterpret_cast<std::uint64_t>(tree_), nodes.size()};
        detail::check(cudaMemcpyToSymbol(sharedoa_state, words, sizeof words),
                      "writing sharedoa_state");
        changed_ = false;
    }

private:
    static bool& exists() {
        static bool one = false;
        return one;
    }

    template <class T>
    detail::class_record& record_of() {
        static_assert(std::is_polymorphic_v<T>, "a class without virtual methods has no type");
        static_assert(!std::is_abstract_v<T>, "an abstract class has no objects");
        static_assert(alignof(T) <= detail::class_record::unit, "regions are aligned to 256 bytes");
        detail::class_record& record = classes_[typeid(T)];
        if (record.stride == 0) {
            record.name = detail::name_of<T>();
            record.stride = sizeof(T);
        }
        return record;
    }

    void make_room(detail::class_record& record, std::size_t count) {
        changed_ |= record.make_room(count, initial_region_, [this](std::size_t size, auto what) {
            return memory_.cut(size, what);
        });
    }

    void learn_type_index(detail::class_record& record, const void* object) {
        auto* result = array<std::uint32_t>(1);
        *result = 0;
        detail::launch("reading the type index of " + record.name, detail::read_type_index, 1,
                       object, result);
        if (rewritten_ && *result == 0) {
            throw error("sharedoa: ptxpass gave " + record.name +
                        " no type index\n  help: build every architecture of this program with the "
                        "same ptxpass command");
        }
        if (tagged_ && *result > tag_limit) {
            throw error("sharedoa: " + record.name + " has type index " + std::to_string(*result) +
                        ", but references carry 32767 at most\n  help: build with a range mode");
        }
        record.type_index = *result;
        record.known = true;
        changed_ = true;
    }

    std::size_t initial_region_;
    bool rewritten_ = false;
    bool tagged_ = false;
    bool changed_ = false;
    void* tree_ = nullptr;
    std::size_t tree_capacity_ = 0;  // in nodes
    detail::memory memory_;
    std::unordered_map<std::type_index, detail::class_record> classes_;
};

}  // namespace sharedoa

#endif
