// SPDX-License-Identifier: Apache-2.0
// The tables of a recording; README.md beside this file says what they mean.
#pragma once

#include <cstdint>

namespace egpu::host {

/// In the file's header (PRAGMA application_id): "eGPU".
inline constexpr std::uint32_t kRecordingId = 0x65475055;
/// PRAGMA user_version. Raised where an older egpu could not read the file any more.
inline constexpr std::uint32_t kRecordingSchema = 1;

inline constexpr const char* kRecordingTables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE catalogue(id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL);
CREATE TABLE state(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE maps(id INTEGER PRIMARY KEY, name TEXT NOT NULL, slots INTEGER NOT NULL, refused_keys INTEGER NOT NULL,
                  copied_ns INTEGER, keys BLOB NOT NULL, slot_values BLOB NOT NULL,
                  refused_lookups INTEGER NOT NULL DEFAULT 0);
CREATE TABLE series(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, unit TEXT NOT NULL, map TEXT NOT NULL,
                    field TEXT NOT NULL, kernel INTEGER NOT NULL, site INTEGER NOT NULL, space TEXT NOT NULL,
                    access TEXT NOT NULL, label TEXT NOT NULL, clock INTEGER NOT NULL);
CREATE TABLE samples(id INTEGER PRIMARY KEY, unix_ns INTEGER NOT NULL, monotonic_ns INTEGER NOT NULL);
CREATE TABLE clocks(sample INTEGER, clock INTEGER, monotonic_ns INTEGER NOT NULL,
                    PRIMARY KEY (sample, clock)) WITHOUT ROWID;
CREATE TABLE points(sample INTEGER, series INTEGER, epoch INTEGER NOT NULL, value INTEGER NOT NULL,
                    PRIMARY KEY (sample, series)) WITHOUT ROWID;
CREATE TABLE histograms(sample INTEGER, series INTEGER, epoch INTEGER NOT NULL, slots TEXT NOT NULL,
                        PRIMARY KEY (sample, series)) WITHOUT ROWID;
CREATE TABLE messages(id INTEGER PRIMARY KEY, unix_ns INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE findings(id INTEGER PRIMARY KEY, name TEXT NOT NULL, severity TEXT NOT NULL, plugin TEXT NOT NULL,
                      kernel INTEGER NOT NULL, place TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIEW kernels AS
  SELECT json_extract(k.value, '$.id') AS id, json_extract(k.value, '$.name') AS name,
         json_extract(k.value, '$.signature') AS signature, json_extract(k.value, '$.module') AS module,
         json_extract(k.value, '$.state') AS state, json_extract(k.value, '$.reason') AS reason,
         c.launches AS launches, c.instrumented AS launches_instrumented
  FROM catalogue, json_each(catalogue.json, '$.kernels') AS k
  LEFT JOIN kernel_counts AS c ON c.kernel = json_extract(k.value, '$.id');
CREATE VIEW probes AS
  SELECT json_extract(p.value, '$.probe') AS probe, json_extract(p.value, '$.program') AS program,
         json_extract(p.value, '$.state') AS state, json_extract(p.value, '$.reason') AS reason,
         json_extract(p.value, '$.sites') AS sites, json_extract(p.value, '$.kernels') AS kernels
  FROM catalogue, json_each(catalogue.json, '$.probes') AS p;
)sql";

}  // namespace egpu::host
