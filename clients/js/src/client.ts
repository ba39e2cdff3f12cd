// The client: sends an intent until there is an answer that settles it. Every attempt carries the intent's key.
import { CircuitBreaker } from "./breaker.js";
import { CallRequest, Intent, KeyValueStorage, MemoryStorage, Answer, Outcome } from "./intents.js";
import { defaultPolicy, nextPause, parseRetryAfter, Progress, RetryPolicy } from "./retry.js";
import { classify, Verdict } from "./verdict.js";

export interface ClientOptions {
  retry?: Partial<RetryPolicy>;
  storage?: KeyValueStorage; // sessionStorage where there is one, else memory
  keyHeader?: string;
  quoteKey?: boolean; // "key" (a structured-field String) or key
  /** Over all intents: each first attempt earns budgetRatio, each retry costs 1, at most budgetMax are saved up. */
  budgetRatio?: number;
  budgetMax?: number;
  /** Per origin: after so many failures in a row nothing is sent for breakerPauseMs, then one request tries. */
  breakerFailures?: number;
  breakerPauseMs?: number;
  fetch?: typeof globalThis.fetch;
  now?: () => number;
  random?: () => number;
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface SendOptions {
  signal?: AbortSignal;
  keepRequest?: boolean; // so that it can be sent again after a reload; needed by forms
}

/** Thrown by fetch() when the outcome is not known. Asking again with the same intent is safe; a new key is not. */
export class OutcomeUnknown extends Error {
  override name = "OutcomeUnknown";
  constructor(
    readonly intent: Intent,
    readonly outcome: Outcome,
  ) {
    super(`intent '${intent.name}' may or may not have happened: ${outcome.reason}`);
  }
}

interface Problem {
  code?: string;
  originalStatus?: number;
  operationId?: string;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

function tabStorage(): KeyValueStorage {
  try {
    if (typeof sessionStorage !== "undefined") return sessionStorage;
  } catch {
    // Forbidden by the browser's settings.
  }
  return new MemoryStorage();
}

function headerOf(answer: Answer, name: string): string | undefined {
  return answer.headers.find(([header]) => header.toLowerCase() === name)?.[1];
}

function problemOf(answer: Answer): Problem {
  if (!/^application\/problem\+json\s*(;|$)/i.test(headerOf(answer, "content-type") ?? "")) return {};
  try {
    const parsed: unknown = JSON.parse(answer.body);
    return typeof parsed === "object" && parsed !== null ? (parsed as Problem) : {};
  } catch {
    return {};
  }
}

type Attempt = { answer: Answer } | { lost: string } | { blockedMs: number };

function originOf(url: string): string {
  const base = typeof location === "undefined" ? undefined : location.href;
  return new URL(url, base).origin;
}

export class Client {
  readonly storage: KeyValueStorage;
  readonly #policy: RetryPolicy;
  readonly #options: ClientOptions;
  readonly #running = new Map<string, Promise<Outcome>>();
  readonly #breakers = new Map<string, CircuitBreaker>();
  #budget: number;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.#policy = { ...defaultPolicy, ...options.retry };
    this.storage = options.storage ?? tabStorage();
    this.#budget = options.budgetMax ?? 20;
  }

  /** The intent of that name as it was left, or a new one. */
  open(name: string, keyIfNew?: string): Intent {
    return new Intent(this.storage, name, keyIfNew);
  }

  /** Sends that are already on their way are joined, not repeated. Rejects only if nothing was sent. */
  async send(intent: Intent, request: CallRequest, options: SendOptions = {}): Promise<Outcome> {
    const running = this.#running.get(intent.key);
    if (running && intent.isFor(request)) return running;
    if (intent.end && intent.isFor(request)) return { ...intent.end, fromIntent: true };
    const wasInDoubt = intent.inDoubt;
    intent.begin(request, options.keepRequest ?? false);
    const run = this.#run(intent, request, wasInDoubt, options.signal).finally(() =>
      this.#running.delete(intent.key),
    );
    this.#running.set(intent.key, run);
    return run;
  }

  /** fetch() for an intent: resolves to the answer, also to one that says no; rejects when the outcome is unknown. */
  async fetch(name: string, url: string, init: Omit<CallRequest, "url"> & SendOptions = {}): Promise<Response> {
    const intent = this.open(name);
    const { signal, keepRequest, ...request } = init;
    const outcome = await this.send(intent, { ...request, url }, {
      ...(signal && { signal }),
      ...(keepRequest !== undefined && { keepRequest }),
    });
    const answer = outcome.answer;
    if (outcome.ending === "unknown" || !answer) throw new OutcomeUnknown(intent, outcome);
    const bodiless = [204, 205, 304].includes(answer.status);
    return new Response(bodiless ? null : answer.body, { status: answer.status, headers: answer.headers });
  }

  async #run(intent: Intent, request: CallRequest, wasInDoubt: boolean, signal?: AbortSignal): Promise<Outcome> {
    const now = this.#options.now ?? Date.now;
    const random = this.#options.random ?? Math.random;
    const started = now();
    const progress: Progress = { attempts: 0, waits: 0, elapsedMs: 0 };
    const outcome: Outcome = { ending: "unknown", final: false, fromIntent: false, reason: "", attempts: 0 };
    let inDoubt = wasInDoubt;
    const max = this.#options.budgetMax ?? 20;
    this.#budget = Math.min(max, this.#budget + (this.#options.budgetRatio ?? 0.2));

    const finish = (verdict: Verdict, why = ""): Outcome => {
      outcome.final = verdict.doubt === "settled";
      outcome.ending = verdict.action === "done" ? "succeeded" : inDoubt ? "unknown" : "failed";
      if (why) outcome.reason += outcome.reason ? `; ${why}` : why;
      intent.settle(inDoubt, outcome.final ? outcome : undefined);
      return outcome;
    };
    const over: Verdict = { action: "stop", doubt: "kept" };

    for (;;) {
      if (signal?.aborted) return finish(over, "cancelled");
      const left = this.#policy.deadlineMs - (now() - started);
      const attempt = await this.#guarded(intent, request, Math.min(left, this.#policy.attemptTimeoutMs), signal);
      if (!("blockedMs" in attempt)) outcome.attempts++;
      const { verdict, retryAfterMs } = this.#judge(attempt, outcome, now());
      if (verdict.doubt !== "kept") inDoubt = verdict.doubt === "raised";
      if (verdict.action === "done" || verdict.action === "stop") return finish(verdict);
      if (verdict.action === "wait") progress.waits++;
      else progress.attempts++;
      progress.elapsedMs = now() - started;
      const next = nextPause(this.#policy, progress, verdict.action, retryAfterMs, random());
      if ("giveUp" in next) return finish(over, next.giveUp);
      if (verdict.action === "retry" && !this.#takeFromBudget()) return finish(over, "the budget for retries is spent");
      await (this.#options.sleep ?? sleep)(next.pauseMs, signal);
    }
  }

  #takeFromBudget(): boolean {
    if (this.#budget < 1) return false;
    this.#budget -= 1;
    return true;
  }

  #judge(attempt: Attempt, outcome: Outcome, now: number): { verdict: Verdict; retryAfterMs?: number | undefined } {
    if ("blockedMs" in attempt) {
      outcome.reason = "too many failures: the server is left alone for a while";
      return { verdict: { action: "retry", doubt: "kept" }, retryAfterMs: attempt.blockedMs };
    }
    if ("lost" in attempt) {
      delete outcome.answer;
      outcome.reason = attempt.lost;
      // fetch() does not tell whether a byte had left, so it may have.
      return { verdict: { action: "retry", doubt: "raised" } };
    }
    const { answer } = attempt;
    const problem = problemOf(answer);
    const retryAfter = headerOf(answer, "retry-after");
    const operationId = headerOf(answer, "onceward-operation-id") ?? problem.operationId;
    outcome.answer = answer;
    outcome.reason = `the server answered ${answer.status}${problem.code ? ` ${problem.code}` : ""}`;
    if (operationId) outcome.operationId = operationId;
    const verdict = classify({
      status: answer.status,
      code: problem.code,
      originalStatus: problem.originalStatus,
      retryAfter: retryAfter !== undefined,
      location: headerOf(answer, "location"),
    });
    return { verdict, retryAfterMs: parseRetryAfter(retryAfter, now) };
  }

  #breakerOf(url: string): CircuitBreaker {
    const origin = originOf(url);
    const { breakerFailures = 10, breakerPauseMs = 5000 } = this.#options;
    const breaker = this.#breakers.get(origin) ?? new CircuitBreaker(breakerFailures, breakerPauseMs);
    this.#breakers.set(origin, breaker);
    return breaker;
  }

  async #guarded(intent: Intent, request: CallRequest, timeoutMs: number, signal?: AbortSignal): Promise<Attempt> {
    const now = this.#options.now ?? Date.now;
    const breaker = this.#breakerOf(request.url);
    const blockedMs = breaker.blocked(now());
    if (blockedMs !== undefined) return { blockedMs };
    const attempt = await this.#attempt(intent, request, timeoutMs, signal);
    if ("answer" in attempt && ![502, 503, 504].includes(attempt.answer.status)) breaker.succeeded();
    else if (!("answer" in attempt) && signal?.aborted) breaker.abandoned();
    else breaker.failed(now());
    return attempt;
  }

  async #attempt(intent: Intent, request: CallRequest, timeoutMs: number, signal?: AbortSignal): Promise<Attempt> {
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    const timer = setTimeout(stop, timeoutMs);
    signal?.addEventListener("abort", stop);
    const quoted = `"${intent.key.replace(/["\\]/g, "\\$&")}"`;
    const key = (this.#options.quoteKey ?? true) ? quoted : intent.key;
    try {
      const response = await (this.#options.fetch ?? globalThis.fetch)(request.url, {
        method: request.method ?? "POST",
        headers: { ...request.headers, [this.#options.keyHeader ?? "Idempotency-Key"]: key },
        redirect: "follow",
        cache: "no-store",
        signal: abort.signal,
        ...(request.body !== undefined && { body: request.body }),
      });
      const headers: [string, string][] = [];
      response.headers.forEach((value, name) => headers.push([name, value]));
      return { answer: { status: response.status, headers, body: await response.text() } };
    } catch (error) {
      const why = signal?.aborted ? "cancelled" : abort.signal.aborted ? "no answer in time" : "no whole answer";
      return { lost: error instanceof TypeError ? `${why} (${error.message})` : why };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }
}
