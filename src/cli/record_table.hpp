// Records and audit entries, as the API gives them, for people: aligned columns, ages instead of times. Pure.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "onceward/executor.hpp"

namespace onceward::cli {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces apart, no spaces at the end of a line. What a client chose
// (names, tenants) cannot move a terminal's cursor.
std::string as_table(const std::vector<Row>& rows);

Row record_header();
Row record_row(const boost::json::object& record, Timestamp now);
// Every member on its own line.
std::string record_details(const boost::json::object& record);

Row audit_header();
Row audit_row(const boost::json::object& entry);

std::string age_text(Duration age);  // 12s, 5m, 3h, 2d

// "[#####.....]  50 %"
std::string progress_bar(double share);

}  // namespace onceward::cli
