// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress of the stand-in: every entry point by name, version and default stream; its exports.
#include <string>

#include "driver_fixture.hpp"

namespace {

struct Known {
    const char* name;
    int since;
    bool per_thread;
    const char* exported;
};

constexpr Known kKnown[] = {
#define PLAIN(name, since, function) {#name, since, false, #function},
#define PER_THREAD(name, since, function) {#name, since, true, #function},
#include "gpu/simulated/libcuda/entry_points.inc"
#undef PLAIN
#undef PER_THREAD
};

struct Answer {
    CUresult result = CUDA_SUCCESS;
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
};

Answer ask(const char* name, int version, cuuint64_t flags = 0) {
    Answer answer;
    answer.result = DRIVER(cuGetProcAddress_v2)(name, &answer.function, version, flags, &answer.status);
    return answer;
}

TEST(EntryPoints, AreTheExportedFunctions) {
    for (const Known& known : kKnown) {
        void* const exported = dlsym(driver_library(), known.exported);
        ASSERT_NE(exported, nullptr) << known.exported;
        const Answer answer =
            ask(known.name, known.since, known.per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0);
        EXPECT_EQ(answer.result, CUDA_SUCCESS) << known.exported;
        EXPECT_EQ(answer.function, exported) << known.exported;
    }
}

TEST(EntryPoints, AreFoundByVersion) {
    EXPECT_EQ(ask("cuCtxCreate", 3020).function, dlsym(driver_library(), "cuCtxCreate_v2"));
    EXPECT_EQ(ask("cuCtxCreate", 11040).function, dlsym(driver_library(), "cuCtxCreate_v3"));
    EXPECT_EQ(ask("cuCtxCreate", 13000).function, dlsym(driver_library(), "cuCtxCreate_v4"));
    EXPECT_EQ(ask("cuGetProcAddress", 11030).function, dlsym(driver_library(), "cuGetProcAddress"));
    EXPECT_EQ(ask("cuGetProcAddress", 12000).function, dlsym(driver_library(), "cuGetProcAddress_v2"));
    EXPECT_EQ(ask("cuCtxSynchronize", 12090).function, dlsym(driver_library(), "cuCtxSynchronize"));

    const Answer too_old = ask("cuLaunchKernelEx", 11000);
    EXPECT_EQ(too_old.result, CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(too_old.function, nullptr);
    EXPECT_EQ(too_old.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST(EntryPoints, DependOnTheDefaultStream) {
    constexpr cuuint64_t own = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    EXPECT_EQ(ask("cuLaunchKernel", 13000, own).function, dlsym(driver_library(), "cuLaunchKernel_ptsz"));
    EXPECT_EQ(ask("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM).function,
              dlsym(driver_library(), "cuLaunchKernel"));
    EXPECT_EQ(ask("cuMemcpyHtoD", 13000, own).function, dlsym(driver_library(), "cuMemcpyHtoD_v2_ptds"));
    EXPECT_EQ(ask("cuMemAlloc", 13000, own).function, dlsym(driver_library(), "cuMemAlloc_v2"));
    EXPECT_EQ(ask("cuMemcpyHtoD", 6000, own).function, dlsym(driver_library(), "cuMemcpyHtoD_v2"));
}

TEST(EntryPoints, RefuseWhatTheyDoNotKnow) {
    for (const char* name :
         {"cuStreamBeginCaptureToGraph", "cuMipmappedArrayCreate", "cuMemAlloc_v2", "cuNoSuchThing", ""}) {
        const Answer answer = ask(name, 13000);
        EXPECT_EQ(answer.result, CUDA_ERROR_NOT_FOUND) << name;
        EXPECT_EQ(answer.function, nullptr) << name;
        EXPECT_EQ(answer.status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) << name;
    }
    void* function = nullptr;
    EXPECT_EQ(DRIVER(cuGetProcAddress_v2)(nullptr, &function, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuGetProcAddress_v2)("cuInit", nullptr, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuGetProcAddress_v2)("cuInit", &function, 13000, 3, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuGetProcAddress)("cuInit", &function, 13000, 0), CUDA_SUCCESS);
    EXPECT_EQ(function, dlsym(driver_library(), "cuInit"));
}

TEST(EntryPoints, NothingElseIsExported) {
    EXPECT_EQ(dlsym(driver_library(), "_ZN4egpu9simulated6driverEv"), nullptr);
    EXPECT_EQ(dlsym(driver_library(), "egpu_image_extent_of"), nullptr);
}

TEST(EntryPoints, NameTheirErrors) {
    const char* text = nullptr;
    EXPECT_EQ(DRIVER(cuGetErrorName)(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_EQ(DRIVER(cuGetErrorString)(CUDA_ERROR_INVALID_VALUE, &text), CUDA_SUCCESS);
    EXPECT_STREQ(text, "invalid argument");
    EXPECT_EQ(DRIVER(cuGetErrorName)(unknown<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(text, nullptr);
}

}  // namespace
