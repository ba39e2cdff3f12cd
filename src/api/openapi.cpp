#include "api/openapi.hpp"

namespace onceward {
namespace {

constexpr std::string_view document = R"json(
{
 "openapi": "3.0.3",
 "info": {
  "title": "Onceward", "version": "1",
  "description": "Claims for services and workers that drive the lifecycle themselves, and the operators' view of records.",
  "license": {"name": "Apache-2.0"}
 },
 "security": [{"token": []}],
 "tags": [
  {"name": "claims", "description": "role app"},
  {"name": "records", "description": "role read; changes need operate"},
  {"name": "outbox", "description": "role read; changes need operate"}, {"name": "health"}
 ],
 "paths": {
  "/v1/claims": {
   "post": {
    "tags": ["claims"], "summary": "Claim a key", "operationId": "claim",
    "requestBody": {
     "required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ClaimRequest"}}}
    },
    "responses": {
     "201": {
      "description": "Go on",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Granted"}}}
     },
     "200": {
      "description": "It has been done: this was the answer",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Replay"}}}
     },
     "409": {"$ref": "#/components/responses/Problem"}, "410": {"$ref": "#/components/responses/Problem"},
     "422": {"$ref": "#/components/responses/Problem"}, "400": {"$ref": "#/components/responses/Problem"},
     "401": {"$ref": "#/components/responses/Problem"}, "403": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "413": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/claims/{operation_id}/dispatch": {
   "post": {
    "tags": ["claims"], "summary": "The effect is about to begin", "operationId": "claim_dispatch",
    "parameters": [{"$ref": "#/components/parameters/operation_id"}],
    "requestBody": {
     "required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TokenOnly"}}}
    },
    "responses": {
     "200": {
      "description": "Done, also when it had been done before",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Claim"}}}
     },
     "409": {"$ref": "#/components/responses/Problem"}, "400": {"$ref": "#/components/responses/Problem"},
     "401": {"$ref": "#/components/responses/Problem"}, "403": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "413": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/claims/{operation_id}/renew": {
   "post": {
    "tags": ["claims"], "summary": "Keep the lease", "operationId": "claim_renew",
    "parameters": [{"$ref": "#/components/parameters/operation_id"}],
    "requestBody": {
     "required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/RenewRequest"}}}
    },
    "responses": {
     "200": {
      "description": "Done, also when it had been done before",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Claim"}}}
     },
     "409": {"$ref": "#/components/responses/Problem"}, "400": {"$ref": "#/components/responses/Problem"},
     "401": {"$ref": "#/components/responses/Problem"}, "403": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "413": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/claims/{operation_id}/complete": {
   "post": {
    "tags": ["claims"], "summary": "Store the outcome", "operationId": "claim_complete",
    "parameters": [{"$ref": "#/components/parameters/operation_id"}],
    "requestBody": {
     "required": true,
     "content": {"application/json": {"schema": {"$ref": "#/components/schemas/CompleteRequest"}}}
    },
    "responses": {
     "200": {
      "description": "Done, also when it had been done before",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Claim"}}}
     },
     "409": {"$ref": "#/components/responses/Problem"}, "400": {"$ref": "#/components/responses/Problem"},
     "401": {"$ref": "#/components/responses/Problem"}, "403": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "413": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/claims/{operation_id}/release": {
   "post": {
    "tags": ["claims"], "summary": "Provably no effect: the key may run again", "operationId": "claim_release",
    "parameters": [{"$ref": "#/components/parameters/operation_id"}],
    "requestBody": {
     "required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/TokenOnly"}}}
    },
    "responses": {
     "200": {
      "description": "Done, also when it had been done before",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Claim"}}}
     },
     "409": {"$ref": "#/components/responses/Problem"}, "400": {"$ref": "#/components/responses/Problem"},
     "401": {"$ref": "#/components/responses/Problem"}, "403": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "413": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/claims/{operation_id}/unknown": {
   "post": {
    "tags": ["claims"], "summary": "It cannot be known", "operationId": "claim_unknown",
    "parameters": [{"$ref": "#/components/parameters/operation_id"}],
    "requestBody": {
     "required": true,
     "content": {"application/json": {"schema": {"$ref": "#/components/schemas/UnknownRequest"}}}
    },
    "responses": {
     "200": {
      "description": "Done, also when it had been done before",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Claim"}}}
     },
     "409": {"$ref": "#/components/responses/Problem"}, "400": {"$ref": "#/components/responses/Problem"},
     "401": {"$ref": "#/components/responses/Problem"}, "403": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "413": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/records": {
   "get": {
    "tags": ["records"], "summary": "List records", "operationId": "list_records",
    "parameters": [
     {
      "name": "state", "in": "query", "description": "",
      "schema": {
       "type": "string",
       "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
      }
     },
     {"name": "operation", "in": "query", "description": "its name", "schema": {"type": "string"}},
     {"name": "tenant", "in": "query", "description": "", "schema": {"type": "string"}},
     {"name": "reference", "in": "query", "description": "the business reference", "schema": {"type": "string"}},
     {
      "name": "older_than", "in": "query", "description": "unchanged for so long, such as 10m",
      "schema": {"type": "string"}
     },
     {
      "name": "limit", "in": "query", "description": "",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
     },
     {"name": "cursor", "in": "query", "description": "from an earlier answer", "schema": {"type": "string"}}
    ],
    "responses": {
     "200": {
      "description": "A page",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Records"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "405": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/records/{operation_id}": {
   "get": {
    "tags": ["records"], "summary": "Show a record", "operationId": "show_record",
    "parameters": [
     {"$ref": "#/components/parameters/operation_id"},
     {
      "name": "reveal", "in": "query", "description": "with what was answered; needs the role operate",
      "schema": {"type": "boolean", "default": false}
     }
    ],
    "responses": {
     "200": {
      "description": "The record",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Record"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "404": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/records/{operation_id}/resolve": {
   "post": {
    "tags": ["records"], "summary": "Say what became of it", "operationId": "resolve_record",
    "parameters": [{"$ref": "#/components/parameters/operation_id"}],
    "requestBody": {
     "required": true,
     "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ResolveRequest"}}}
    },
    "responses": {
     "200": {
      "description": "Resolved",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Record"}}}
     },
     "404": {"$ref": "#/components/responses/Problem"}, "409": {"$ref": "#/components/responses/Problem"},
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "405": {"$ref": "#/components/responses/Problem"},
     "413": {"$ref": "#/components/responses/Problem"}, "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/purge": {
   "post": {
    "tags": ["records"], "summary": "Remove final records", "operationId": "purge",
    "requestBody": {
     "required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/PurgeRequest"}}}
    },
    "responses": {
     "200": {
      "description": "How far it went",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Purged"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "405": {"$ref": "#/components/responses/Problem"},
     "413": {"$ref": "#/components/responses/Problem"}, "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/stats": {
   "get": {
    "tags": ["records"], "summary": "Count records", "operationId": "stats",
    "responses": {
     "200": {
      "description": "Counts",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stats"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "405": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/audit": {
   "get": {
    "tags": ["records"], "summary": "List changes, newest first", "operationId": "audit",
    "parameters": [
     {
      "name": "operation_id", "in": "query", "description": "only about this one",
      "schema": {"type": "string", "format": "uuid"}
     },
     {
      "name": "limit", "in": "query", "description": "",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
     },
     {"name": "cursor", "in": "query", "description": "from an earlier answer", "schema": {"type": "string"}}
    ],
    "responses": {
     "200": {
      "description": "A page",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Audit"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "405": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/outbox": {
   "get": {
    "tags": ["outbox"], "summary": "Count the events that wait", "operationId": "outbox_status",
    "responses": {
     "200": {
      "description": "Counts",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/OutboxStatus"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "404": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/outbox/events": {
   "get": {
    "tags": ["outbox"], "summary": "List the events that wait, without their payloads",
    "operationId": "outbox_events",
    "parameters": [
     {
      "name": "state", "in": "query", "description": "only those that were given up",
      "schema": {"type": "string", "enum": ["set_aside"]}
     },
     {
      "name": "limit", "in": "query", "description": "",
      "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}
     },
     {"name": "cursor", "in": "query", "description": "from an earlier answer", "schema": {"type": "string"}}
    ],
    "responses": {
     "200": {
      "description": "A page",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/OutboxEvents"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "404": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/v1/outbox/retry": {
   "post": {
    "tags": ["outbox"], "summary": "Send events that were set aside after all", "operationId": "outbox_retry",
    "requestBody": {
     "required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/OutboxRetry"}}}
    },
    "responses": {
     "200": {
      "description": "How many are due again",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/OutboxRetried"}}}
     },
     "400": {"$ref": "#/components/responses/Problem"}, "401": {"$ref": "#/components/responses/Problem"},
     "403": {"$ref": "#/components/responses/Problem"}, "404": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}, "413": {"$ref": "#/components/responses/Problem"},
     "503": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/healthz": {
   "get": {
    "tags": ["health"], "summary": "Alive?", "operationId": "healthz", "security": [],
    "responses": {"200": {"description": "Yes", "content": {"text/plain": {"schema": {"type": "string"}}}}}
   }
  },
  "/readyz": {
   "get": {
    "tags": ["health"], "summary": "Ready?", "operationId": "readyz", "security": [],
    "responses": {
     "200": {
      "description": "Yes",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Readiness"}}}
     },
     "503": {
      "description": "No, and why",
      "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Readiness"}}}
     }
    }
   }
  },
  "/metrics": {
   "get": {
    "tags": ["health"], "summary": "Metrics in Prometheus text", "operationId": "metrics",
    "description": "Needs a token only when the listener is not a loopback address",
    "responses": {
     "200": {"description": "Metrics", "content": {"text/plain": {"schema": {"type": "string"}}}},
     "401": {"$ref": "#/components/responses/Problem"}, "403": {"$ref": "#/components/responses/Problem"},
     "405": {"$ref": "#/components/responses/Problem"}
    }
   }
  },
  "/openapi.json": {
   "get": {
    "tags": ["health"], "summary": "This document", "operationId": "openapi", "security": [],
    "responses": {
     "200": {"description": "OpenAPI 3.0", "content": {"application/json": {"schema": {"type": "object"}}}}
    }
   }
  }
 },
 "components": {
  "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
  "parameters": {
   "operation_id": {
    "name": "operation_id", "in": "path", "required": true, "schema": {"type": "string", "format": "uuid"}
   }
  },
  "responses": {
   "Problem": {
    "description": "Refused",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
   }
  },
  "schemas": {
   "Problem": {
    "type": "object",
    "properties": {
     "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
     "detail": {"type": "string"}, "code": {"type": "string"},
     "operationId": {"type": "string", "format": "uuid"}, "retryable": {"type": "boolean"},
     "safeNewKey": {"type": "boolean"},
     "changed": {"type": "array", "items": {"type": "string"}, "description": "JSON pointers, never values"},
     "originalStatus": {"type": "integer"}, "location": {"type": "string"},
     "decision": {
      "type": "string", "enum": ["in_progress", "unknown", "mismatch", "expired", "not_stored", "released"]
     }
    },
    "required": ["type", "title", "status", "detail", "code", "retryable", "safeNewKey"],
    "additionalProperties": false, "description": "RFC 9457"
   },
   "Response": {
    "type": "object",
    "properties": {
     "status": {"type": "integer", "minimum": 200, "maximum": 599},
     "headers": {
      "type": "array", "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
      "description": "[[name, value], …], in order"
     },
     "body": {"type": "string", "format": "byte", "description": "base64"}
    },
    "required": ["status", "headers", "body"], "additionalProperties": false
   },
   "GivenResponse": {
    "type": "object",
    "properties": {
     "status": {"type": "integer", "minimum": 200, "maximum": 599},
     "headers": {
      "type": "array", "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
      "description": "[[name, value], …], in order"
     },
     "body": {"type": "string", "format": "byte", "description": "base64"},
     "json": {"description": "instead of body: any JSON, kept as written"}
    },
    "required": ["status"], "additionalProperties": false
   },
   "RequestParts": {
    "type": "object",
    "properties": {
     "method": {"type": "string"}, "path": {"type": "string"}, "query": {"type": "string"},
     "content_type": {"type": "string"},
     "headers": {
      "type": "array", "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
      "description": "[[name, value], …], in order"
     },
     "body": {"type": "string", "format": "byte"}, "json": {"description": "instead of body: any JSON"}
    },
    "additionalProperties": false
   },
   "ClaimRequest": {
    "type": "object",
    "properties": {
     "tenant": {"type": "string", "maxLength": 1024, "nullable": true},
     "caller": {"type": "string", "maxLength": 1024, "nullable": true},
     "operation": {"type": "string", "minLength": 1, "maxLength": 1024},
     "key": {"type": "string", "minLength": 1, "maxLength": 255},
     "fingerprint": {
      "type": "string", "minLength": 1, "maxLength": 1024,
      "description": "64 hex digits are the SHA-256 itself; other text is hashed"
     },
     "request": {"$ref": "#/components/schemas/RequestParts"},
     "lease_ms": {"type": "integer", "minimum": 1, "maximum": 86400000},
     "ttl_ms": {"type": "integer", "minimum": 1},
     "reference": {
      "type": "string", "maxLength": 255, "description": "The business reference by which the record can be found"
     },
     "claim_id": {
      "type": "string", "maxLength": 255,
      "description": "A name for this attempt: repeated with the same one, a claim that still holds is given again"
     }
    },
    "required": ["operation", "key"], "additionalProperties": false,
    "description": "With exactly one of fingerprint and request"
   },
   "Granted": {
    "type": "object",
    "properties": {
     "decision": {"type": "string", "enum": ["proceed"]}, "operation_id": {"type": "string", "format": "uuid"},
     "state": {
      "type": "string",
      "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
     },
     "epoch": {"type": "integer", "minimum": 1}, "token": {"type": "string"},
     "lease_expires_at": {"type": "string", "format": "date-time"}
    },
    "required": ["decision", "operation_id", "state", "epoch", "token", "lease_expires_at"],
    "additionalProperties": false
   },
   "Replay": {
    "type": "object",
    "properties": {
     "decision": {"type": "string", "enum": ["replay"]}, "operation_id": {"type": "string", "format": "uuid"},
     "state": {
      "type": "string",
      "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
     },
     "epoch": {"type": "integer", "minimum": 1}, "response": {"$ref": "#/components/schemas/Response"},
     "result": {"$ref": "#/components/schemas/Result"}
    },
    "required": ["decision", "operation_id", "state", "epoch", "response"], "additionalProperties": false
   },
   "Claim": {
    "type": "object",
    "properties": {
     "operation_id": {"type": "string", "format": "uuid"},
     "state": {
      "type": "string",
      "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
     },
     "epoch": {"type": "integer", "minimum": 1}, "lease_expires_at": {"type": "string", "format": "date-time"}
    },
    "required": ["operation_id", "state", "epoch"], "additionalProperties": false
   },
   "TokenOnly": {
    "type": "object", "properties": {"token": {"type": "string"}}, "required": ["token"],
    "additionalProperties": false
   },
   "RenewRequest": {
    "type": "object",
    "properties": {
     "token": {"type": "string"}, "lease_ms": {"type": "integer", "minimum": 1, "maximum": 86400000}
    },
    "required": ["token"], "additionalProperties": false
   },
   "CompleteRequest": {
    "type": "object",
    "properties": {
     "token": {"type": "string"}, "response": {"$ref": "#/components/schemas/GivenResponse"},
     "as": {
      "type": "string", "enum": ["succeeded", "failed"],
      "description": "by default from the status: below 400 succeeded"
     },
     "ttl_ms": {"type": "integer", "minimum": 1}, "result": {"$ref": "#/components/schemas/Result"},
     "events": {
      "type": "array", "maxItems": 100, "items": {"$ref": "#/components/schemas/Emission"},
      "description": "Written with the outcome and sent through the outbox; no two of one type"
     }
    },
    "required": ["token", "response"], "additionalProperties": false
   },
   "Emission": {
    "type": "object",
    "properties": {
     "type": {"type": "string", "minLength": 1, "maxLength": 200, "description": "visible ASCII"},
     "data": {"description": "any JSON value"},
     "body": {"type": "string", "format": "byte", "description": "instead of data: other bytes"},
     "content_type": {"type": "string", "maxLength": 200, "description": "of body"}
    },
    "required": ["type"], "additionalProperties": false
   },
   "OutboxStatus": {
    "type": "object",
    "properties": {
     "pending": {"type": "integer"}, "set_aside": {"type": "integer"},
     "oldest_pending": {"type": "string", "format": "date-time", "nullable": true}
    },
    "required": ["pending", "set_aside", "oldest_pending"], "additionalProperties": false
   },
   "OutboxEvent": {
    "type": "object",
    "properties": {
     "id": {"type": "string", "description": "operation id, colon, type"}, "type": {"type": "string"},
     "state": {"type": "string", "enum": ["pending", "set_aside"]},
     "created_at": {"type": "string", "format": "date-time"},
     "due_at": {"type": "string", "format": "date-time"},
     "attempts": {"type": "integer"}, "last_error": {"type": "string"}, "payload_bytes": {"type": "integer"}
    },
    "required": ["id", "type", "state", "created_at", "attempts", "payload_bytes"], "additionalProperties": false
   },
   "OutboxEvents": {
    "type": "object",
    "properties": {
     "events": {"type": "array", "items": {"$ref": "#/components/schemas/OutboxEvent"}},
     "cursor": {
      "type": "string", "nullable": true, "description": "Where the next page begins; null at the end"
     }
    },
    "required": ["events", "cursor"], "additionalProperties": false
   },
   "OutboxRetry": {
    "type": "object",
    "properties": {
     "ids": {"type": "array", "maxItems": 1000, "items": {"type": "string"}}, "all": {"type": "boolean"},
     "reason": {"type": "string", "maxLength": 1000}
    },
    "additionalProperties": false, "description": "With ids or all: true"
   },
   "OutboxRetried": {
    "type": "object", "properties": {"retried": {"type": "integer"}}, "required": ["retried"],
    "additionalProperties": false
   },
   "UnknownRequest": {
    "type": "object",
    "properties": {
     "token": {"type": "string"},
     "cause": {"type": "string", "enum": ["timeout", "reset", "half_answer", "upstream_status", "declared"]},
     "status_seen": {"type": "integer"}, "bytes_seen": {"type": "integer"}
    },
    "required": ["token"], "additionalProperties": false
   },
   "Result": {
    "type": "object",
    "properties": {
     "resource_type": {"type": "string", "maxLength": 128}, "resource_id": {"type": "string", "maxLength": 512},
     "failure_code": {"type": "string", "maxLength": 255}
    },
    "additionalProperties": false, "description": "What it came to, in business words"
   },
   "ShownResponse": {
    "type": "object",
    "properties": {
     "status": {"type": "integer"}, "body_bytes": {"type": "integer"}, "stored": {"type": "boolean"}
    },
    "required": ["status", "body_bytes", "stored"], "additionalProperties": false
   },
   "Record": {
    "type": "object",
    "properties": {
     "operation_id": {"type": "string", "format": "uuid"},
     "state": {
      "type": "string",
      "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
     },
     "epoch": {"type": "integer", "minimum": 1}, "operation": {"type": "string"}, "tenant": {"type": "string"},
     "key": {"type": "string", "description": "first 8 hex digits of its hash, or the key where configured"},
     "reference": {"type": "string", "description": "the business reference"},
     "created_at": {"type": "string", "format": "date-time"},
     "claimed_at": {"type": "string", "format": "date-time"},
     "updated_at": {"type": "string", "format": "date-time"},
     "lease_expires_at": {"type": "string", "format": "date-time"},
     "expires_at": {"type": "string", "format": "date-time"},
     "evidence": {
      "type": "object",
      "properties": {
       "cause": {"type": "string"}, "status_seen": {"type": "integer"}, "bytes_seen": {"type": "integer"},
       "earlier_epoch_too": {"type": "boolean"}
      },
      "required": ["cause"], "additionalProperties": false
     },
     "result": {"$ref": "#/components/schemas/Result"},
     "response": {
      "oneOf": [{"$ref": "#/components/schemas/ShownResponse"}, {"$ref": "#/components/schemas/Response"}]
     }
    },
    "required": [
     "operation_id", "state", "epoch", "operation", "tenant", "key", "created_at", "claimed_at", "updated_at"
    ],
    "additionalProperties": false
   },
   "Records": {
    "type": "object",
    "properties": {
     "records": {"type": "array", "items": {"$ref": "#/components/schemas/Record"}},
     "cursor": {
      "type": "string", "nullable": true, "description": "Where the next page begins; null at the end"
     }
    },
    "required": ["records", "cursor"], "additionalProperties": false
   },
   "ResolveRequest": {
    "type": "object",
    "properties": {
     "as": {"type": "string", "enum": ["succeeded", "failed", "released"]},
     "epoch": {"type": "integer", "minimum": 1}, "reason": {"type": "string", "minLength": 1, "maxLength": 1000},
     "response": {"$ref": "#/components/schemas/GivenResponse"},
     "result": {"$ref": "#/components/schemas/Result"}
    },
    "required": ["as", "epoch", "reason"], "additionalProperties": false
   },
   "PurgeRequest": {
    "type": "object",
    "properties": {
     "tenant": {"type": "string"}, "operation": {"type": "string"},
     "before": {"type": "string", "description": "a time, or an age such as 24h"},
     "reason": {"type": "string", "maxLength": 1000}, "cursor": {"type": "string"}
    },
    "additionalProperties": false
   },
   "Purged": {
    "type": "object",
    "properties": {
     "removed": {"type": "integer"}, "looked_at": {"type": "integer"},
     "cursor": {
      "type": "string", "nullable": true, "description": "Where the next page begins; null at the end"
     }
    },
    "required": ["removed", "looked_at", "cursor"], "additionalProperties": false
   },
   "Stats": {
    "type": "object",
    "properties": {
     "records": {"type": "integer"}, "complete": {"type": "boolean"},
     "states": {"type": "object", "additionalProperties": {"type": "integer"}},
     "operations": {
      "type": "array",
      "items": {
       "type": "object",
       "properties": {
        "operation": {"type": "string"},
        "state": {
         "type": "string",
         "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
        },
        "count": {"type": "integer"}
       },
       "required": ["operation", "state", "count"], "additionalProperties": false
      }
     },
     "stored_bytes": {"type": "integer"}, "purge_lag_ms": {"type": "integer"}
    },
    "required": ["records", "complete", "states", "operations", "stored_bytes", "purge_lag_ms"],
    "additionalProperties": false
   },
   "AuditEntry": {
    "type": "object",
    "properties": {
     "id": {"type": "string", "format": "uuid"}, "at": {"type": "string", "format": "date-time"},
     "actor": {"type": "string"}, "action": {"type": "string", "enum": ["resolve", "purge", "outbox_retry"]},
     "outcome": {"type": "string", "enum": ["applied", "refused", "failed", "unknown"]},
     "operation_id": {"type": "string", "format": "uuid"}, "epoch": {"type": "integer"},
     "from": {
      "type": "string",
      "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
     },
     "as": {
      "type": "string",
      "enum": ["claimed", "processing", "succeeded", "failed", "released", "unknown", "expired"]
     },
     "reason": {"type": "string"}, "tenant": {"type": "string"}, "operation": {"type": "string"},
     "before": {"type": "string", "format": "date-time"}, "removed": {"type": "integer"},
     "events": {"type": "array", "items": {"type": "string"}}, "retried": {"type": "integer"}
    },
    "required": ["id", "at", "actor", "action", "outcome"], "additionalProperties": false
   },
   "Audit": {
    "type": "object",
    "properties": {
     "entries": {"type": "array", "items": {"$ref": "#/components/schemas/AuditEntry"}},
     "cursor": {
      "type": "string", "nullable": true, "description": "Where the next page begins; null at the end"
     }
    },
    "required": ["entries", "cursor"], "additionalProperties": false
   },
   "Readiness": {
    "type": "object",
    "properties": {
     "ready": {"type": "boolean"}, "store": {"type": "string"}, "durability": {"type": "string"},
     "message": {"type": "string"}
    },
    "required": ["ready", "store", "durability"]
   }
  }
 }
}
)json";

}  // namespace

std::string_view openapi_json() { return document.substr(1); }

}  // namespace onceward
