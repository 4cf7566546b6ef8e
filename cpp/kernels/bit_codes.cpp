#include "kernels/bit_codes.hpp"

#include "kernels/kernels.hpp"

namespace weald {

namespace baseline {
extern const BitCodes bit_codes;
}
#ifdef WEALD_X86_KERNELS
namespace avx2 {
extern const BitCodes bit_codes;
}
namespace avx512 {
extern const BitCodes bit_codes;
}
#endif

BitCodes bit_codes() {
#ifdef WEALD_X86_KERNELS
  const std::string_view name = kernels().name;
  if (name == "avx512") return avx512::bit_codes;
  if (name == "avx2") return avx2::bit_codes;
#endif
  return baseline::bit_codes;
}

}  // namespace weald
