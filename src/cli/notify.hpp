// Tells a service manager that started us (systemd, by $NOTIFY_SOCKET) how we are: one datagram.
#pragma once

#include <string_view>

namespace onceward::cli {

void notify_service_manager(std::string_view state);  // "READY=1"; nothing happens without the variable

}  // namespace onceward::cli
