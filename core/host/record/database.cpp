// SPDX-License-Identifier: Apache-2.0
#include "host/record/database.hpp"

#include <sqlite3.h>

#include <cstring>
#include <limits>

namespace egpu::host {
namespace {

constexpr int kBusyMs = 200;

}  // namespace

void Database::Close::operator()(sqlite3* database) const {
    ::sqlite3_close_v2(database);
}

Database::Database(const std::string& path, Access access) {
    sqlite3* opened = nullptr;
    // Reading needs the right to write only where a transaction that was cut off is to be undone; SQLite falls back to
    // reading alone where the file can't be written.
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                      (access == Access::create ? SQLITE_OPEN_CREATE : 0);
    const int code = ::sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
    database_.reset(opened);
    note(code);
    if (failed_)
        return;
    ::sqlite3_busy_timeout(opened, kBusyMs);
    if (access == Access::create)
        start_over();
    if (access == Access::read) {
        ::sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
        ::sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        ::sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
        ::sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
        run("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON;");
    }
}

/// In place: whoever has the file open goes on to see one database, not a former one beside the journal of this one.
void Database::start_over() {
    ::sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_RESET_DATABASE, 1, nullptr);
    run("VACUUM");
    ::sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_RESET_DATABASE, 0, nullptr);
}

void Database::note(int code) {
    const int kind = code & 0xff;
    if (kind == SQLITE_OK || kind == SQLITE_ROW || kind == SQLITE_DONE || failed_)
        return;
    failed_ = true;
    problem_ = database_ != nullptr ? ::sqlite3_errmsg(database_.get()) : ::sqlite3_errstr(code);
    // What the operating system said is more to a person than "disk I/O error".
    const int system = database_ != nullptr ? ::sqlite3_system_errno(database_.get()) : 0;
    if (system != 0 && (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR))
        problem_ = std::strerror(system);
    busy_ = kind == SQLITE_BUSY || kind == SQLITE_LOCKED;
    not_a_database_ = kind == SQLITE_NOTADB;
    damaged_ = not_a_database_ || kind == SQLITE_CORRUPT;
}

void Database::forget_failure() {
    failed_ = busy_ = damaged_ = not_a_database_ = false;
    problem_.clear();
}

void Database::run(const char* sql) {
    if (!failed_)
        note(::sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
}

void Database::roll_back() {
    if (database_ != nullptr && ::sqlite3_get_autocommit(database_.get()) == 0)
        ::sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
    ::sqlite3_finalize(statement);
}

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
    if (database.failed_)
        return;
    sqlite3_stmt* made = nullptr;
    database.note(::sqlite3_prepare_v2(database.database_.get(), sql.c_str(), -1, &made, nullptr));
    statement_.reset(made);
}

void Statement::reset() {
    if (statement_ != nullptr)
        ::sqlite3_reset(statement_.get());
}

void Statement::bind(int place, std::int64_t value) {
    if (statement_ != nullptr)
        database_.note(::sqlite3_bind_int64(statement_.get(), place, value));
}

void Statement::bind(int place, double value) {
    if (statement_ != nullptr)
        database_.note(::sqlite3_bind_double(statement_.get(), place, value));
}

void Statement::bind(int place, std::string_view text) {
    if (statement_ != nullptr)
        database_.note(::sqlite3_bind_text64(statement_.get(), place, text.data() == nullptr ? "" : text.data(),
                                             text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(int place, std::span<const std::byte> bytes) {
    static constexpr std::byte kNone{};
    if (statement_ != nullptr)
        database_.note(::sqlite3_bind_blob64(statement_.get(), place, bytes.empty() ? &kNone : bytes.data(),
                                             bytes.size(), SQLITE_TRANSIENT));
}

bool Statement::step() {
    if (statement_ == nullptr || database_.failed_)
        return false;
    const int code = ::sqlite3_step(statement_.get());
    database_.note(code);
    return code == SQLITE_ROW;
}

bool Statement::is_integer(int column) const {
    return ::sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
}

bool Statement::is_real(int column) const {
    return ::sqlite3_column_type(statement_.get(), column) == SQLITE_FLOAT;
}

bool Statement::is_text(int column) const {
    return ::sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT;
}

std::int64_t Statement::integer(int column) const {
    return ::sqlite3_column_int64(statement_.get(), column);
}

std::uint32_t Statement::small(int column) const {
    const std::int64_t value = integer(column);
    return value < 0 || value > std::numeric_limits<std::uint32_t>::max() ? std::numeric_limits<std::uint32_t>::max()
                                                                          : static_cast<std::uint32_t>(value);
}

double Statement::real(int column) const {
    return ::sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
    const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(statement_.get(), column));
    return text == nullptr
               ? std::string()
               : std::string(text, static_cast<std::size_t>(::sqlite3_column_bytes(statement_.get(), column)));
}

std::span<const std::byte> Statement::bytes(int column) const {
    const auto* from = static_cast<const std::byte*>(::sqlite3_column_blob(statement_.get(), column));
    return from == nullptr
               ? std::span<const std::byte>()
               : std::span(from, static_cast<std::size_t>(::sqlite3_column_bytes(statement_.get(), column)));
}

}  // namespace egpu::host
