// SPDX-License-Identifier: Apache-2.0
// The little of SQLite that recordings use. Errors stick to the Database: code runs on, and asks at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace egpu::host {

class Database {
public:
    enum class Access { create, read };

    /// Never throws; failed() says whether it is open. `create` empties a database that is there. `read` does not trust
    /// the file: nothing in its schema is run.
    Database(const std::string& path, Access access);

    bool failed() const { return failed_; }
    /// Of the first failure: "database or disk is full".
    const std::string& problem() const { return problem_; }
    /// Another process reads or writes the file at the moment.
    bool busy() const { return busy_; }
    /// The file is no database, or a damaged one.
    bool damaged() const { return damaged_; }
    bool not_a_database() const { return not_a_database_; }
    void forget_failure();

    /// Statements without results, separated by semicolons.
    void run(const char* sql);
    /// Ends a transaction that a failure may have left open.
    void roll_back();

private:
    friend class Statement;
    void start_over();
    void note(int code);
    struct Close {
        void operator()(sqlite3* database) const;
    };
    std::unique_ptr<sqlite3, Close> database_;
    std::string problem_;
    bool failed_ = false, busy_ = false, damaged_ = false, not_a_database_ = false;
};

class Statement {
public:
    Statement(Database& database, const std::string& sql);

    /// The values of ?1, ?2, ... Unsigned numbers are kept bit by bit in SQLite's signed ones.
    template <typename... Values>
    Statement& with(const Values&... values) {
        reset();
        int place = 0;
        (bind(++place, values), ...);
        return *this;
    }
    void bind(int place, std::int64_t value);
    void bind(int place, std::uint64_t value) { bind(place, static_cast<std::int64_t>(value)); }
    void bind(int place, std::uint32_t value) { bind(place, static_cast<std::int64_t>(value)); }
    void bind(int place, int value) { bind(place, static_cast<std::int64_t>(value)); }
    void bind(int place, bool value) { bind(place, static_cast<std::int64_t>(value)); }
    void bind(int place, double value);
    void bind(int place, std::string_view text);
    void bind(int place, const std::string& text) { bind(place, std::string_view(text)); }
    void bind(int place, const char* text) { bind(place, std::string_view(text)); }
    void bind(int place, std::span<const std::byte> bytes);

    /// True: there is a row. False: no further one, or a failure.
    bool step();
    /// For statements without rows.
    void run() {
        step();
        reset();
    }
    void reset();

    /// What stands in the column, whatever it was declared as. To be asked before text(), which converts it.
    bool is_integer(int column) const;
    bool is_real(int column) const;
    bool is_text(int column) const;
    std::int64_t integer(int column) const;
    std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
    /// A number that must fit; what does not is the largest: it is then out of every range.
    std::uint32_t small(int column) const;
    double real(int column) const;
    std::string text(int column) const;
    /// Good until the next step.
    std::span<const std::byte> bytes(int column) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    Database& database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace egpu::host
