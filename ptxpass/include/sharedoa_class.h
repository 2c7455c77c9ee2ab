// Tells sharedoa about C++ classes whose objects its heap is to hold. Needs no other header.
//
//     SHAREDOA_CLASS(Circle, geo::Circle)    // a name of your choice, and the type
//     SHAREDOA_FIELD(Circle, radius)         // a data member that Python reads and writes
//     SHAREDOA_BASE(Circle, Shape)           // a base class, by the name that its own line gave it
//
// after the definition of the class, at namespace scope. sharedoa.cxx.compile writes these lines
// itself; they are for programs that nvcc or clang compile to PTX.
//
// SHAREDOA_CLASS also defines a kernel that makes an object in place. It is never launched: without
// it compilers leave out the vtable of a class that no device code constructs.
#ifndef SHAREDOA_CLASS_H
#define SHAREDOA_CLASS_H

#if defined(__NVCC__) || defined(__CUDACC_RTC__)
// offsetof of a class with virtual functions is what all of this is about
#define SHAREDOA_QUIET _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 1427")
#define SHAREDOA_LOUD _Pragma("nv_diagnostic pop")
#else
#define SHAREDOA_QUIET
#define SHAREDOA_LOUD
#endif

// NVRTC before 13.1 has no offsetof; __INTADDR__ is what its front end makes of one.
#ifdef __CUDACC_RTC__
#define SHAREDOA_OFFSET(Type, member) __INTADDR__(&((Type *)0)->member)
#else
#define SHAREDOA_OFFSET(Type, member) __builtin_offsetof(Type, member)
#endif

struct sharedoa_place {};

inline __device__ void *operator new(decltype(sizeof(0)), void *place, sharedoa_place) {
  return place;
}
inline __device__ void operator delete(void *, void *, sharedoa_place) {}

// How an object can be made: 0 not at all, 1 from another one, 2 from nothing. Moving, because nvcc
// copies the vtable pointer of a const object as it is when the class overrides nothing.
template <class Type> struct sharedoa_how {
  enum { value = __is_abstract(Type) ? 0 : __is_constructible(Type, Type &&) ? 1 : 2 };
};
template <class Type, int how = sharedoa_how<Type>::value> struct sharedoa_made {
  static __device__ void in(void *, void *) {}
};
template <class Type> struct sharedoa_made<Type, 1> {
  static __device__ void in(void *place, void *from) {
    ::new (place, sharedoa_place()) Type(static_cast<Type &&>(*static_cast<Type *>(from)));
  }
};
template <class Type> struct sharedoa_made<Type, 2> {
  static __device__ void in(void *place, void *) { ::new (place, sharedoa_place()) Type; }
};

// sharedoa_class_*: version of this format, bytes, alignment, is abstract, is polymorphic
#define SHAREDOA_CLASS(identifier, ...)                                                            \
  typedef __VA_ARGS__ sharedoa_type_##identifier;                                                  \
  extern "C" __device__ char sharedoa_name_##identifier[] = #__VA_ARGS__;                          \
  extern "C" __device__ unsigned long long sharedoa_class_##identifier[] = {                       \
      1, sizeof(sharedoa_type_##identifier), alignof(sharedoa_type_##identifier),                  \
      __is_abstract(sharedoa_type_##identifier), __is_polymorphic(sharedoa_type_##identifier)};    \
  extern "C" __global__ void sharedoa_keep_##identifier(void *place, void *from) {                 \
    sharedoa_made<sharedoa_type_##identifier>::in(place, from);                                    \
  }

// sharedoa_field_*: bytes from the start of the object, bytes of the member
#define SHAREDOA_FIELD(identifier, member) SHAREDOA_MEMBER(identifier, member, member)
#define SHAREDOA_MEMBER(identifier, label, member)                                                 \
  SHAREDOA_QUIET                                                                                   \
  extern "C" __device__ unsigned long long sharedoa_field_##identifier##__##label[] = {            \
      SHAREDOA_OFFSET(sharedoa_type_##identifier, member),                                         \
      sizeof(((sharedoa_type_##identifier *)0)->member)};                                          \
  SHAREDOA_LOUD

// What a parameter of a kernel is: 4096 * how often it is a pointer + 256 * what it then is (0 not
// known, 1 an integer, 2 a float, 3 void, 4 a class) + its bytes, at most 255.
template <class Type> struct sharedoa_type {
  enum { depth = 0, what = __is_class(Type) || __is_union(Type) ? 4 : __is_enum(Type) ? 1 : 0,
         size = sizeof(Type) < 255 ? sizeof(Type) : 255 };
};
template <class Type> struct sharedoa_type<const Type> : sharedoa_type<Type> {};
template <class Type> struct sharedoa_type<volatile Type> : sharedoa_type<Type> {};
template <class Type> struct sharedoa_type<const volatile Type> : sharedoa_type<Type> {};
template <class Type> struct sharedoa_type<Type *> {
  enum { depth = 1 + sharedoa_type<Type>::depth, what = sharedoa_type<Type>::what,
         size = sharedoa_type<Type>::size };
};
template <int kind, int bytes> struct sharedoa_is { enum { depth = 0, what = kind, size = bytes }; };
template <> struct sharedoa_type<void> : sharedoa_is<3, 0> {};
template <> struct sharedoa_type<float> : sharedoa_is<2, sizeof(float)> {};
template <> struct sharedoa_type<double> : sharedoa_is<2, sizeof(double)> {};
#define SHAREDOA_INTEGER(Type)                                                                     \
  template <> struct sharedoa_type<Type> : sharedoa_is<1, sizeof(Type)> {};
SHAREDOA_INTEGER(bool) SHAREDOA_INTEGER(char) SHAREDOA_INTEGER(signed char)
SHAREDOA_INTEGER(unsigned char) SHAREDOA_INTEGER(short) SHAREDOA_INTEGER(unsigned short)
SHAREDOA_INTEGER(int) SHAREDOA_INTEGER(unsigned) SHAREDOA_INTEGER(long)
SHAREDOA_INTEGER(unsigned long) SHAREDOA_INTEGER(long long) SHAREDOA_INTEGER(unsigned long long)
template <class Kernel> struct sharedoa_parameters;
template <class... Types> struct sharedoa_parameters<void (*)(Types...)> {
  unsigned long long words[1 + sizeof...(Types)] = {
      sizeof...(Types), sharedoa_type<Types>::depth * 4096 + sharedoa_type<Types>::what * 256 +
                            sharedoa_type<Types>::size...};
};

// sharedoa_kernel_*: how many parameters, and what each is
#define SHAREDOA_KERNEL(identifier, ...)                                                           \
  extern "C" __device__ sharedoa_parameters<decltype(&__VA_ARGS__)>                                \
      sharedoa_kernel_##identifier = {};

// sharedoa_base_*: whether the one class is a base of the other
#define SHAREDOA_BASE(identifier, base)                                                            \
  extern "C" __device__ unsigned long long sharedoa_base_##identifier##__##base[] = {              \
      __is_base_of(sharedoa_type_##base, sharedoa_type_##identifier)};

#endif
