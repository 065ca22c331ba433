// SPDX-License-Identifier: Apache-2.0
// FIPS 180-4's own examples, and every length around a block.
#include "base/sha256.hpp"

#include <gtest/gtest.h>

namespace egpu {
namespace {

std::string digest_of(std::string_view text, std::size_t piece = 1 << 20) {
    Sha256 sum;
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
        sum.add(text.substr(0, piece));
    return to_hex(sum.finish());
}

TEST(Sha256, PublishedExamples) {
    EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(digest_of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesDoNotMatter) {
    for (std::size_t length = 0; length < 200; ++length) {
        const std::string text(length, 'x');
        const auto whole = digest_of(text);
        for (const std::size_t piece : {1U, 7U, 63U, 64U, 65U})
            EXPECT_EQ(digest_of(text, piece), whole) << length << " by " << piece;
    }
}

}  // namespace
}  // namespace egpu
