// ONCEWARD_API marks what the shared library shows to its users; everything else is the library's own.
#pragma once

#define ONCEWARD_API __attribute__((visibility("default")))
