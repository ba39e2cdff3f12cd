// What an answer means for the key it was sent with. Pure; held to the same table of cases as the C++ client
// (tests/vectors/client/answers.json).

export type Action =
  | "done" // below 400
  | "retry" // the same request with the same key, after a pause
  | "wait" // the first attempt is still running: ask again later, with the same key
  | "stop"; // another attempt would get the same or harm

/** Whether something may have happened under the key. */
export type Doubt =
  | "settled" // this answer is what became of it, whatever was in doubt before
  | "kept" // nothing happened by this attempt; it says nothing about those before
  | "raised"; // it may have happened

export interface Verdict {
  action: Action;
  doubt: Doubt;
}

export interface Signs {
  status: number;
  code?: string | undefined; // of an application/problem+json body
  originalStatus?: number | undefined; // of IDEMPOTENCY_RESPONSE_NOT_STORED
  retryAfter?: boolean | undefined;
  location?: string | undefined;
}

const byCode: Record<string, Verdict> = {
  MISSING_IDEMPOTENCY_KEY: { action: "stop", doubt: "kept" },
  INVALID_IDEMPOTENCY_KEY: { action: "stop", doubt: "kept" },
  MISSING_TENANT: { action: "stop", doubt: "kept" },
  INVALID_TENANT: { action: "stop", doubt: "kept" },
  UNAUTHENTICATED: { action: "stop", doubt: "kept" },
  // The key was never bound to our request, so none of our attempts can have run under it.
  IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_REQUEST: { action: "stop", doubt: "settled" },
  IDEMPOTENCY_REQUEST_IN_PROGRESS: { action: "wait", doubt: "raised" },
  IDEMPOTENCY_OUTCOME_UNKNOWN: { action: "stop", doubt: "raised" },
  IDEMPOTENCY_RECORD_EXPIRED: { action: "stop", doubt: "raised" },
  DUPLICATE_BUSINESS_OPERATION: { action: "stop", doubt: "settled" },
  SUSPECTED_DUPLICATE: { action: "stop", doubt: "kept" },
  IDEMPOTENCY_KEY_RATE_EXCEEDED: { action: "retry", doubt: "kept" },
  REQUEST_TOO_LARGE: { action: "stop", doubt: "kept" },
  IDEMPOTENCY_STORE_UNAVAILABLE: { action: "retry", doubt: "kept" },
  // There is a record, so an earlier attempt came further than this one.
  IDEMPOTENCY_RECORD_UNREADABLE: { action: "retry", doubt: "raised" },
  UPSTREAM_UNREACHABLE: { action: "retry", doubt: "kept" },
};

const operationsPath = "/.well-known/onceward/operations/";

function byStatus({ status, retryAfter, location }: Signs): Verdict {
  if (status === 202 && location?.includes(operationsPath)) return { action: "wait", doubt: "raised" };
  if (status < 400) return { action: "done", doubt: "settled" };
  // Other servers say that the first request is still running with a plain 409.
  if (status === 409 && retryAfter) return { action: "wait", doubt: "raised" };
  if ([408, 425, 429, 503].includes(status)) return { action: "retry", doubt: "kept" };
  // Some gateway lost it on the way there or back; the key makes asking again safe.
  if ([502, 504].includes(status)) return { action: "retry", doubt: "raised" };
  // Refused at the door: nothing happened, but an earlier attempt may have been let in.
  if ([401, 403, 407, 413, 421, 426, 431].includes(status)) return { action: "stop", doubt: "kept" };
  return { action: "stop", doubt: "settled" };
}

export function classify(signs: Signs): Verdict {
  if (signs.code === "IDEMPOTENCY_RESPONSE_NOT_STORED") {
    if (!signs.originalStatus) return { action: "stop", doubt: "raised" };
    return { action: signs.originalStatus < 400 ? "done" : "stop", doubt: "settled" };
  }
  const rule = signs.code && Object.hasOwn(byCode, signs.code) ? byCode[signs.code] : undefined;
  return rule ?? byStatus(signs);
}
