// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/copies.hpp"

#include <cstring>

#include "agent/driver/driver.hpp"
#include "agent/kernels/constants.hpp"
#include "agent/kernels/copy_table.hpp"
#include "agent/session/held.hpp"
#include "agent/session/session.hpp"
#include "agent/timing/timers.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constexpr std::size_t kLongestName = 1 << 16;  // bytes of a mangled kernel or variable name

constinit std::uint32_t waiting_in = ~0u;  // bit i: place i may lack copies
constinit std::uint32_t copies_loaded = 0;

bool failed(egpu_message_copy_result* out, egpu_copy_reason reason, CUresult result) {
    out->reason = reason;
    out->result = static_cast<std::int32_t>(result);
    return false;
}

// A NUL-ended copy of a name, freed with the buffer.
Buffer ended(std::string_view text) {
    if (text.size() > kLongestName)
        return {};
    Buffer buffer(text.size() + 1);
    if (buffer.size() != 0) {
        std::memcpy(buffer.data(), text.data(), text.size());
        buffer.data()[text.size()] = std::byte{0};
    }
    return buffer;
}

const char* text_of(const Buffer& buffer) {
    return reinterpret_cast<const char*>(buffer.data());
}

// The application's own function of that kernel in the current context; null where the driver doesn't say.
CUfunction original_function(const Image& image, const char* name) {
    const Driver& real = driver();
    CUfunction function = nullptr;
    if (image.library == nullptr)
        return real.cuModuleGetFunction(&function, image.module, name) == CUDA_SUCCESS ? function : nullptr;
    CUkernel kernel = nullptr;
    if (real.cuLibraryGetKernel(&kernel, image.library, name) != CUDA_SUCCESS ||
        real.cuKernelGetFunction(&function, kernel) != CUDA_SUCCESS)
        return nullptr;
    return function;
}

std::uint32_t attribute(CUfunction function, CUfunction_attribute which) {
    int value = 0;
    const auto ask = driver().cuFuncGetAttribute;
    return ask != nullptr && ask(&value, which, function) == CUDA_SUCCESS && value > 0
               ? static_cast<std::uint32_t>(value)
               : 0;
}

// Local memory over what the context has reserved would make the driver stall the launch and keep gigabytes.
bool local_memory_fits(const Functions& functions, egpu_message_copy_result* result) {
    int local = 0;
    const auto ask = driver().cuFuncGetAttribute;
    const CUresult asked =
        ask == nullptr ? CUDA_ERROR_NOT_SUPPORTED : ask(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, functions.copy);
    if (asked != CUDA_SUCCESS)
        return failed(result, EGPU_COPY_LOAD_FAILED, asked);
    result->local_bytes = static_cast<std::uint32_t>(local);
    result->original_local_bytes = attribute(functions.original, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    std::size_t limit = 0;
    if (driver().cuCtxGetLimit == nullptr || driver().cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE) != CUDA_SUCCESS)
        limit = 0;
    return result->local_bytes <= result->original_local_bytes || result->local_bytes <= limit ||
           failed(result, EGPU_COPY_LOCAL_MEMORY, CUDA_SUCCESS);
}

// What the application has set on its function by now.
bool take_attributes_over(const Functions& functions, egpu_message_copy_result* result) {
    constexpr CUfunction_attribute kMirrored[] = {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED};
    const Driver& real = driver();
    if (real.cuFuncGetAttribute == nullptr || real.cuFuncSetAttribute == nullptr)
        return true;
    for (const CUfunction_attribute which : kMirrored) {
        int wanted = 0, present = 0;
        CUresult done = real.cuFuncGetAttribute(&wanted, which, functions.original);
        if (done == CUDA_ERROR_INVALID_VALUE || done == CUDA_ERROR_NOT_SUPPORTED)
            continue;  // a driver that doesn't know it
        if (done == CUDA_SUCCESS)
            done = real.cuFuncGetAttribute(&present, which, functions.copy);
        if (done == CUDA_SUCCESS && wanted != present)
            done = real.cuFuncSetAttribute(functions.copy, which, wanted);
        if (done != CUDA_SUCCESS)
            return failed(result, EGPU_COPY_LOAD_FAILED, done);
    }
    return true;
}

bool load_module(const ReceivedCopy& received, const char* name, Copy* copy, egpu_message_copy_result* result) {
    const Driver& real = driver();
    if (received.image() == nullptr || copies_loaded >= EGPU_SEGMENT_MAX_KERNELS)
        return failed(result, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult loaded = real.cuModuleLoadData(&copy->module, received.image());
    if (loaded == CUDA_SUCCESS)
        loaded = real.cuModuleGetFunction(&copy->functions.copy, copy->module, name);
    if (loaded != CUDA_SUCCESS) {
        copy->functions.copy = nullptr;
        return failed(result, EGPU_COPY_LOAD_FAILED, loaded);
    }
    segment::store_relaxed(view().header().copies_loaded, ++copies_loaded);
    egpu_message_copy_result of_bank{};
    if (received.bank_image() != nullptr)
        load_bank(received, name, &copy->bank, &of_bank);
    copy->bank.reason = of_bank.reason;
    copy->bank.result = of_bank.result;
    return true;
}

// Of both forms. Where the bank's doesn't follow, the other is launched.
bool copy_takes_attributes_over(Copy* copy, egpu_message_copy_result* result) {
    egpu_message_copy_result of_bank{};
    if (fits(copy->bank) && !take_attributes_over(copy->bank.functions, &of_bank))
        set_fits(&copy->bank, false);
    return take_attributes_over(copy->functions, result);
}

// A form of a copy against its original.
bool figures_fit(Functions& functions, CUfunction original, egpu_message_copy_result* result) {
    functions.original = original;
    functions.registers = result->registers = attribute(functions.copy, CU_FUNC_ATTRIBUTE_NUM_REGS);
    functions.original_registers = result->original_registers =
        attribute(functions.original, CU_FUNC_ATTRIBUTE_NUM_REGS);
    forget_configurations(&functions);
    if (!local_memory_fits(functions, result))
        return false;
    return compare_residency(&functions) || failed(result, EGPU_COPY_FEWER_BLOCKS, CUDA_SUCCESS);
}

// Where it doesn't fit, launches run the other form; the result says why.
void fit_bank_to_original(const Image& image, Place* place, const ReceivedCopy& received, Copy* copy,
                          egpu_message_copy_result* result) {
    Bank& bank = copy->bank;
    egpu_message_copy_result of_bank = *result;
    if (bank.functions.copy == nullptr && bank.reason == EGPU_COPY_LOADED)
        return;
    const bool it_does =
        bank.reason == EGPU_COPY_LOADED && figures_fit(bank.functions, copy->functions.original, &of_bank) &&
        fit_bank(image, place, received, copy, &of_bank) && take_attributes_over(bank.functions, &of_bank);
    set_fits(&bank, it_does);
    if (it_does) {
        *result = of_bank;
        return;
    }
    result->bank_reason = bank.reason != EGPU_COPY_LOADED ? bank.reason : of_bank.reason;
    result->bank_result = bank.reason != EGPU_COPY_LOADED ? bank.result : of_bank.result;
}

// Everything that depends on the original: done at the load, and again where a copy gets another instance of it.
bool fit_to_original(const Image& image, Place* place, const ReceivedCopy& received, const char* name, Copy* copy,
                     egpu_message_copy_result* result) {
    Functions& functions = copy->functions;
    copy->fits = false;
    set_fits(&copy->bank, false);
    const CUfunction original = original_function(image, name);
    functions.original = original;
    if (original == nullptr)
        return failed(result, EGPU_COPY_LOAD_FAILED, CUDA_ERROR_NOT_FOUND);
    copy->fits = figures_fit(functions, original, result) &&
                 fill_table(image, place, copy->module, received, received.entries(), result) &&
                 take_attributes_over(functions, result);
    if (copy->fits)
        fit_bank_to_original(image, place, received, copy, result);
    return copy->fits;
}

// Whether the copy was made from this message, or from one like it.
bool is_of(const Copy& copy, const ReceivedCopy& received) {
    return copy.counters == &view().copies()[received.head.copy_id - 1] && copy.content == received.content;
}

// A copy of the same content in this place, made for this kernel when its image was loaded before.
Copy* earlier_copy(const Place& place, const Kernel& kernel, const ReceivedCopy& received) {
    Copy* copy = copies_of(place);
    while (copy != nullptr && (copy->kernel != &kernel || !is_of(*copy, received)))
        copy = copy->next;
    return copy;
}

// Null where the original has to run; then `result` says why.
Copy* load_one(const Image& image, Kernel* kernel, Place* place, const ReceivedCopy& received,
               egpu_message_copy_result* result) {
    const Buffer name = ended(received.name());
    if (name.size() == 0) {
        failed(result, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
        return nullptr;
    }
    Copy* copy = earlier_copy(*place, *kernel, received);
    if (copy == nullptr && (copy = new_copy()) != nullptr) {
        copy->kernel = kernel;
        copy->content = received.content;
        copy->counters = &view().copies()[received.head.copy_id - 1];
        load_module(received, text_of(name), copy, result);
        copy->reason = result->reason;
        copy->result = result->result;
        // What was loaded stays loaded, so it is kept: the next load of the image finds it.
        copy->next = copies_of(*place);
        copies_of(*place) = copy;
    }
    if (copy == nullptr) {
        failed(result, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
        return nullptr;
    }
    if (copy->functions.copy == nullptr) {
        failed(result, static_cast<egpu_copy_reason>(copy->reason), static_cast<CUresult>(copy->result));
        return nullptr;
    }
    return fit_to_original(image, place, received, text_of(name), copy, result) ? copy : nullptr;
}

void record(egpu_kernel_counters* counters, const egpu_message_copy_result& result) {
    const bool loaded = result.reason == EGPU_COPY_LOADED;
    segment::store_relaxed(counters->copy_result, result.result);
    segment::store_relaxed(counters->copy_reason, result.reason);
    segment::store_release(counters->copy_state, std::uint32_t{loaded ? 1u : 2u});
}

bool has_copy_anywhere(const Kernel& kernel) {
    for (unsigned int i = 0; i < places_used(); ++i)
        if (current_copy(kernel, i) != nullptr)
            return true;
    return false;
}

// Of a kernel that has a copy already (the same image in another context), only the reason; unless this failure is why
// it has none any more.
void record_load(const Kernel& kernel, const egpu_message_copy_result& result, bool lost_its_copy) {
    const bool has_copy =
        lost_its_copy ? has_copy_anywhere(kernel) : segment::load_relaxed(kernel.counters->copy_state) == 1;
    if (result.reason != EGPU_COPY_LOADED && has_copy)
        segment::store_relaxed(kernel.counters->copy_reason, result.reason);
    else
        record(kernel.counters, result);
}

void load_and_tell(Image* image, Place* place, const ReceivedCopy& received) {
    Kernel* kernel = find_kernel(*image, received.name());
    egpu_message_copy_result result{};
    result.kernel_id = received.head.kernel_id;
    result.copy_id = received.head.copy_id;
    if (kernel == nullptr || kernel->id != received.head.kernel_id || result.copy_id == 0 ||
        result.copy_id > view().copies().size()) {
        failed(&result, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_NOT_FOUND);
    } else {
        const unsigned int index = index_of(*place);
        const Copy* current = current_copy(*kernel, index);
        if (kernel->wanted != result.copy_id)
            return;  // a command came meanwhile
        if (current != nullptr && is_of(*current, received))
            return tell_result(image->request, result);  // came twice: with the image, and late or by a command
        Copy* copy = nullptr;
        if (!equip(place))
            failed(&result, EGPU_COPY_LOAD_FAILED, CUDA_ERROR_INVALID_CONTEXT);
        else if (!is_like_told_device(place->device))
            failed(&result, EGPU_COPY_OTHER_DEVICE, CUDA_SUCCESS);
        else
            copy = load_one(*image, kernel, place, received, &result);
        // The copy before may run programs that were taken off: without the one that was asked for, the original runs.
        const bool lost_its_copy = copy == nullptr && current != nullptr;
        if (lost_its_copy)
            replace_copy(kernel, index, nullptr);
        record_load(*kernel, result, lost_its_copy);
        if (copy != nullptr) {
            prepare_timers(*place);
            replace_copy(kernel, index, copy);
            // Once more: what was set between the first time and now found no copy to set it on.
            if (!copy_takes_attributes_over(copy, &result))
                retire_copy(kernel, index, EGPU_COPY_LOAD_FAILED, static_cast<CUresult>(result.result));
        }
    }
    tell_result(image->request, result);
}

// Copies that will not be loaded: of one kernel, or (kernel null) of all.
void drop_waiting(Image* image, const Kernel* kernel, egpu_copy_reason reason) {
    for (ReceivedCopy** link = &image->waiting; *link != nullptr;) {
        ReceivedCopy* copy = *link;
        if (kernel != nullptr && copy->head.kernel_id != kernel->id) {
            link = &copy->next;
            continue;
        }
        *link = copy->next;
        egpu_message_copy_result result{};
        result.kernel_id = copy->head.kernel_id;
        result.copy_id = copy->head.copy_id;
        result.reason = reason;
        if (copy->of_command)
            tell_result(0, result);
        free_copy(copy);
    }
}

// The copy where it was loaded before, in the places that have it: from the next launch on. True where one has.
bool use_where_loaded(Image* image, Kernel* kernel, const ReceivedCopy& received) {
    bool any = false;
    for (unsigned int i = 0; i < places_used(); ++i) {
        const Place& place = place_at(i);
        Copy* copy = earlier_copy(place, *kernel, received);
        egpu_message_copy_result result{};
        if (copy == nullptr || !copy->fits || driver().cuCtxSetCurrent(place.context) != CUDA_SUCCESS ||
            !copy_takes_attributes_over(copy, &result))
            continue;
        replace_copy(kernel, i, copy);
        any = true;
    }
    // Where it is missing the one before must not go on: it is asked for at that place's next quiet moment.
    for (unsigned int i = 0; any && i < places_used(); ++i) {
        const Copy* copy = current_copy(*kernel, i);
        if (copy == nullptr || is_of(*copy, received))
            continue;
        replace_copy(kernel, i, nullptr);
        __atomic_fetch_and(&image->loaded_places, ~(1u << i), __ATOMIC_RELEASE);
        copies_came();
    }
    return any;
}

// The application's context is current again afterwards.
template <typename Call>
CUresult with_current(CUcontext context, const Call& call) {
    const Driver& real = driver();
    CUcontext current = nullptr, popped = nullptr;
    if (real.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context)
        return call();
    const CUresult pushed = real.cuCtxPushCurrent_v2(context);
    if (pushed != CUDA_SUCCESS)
        return pushed;
    const CUresult result = call();
    real.cuCtxPopCurrent_v2(&popped);
    return result;
}

// A library comes to a further place: its copies were loaded into the one before and are not kept here.
void ask_again(Image* image) {
    LoadedImage loaded;
    loaded.identity = image->identity;
    Answer answer;
    ask_about(loaded, &answer);
    const Lock inventory(inventory_lock());
    image->request = answer.request;  // what comes too late for this is taken in later
    image->waiting = answer.copies;
}

}  // namespace

bool copies_wait(const Place& place) {
    return ((__atomic_load_n(&waiting_in, __ATOMIC_RELAXED) >> index_of(place)) & 1) != 0;
}

bool copies_wait_anywhere() {
    return (__atomic_load_n(&waiting_in, __ATOMIC_RELAXED) & ((1u << places_used()) - 1)) != 0;
}

void copies_came() {
    __atomic_store_n(&waiting_in, ~0u, __ATOMIC_RELAXED);
}

void load_copies(Image* image, Place* place) {
    const unsigned int index = index_of(*place);
    refresh_view();  // a copy may count in maps of probes that were added while its image was asked about
    if (!lacks_copies(*image, index) || (image->library == nullptr && image->place != index))
        return;
    if (image->waiting == nullptr)
        ask_again(image);
    for (const ReceivedCopy* copy = image->waiting; copy != nullptr && mode() == Mode::observing; copy = copy->next)
        load_and_tell(image, place, *copy);
    free_copies_of(&image->waiting);
    __atomic_fetch_or(&image->loaded_places, 1u << index, __ATOMIC_RELEASE);
    if (image->library != nullptr)
        __atomic_fetch_or(&waiting_in, ~(1u << index), __ATOMIC_RELAXED);
}

void load_waiting_copies(Place* place) {
    __atomic_fetch_and(&waiting_in, ~(1u << index_of(*place)), __ATOMIC_RELAXED);
    for (Image* image = first_image(); image != nullptr && mode() == Mode::observing; image = image->next)
        load_copies(image, place);
}

void use_copy(Image* image, Kernel* kernel, ReceivedCopy* received) {
    if (received->head.copy_id == 0 || received->head.copy_id > view().copies().size())
        return free_copy(received);
    drop_waiting(image, kernel, EGPU_COPY_SUPERSEDED);
    kernel->wanted = received->head.copy_id;
    if (use_where_loaded(image, kernel, *received)) {
        egpu_message_copy_result result{};
        result.kernel_id = kernel->id;
        result.copy_id = received->head.copy_id;
        record(kernel->counters, result);
        free_copy(received);
        return tell_result(0, result);
    }
    received->of_command = true;
    segment::add_relaxed(view().header().copies_waiting, std::uint32_t{1});
    const Lock inventory(inventory_lock());
    ReceivedCopy** end = &image->waiting;
    while (*end != nullptr)
        end = &(*end)->next;
    *end = received;
    __atomic_add_fetch(&image->copy_count, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&image->loaded_places, 0u, __ATOMIC_RELEASE);
    copies_came();
}

void use_original(Image* image, Kernel* kernel) {
    kernel->wanted = 0;
    for (unsigned int place = 0; place < kMostPlaces; ++place)
        replace_copy(kernel, place, nullptr);
    drop_waiting(image, kernel, EGPU_COPY_SUPERSEDED);
}

void forget_waiting(Image* image) {
    drop_waiting(image, nullptr, EGPU_COPY_NO_KERNEL);
}

void retire_copy(Kernel* kernel, unsigned int place, egpu_copy_reason reason, CUresult result) {
    replace_copy(kernel, place, nullptr);
    egpu_message_copy_result record_of{};
    record_of.reason = reason;
    record_of.result = static_cast<std::int32_t>(result);
    record(kernel->counters, record_of);
}

void end_place(Place* place) {
    for (const Copy* copy = copies_of(*place); copy != nullptr; copy = copy->next)
        copies_loaded -= copy->functions.copy != nullptr ? 1 : 0;
    segment::store_relaxed(view().header().copies_loaded, copies_loaded);
    forget_timers(*place);
    drop_place(*place);
    __atomic_fetch_or(&waiting_in, 1u << index_of(*place), __ATOMIC_RELAXED);
    forget_place(place);
}

void mirror_on_copies(const void* handle, CUdevice device, CUresult (*call)(CUfunction, const void*),
                      const void* what) {
    const Handle known = handles().find(handle);
    const Driver& real = driver();
    if (known.kernel == nullptr || real.cuCtxPushCurrent_v2 == nullptr || real.cuCtxPopCurrent_v2 == nullptr)
        return;
    const Held held;
    const OwnCalls own;
    // A function of a library is of one context; which, only the driver knows: the current one, or the call had failed.
    const Place* only = known.context_free && device < 0 ? current_place() : nullptr;
    for (unsigned int i = 0; i < places_used(); ++i) {
        const Place& place = place_at(i);
        Copy* copy = current_copy(*known.kernel, i);
        if (copy == nullptr || (device >= 0 && place.device != device) || (only != nullptr && only != &place))
            continue;
        const CUresult result = with_current(place.context, [&] { return call(copy->functions.copy, what); });
        forget_configurations(&copy->functions);
        if (result != CUDA_SUCCESS)
            retire_copy(known.kernel, i, EGPU_COPY_LOAD_FAILED, result);
        if (!fits(copy->bank))
            continue;
        if (with_current(place.context, [&] { return call(copy->bank.functions.copy, what); }) != CUDA_SUCCESS)
            set_fits(&copy->bank, false);
        forget_configurations(&copy->bank.functions);
    }
}

}  // namespace egpu::agent
