// When the next attempt of one send may be made, if any. Pure; time and chance are arguments.

export interface RetryPolicy {
  attempts: number; // of one send; waiting for a request that is still running costs none
  firstDelayMs: number; // doubles each time; the pause is a random part of it
  maxDelayMs: number;
  deadlineMs: number; // of one send, everything included
  attemptTimeoutMs: number;
}

export const defaultPolicy: RetryPolicy = {
  attempts: 5,
  firstDelayMs: 200,
  maxDelayMs: 10_000,
  deadlineMs: 60_000,
  attemptTimeoutMs: 30_000,
};

export interface Progress {
  attempts: number; // that were answered by anything but "still running"
  waits: number; // answers that said so
  elapsedMs: number;
}

export type Next = { pauseMs: number } | { giveUp: string };

const yearMs = 365 * 24 * 3600 * 1000;

/** How long a Retry-After asks to wait; undefined when it is neither seconds nor a date. */
export function parseRetryAfter(value: string | null | undefined, nowMs: number): number | undefined {
  const text = value?.trim();
  if (!text) return undefined;
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, yearMs);
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - nowMs, 0), yearMs);
}

/** The longest pause before the n-th retry (from 0). */
export function backoff(policy: RetryPolicy, retry: number): number {
  return Math.min(policy.firstDelayMs * 2 ** Math.min(retry, 60), policy.maxDelayMs);
}

/** `chance` is in [0, 1). A Retry-After is kept to, plus a random part of the first delay. */
export function nextPause(
  policy: RetryPolicy,
  progress: Progress,
  action: "retry" | "wait",
  retryAfterMs: number | undefined,
  chance: number,
): Next {
  if (action === "retry" && progress.attempts >= policy.attempts) return { giveUp: "all attempts were used" };
  const tries = action === "wait" ? progress.waits : progress.attempts;
  const pauseMs =
    retryAfterMs === undefined
      ? backoff(policy, Math.max(tries - 1, 0)) * chance
      : retryAfterMs + policy.firstDelayMs * chance;
  const leftMs = policy.deadlineMs - progress.elapsedMs;
  if (leftMs <= 0) return { giveUp: "the deadline has passed" };
  // Waiting for an answer that would come too late helps nobody.
  if (pauseMs < leftMs) return { pauseMs };
  const asked = retryAfterMs !== undefined && retryAfterMs >= leftMs;
  return {
    giveUp: asked
      ? "the server asks to wait for longer than the deadline"
      : "the deadline would pass before the next attempt",
  };
}
